/** The atomic steps: one Lua file each, sent by its digest. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const names = [
  ...(['create-session', 'save-session', 'sessions', 'messages', 'recent-messages', 'output', 'output-after', 'remembered'] as const),
  ...(['begin-turn', 'append-output', 'renew-turn', 'request-stop', 'finish-turn', 'withdraw-turn', 'seize-turn', 'orphans', 'slots'] as const),
  ...(['create-record', 'replace-record', 'remove-record', 'list-records', 'take-budgets', 'hold-budget'] as const),
  ...(['register', 'registered', 'unregister', 'aged-sessions', 'sweep-session', 'sweep-memories', 'remove-holdings'] as const),
  ...(['dump-session', 'load-record', 'load-session', 'load-message', 'load-turn', 'load-memory', 'load-usage'] as const),
] as const;

export type ScriptName = (typeof names)[number];

export interface Script {
  readonly source: string;
  /** SHA-1 in hexadecimal, by which Redis knows it. */
  readonly digest: string;
}

export type Scripts = Readonly<Record<ScriptName, Script>>;

// The build lays the files beside the bundle, so that they lie beside this module there as here.
const read = (name: string): string => readFileSync(new URL(`./${name}.lua`, import.meta.url), 'utf8');

/** All steps, each as `edited` makes it of its file and of what they share. */
export function loadScripts(edited: (source: string, name: ScriptName) => string = (source) => source): Scripts {
  const prelude = read('prelude');
  return Object.fromEntries(
    names.map((name) => {
      const source = edited(prelude + read(name), name);
      return [name, { source, digest: createHash('sha1').update(source).digest('hex') }];
    }),
  ) as unknown as Scripts;
}

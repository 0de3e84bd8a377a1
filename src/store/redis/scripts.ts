/** The atomic steps: one Lua file each, sent by its digest. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { argumentLines, constantLines, steps, type StepName } from './steps.ts';

export type ScriptName = StepName;

export interface Script {
  readonly source: string;
  /** The SHA-1 in hexadecimal, by which Redis identifies the script. */
  readonly digest: string;
}

export type Scripts = Readonly<Record<ScriptName, Script>>;

// The build puts the folder beside the bundle, so that the relative path is the same in both places.
const read = (name: string): string => readFileSync(new URL(`./steps/${name}.lua`, import.meta.url), 'utf8');

/** All steps; `edited` may change each step's script, which consists of its arguments, the shared prelude and its file. */
export function loadScripts(edited: (source: string, name: ScriptName) => string = (source) => source): Scripts {
  const shared = constantLines + read('prelude');
  return Object.fromEntries(
    (Object.keys(steps) as ScriptName[]).map((name) => {
      const source = edited(shared + argumentLines(name) + read(name), name);
      return [name, { source, digest: createHash('sha1').update(source).digest('hex') }];
    }),
  ) as unknown as Scripts;
}

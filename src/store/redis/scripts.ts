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

/** A paragraph that is a function and nothing else. */
const functionAlone = /^local function (\w+)\(.*\)\n(?: .*\n)*end\n?$/;

/**
 * The script without comments and without functions that it does not call. Redis runs the whole text at each call, and to make all
 * functions of the prelude takes longer than most steps themselves.
 */
function pruned(source: string, callsOf: (paragraph: string) => Iterable<string>): string {
  const paragraphs = source.replace(/^ *--.*\n/gm, '').split(/\n{2,}/);
  const functions = new Map<string, string>();
  for (const paragraph of paragraphs) {
    const name = functionAlone.exec(`${paragraph}\n`)?.[1];
    if (name !== undefined) functions.set(name, paragraph);
  }
  const used = new Set<string>();
  const use = (paragraph: string): void => {
    if (used.has(paragraph)) return;
    used.add(paragraph);
    for (const name of callsOf(paragraph)) if (functions.has(name)) use(functions.get(name)!);
  };
  const callable = new Set(functions.values());
  for (const paragraph of paragraphs) if (!callable.has(paragraph)) use(paragraph);
  return paragraphs.filter((paragraph) => used.has(paragraph)).join('\n\n');
}

/** All steps; `edited` may change each step's script, which consists of the shared prelude, the step's arguments and its file. */
export function loadScripts(edited: (source: string, name: ScriptName) => string = (source) => source): Scripts {
  const shared = `${constantLines}${read('prelude')}\n`;
  const known = new Map<string, ReadonlySet<string>>();
  const callsOf = (paragraph: string): ReadonlySet<string> => {
    let names = known.get(paragraph);
    if (names === undefined) known.set(paragraph, (names = new Set(paragraph.match(/(?<!function )\b\w+(?=\()/g))));
    return names;
  };
  return Object.fromEntries(
    (Object.keys(steps) as ScriptName[]).map((name) => {
      const source = pruned(edited(shared + argumentLines(name) + read(name), name), callsOf);
      return [name, { source, digest: createHash('sha1').update(source).digest('hex') }];
    }),
  ) as unknown as Scripts;
}

/** The atomic steps: one Lua file each, sent by its digest. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { argumentLines, constantLines, gatheredLines, gatheredSteps, steps, type StepName } from './steps.ts';

export type ScriptName = StepName;

export interface Script {
  readonly source: string;
  /** The SHA-1 in hexadecimal, by which Redis identifies the script. */
  readonly digest: string;
}

export type Scripts = Readonly<Record<ScriptName, Script>>;

// The build puts the folder beside the bundle, so that the relative path is the same in both places.
const read = (name: string): string => readFileSync(new URL(`./steps/${name}.lua`, import.meta.url), 'utf8');

/** What a script has between two blank lines, without comments. */
interface Paragraph {
  readonly text: string;
  /** The name of the function that it is; undefined if it is anything else. */
  readonly name: string | undefined;
  readonly calls: readonly string[];
}

function paragraphOf(source: string): Paragraph {
  const text = source.replace(/^ *--.*\n/gm, '');
  return { text, name: /^local function (\w+)\(.*\)\n(?: .*\n)*end$/.exec(text)?.[1], calls: text.match(/(?<!function )\b\w+(?=\()/g) ?? [] };
}

/** The script without functions that it does not call. Redis runs the whole text at each call, and to make all functions of the prelude takes longer than most steps themselves. */
function pruned(paragraphs: readonly Paragraph[]): string {
  const functions = new Map(paragraphs.map((paragraph) => [paragraph.name, paragraph]));
  const used = new Set<Paragraph>();
  const use = (paragraph: Paragraph | undefined): void => {
    if (paragraph === undefined || used.has(paragraph)) return;
    used.add(paragraph);
    for (const name of paragraph.calls) use(functions.get(name));
  };
  for (const paragraph of paragraphs) if (paragraph.name === undefined) use(paragraph);
  return paragraphs.filter((paragraph) => used.has(paragraph)).map(({ text }) => text).join('\n\n');
}

/** All steps; `edited` may change each step's script, which consists of the shared prelude, the step's arguments and its file. */
export function loadScripts(edited: (source: string, name: ScriptName) => string = (source) => source): Scripts {
  const shared = `${constantLines}${read('prelude')}\n`;
  // Nearly all paragraphs of a script are the prelude's.
  const known = new Map<string, Paragraph>();
  const parsed = (source: string): Paragraph => {
    let paragraph = known.get(source);
    if (paragraph === undefined) known.set(source, (paragraph = paragraphOf(source)));
    return paragraph;
  };
  return Object.fromEntries(
    (Object.keys(steps) as ScriptName[]).map((name) => {
      const own = argumentLines(name) + read(name);
      const { first, before, after } = gatheredLines;
      const whole = gatheredSteps.has(name) ? first + shared + before + own + after : shared + own;
      const source = pruned(edited(whole, name).split(/\n{2,}/).map(parsed));
      return [name, { source, digest: createHash('sha1').update(source).digest('hex') }];
    }),
  ) as unknown as Scripts;
}

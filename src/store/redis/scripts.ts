/** The atomic steps: one Lua file each, sent by its digest together with the helpers that it includes. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { helpersOf, luaFile, type LuaFile } from './includes.ts';
import { argumentLines, commonLines, gatheredLines, gatheredSteps, steps, type ScriptName } from './steps.ts';

export interface Script {
  readonly source: string;
  /** The SHA-1 in hexadecimal, by which Redis identifies the script. */
  readonly digest: string;
}

export type Scripts = Readonly<Record<ScriptName, Script>>;

// The build puts the folders beside the bundle, so that the relative paths are the same in both places.
const readStep = (name: string): LuaFile =>
  luaFile(readFileSync(new URL(`./steps/${name}.lua`, import.meta.url), 'utf8'));
const readHelper = (name: string): LuaFile =>
  luaFile(readFileSync(new URL(`./steps/includes/${name}.lua`, import.meta.url), 'utf8'));

/**
 * All steps; `edited` may change each step's script, which consists of the common lines, its helpers, the step's
 * arguments and its file.
 */
export function loadScripts(edited: (source: string, name: ScriptName) => string = (source) => source): Scripts {
  const helpers = new Map<string, LuaFile>();
  const helper = (name: string): LuaFile => {
    const file = helpers.get(name) ?? readHelper(name);
    helpers.set(name, file);
    return file;
  };
  return Object.fromEntries(
    (Object.keys(steps) as ScriptName[]).map((name) => {
      const step = readStep(name);
      const shared = `${commonLines}${[...helpersOf(step, helper).values()].map(({ code }) => `${code}\n`).join('')}`;
      const own = `${argumentLines(name)}${step.code}\n`;
      const { first, before, after } = gatheredLines;
      const source = edited(gatheredSteps.has(name) ? first + shared + before + own + after : shared + own, name);
      return [name, { source, digest: createHash('sha1').update(source).digest('hex') }];
    }),
  ) as unknown as Scripts;
}

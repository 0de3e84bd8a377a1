/** Lua files that name the helpers that they call, at their head, one a line: `--- @include "now"`. */

export interface LuaFile {
  readonly includes: readonly string[];
  /** The include's lines without comments and blank lines. */
  readonly code: string;
}

const mark = '--- @include ';

export function luaFile(text: string): LuaFile {
  const lines = text.split('\n');
  return {
    includes: lines
      .filter((line) => line.startsWith(mark))
      .map((line) => JSON.parse(line.slice(mark.length)) as string),
    code: lines.filter((line) => line.trim() !== '' && !line.trimStart().startsWith('--')).join('\n'),
  };
}

/** The helpers that a file includes and those that they include in turn: each once, after those that it calls. */
export function helpersOf(
  file: LuaFile,
  read: (name: string) => LuaFile,
  path: readonly string[] = [],
  found = new Map<string, LuaFile>(),
): ReadonlyMap<string, LuaFile> {
  for (const name of file.includes) {
    if (path.includes(name)) throw new Error(`The helpers include each other: ${[...path, name].join(' → ')}.`);
    if (found.has(name)) continue;
    const helper = read(name);
    helpersOf(helper, read, [...path, name], found);
    found.set(name, helper);
  }
  return found;
}

/** The language of comments and of tests' names: plain English that begins with the thing and names its noun. */
import type { Tree } from './tree.ts';

/** Prefixes of paths whose comments are not yet rewritten; each of these loses its line here once they are. */
const left: readonly string[] = [];

const marks: Readonly<Record<string, string>> = { ts: String.raw`\/\*\*?|\/\/`, lua: '--', css: String.raw`\/\*` };
const endings: Readonly<Record<string, string>> = {
  ts: 'ts',
  tsx: 'ts',
  mjs: 'ts',
  c: 'ts',
  h: 'ts',
  lua: 'lua',
  css: 'css',
};

const firstWords = 'What|Of|Those|Who|Whom|Whose|Whoever|Which|One that';
const moreFirstWords =
  'Where|So|As|By|In|At|On|Behind|Beside|Without|While|Until|Its|It|None|Nothing|How|Why|They|Their|That|This|There|And|But|Or|Nor';

/** Phrases without their noun, and everyday words in place of the term. */
const phrases =
  /\b(?:(?:is|are|was|were) (?:none|over|told)|is one,? too|so (?:much|many) of|(?:that|those|the same) of|all there is|of (?:its|their) own|of which|of whose|whereof|wherein|whoever|whatever|(?:goes|go|went) on|tells?|gives? up|takes? back|comes? about|keeps? to)\b/i;

/** Comments of a file as text, each with its first line; a run of `//` or `--` lines is one comment. */
export function* commentsOf(path: string, text: string): Iterable<{ readonly line: number; readonly text: string }> {
  const mark = marks[endings[path.split('.').at(-1)!] ?? ''];
  if (mark === undefined) return;
  const lines = text.split('\n');
  const begins = new RegExp(String.raw`(?<=^|\s)(${mark})(?:\s+|$)(.*)`);
  for (let at = 0; at < lines.length; at++) {
    const [, opening, words] = begins.exec(lines[at]!) ?? [];
    if (opening === undefined) continue;
    const line = at + 1;
    const parts = [words!];
    if (opening.startsWith('/*')) while (!lines[at]!.includes('*/') && at + 1 < lines.length) parts.push(lines[++at]!);
    else if (lines[at]!.trimStart().startsWith(opening))
      while (lines[at + 1]?.trimStart().startsWith(`${opening} `)) parts.push(lines[++at]!);
    const body = parts.map((part) => part.replace(/^\s*(?:\*(?!\/)|--|\/\/)\s?/, '').replace(/\s*\*\/.*$/, ''));
    yield { line, text: body.join(' ').trim() };
  }
}

/** Offences of a tree's comments as `path:line: words`. */
export function dialect(tree: Tree): string[] {
  return [...tree].flatMap(([path, text]) => {
    if (!/^(src|machines|test|bench)\//.test(path)) return [];
    const strict = !left.some((prefix) => path.startsWith(prefix));
    const first = new RegExp(`^(?:${strict ? `${firstWords}|${moreFirstWords}` : firstWords})\\b.{0,30}`);
    return [...commentsOf(path, text)].flatMap((comment) => {
      const words = first.exec(comment.text)?.[0] ?? (strict ? phrases.exec(comment.text)?.[0] : undefined);
      return words === undefined ? [] : [`${path}:${comment.line}: ${words}`];
    });
  });
}

const testName = /\bt\.test\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;
const connectives = /^(?:and|but|or|nor|so|also|of|its|which|nothing|none|neither)\b/i;

/** Files with programs of tests as text. */
const withPrograms = /^test\/(?:tidy|lint|run\/run)\.test\.ts$/;

/** Offences of tests' names as `path:line: name`: fragments of one or two words, or that continue another name. */
export function testNames(tree: Tree): string[] {
  return [...tree].flatMap(([path, text]) =>
    [...(withPrograms.test(path) ? '' : text).matchAll(testName)].flatMap((match) => {
      const name = match[2]!.replace(/^\[[^\]]*\]\s*/, '');
      const isWhole = name.includes('${') || (name.split(/\s+/).length > 2 && !connectives.test(name));
      return isWhole ? [] : [`${path}:${text.slice(0, match.index).split('\n').length}: ${name}`];
    }),
  );
}

/** YAML files with the lines of their values, bounded before they are parsed. */
import { isDeepStrictEqual } from 'node:util';
import { Document, isMap, Lexer, LineCounter, parseDocument, Scalar, stringify } from 'yaml';
import { CommandFailure } from '../exit.ts';
import type { Json } from './settings.ts';
import { messageOfThrown } from '../../base/thrown.ts';

/** Bounds of a file: the parser's time grows with their square, and its stack with the depth. */
const bytesMax = 512 * 1024;
const tokensMax = 50_000;
const depthMax = 64;
const aliasesMax = 100;

export interface YamlFile {
  /** The path in messages, relative to the folder. */
  readonly path: string;
  readonly text: string;
  readonly content: Json;
  /** A failure that names the file and the line of the value at a path, or of what stands around it. */
  failure(keys: readonly string[], message: string): CommandFailure;
}

const failureAt = (path: string, line: number, message: string): CommandFailure =>
  new CommandFailure(`${path}:${line}: ${message}`);

/** Reads a file whose content is a map. */
export function parseYaml(path: string, text: string): YamlFile {
  checkBounds(path, text);
  const lines = new LineCounter();
  const parsed = parsing(path, () =>
    parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true, schema: 'core' }),
  );
  const [problem] = [...parsed.errors, ...parsed.warnings];
  if (problem !== undefined) throw failureAt(path, lines.linePos(problem.pos[0]).line, sentence(problem.message));
  if (!isMap(parsed.contents)) throw failureAt(path, 1, 'The file must contain a map of settings.');
  const content = parsing(path, () => parsed.toJS({ maxAliasCount: aliasesMax }) as Json);
  return {
    path,
    text,
    content,
    failure: (keys, message) => failureAt(path, lines.linePos(offsetOf(parsed, keys)).line, message),
  };
}

/** Runs a part of the parser: a stack that overflows and too many aliases are failures of the file. */
function parsing<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw failureAt(path, 1, error instanceof RangeError ? tooDeep : sentence(messageOfThrown(error)));
  }
}

const tooDeep = `Values are nested more than ${depthMax} deep.`;

const sentence = (message: string): string => {
  const [line = ''] = message.split('\n');
  return /[.!?]$/.test(line) ? line : `${line}.`;
};

/** Refuses a file that would cost the parser more than a moment. */
function checkBounds(path: string, text: string): void {
  if (Buffer.byteLength(text) > bytesMax)
    throw new CommandFailure(`${path}: The file has more than ${bytesMax / 1024} KiB.`);
  let [tokens, line, brackets, dashes] = [0, 1, 0, 0];
  for (const token of new Lexer().lex(text)) {
    if (token === '[' || token === '{') brackets++;
    else if (token === ']' || token === '}') brackets = Math.max(0, brackets - 1);
    else if (token === '-' || token === '?' || token === ':') dashes++;
    // The indentation of a line bounds the maps and lists that it is in.
    else if (/^ +$/.test(token) && token.length > 2 * depthMax) throw failureAt(path, line, tooDeep);
    if (brackets > depthMax || dashes > 4 * depthMax) throw failureAt(path, line, tooDeep);
    if (token.includes('\n')) {
      line += token.split('\n').length - 1;
      if (brackets === 0) dashes = 0;
    }
    if (++tokens > tokensMax) throw failureAt(path, line, `The file has more than ${tokensMax} words and signs.`);
  }
}

/** Offset of the value at the path; of the innermost value around it where the path ends before. */
function offsetOf(parsed: ReturnType<typeof parseDocument>, keys: readonly string[]): number {
  for (let length = keys.length; length > 0; length--) {
    const path = keys.slice(0, length).map((key) => (/^\d+$/.test(key) ? Number(key) : key));
    const node = parsed.getIn(path, true) as { readonly range?: readonly number[] | null } | undefined;
    if (node?.range) return node.range[0]!;
  }
  return 0;
}

/** Quotes texts that readers of YAML 1.1 would take for something else, such as `yes`. */
const options = { lineWidth: 0, aliasDuplicateObjects: false, schema: 'core', compat: 'yaml-1.1' } as const;

/** The content as YAML from which it is read back as it was. */
export function yamlText(content: Json): string {
  const text = stringify(content, options);
  return isRead(text, content) ? text : stringify(content, { ...options, defaultStringType: 'QUOTE_DOUBLE' });
}

function isRead(text: string, content: Json): boolean {
  const parsed = parseDocument(text, { schema: 'core', prettyErrors: false });
  return parsed.errors.length === 0 && isDeepStrictEqual(parsed.toJS(), content);
}

/** The file's text with another digest and all else as it is, comments included. */
export function withDigest(text: string, digest: string): string {
  const parsed = parseDocument(text, { keepSourceTokens: true, schema: 'core' });
  const node = parsed.get('digest', true);
  if (node instanceof Scalar && node.range) {
    const [from, to] = node.range;
    const replaced = text.slice(0, from) + digestText(digest) + text.slice(to);
    if (isDigest(replaced, digest)) return replaced;
  }
  parsed.set('digest', digest);
  return parsed.toString({ lineWidth: 0 });
}

const digestText = (digest: string): string => stringify(digest, options).trim();

const isDigest = (text: string, digest: string): boolean => {
  const parsed: Document = parseDocument(text, { schema: 'core' });
  return parsed.errors.length === 0 && parsed.get('digest') === digest;
};

/** Reads a folder of Markdown as sections, and cuts long ones around what was found. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** Larger files are no notes. */
const fileBytesMax = 4 * 1024 * 1024;

const heading = /^ {0,3}#{1,6}(?:[ \t]|$)/;
const fence = /^ {0,3}(`{3,}|~{3,})(.*)$/;

/** The sections of a text: each heading with the lines below it. A heading within a code fence is code. */
export function sectionsOf(text) {
  const sections = [];
  let lines = [];
  let open = null;
  for (const line of text.split(/\r\n?|\n/)) {
    const [, mark, rest] = fence.exec(line) ?? [];
    if (open === null && heading.test(line) && lines.length > 0) {
      sections.push(lines.join('\n').trim());
      lines = [];
    }
    if (mark !== undefined && open === null) open = mark;
    else if (mark?.startsWith(open) && rest.trim() === '') open = null;
    lines.push(line);
  }
  return [...sections, lines.join('\n').trim()];
}

/** The sections of all files below a folder, without those that cannot be read; `warn` is told of each. */
export async function sectionsIn(folder, warn) {
  const found = [];
  for await (const path of markdownIn(folder, warn)) {
    const text = await textOf(path).catch((error) => warn(`${path} is left out: ${error.message}`));
    if (text === undefined) continue;
    const file = relative(folder, path);
    sectionsOf(text).forEach((section, at) => section !== '' && found.push({ id: `${file}#${at}`, title: titleOf(section) ?? file, text: section }));
  }
  return found;
}

const titleOf = (section) => (heading.test(section) ? section.split('\n', 1)[0].replace(/^[ #\t]+/, '').replace(/[ \t]+#*$/, '') : null);

async function* markdownIn(folder, warn, isRoot = true) {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
    // The server has nothing to answer with if its own folder cannot be read.
    if (isRoot) throw error;
    warn(`${folder} is left out: ${error.message}`);
    return [];
  });
  for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* markdownIn(path, warn, false);
    else if (entry.name.toLowerCase().endsWith('.md')) yield path;
  }
}

async function textOf(path) {
  const found = await stat(path);
  // A named pipe would be waited for.
  if (!found.isFile()) throw new Error('it is no file');
  if (found.size > fileBytesMax) throw new Error(`it has more than ${fileBytesMax} bytes`);
  return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
}

const word = /[\p{L}\p{N}\p{M}_]+/gu;
/** Scripts that are written without spaces between words. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/** The words of a text, each with its place. */
function* wordsOf(text) {
  for (const { 0: run, index } of text.matchAll(word)) {
    if (!unspaced.test(run)) yield { text: run, index };
    else for (const { segment, index: within, isWordLike } of segmenter.segment(run)) if (isWordLike) yield { text: segment, index: index + within };
  }
}

/** Splits a text into words for MiniSearch, in all scripts. */
export const tokenize = (text) => Array.from(wordsOf(text), (one) => one.text);
/** One form for the upper and lower, the full and half width of a word. */
export const processTerm = (term) => term.normalize('NFKC').toLowerCase();

/** The part of a text with most of the terms that were found in it, if the whole is longer than `charactersMax`. */
export function passageOf(text, terms, charactersMax) {
  if (text.length <= charactersMax) return text;
  const wanted = new Set(terms);
  const hits = Array.from(wordsOf(text)).filter((one) => wanted.has(processTerm(one.text)));
  // A third of the passage is before its first hit.
  const lead = Math.floor(charactersMax / 3);
  let best = { from: 0, count: 0 };
  for (let first = 0, last = 0; first < hits.length; first++) {
    const from = Math.max(0, hits[first].index - lead);
    while (last < hits.length && hits[last].index + hits[last].text.length <= from + charactersMax) last++;
    const count = new Set(hits.slice(first, Math.min(last, first + 50)).map((one) => processTerm(one.text))).size;
    if (count > best.count) best = { from, count };
  }
  const from = Math.min(best.from, text.length - charactersMax);
  return `${from > 0 ? '… ' : ''}${whole(text, from, from + charactersMax)}${from + charactersMax < text.length ? ' …' : ''}`;
}

/** The characters of a range, without half of one at an end. */
const whole = (text, from, to) => text.slice(from, to).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '').trim();

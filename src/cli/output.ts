/** Formats results for a terminal: aligned tables, fields and times. */
import type { Io } from './io.ts';

export interface Column {
  readonly title: string;
  /** Numbers stand to the right. */
  readonly right?: boolean;
}

/** Rows under their titles, columns two spaces apart. Every cell is one line; an empty one is shown as a dash. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const lines = [columns.map((column) => column.title), ...rows.map((row) => row.map((cell) => oneLine(cell) || '-'))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => width(line[index] ?? ''))));
  return lines
    .map((line) =>
      columns
        .map((column, index) => {
          const cell = line[index] ?? '';
          const padding = ' '.repeat(widths[index]! - width(cell));
          return column.right ? padding + cell : cell + padding;
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Names and values in two columns; a value of several lines is indented under itself. */
export function fields(pairs: readonly (readonly [string, string])[]): string {
  const widest = Math.max(...pairs.map(([name]) => width(name)));
  const indent = ' '.repeat(widest + 2);
  return pairs
    .map(
      ([name, value]) =>
        name + ' '.repeat(widest + 2 - width(name)) + (printable(value) || '-').replaceAll('\n', `\n${indent}`),
    )
    .join('\n');
}

/** Names and values, one pair a line, for a value of `fields`. */
export const pairLines = (values: Readonly<Record<string, unknown>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${oneLine(name)}: ${oneLine(String(value))}`)
    .join('\n');

/** A secret on a separate line, after the sentence that says what it is for. */
export const secretText = (secret: string): string => `\n\n  ${secret}\n\nKeep it now: it is not shown again.`;

/** A Unix time in seconds as `2026-01-31 12:00:00Z`; a dash for null. */
export const time = (seconds: number | null): string =>
  seconds === null ? '-' : new Date(seconds * 1000).toISOString().replace('T', ' ').replace('.000Z', 'Z');

/**
 * Returns the text without control characters but tab and newline: the text of a visitor or a model must not steer the
 * terminal.
 */
export const printable = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');

export const oneLine = (text: string): string => printable(text).replace(/\s+/g, ' ').trim();

/** The width of a terminal that does not report it. */
export const usualColumns = 80;

const wide =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const narrow = /^[\x20-\x7e]*$/;
const combining = /[\p{M}\u200b-\u200d\ufe0f]/u;

/** Columns of a terminal that the text takes. */
function width(text: string): number {
  if (narrow.test(text)) return text.length;
  let columns = 0;
  for (const character of text) columns += wide.test(character) ? 2 : combining.test(character) ? 0 : 1;
  return columns;
}

/** Prints a result, ending in one newline. */
export const print = ({ stdout }: Pick<Io, 'stdout'>, text: string): void =>
  void stdout.write(text.endsWith('\n') ? text : `${text}\n`);

/** Prints a note on stderr, because the result may be on stdout. */
export const note = ({ stderr }: Pick<Io, 'stderr'>, text: string): void => void stderr.write(`${text}\n`);

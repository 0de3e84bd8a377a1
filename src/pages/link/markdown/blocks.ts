/** Splits a reply into its blocks: paragraphs, headings, lists, quotes, code, tables and rules. */

export type Block =
  | { readonly kind: 'paragraph'; readonly text: string }
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  | { readonly kind: 'code'; readonly text: string }
  | { readonly kind: 'rule' }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  | { readonly kind: 'list'; readonly start: number | null; readonly items: readonly (readonly Block[])[] }
  | {
      readonly kind: 'table';
      readonly ends: readonly ('left' | 'center' | 'right')[];
      readonly rows: readonly (readonly string[])[];
    };

const depthMax = 8;
const cellsMax = 20;

const fence = /^ {0,3}(`{3,999}|~{3,999})/;
const fenceEnd = /^ {0,3}(`+|~+)[ \t]*$/;
const heading = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
const rule = /^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/;
const quote = /^ {0,3}> ?/;
const item = /^( {0,3})([-*+]|\d{1,9}[.)])(?:( {1,4})(?=\S)| *$)/;
const delimiters = /^ {0,3}\|?(?: *:?-{1,}:? *\|)+(?: *:?-{1,}:? *)?$|^ {0,3}\| *:?-{1,}:? *\|?$/;

const isBlank = (line: string): boolean => line.trim() === '';
const startsBlock = (line: string): boolean =>
  fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line) || item.test(line);

export const blocksOf = (text: string): Block[] =>
  read(text.replaceAll('\r\n', '\n').replaceAll('\0', '\ufffd').split('\n'), 0);

function read(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at]!;
    if (isBlank(line)) at++;
    else {
      const [block, next] = blockAt(lines, at, depth);
      blocks.push(block);
      at = next;
    }
  }
  return blocks;
}

type Found = readonly [Block, number];

function blockAt(lines: readonly string[], at: number, depth: number): Found {
  const line = lines[at]!;
  const level = heading.exec(line)?.[1]!.length;
  if (fence.test(line)) return code(lines, at);
  if (level !== undefined)
    return [{ kind: 'heading', level, text: withoutClosing(line.replace(heading, '').trimEnd()) }, at + 1];
  if (rule.test(line)) return [{ kind: 'rule' }, at + 1];
  if (depth < depthMax && quote.test(line)) return quoted(lines, at, depth);
  if (depth < depthMax && item.test(line)) return list(lines, at, depth);
  return line.includes('|') && delimiters.test(lines[at + 1] ?? '') ? table(lines, at) : paragraph(lines, at);
}

/** A heading may end in signs as it begins. */
function withoutClosing(text: string): string {
  let end = text.length;
  while (text[end - 1] === '#') end--;
  return end < text.length && (end === 0 || /\s/.test(text[end - 1]!)) ? text.slice(0, end).trimEnd() : text;
}

/** Code without an end goes to the end: it may be on its way. */
function code(lines: readonly string[], at: number): Found {
  const mark = fence.exec(lines[at]!)![1]!;
  const indent = lines[at]!.indexOf(mark);
  let end = at + 1;
  // A longer run of the same sign closes as well.
  while (end < lines.length && !fenceEnd.exec(lines[end]!)?.[1]!.startsWith(mark)) end++;
  return [
    {
      kind: 'code',
      text: lines
        .slice(at + 1, end)
        .map((line) => outdented(line, indent))
        .join('\n'),
    },
    end + 1,
  ];
}

/** The line without so many spaces at its beginning, or as many as it has. */
const outdented = (line: string, width: number): string => line.slice(Math.min(width, line.search(/[^ ]|$/)));

function quoted(lines: readonly string[], at: number, depth: number): Found {
  let end = at;
  while (end < lines.length && quote.test(lines[end]!)) end++;
  return [
    {
      kind: 'quote',
      blocks: read(
        lines.slice(at, end).map((line) => line.replace(quote, '')),
        depth + 1,
      ),
    },
    end,
  ];
}

const kindOf = (marker: string): string => (marker.length === 1 ? marker : marker.at(-1)!);

function list(lines: readonly string[], at: number, depth: number): Found {
  const first = item.exec(lines[at]!)![2]!;
  const items: Block[][] = [];
  while (at < lines.length) {
    const found = item.exec(lines[at]!);
    if (found === null || kindOf(found[2]!) !== kindOf(first) || rule.test(lines[at]!)) break;
    const width = found[0].length;
    const own = [lines[at]!.slice(width)];
    let end = at + 1;
    while (end < lines.length && isInside(lines, end)) own.push(outdented(lines[end++]!, width));
    items.push(read(own, depth + 1));
    at = end;
    while (end < lines.length && isBlank(lines[end]!)) end++;
    if (item.test(lines[end] ?? '')) at = end;
  }
  return [{ kind: 'list', start: first.length > 1 ? Number(first.slice(0, -1)) : null, items }, at];
}

/**
 * Whether a line belongs to the item above: it is indented, or continues its text. Models indent by two where three are
 * needed.
 */
function isInside(lines: readonly string[], at: number): boolean {
  const line = lines[at]!;
  if (isBlank(line)) return /^(?: {2}|\t)/.test(lines[at + 1] ?? '');
  return /^(?: {2}|\t)/.test(line) || (!isBlank(lines[at - 1]!) && !startsBlock(line));
}

const cellsOf = (line: string): string[] =>
  line
    .trim()
    .replace(/^\||(?<!\\)\|$/g, '')
    .split(/(?<!\\)\|/, cellsMax)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));

function table(lines: readonly string[], at: number): Found {
  const ends = cellsOf(lines[at + 1]!).map((cell) =>
    cell.endsWith(':') ? (cell.startsWith(':') ? 'center' : 'right') : 'left',
  );
  const rows = [cellsOf(lines[at]!)];
  let end = at + 2;
  while (end < lines.length && !isBlank(lines[end]!) && !startsBlock(lines[end]!)) rows.push(cellsOf(lines[end++]!));
  return [{ kind: 'table', ends, rows }, end];
}

function paragraph(lines: readonly string[], at: number): Found {
  let end = at + 1;
  while (
    end < lines.length &&
    !isBlank(lines[end]!) &&
    !startsBlock(lines[end]!) &&
    !(lines[end]!.includes('|') && delimiters.test(lines[end + 1] ?? ''))
  )
    end++;
  return [
    {
      kind: 'paragraph',
      text: lines
        .slice(at, end)
        .map((line) => line.trimStart())
        .join('\n')
        .trimEnd(),
    },
    end,
  ];
}

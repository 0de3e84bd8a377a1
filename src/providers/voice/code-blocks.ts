/** Prose and blocks of code of a text in Markdown: code is announced, not read aloud. */

export interface Part {
  readonly kind: 'prose' | 'opening' | 'code';
  readonly raw: string;
  /** The fence of the block that is open behind it; null outside of a block. */
  readonly fence: string | null;
}

/** A line that opens a block, also in a quotation or a list. A line with code between its backticks opens none. */
const opening = /^[ \t>]*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]+)?(`{3,}|~{3,}(?!~))[^`\n]*\n?$/u;
const closing = /^[ \t>]*(`{3,}|~{3,})[ \t]*\r?\n?$/u;

/**
 * Splits a text into parts that join to the same text; `fence`: fence of the code block in which the text begins. A
 * last line of code without its line break is a separate part, because it may become the end of the block.
 */
export function partsOf(text: string, fence: string | null): Part[] {
  const parts: { kind: Part['kind']; raw: string; fence: string | null }[] = [];
  for (const raw of linesOf(text)) {
    const last = parts.at(-1);
    if (fence === null) {
      fence = opening.exec(raw)?.[1] ?? null;
      if (fence !== null) parts.push({ kind: 'opening', raw, fence });
      else if (last?.kind === 'prose') last.raw += raw;
      else parts.push({ kind: 'prose', raw, fence });
      continue;
    }
    if (closing.exec(raw)?.[1]!.startsWith(fence)) fence = null;
    if (last?.kind === 'code' && raw.endsWith('\n')) Object.assign(last, { raw: last.raw + raw, fence });
    else parts.push({ kind: 'code', raw, fence });
  }
  return parts;
}

/** Whether a line of the text opens a block. */
export const opensCode = (text: string): boolean => linesOf(text).some((line) => opening.test(line));

/** The lines with their line breaks. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/gu) ?? [];

/** What the document is made of: the last answer to each question, with the run that gave it. A run that asks some questions leaves the others as they were. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Result } from './result.ts';

const path = fileURLToPath(new URL('../performance.json', import.meta.url));

/** The runs of which an answer still stands, the oldest first, and the new one behind them. */
export function withNew(kept: readonly Result[], result: Result): Result[] {
  const anew = new Set(result.answers.map(({ question }) => question));
  const left = kept.map((one) => ({ ...one, answers: one.answers.filter(({ question }) => !anew.has(question)) }));
  return [...left.filter(({ answers }) => answers.length > 0), result];
}

export const readKept = async (): Promise<Result[]> => JSON.parse(await readFile(path, 'utf8')) as Result[];

/** A row a line, and no more digits than mean something, so that a change can be read. */
export async function writeKept(kept: readonly Result[]): Promise<void> {
  const text = JSON.stringify(kept, (_, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(6)) : value), 1).replace(/\{\n\s+"contender"[^{}]*\}/g, (row) => row.replace(/\n\s+/g, ' '));
  await writeFile(path, `${text}\n`);
}

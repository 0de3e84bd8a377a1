/** The data of the document: the last answer to each question, with the run that gave it. A run that asks some questions leaves the others as they were. */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Result } from './result.ts';

const path = fileURLToPath(new URL('../performance.json', import.meta.url));

/** The runs with an answer that is still the last, the oldest first, then the new run. */
export function withNew(kept: readonly Result[], result: Result): Result[] {
  const anew = new Set(result.answers.map(({ question }) => question));
  const left = kept.map((one) => ({ ...one, answers: one.answers.filter(({ question }) => !anew.has(question)) }));
  return [...left.filter(({ answers }) => answers.length > 0), result];
}

export const readKept = async (): Promise<Result[]> => JSON.parse(await readFile(path, 'utf8')) as Result[];

/** Writes a row a line, with significant digits only, so that a diff can be read. */
export async function writeKept(kept: readonly Result[]): Promise<void> {
  const text = JSON.stringify(kept, (_, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(6)) : value), 1).replace(/\{\n\s+"contender"[^{}]*\}/g, (row) => row.replace(/\n\s+/g, ' '));
  await writeFile(path, `${text}\n`);
}

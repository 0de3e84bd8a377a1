/**
 * The data of the document: the last answer to each question on each major version of Node, with the run that gave it,
 * and what the goals need of earlier runs. A run that asks some questions leaves the others as they were.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Question } from './question.ts';
import { nodeOf, type Result } from './result.ts';
import { pastOf, withPast, type PastRun } from './series.ts';

const path = fileURLToPath(new URL('../performance.json', import.meta.url));

export interface Kept {
  /** The runs with an answer that is still the last, in the order in which they were made. */
  readonly runs: readonly Result[];
  /** The last runs of each question, the oldest first. */
  readonly past: readonly PastRun[];
}

/** Adds the new run, whose answers replace older ones on the same major version of Node. */
export function withNew(kept: Kept, result: Result, questions: readonly Question[]): Kept {
  const anew = new Set(result.answers.map(({ question }) => question));
  const isReplaced = (one: Result, question: string): boolean => nodeOf(one) === nodeOf(result) && anew.has(question);
  const left = kept.runs.map((one) => ({
    ...one,
    answers: one.answers.filter(({ question }) => !isReplaced(one, question)),
  }));
  return {
    runs: [...left.filter(({ answers }) => answers.length > 0), result],
    past: withPast(kept.past, pastOf(result, questions)),
  };
}

export const readKept = async (): Promise<Kept> => JSON.parse(await readFile(path, 'utf8')) as Kept;

/** Writes a row or a goal's figure a line, with significant digits only, so that a diff can be read. */
export async function writeKept(kept: Kept): Promise<void> {
  const text = JSON.stringify(
    kept,
    (_, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(6)) : value),
    1,
  ).replace(/\{\n\s+"(?:contender|figure)"[^{}]*\}/g, (row) => row.replace(/\n\s+/g, ' '));
  await writeFile(path, `${text}\n`);
}

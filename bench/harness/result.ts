/** The result file of a benchmark run. */
import type { MachineFacts } from './machine.ts';
import type { Size } from './question.ts';
import type { RulerName } from './ruler.ts';
import type { Answer } from './runner.ts';

/**
 * Whether the rounds' own figures are unknown: a median of ratios cannot be computed from medians, so no goal is judged
 * by them.
 */
export const hasMediansAlone = ({ rounds, answers }: Result): boolean =>
  rounds > 1 && answers.every(({ rows }) => rows.every(({ samples }) => samples.length === 1));

/** The major version of Node that a run was made on, as `24`. */
export const nodeOf = ({ machine }: Pick<Result, 'machine'>): string => machine.node.slice(1).split('.')[0]!;

export interface Result {
  readonly size: Size;
  readonly rounds: number;
  readonly ruler: RulerName;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly machine: MachineFacts;
  readonly answers: readonly Answer[];
}

/** What a run of the benchmarks leaves behind. */
import type { MachineFacts } from './machine.ts';
import type { Size } from './question.ts';
import type { Answer } from './runner.ts';

export interface Result {
  readonly size: Size;
  readonly rounds: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly machine: MachineFacts;
  readonly answers: readonly Answer[];
}

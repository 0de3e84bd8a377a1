/** What a run of the benchmarks leaves behind. */
import type { MachineFacts } from './machine.ts';
import type { Size } from './question.ts';
import type { RulerName } from './ruler.ts';
import type { Answer } from './runner.ts';

export interface Result {
  readonly size: Size;
  readonly rounds: number;
  readonly ruler: RulerName;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly machine: MachineFacts;
  readonly answers: readonly Answer[];
}

/** Faults put in on purpose, to see that the checker finds them. */
import type { Perform } from './store.ts';
import type { Mode } from './world.ts';

export interface Bug {
  /** Where it shows. */
  readonly mode: Mode;
  /** The rules of the checker that it breaks: one of these finds it. */
  readonly breaks: readonly string[];
  /** Stands before the store; `given` are the step's arguments before the server's clock was put in. */
  readonly steps?: (next: Perform, call: { readonly host: string; readonly given: readonly any[] }) => Perform;
  /** An append is answered before it is stored. */
  readonly answersEarly?: boolean;
}

/** A question that the benchmarks answer, as data; the runner does the common work. */
import type { Contender, Instance, Surroundings } from './contender.ts';

/** Full is for published figures, quick answers in about a minute, smoke only shows that it runs. */
export type Size = 'full' | 'quick' | 'smoke';

export interface Figure {
  readonly name: string;
  readonly unit: string;
}

/** One row of the answer. */
export interface Pick {
  readonly contender: string;
  readonly case: string;
  readonly figure: string;
}

/**
 * The project's goal for a row: for its median, or for the median over the rounds of its ratio or difference to another
 * row.
 */
export interface Goal {
  readonly text: string;
  readonly of: Pick;
  readonly kind: 'value' | 'ratio' | 'difference';
  readonly against?: Pick;
  /** Either this bound or `least`. */
  readonly most?: number;
  readonly least?: number;
  /** Rounds count in which this figure of the same contender and case is below so much. */
  readonly when?: { readonly figure: string; readonly below: number };
  /** The reason, where the goal is missed. */
  readonly obstacle?: string;
  /** Wanted, but missing it is no failure. */
  readonly stretch?: boolean;
  /** A ratio in plain words: the parts of a sentence before and after its figure. */
  readonly inWords?: readonly [before: string, after: string];
  /** Name of what is measured, for people: a goal with one has a row in the summary. */
  readonly headline?: string;
}

export interface Measurement {
  readonly instance: Instance;
  readonly contender: string;
  readonly case: string;
  readonly size: Size;
  /** From 0; -1 while warming up. */
  readonly round: number;
  readonly surroundings: Surroundings;
}

export interface Question {
  readonly name: string;
  readonly title: string;
  /** The method of measurement, in a sentence or two. */
  readonly method: string;
  readonly figures: readonly Figure[];
  readonly contenders: readonly Contender[];
  readonly goals: readonly Goal[];
  /** Times that show in each case how quiet the host of a run was: the smaller, the quieter. */
  readonly yardstick?: Omit<Pick, 'case'>;
  cases(size: Size): readonly string[];
  /** Whether the contender takes part in the case; all do unless this says otherwise. */
  takes?(contender: Contender, name: string): boolean;
  /** True if each measurement has a new server, which is not warmed up. */
  readonly fresh?: boolean;
  /**
   * Number of runs before it counts, one by default. A thousand turns are too few for V8 to have compiled the code of a
   * turn.
   */
  readonly warmUps?: number;
  /** The cases that warm a server, in turn; the last case alone unless told. */
  readonly warmedBy?: readonly string[];
  /** The figures by name. */
  measure(measurement: Measurement): Promise<Readonly<Record<string, number>>>;
}

/** Goals on one row each, all against the floor. */
export const pick = (contender: string, name: string, figure: string): Pick => ({ contender, case: name, figure });

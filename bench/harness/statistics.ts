/** Statistics over many samples. */
import type { Goal, Pick } from './question.ts';
import { loadCore, loadCoreMost } from './window.ts';

/** The value below which the share lies, between two samples where it falls between them; NaN of none. */
export function quantile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return below === undefined || above === undefined ? NaN : below + (above - below) * (at - Math.floor(at));
}

export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

/** The samples of one row, a round each; null where the round gave none. */
export interface Row extends Pick {
  readonly unit: string;
  readonly samples: (number | null)[];
}

export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export const spreadOf = (samples: readonly (number | null)[]): Spread => {
  const given = samples.filter((one) => one !== null);
  return { median: median(given), least: Math.min(...given), most: Math.max(...given) };
};

/** Two rows compared round by round, because what disturbs one measurement mostly disturbs its neighbour too. */
export function paired(row: Row, other: Row, compare: (a: number, b: number) => number): Spread {
  const pairs = row.samples.flatMap((one, round) => {
    const against = other.samples[round];
    return one === null || against === null || against === undefined ? [] : [compare(one, against)];
  });
  return spreadOf(pairs);
}

export interface Judged {
  readonly goal: Goal;
  readonly spread: Spread;
  readonly met: boolean;
  /** One of its rows is crowded. */
  readonly crowded: boolean;
}

export const rowOf = (rows: readonly Row[], wanted: Pick): Row | undefined =>
  rows.find((row) => row.contender === wanted.contender && row.case === wanted.case && row.figure === wanted.figure);

/**
 * Whether the load, the provider and the database had little room on their core while the row was measured: they may be
 * part of the figure.
 */
export function isCrowded(rows: readonly Row[], { contender, case: name, figure }: Pick): boolean {
  const share = rowOf(rows, { contender, case: name, figure: loadCore.name });
  return share !== undefined && figure !== loadCore.name && spreadOf(share.samples).median > loadCoreMost;
}

/** Whether a figure meets the bound. */
export const meets = ({ most = Infinity, least = -Infinity }: Goal, value: number): boolean =>
  value <= most && value >= least;

/** The row without the rounds in which the goal does not apply. */
function whereItApplies({ of, when }: Goal, row: Row, rows: readonly Row[]): Row {
  if (when === undefined) return row;
  const limited = rowOf(rows, { ...of, figure: when.figure });
  return {
    ...row,
    samples: row.samples.map((one, round) => ((limited?.samples[round] ?? Infinity) < when.below ? one : null)),
  };
}

/** Judges a goal; null if one of its rows was not measured, or no round counts. */
export function judge(goal: Goal, rows: readonly Row[]): Judged | null {
  const measured = rowOf(rows, goal.of);
  const other = goal.against && rowOf(rows, goal.against);
  if (measured === undefined || (goal.kind !== 'value' && other === undefined)) return null;
  const row = whereItApplies(goal, measured, rows);
  const spread =
    goal.kind === 'value'
      ? spreadOf(row.samples)
      : paired(row, other!, goal.kind === 'ratio' ? (a, b) => a / b : (a, b) => a - b);
  if (Number.isNaN(spread.median)) return null;
  const crowded = [goal.of, goal.against].some((one) => one !== undefined && isCrowded(rows, one));
  return { goal, spread, crowded, met: meets(goal, spread.median) };
}

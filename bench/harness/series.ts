/**
 * The figures of a goal over several runs. A ratio depends on the host, since the kernel's work and our own code slow
 * down differently: so a goal is met if it holds in the quietest run.
 */
import { plain } from '../contenders/simple.ts';
import type { Goal, Pick, Question, Size } from './question.ts';
import { hasMediansAlone, nodeOf, type Result } from './result.ts';
import type { RulerName } from './ruler.ts';
import { judge, meets, paired, rowOf, spreadOf, type Judged, type Row } from './statistics.ts';

/** One goal's figure in one run. */
export interface PastFigure {
  readonly figure: string;
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** The median of the question's yardstick in the same case, in microseconds. */
  readonly yardstick?: number;
  /** The row's ratio to node:http + fetch, the median of the rounds. */
  readonly plain?: number;
  readonly crowded?: true;
}

/** The figures that the goals of a question need of a run; they outlast its answer. */
export interface PastRun {
  readonly question: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly kernel: string;
  /** The major version of Node, as `24`. */
  readonly node: string;
  readonly ruler: RulerName;
  readonly size: Size;
  readonly figures: readonly PastFigure[];
}

/** Earlier runs that are kept of a question, by one ruler, of one size and on one major version of Node. */
export const pastMost = 8;

/** Days or hosts that a verdict needs. */
export const placesLeast = 3;

const signs: Readonly<Record<Goal['kind'], string>> = { value: '', ratio: ' / ', difference: ' - ' };
const picked = ({ contender, case: name, figure }: Pick): string => `${contender}: ${name}: ${figure}`;

/** Names a goal's figure, for any bound. */
export function figureOf({ of, kind, against, when }: Goal): string {
  const compared = against === undefined ? '' : `${signs[kind]}${picked(against)}`;
  return `${picked(of)}${compared}${when === undefined ? '' : ` while ${when.figure} < ${when.below}`}`;
}

const microsecondsIn: Readonly<Record<string, number>> = { µs: 1, ms: 1000 };

function yardstickOf({ yardstick }: Question, { of }: Goal, rows: readonly Row[]): number | undefined {
  const row = yardstick && rowOf(rows, { ...yardstick, case: of.case });
  return row && spreadOf(row.samples).median * microsecondsIn[row.unit]!;
}

function ratioToPlain({ of, against }: Goal, rows: readonly Row[]): number | undefined {
  const [row, other] = [rowOf(rows, of), rowOf(rows, { ...of, contender: plain.name })];
  if (row === undefined || other === undefined || against?.contender === plain.name) return undefined;
  const { median } = paired(row, other, (a, b) => a / b);
  return Number.isNaN(median) ? undefined : median;
}

function figureIn(question: Question, { goal, spread, crowded }: Judged, rows: readonly Row[]): PastFigure {
  const [yardstick, ratio] = [yardstickOf(question, goal, rows), ratioToPlain(goal, rows)];
  return {
    figure: figureOf(goal),
    ...spread,
    ...(yardstick !== undefined && { yardstick }),
    ...(ratio !== undefined && { plain: ratio }),
    ...(crowded && { crowded }),
  };
}

/**
 * Takes from a run what is to be kept of it, for each question: nothing of a smoke run or of one with medians alone.
 */
export function pastOf(run: Result, questions: readonly Question[]): PastRun[] {
  const {
    startedAt,
    machine: { kernel },
    ruler,
    size,
  } = run;
  if (size === 'smoke' || hasMediansAlone(run)) return [];
  return run.answers.flatMap(({ question: name, rows }) => {
    const question = questions.find((one) => one.name === name);
    if (question === undefined) return [];
    const figures = new Map(
      question.goals
        .flatMap((goal) => judge(goal, rows) ?? [])
        .map((judged) => [figureOf(judged.goal), figureIn(question, judged, rows)]),
    );
    return [{ question: name, startedAt, kernel, node: nodeOf(run), ruler, size, figures: [...figures.values()] }];
  });
}

const isSameSeries = (a: PastRun, b: PastRun): boolean =>
  a.question === b.question && a.node === b.node && a.ruler === b.ruler && a.size === b.size;

/** Adds runs, and forgets the oldest of each series beyond `pastMost`. */
export function withPast(past: readonly PastRun[], added: readonly PastRun[]): PastRun[] {
  const all = [
    ...past.filter((one) => !added.some((other) => isSameSeries(one, other) && one.startedAt === other.startedAt)),
    ...added,
  ];
  return all.filter((one, at) => all.slice(at + 1).filter((later) => isSameSeries(one, later)).length < pastMost);
}

/** State of a goal over the runs of a series. */
export interface Standing {
  readonly goal: Goal;
  /** Null where the last run has no such figure. */
  readonly last: PastFigure | null;
  readonly runs: number;
  /** Number of different days or hosts of the runs. */
  readonly places: number;
  /** The least and the most of the runs' medians. */
  readonly least: number;
  readonly most: number;
  /** Figure of the run with the least yardstick; of the last run if none has a yardstick. */
  readonly quietest: PastFigure;
  /** Whether the goal holds in the quietest run. */
  readonly met: boolean;
}

/** The runs of the series of a question's last run, this one included, the oldest first. */
export function seriesOf(question: Question, run: Result, past: readonly PastRun[]): PastRun[] {
  const [last] = pastOf(run, [question]);
  if (last === undefined) return [];
  return withPast(
    past.filter((one) => isSameSeries(one, last)),
    [last],
  );
}

/** Returns the states of a question's goals; goals without a figure in any run are left out. */
export const standingsOf = (question: Question, series: readonly PastRun[]): Standing[] =>
  question.goals.flatMap((goal) => {
    const name = figureOf(goal);
    const found = series.flatMap((run) =>
      run.figures.filter(({ figure }) => figure === name).map((figure) => ({ run, figure })),
    );
    const [newest] = found.slice(-1);
    if (newest === undefined) return [];
    const figures = found.map(({ figure }) => figure);
    const medians = figures.map(({ median }) => median);
    const measured = figures
      .filter(({ yardstick }) => yardstick !== undefined)
      .toSorted((a, b) => a.yardstick! - b.yardstick!);
    const quietest = measured[0] ?? newest.figure;
    const places = new Set(found.map(({ run: { startedAt, kernel } }) => `${startedAt.slice(0, 10)} ${kernel}`)).size;
    const last = newest.run === series.at(-1) ? newest.figure : null;
    return [
      {
        goal,
        last,
        runs: found.length,
        places,
        least: Math.min(...medians),
        most: Math.max(...medians),
        quietest,
        met: meets(goal, quietest.median),
      },
    ];
  });

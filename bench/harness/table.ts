/** The result as a table for a terminal. */
import type { Goal, Question } from './question.ts';
import { hasMediansAlone, type Result } from './result.ts';
import type { Absence, Answer } from './runner.ts';
import { isCrowded, judge, spreadOf, type Judged, type Row } from './statistics.ts';
import { loadCoreMost } from './window.ts';

/** A number with its significant digits. */
export const shown = (value: number): string => {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
};

/** The mark behind figures measured while the load had little room, and before its explanation. */
const mark = '†';
export const markTold = `${mark} Measured while the load, the provider and Redis used more than ${loadCoreMost} % of their core: part of it may be theirs.`;
export const marked = (text: string, crowded: boolean): string => (crowded ? `${text} ${mark}` : text);

/** The median of a row, marked where the load had little room. */
export const medianTold = (rows: readonly Row[], row: Row): string =>
  marked(shown(spreadOf(row.samples).median), isCrowded(rows, row));

/** Returns the language of load and provider in words. */
export const rulerTold = ({ ruler }: Pick<Result, 'ruler'>): string => `load and provider in ${ruler}`;

export interface QuestionTold {
  readonly question: Question;
  readonly answer: Answer;
  readonly judged: readonly Judged[];
}

/**
 * Returns the answers with their questions, and the outcomes of the goals; a smoke run, or one with medians alone, has
 * no outcomes.
 */
export const toldOf = (result: Result, questions: readonly Question[]): QuestionTold[] =>
  result.answers.flatMap((answer) => {
    const question = questions.find(({ name }) => name === answer.question);
    return question === undefined
      ? []
      : {
          question,
          answer,
          judged:
            result.size === 'smoke' || hasMediansAlone(result)
              ? []
              : question.goals.flatMap((goal) => judge(goal, answer.rows) ?? []),
        };
  });

/** The sign behind a ratio. */
export const timesOf = ({ kind }: Goal): string => (kind === 'ratio' ? ' ×' : '');

export const goalValue = (
  goal: Goal,
  { median, crowded = false }: { readonly median: number; readonly crowded?: boolean },
): string => marked(`${shown(median)}${timesOf(goal)}`, crowded);

export const outcome = ({ stretch }: Goal, met: boolean): string => (met ? 'met' : stretch ? 'not yet' : 'MISSED');

/** A goal's figure, its spread over the rounds, and the word for its outcome. */
export function verdict({ goal, spread, met, crowded }: Judged): { value: string; range: string; word: string } {
  return {
    value: goalValue(goal, { median: spread.median, crowded }),
    range: spread.least === spread.most ? '–' : `${shown(spread.least)} – ${shown(spread.most)}`,
    word: outcome(goal, met),
  };
}

/** The contenders that took no part, a line for each reason. */
export function absencesOf(absent: readonly Absence[]): string[] {
  const reasons = new Map<string, Set<string>>();
  for (const { contender, reason } of absent) {
    const short = reason.split('\n')[0]!.replace(/\.$/, '');
    reasons.set(short, (reasons.get(short) ?? new Set()).add(contender));
  }
  return [...reasons].map(([reason, names]) => `without ${[...names].join(', ')}: ${reason}`);
}

export function tableOf(told: readonly QuestionTold[], { ruler }: Pick<Result, 'ruler'>): string {
  const parts = told.map(({ question, answer, judged }) => {
    const rows = answer.rows.map((row) => {
      const { least, most } = spreadOf(row.samples);
      return [
        row.case,
        row.figure,
        row.contender,
        `${medianTold(answer.rows, row)} ${row.unit}`.trim(),
        `${shown(least)} – ${shown(most)}`,
      ];
    });
    rows.sort((a, b) => order(question, a) - order(question, b));
    const goals = judged.map((one) => {
      const { value, range, word } = verdict(one);
      return [word, one.goal.text, value, range];
    });
    const absent = absencesOf(answer.absent)
      .map((line) => `  ${line}\n`)
      .join('');
    return `\n${question.title}\n${columns(rows, [3, 4])}${absent}${goals.length > 0 ? `\n${columns(goals, [2, 3])}` : ''}`;
  });
  const text = parts.join('');
  return `${text}\n${rulerTold({ ruler })}\n${text.includes(mark) ? `${markTold}\n` : ''}`;
}

/** Sorts rows that are compared next to each other. */
function order(question: Question, [name, figure]: readonly string[]): number {
  const cases = question.cases('full');
  const at = cases.indexOf(name!) < 0 ? cases.length : cases.indexOf(name!);
  return question.figures.findIndex((one) => one.name === figure) * 100 + at;
}

function columns(rows: readonly (readonly string[])[], right: readonly number[]): string {
  const widths = rows.reduce<number[]>(
    (so, row) => row.map((cell, index) => Math.max(so[index] ?? 0, cell.length)),
    [],
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, index) => (right.includes(index) ? cell.padStart(widths[index]!) : cell.padEnd(widths[index]!)))
      .join('  ');
  return rows.map((row) => `  ${line(row).trimEnd()}\n`).join('');
}

/** The result as a table for a terminal. */
import type { Question } from './question.ts';
import type { Result } from './result.ts';
import type { Absence, Answer } from './runner.ts';
import { judge, spreadOf, type Judged } from './statistics.ts';

/** A number with the digits that mean something. */
export const shown = (value: number): string => {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
};

export interface QuestionTold {
  readonly question: Question;
  readonly answer: Answer;
  readonly judged: readonly Judged[];
}

/** The answers with the questions that they belong to, and what came of the goals, of which a smoke run says nothing. */
export const toldOf = (result: Result, questions: readonly Question[]): QuestionTold[] =>
  result.answers.map((answer) => {
    const question = questions.find(({ name }) => name === answer.question)!;
    return { question, answer, judged: result.size === 'smoke' ? [] : question.goals.flatMap((goal) => judge(goal, answer.rows) ?? []) };
  });

/** A goal's figure, its spread over the rounds, and the word for what came of it. */
export function verdict({ goal, spread, met }: Judged): { value: string; range: string; word: string } {
  const mark = goal.kind === 'ratio' ? ' ×' : '';
  return { value: `${shown(spread.median)}${mark}`, range: `${shown(spread.least)} – ${shown(spread.most)}`, word: met ? 'met' : goal.stretch ? 'not yet' : 'MISSED' };
}

/** Who took no part, a line for each reason. */
export function absencesOf(absent: readonly Absence[]): string[] {
  const reasons = new Map<string, Set<string>>();
  for (const { contender, reason } of absent) {
    const short = reason.split('\n')[0]!.replace(/\.$/, '');
    reasons.set(short, (reasons.get(short) ?? new Set()).add(contender));
  }
  return [...reasons].map(([reason, names]) => `without ${[...names].join(', ')}: ${reason}`);
}

export function tableOf(told: readonly QuestionTold[]): string {
  const parts = told.map(({ question, answer, judged }) => {
    const rows = answer.rows.map((row) => {
      const { median, least, most } = spreadOf(row.samples);
      return [row.case, row.figure, row.contender, `${shown(median)} ${row.unit}`.trim(), `${shown(least)} – ${shown(most)}`];
    });
    rows.sort((a, b) => order(question, a) - order(question, b));
    const goals = judged.map((one) => {
      const { value, range, word } = verdict(one);
      return [word, one.goal.text, value, range];
    });
    const absent = absencesOf(answer.absent).map((line) => `  ${line}\n`).join('');
    return `\n${question.title}\n${columns(rows, [3, 4])}${absent}${goals.length > 0 ? `\n${columns(goals, [2, 3])}` : ''}`;
  });
  return parts.join('');
}

/** Rows that are to be compared stand together. */
function order(question: Question, [name, figure]: readonly string[]): number {
  const cases = question.cases('full');
  const at = cases.indexOf(name!) < 0 ? cases.length : cases.indexOf(name!);
  return question.figures.findIndex((one) => one.name === figure) * 100 + at;
}

function columns(rows: readonly (readonly string[])[], right: readonly number[]): string {
  const widths = rows.reduce<number[]>((so, row) => row.map((cell, index) => Math.max(so[index] ?? 0, cell.length)), []);
  const line = (row: readonly string[]): string => row.map((cell, index) => (right.includes(index) ? cell.padStart(widths[index]!) : cell.padEnd(widths[index]!))).join('  ');
  return rows.map((row) => `  ${line(row).trimEnd()}\n`).join('');
}

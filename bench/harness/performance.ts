/** `docs/performance.md`: the goals with the figures of each question's last run, the goals missed, and the contenders. */
import type { Contender } from './contender.ts';
import { hasMediansAlone, type Result } from './result.ts';
import type { Judged } from './statistics.ts';
import { absencesOf, markTold, medianTold, rulerTold, shown, toldOf, verdict, type QuestionTold } from './table.ts';
import type { Question } from './question.ts';

const escaped = (text: string): string => text.replaceAll('|', '\\|');
const line = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |\n`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => line(head) + line(head.map(() => '---')) + rows.map(line).join('');

/** A question, and the run that answered it. */
interface Section extends QuestionTold {
  readonly run: Result;
}

const dayOf = ({ startedAt }: Result): string => startedAt.slice(0, 10);

function goalsOf(told: readonly QuestionTold[]): string {
  const rows = told.flatMap(({ question, judged }) =>
    judged.map((one) => {
      const { value, range, word } = verdict(one);
      return [question.name, one.goal.text + (one.goal.stretch ? ' (stretch)' : ''), value, range, word.toLowerCase()];
    }),
  );
  return table(['question', 'goal', 'median', 'least – most of the rounds', ''], rows);
}

function shortfallsOf(told: readonly Section[]): string {
  const missed = told.flatMap(({ judged }) => judged.filter(({ met }) => !met));
  const unanswered = told.flatMap(({ question, judged, run }) =>
    question.goals.filter((goal) => !judged.some((one) => one.goal === goal)).map((goal) => `- ${hasMediansAlone(run) ? 'not measured with every round kept' : 'not measured'}: ${goal.text}\n`),
  );
  const absent = absencesOf(told.flatMap(({ answer }) => [...answer.absent, ...answer.failures])).map((line) => `- measured ${line}\n`);
  const lines = [...missed.map(shortfall), ...unanswered, ...absent];
  return lines.length === 0 ? 'Nothing.\n' : lines.join('');
}

function shortfall(one: Judged): string {
  const { text, stretch, obstacle } = one.goal;
  return `- ${text}${stretch ? ' (stretch)' : ''}: ${verdict(one).value}${obstacle === undefined ? '' : `. ${obstacle}`}\n`;
}

/** A table for each question: a line for each case and contender, a column for each figure. */
function figuresOf({ question, answer, run }: Section): string {
  const figures = question.figures.filter(({ name }) => answer.rows.some((row) => row.figure === name));
  const rows = question.cases('full').flatMap((name) =>
    question.contenders.flatMap((contender) => {
      const found = answer.rows.filter((row) => row.case === name && row.contender === contender.name);
      if (found.length === 0) return [];
      const cells = figures.map((figure) => {
        const row = found.find((one) => one.figure === figure.name);
        return row === undefined ? '' : medianTold(answer.rows, row);
      });
      return [[name, contender.name, ...cells]];
    }),
  );
  const head = ['case', 'contender', ...figures.map(({ name, unit }) => (unit === '' ? name : `${name} (${unit})`))];
  return `### ${question.title}\n\n${question.method}\n\n${table(head, rows)}\nRun: ${dayOf(run)}, ${rulerTold(run)}.\n`;
}

function contendersOf(told: readonly QuestionTold[]): string {
  const seen = new Set<Contender>();
  const lines: string[] = [];
  for (const { question } of told) {
    for (const contender of question.contenders) {
      if (!seen.has(contender)) lines.push(`- **${contender.name}** (${question.name}): ${contender.note}\n`);
      seen.add(contender);
    }
  }
  return lines.join('');
}

function runOf(run: Result): string {
  const { machine, rounds, size, answers } = run;
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`).join(', ');
  return `- ${dayOf(run)}: ${answers.map(({ question }) => question).join(', ')}; size ${size}, ${rounds} ${rounds === 1 ? 'round' : 'rounds'}${hasMediansAlone(run) ? ', whose medians alone were kept' : ''}, ${rulerTold(run)}.
  ${machine.processor}, ${machine.cores} cores, ${machine.memoryGigabytes} GB, ${machine.kernel}; load ${shown(machine.load)} at the end; ${machine.placement};
  Node ${machine.node}, ${versions}.
`;
}

/** `runs`: the runs with an answer that is still the last, in the order in which they were made. */
export function performanceOf(runs: readonly Result[], questions: readonly Question[]): string {
  const found = runs.flatMap((run) => toldOf(run, questions).map((told): Section => ({ ...told, run })));
  const told = questions.flatMap((question) => found.filter((one) => one.question === question));
  return `# Performance

What events, turns, streams and sessions cost here, against goals and beside other servers. [parley](../README.md) › performance

Written by \`npm run bench -- --write\`; no figure is typed by hand, but why a goal is missed is. A run may ask some of the questions: the others stay as their last run
found them. CPU time is user and system time of the server with its threads and children, as the operating system counts it. Contenders take turns over the rounds
after warm-ups that are thrown away; figures are medians, and a ratio is the median of the rounds' own ratios, because what disturbs one measurement mostly
disturbs its neighbour too.

The ruler: with "load and provider in C" clients and provider are small programs (\`bench/native\`), the provider answers in one write unless a case says otherwise, and F writes once for each read: a lower F, so higher ratios than by the ruler in Node before. Since 24 November 2026 each pass over a turn's clients has conversations of its own, and for the first text a server is warmed by each way of asking.

${markTold}

${runs.map(runOf).join('')}
## Goals

F is the floor: the least that relaying a stream costs here (\`bench/floor.ts\`).

${goalsOf(told)}
## What falls short

${shortfallsOf(told)}
## Figures

${told.map(figuresOf).join('\n')}
## Who was measured

${contendersOf(told)}`;
}

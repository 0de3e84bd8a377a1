/**
 * `docs/performance.md`: the goals over the runs, the goals missed, the figures of each question's last run, and the
 * contenders.
 */
import { floor, plain } from '../contenders/simple.ts';
import type { Contender } from './contender.ts';
import type { Kept } from './kept.ts';
import type { Goal, Question } from './question.ts';
import { hasMediansAlone, nodeOf, type Result } from './result.ts';
import {
  pastMost,
  placesLeast,
  seriesOf,
  standingsOf,
  type PastFigure,
  type PastRun,
  type Standing,
} from './series.ts';
import {
  absencesOf,
  goalValue,
  marked,
  markTold,
  medianTold,
  outcome,
  rulerTold,
  shown,
  timesOf,
  toldOf,
  type QuestionTold,
} from './table.ts';

const escaped = (text: string): string => text.replaceAll('|', '\\|');
const line = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |\n`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  line(head) + line(head.map(() => '---')) + rows.map(line).join('');

/** The major version of Node that is recommended: the goals are judged by its runs, once there are any. */
const recommendedNode = '24';

/** A question, the run that answered it, and how its goals stand over this run and those before. */
interface Section extends QuestionTold {
  readonly run: Result;
  readonly series: readonly PastRun[];
  readonly standings: readonly Standing[];
}

const dayOf = ({ startedAt }: Result): string => startedAt.slice(0, 10);

const goalTold = ({ text, stretch }: Goal): string => text + (stretch ? ' (stretch)' : '');

/** A run's yardstick, named where it is not F. */
const yardstickTold = ({ yardstick }: Question, figure: PastFigure | null): string =>
  figure?.yardstick === undefined
    ? ''
    : `${yardstick!.contender === floor.name ? '' : `${yardstick!.contender} `}${shown(figure.yardstick)}`;

function rangeTold({ goal, runs, least, most }: Standing): string {
  return runs === 1 ? '' : `${shown(least)} – ${shown(most)}${timesOf(goal)}`;
}

function verdictTold({ goal, met, places }: Standing): string {
  const word = outcome(goal, met).toLowerCase();
  return places < placesLeast ? `${word} (${places} of ${placesLeast} days or hosts)` : word;
}

function goalRow({ question, run }: Section, standing: Standing): string[] {
  const node = nodeOf(run);
  const { goal, last, runs, places, quietest } = standing;
  const toPlain = last?.plain === undefined ? '' : `${shown(last.plain)} ×`;
  const lastTold = last === null ? 'not measured' : goalValue(goal, last);
  return [
    question.name,
    node,
    goalTold(goal),
    lastTold,
    yardstickTold(question, last),
    toPlain,
    rangeTold(standing),
    `${runs} (${places})`,
    goalValue(goal, quietest),
    yardstickTold(question, quietest),
    verdictTold(standing),
  ];
}

const goalsOf = (told: readonly Section[]): string =>
  table(
    [
      'question',
      'Node',
      'goal',
      'last run',
      'its F (µs)',
      `to ${plain.name}`,
      'over the runs',
      'runs (days or hosts)',
      'quietest run',
      'its F (µs)',
      '',
    ],
    told.flatMap((section) => section.standings.map((standing) => goalRow(section, standing))),
  );

const unitTold = (question: Question, { kind, of }: Goal): string => {
  const unit = question.figures.find(({ name }) => name === of.figure)?.unit ?? '';
  return kind === 'ratio' ? ' ×' : unit === '' || unit.startsWith('/') ? unit : ` ${unit}`;
};

/** The figure of the quietest run, with its unit. */
const measuredTold = (question: Question, { goal, quietest }: Standing): string =>
  marked(`${shown(quietest.median)}${unitTold(question, goal)}`, quietest.crowded ?? false);

const boundTold = (question: Question, goal: Goal): string =>
  `${goal.most === undefined ? `≥ ${shown(goal.least!)}` : `≤ ${shown(goal.most)}`}${unitTold(question, goal)}`;

/** The figure of a goal on one version of Node; empty where it was not measured. */
function measuredOn(node: string, { goal }: Standing, sections: readonly Section[]): string {
  for (const { question, run, standings } of sections) {
    const found = standings.find((one) => one.goal === goal);
    if (found !== undefined && nodeOf(run) === node) return measuredTold(question, found);
  }
  return '';
}

/** The goals that have a headline, on each version of Node. `sections`: the answers of all runs. */
function summaryOf(told: readonly Section[], sections: readonly Section[]): string {
  const nodes = [...new Set(sections.map(({ run }) => nodeOf(run)))].toSorted().reverse();
  return table(
    ['what', ...nodes.map((node) => `Node ${node}`), 'goal', ''],
    told.flatMap(({ question, standings }) =>
      standings
        .filter(({ goal }) => goal.headline !== undefined)
        .map((standing) => [
          standing.goal.headline!,
          ...nodes.map((node) => measuredOn(node, standing, sections)),
          boundTold(question, standing.goal),
          verdictTold(standing),
        ]),
    ),
  );
}

/** The goals that have plain words, each as a sentence with the highest figure of all runs. */
const wordsOf = (told: readonly Section[]): string =>
  told
    .flatMap(({ standings }) => standings)
    .map(({ goal, runs, most, met }) => {
      if (goal.inWords === undefined) return '';
      const [before, after] = goal.inWords;
      const [bound, source] = runs === 1 ? ['', 'one run; '] : [' at most', ''];
      const verdict = outcome(goal, met).toLowerCase();
      return `- ${before}${bound} ${shown(most)} × ${after} (${source}goal: ${shown(goal.most!)} ×, ${verdict}).\n`;
    })
    .join('');

/** Returns the text about the runs of each question, with the goals over these runs. */
function seriesTold(told: readonly Section[]): string {
  const lines = told
    .filter(({ standings }) => standings.length > 0)
    .map(({ question, run, series }) => {
      const runs = series.map(({ startedAt, kernel }) => `${startedAt.slice(0, 16).replace('T', ' ')} on ${kernel}`);
      return `- ${question.name}, Node ${nodeOf(run)}: ${runs.join('; ')}\n`;
    });
  return lines.join('');
}

function shortfallsOf(told: readonly Section[]): string {
  const missed = told.flatMap(({ standings }) => standings.filter(({ met }) => !met));
  const unanswered = told.flatMap(({ question, standings, run }) =>
    question.goals
      .filter((goal) => !standings.some((one) => one.goal === goal))
      .map((goal) => `- ${whyUnanswered(goal, run)}: ${goal.text}\n`),
  );
  const absent = absencesOf(told.flatMap(({ answer }) => [...answer.absent, ...answer.failures])).map(
    (line) => `- measured ${line}\n`,
  );
  const lines = [...missed.map(shortfall), ...unanswered, ...absent];
  return lines.length === 0 ? 'Nothing.\n' : lines.join('');
}

const whyUnanswered = ({ when }: Goal, run: Result): string =>
  hasMediansAlone(run)
    ? 'not measured with every round kept'
    : when === undefined
      ? 'not measured'
      : `not measured with ${when.figure} below ${when.below}`;

const shortfall = ({ goal, quietest }: Standing): string =>
  `- ${goalTold(goal)}: ${goalValue(goal, quietest)}${goal.obstacle === undefined ? '' : `. ${goal.obstacle}`}\n`;

/** A table for each question: a line for each case and contender, a column for each figure. */
function figuresOf({ question, answer, run }: Section): string {
  const figures = question.figures.filter(({ name }) => answer.rows.some((row) => row.figure === name));
  // A run elsewhere may have had cases that this machine has not, for want of a package.
  const cases = new Set([...question.cases('full'), ...answer.rows.map((row) => row.case)]);
  const rows = [...cases].flatMap((name) =>
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
  return `### ${question.title}\n\n${question.method}\n\n${table(head, rows)}\nRun: ${dayOf(run)}, Node ${nodeOf(run)}, ${rulerTold(run)}.\n`;
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
  const versions = Object.entries(machine.versions)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
  return `- ${dayOf(run)}: ${answers.map(({ question }) => question).join(', ')}; size ${size}, ${rounds} ${rounds === 1 ? 'round' : 'rounds'}${hasMediansAlone(run) ? ', whose medians alone were kept' : ''}, ${rulerTold(run)}.
  ${machine.processor}, ${machine.cores} cores, ${machine.memoryGigabytes} GB, ${machine.kernel}; load ${shown(machine.load)} at the end; ${machine.placement};
  Node ${machine.node}, ${versions}.
`;
}

function sectionOf(told: QuestionTold, run: Result, past: readonly PastRun[]): Section {
  const series = seriesOf(told.question, run, past);
  return { ...told, run, series, standings: standingsOf(told.question, series) };
}

export function performanceOf({ runs, past }: Kept, questions: readonly Question[]): string {
  const sections = runs.flatMap((run) => toldOf(run, questions).map((told) => sectionOf(told, run, past)));
  const told = questions.flatMap((question) => {
    const answers = sections.filter((one) => one.question === question);
    return answers.find(({ run }) => nodeOf(run) === recommendedNode) ?? answers.at(-1) ?? [];
  });
  return `# Performance

What events, turns, streams and sessions cost here, against goals and beside other servers. [parley](../README.md) › performance

The figures are those of each question's quietest run, by the machine and the day named under
[How it is measured](#how-it-is-measured); the goals count on Node ${recommendedNode}, where it was measured. F is a
small relay by hand without keys, limits, store and log.

${summaryOf(told, sections)}
More: [goals](#goals) over all runs, [what falls short](#what-falls-short) and why, [figures](#figures) of each question,
[who was measured](#who-was-measured). What was measured and tried along the way: [performance notes](performance-notes.md).

## How it is measured

Written by \`npm run bench -- --write\`; no figure is typed by hand, but why a goal is missed is. A run may ask some of
the questions: the others stay as their last run found them. CPU time is user and system time of the server with its
threads and children, as the operating system counts it. Contenders take turns over the rounds after warm-ups that are
thrown away. Figures are medians, and a ratio is the median of the rounds' own ratios, because what disturbs one
measurement mostly disturbs its neighbour too.

The ruler: with "load and provider in C" clients and provider are small programs (\`bench/native\`), the provider answers
in one write unless a case says otherwise, and F writes once for each read: a lower F, so higher ratios than by the
ruler in Node before. Since 24 November 2026 each pass over a turn's clients has conversations of its own, and for the
first text a server is warmed by each way of asking.

${markTold}

${runs.map(runOf).join('')}
## Goals

F is the floor: the least that relaying a stream costs here (\`bench/floor.ts\`). A ratio to it depends on the host: the
floor is mostly the kernel's work, and that slows down differently from our own code. So each figure stands with what F
took in its run, in the goal's case (of the first text its p50; where there is no F, what is named), and next to the
same figure's ratio to ${plain.name}, which moves as we do. The range is that of the medians of the last runs with the
same ruler and of the same size, ${pastMost} at most. A goal is met if it holds in the quietest of them, that with the
least F, or in the last where nothing tells how quiet they were; ${placesLeast} different days or hosts make it certain.

In words, over all runs that are kept:

${wordsOf(told)}
A figure below 1 × means less CPU time than F. Under load the server joins the events of several reads into one write; F writes once for each read.

${goalsOf(told)}
The runs:

${seriesTold(told)}
## What falls short

${shortfallsOf(told)}
## Figures

${told.map(figuresOf).join('\n')}
## Who was measured

${contendersOf(told)}`;
}

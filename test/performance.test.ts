/** The goals of the benchmarks over several runs, and what is kept of these. */
import t from 'tap';
import { floor, plain } from '../bench/contenders/simple.ts';
import { machineFacts } from '../bench/harness/machine.ts';
import { readKept, withNew, type Kept } from '../bench/harness/kept.ts';
import { performanceOf } from '../bench/harness/performance.ts';
import type { Goal, Question } from '../bench/harness/question.ts';
import type { Result } from '../bench/harness/result.ts';
import type { RulerName } from '../bench/harness/ruler.ts';
import { pastMost, pastOf, seriesOf, standingsOf } from '../bench/harness/series.ts';
import { judge } from '../bench/harness/statistics.ts';
import { loadCore } from '../bench/harness/window.ts';
import { questions } from '../bench/questions.ts';

const of = { contender: 'a', case: 'c', figure: 'cost' };
const ratio: Goal = {
  text: 'a ≤ 7.0 F',
  kind: 'ratio',
  of,
  against: { ...of, contender: floor.name },
  most: 7,
  obstacle: 'It does more.',
  inWords: ['A reply takes', 'the time of F'],
};

const questionOf = (...goals: Goal[]): Question => ({
  ...questions[0]!,
  goals,
  cases: () => ['c'],
  figures: [{ name: 'cost', unit: 'ms' }, { name: 'use', unit: '%' }, loadCore],
  contenders: [floor, { ...floor, name: 'a' }, plain],
  yardstick: { contender: floor.name, figure: 'cost' },
});

interface Ran {
  readonly ruler?: RulerName;
  readonly kernel?: string;
  readonly node?: string;
  readonly plain?: number;
  readonly loadShare?: number;
}

/** A run that found these costs of the floor and of a, in milliseconds. */
function ran(
  startedAt: string,
  cost: { readonly F: number; readonly a: number },
  { ruler = 'C', kernel = 'Linux 1', node = 'v20.1.0', plain: plainly, loadShare = 10 }: Ran = {},
): Result {
  const row = (contender: string, value: number) => ({
    contender,
    case: 'c',
    figure: 'cost',
    unit: 'ms',
    samples: [value, value],
  });
  const rows = [
    row(floor.name, cost.F),
    row('a', cost.a),
    ...(plainly === undefined ? [] : [row(plain.name, plainly)]),
    { ...row('a', loadShare), figure: loadCore.name, unit: '%' },
  ];
  return {
    size: 'full',
    rounds: 2,
    ruler,
    startedAt,
    machine: { ...machineFacts(), kernel, node },
    answers: [{ question: questions[0]!.name, rows, absent: [], failures: [] }],
  };
}

const keep = (question: Question, ...runs: Result[]): Kept =>
  runs.reduce<Kept>((kept, run) => withNew(kept, run, [question]), { runs: [], past: [] });

t.test(
  'a goal holds if it does in the run whose floor cost least, and its figures over all runs stand beside it',
  async (t) => {
    const question = questionOf(ratio);
    const runs = [
      ran('2026-01-01T08:00:00Z', { F: 0.02, a: 0.16 }, { loadShare: 90 }),
      ran('2026-01-02T08:00:00Z', { F: 0.04, a: 0.22 }),
      ran('2026-01-03T08:00:00Z', { F: 0.05, a: 0.3 }, { plain: 0.75 }),
    ];
    const written = performanceOf(keep(question, ...runs), [question]);
    t.ok(
      written.includes('| a ≤ 7.0 F | 6.00 × | 50.0 | 0.40 × | 5.50 – 8.00 × | 3 (3) | 8.00 × † | 20.0 | missed |'),
      written,
    );
    t.ok(written.includes('\n- a ≤ 7.0 F: 8.00 × †. It does more.\n'), written);
    t.ok(
      written.includes(
        '- relay, Node 20: 2026-01-01 08:00 on Linux 1; 2026-01-02 08:00 on Linux 1; 2026-01-03 08:00 on Linux 1\n',
      ),
      written,
    );
    t.ok(written.includes('\n- A reply takes at most 8.00 × the time of F (goal: 7.00 ×, missed).\n'), written);
    const alone = performanceOf(keep(question, runs[0]!), [question]);
    t.ok(alone.includes('\n- A reply takes 8.00 × the time of F (one run; goal: 7.00 ×, missed).\n'), alone);
    const quieter = performanceOf(keep(question, ...runs, ran('2026-01-04T08:00:00Z', { F: 0.01, a: 0.05 })), [
      question,
    ]);
    t.ok(quieter.includes('| 5.00 × | 10.0 |  | 5.00 – 8.00 × | 4 (4) | 5.00 × | 10.0 | met |'), quieter);
  },
);

t.test('a page begins with a summary of the goals that have a headline', async (t) => {
  const question = questionOf(
    { ...ratio, headline: 'CPU time of a reply' },
    { text: 'small', kind: 'value', of, most: 2 },
  );
  const written = performanceOf(keep(question, ran('2026-01-01', { F: 0.02, a: 0.16 })), [question]);
  const [before] = written.split('## How it is measured');
  t.ok(before!.includes('| CPU time of a reply | 8.00 × | ≤ 7.00 × | missed (1 of 3 days or hosts) |\n'), before!);
  t.notMatch(before!, /small \|/);
  const inFull = questions.flatMap(({ goals }) => goals.filter(({ headline }) => headline !== undefined));
  t.equal(inFull.length, 12);
});

t.test('runs on another version of Node are another series, and the goals count on the recommended one', async (t) => {
  const question = questionOf({ ...ratio, headline: 'CPU time of a reply' });
  const on24 = ran('2026-01-01', { F: 0.02, a: 0.1 }, { node: 'v24.2.0' });
  const on20 = ran('2026-01-02', { F: 0.01, a: 0.08 });
  for (const runs of [
    [on24, on20],
    [on20, on24],
  ]) {
    const kept = keep(question, ...runs);
    t.equal(kept.runs.length, 2, 'each version keeps its last answer');
    const written = performanceOf(kept, [question]);
    t.ok(written.includes('| what | Node 24 | Node 20 | goal |  |\n'), written);
    t.ok(
      written.includes('| CPU time of a reply | 5.00 × | 8.00 × | ≤ 7.00 × | met (1 of 3 days or hosts) |\n'),
      written,
    );
    t.ok(written.includes('| relay | 24 | a ≤ 7.0 F | 5.00 × | 20.0 |'), written);
    t.notOk(written.includes('| relay | 20 |'), written);
  }
  const again = keep(question, on20, on24, ran('2026-01-03', { F: 0.01, a: 0.05 }));
  t.same(
    again.runs.map(({ startedAt }) => startedAt),
    ['2026-01-01', '2026-01-03'],
    'a newer run on Node 20 replaces the older one only',
  );
});

t.test('a verdict by fewer than three days or hosts says so', async (t) => {
  const question = questionOf(ratio);
  const runs = [
    ran('2026-01-01T08:00:00Z', { F: 1, a: 6 }),
    ran('2026-01-01T09:00:00Z', { F: 2, a: 6 }),
    ran('2026-01-02T08:00:00Z', { F: 3, a: 6 }),
  ];
  const told = (...more: Result[]): string => performanceOf(keep(question, ...runs, ...more), [question]);
  t.ok(told().includes('| 3 (2) | 6.00 × | 1,000 | met (2 of 3 days or hosts) |'), told());
  const elsewhere = told(ran('2026-01-02T09:00:00Z', { F: 4, a: 6 }, { kernel: 'Linux 2' }));
  t.ok(elsewhere.includes('| 4 (3) | 6.00 × | 1,000 | met |'), elsewhere);
});

t.test('a run with the other ruler is another series, and of each the last eight are kept', async (t) => {
  const question = questionOf(ratio);
  const days = Array.from({ length: pastMost + 2 }, (_, index) =>
    ran(`2026-01-${String(index + 1).padStart(2, '0')}`, { F: 1, a: index + 1 }),
  );
  const inNode = ran('2026-01-20', { F: 1, a: 99 }, { ruler: 'Node' });
  const { past } = keep(question, inNode, ...days);
  t.same(
    past.map(({ startedAt }) => startedAt),
    ['2026-01-20', ...days.slice(2).map(({ startedAt }) => startedAt)],
  );
  const [standing] = standingsOf(question, seriesOf(question, days.at(-1)!, past));
  t.match(standing, { runs: pastMost, least: 3, most: 10 });
  const [other] = standingsOf(question, seriesOf(question, inNode, past));
  t.match(other, { runs: 1, least: 99, most: 99 });
  t.same(pastOf({ ...inNode, size: 'smoke' }, [question]), [], 'a smoke run tells nothing');
});

t.test('figures outlast the bounds of their goals, and the last run may lack one', async (t) => {
  const { past } = keep(questionOf(ratio), ran('2026-01-01', { F: 2, a: 6 }));
  const stricter = questionOf({ ...ratio, text: 'a ≤ 2.0 F', most: 2, stretch: true }, ratio);
  const last = ran('2026-01-02', { F: 1, a: 6 });
  const lacking = {
    ...last,
    answers: last.answers.map((answer) => ({
      ...answer,
      rows: answer.rows.filter(({ contender }) => contender !== 'a'),
    })),
  };
  const standings = standingsOf(stricter, seriesOf(stricter, lacking, past));
  t.match(standings, [{ last: null, runs: 1, quietest: { median: 3, yardstick: 2000 }, met: false }, { met: true }]);
  const written = performanceOf({ runs: [lacking], past }, [stricter]);
  t.ok(
    written.includes(
      '| a ≤ 2.0 F (stretch) | not measured |  |  |  | 1 (1) | 3.00 × | 2,000 | not yet (1 of 3 days or hosts) |',
    ),
    written,
  );
});

t.test('where no run has a yardstick, the last decides', async (t) => {
  const { yardstick: _, ...question } = questionOf({ text: 'small', kind: 'value', of, most: 2 });
  const [first, last] = [ran('2026-01-01', { F: 1, a: 1 }), ran('2026-01-02', { F: 2, a: 3 })];
  t.match(standingsOf(question, seriesOf(question, last, pastOf(first, [question]))), [
    { least: 1, most: 3, quietest: { median: 3 }, met: false },
  ]);
});

t.test('rounds in which a goal does not apply do not count', async (t) => {
  const row = (figure: string, unit: string, ...samples: (number | null)[]) => ({
    contender: 'a',
    case: 'c',
    figure,
    unit,
    samples,
  });
  const goal: Goal = { text: 'soon', kind: 'value', of, most: 5, when: { figure: 'use', below: 50 } };
  t.equal(judge(goal, [row('cost', 'ms', 4, 30, 5), row('use', '%', 40, 50, 49.9)])?.spread.median, 4.5);
  t.equal(judge(goal, [row('cost', 'ms', 4), row('use', '%', 60)]), null);
  t.equal(judge(goal, [row('cost', 'ms', 4)]), null);
  const question = questionOf(goal);
  const written = performanceOf(keep(question, ran('2026-01-01', { F: 1, a: 1 })), [question]);
  t.ok(written.includes('- not measured with use below 50: soon\n'), written);
});

t.test('what is kept has the last run of each question that is judged', async (t) => {
  const { runs, past } = await readKept();
  for (const one of runs.flatMap((run) => pastOf(run, questions))) {
    t.ok(
      past.some(({ question, startedAt }) => question === one.question && startedAt === one.startedAt),
      `${one.question}, ${one.startedAt}`,
    );
  }
});

/**
 * The benchmarks run, at a smoke size: every question is answered, and every character that a server streams comes
 * once.
 */
import { readdir } from 'node:fs/promises';
import t from 'tap';
import { answer } from '../bench/answer.ts';
import { readArguments } from '../bench/arguments.ts';
import { build } from '../bench/contenders/parley.ts';
import { whyNoRedis } from '../bench/contenders/redis.ts';
import { whyNoMeasure } from '../bench/harness/process.ts';
import { machineFacts } from '../bench/harness/machine.ts';
import { performanceOf } from '../bench/harness/performance.ts';
import { readKept, withNew, type Kept } from '../bench/harness/kept.ts';
import type { Goal, Question } from '../bench/harness/question.ts';
import type { Result } from '../bench/harness/result.ts';
import { loadCore } from '../bench/harness/window.ts';
import { reportOf } from '../bench/harness/report.ts';
import { judge } from '../bench/harness/statistics.ts';
import { tableOf, toldOf } from '../bench/harness/table.ts';
import { idleSessions } from '../bench/idle-sessions.ts';
import { idleSockets, type MemoryAt } from '../bench/idle-sockets.ts';
import { clipOf, wordErrors } from '../bench/load/clips.ts';
import { AnswerStream, parleyFormat } from '../bench/load/stream.ts';
import { questions } from '../bench/questions.ts';
import { prices } from '../bench/replication.ts';
import { storedSessions, type Stage } from '../bench/stored-sessions.ts';
import { tokenAt } from '../bench/text.ts';

const watcher = { tell: () => {}, next: () => {}, end: () => {} };

/** Audio of 20 ms and the state of a detector are more than that. */
const perSocketKbMax = 20;

t.test('what is asked: every question, or those named, in their order', async (t) => {
  t.same(readArguments([]), {
    asked: questions,
    size: 'full',
    rounds: 5,
    peers: false,
    profile: null,
    ruler: null,
    write: false,
  });
  t.match(readArguments(['turn', 'relay', '--quick', '--peers']), {
    asked: [{ name: 'relay' }, { name: 'turn' }],
    size: 'quick',
    rounds: 3,
    peers: true,
  });
});

t.test('the benchmark opens and counts idle sessions', async (t) => {
  const sessions: number[] = [];
  await idleSessions(2000, (at) => {
    sessions.push(at.sessions);
    t.ok(at.heapBytes > 0);
  });
  t.same(sessions, [200, 400, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000, 2000]);
});

t.test('stored sessions are measured before and after their removal', { skip: whyNoMeasure() ?? false }, async (t) => {
  build();
  const stages: Stage[] = [];
  const textBytes = await storedSessions('lmdb', 3, 2, (stage) => stages.push(stage));
  t.ok(textBytes > 0);
  t.same(
    stages.map(({ stage, residentBytes }) => [stage, residentBytes > 0]),
    [
      ['started, empty', true],
      ['sessions stored', true],
      ['server stopped', false],
      ['removed by retention', false],
      ['as many stored again', true],
      ['server stopped', false],
    ],
  );
  for (const { diskBytes, usedMemoryBytes } of stages) t.ok(diskBytes > 0 && usedMemoryBytes === null);
});

t.test('transcription sockets that come and go', { skip: whyNoMeasure() ?? false }, async (t) => {
  const reported: MemoryAt[] = [];
  await idleSockets(100, 0, (at) => reported.push(at));
  t.same(
    reported.map(({ sockets, held }) => [sockets, held]),
    Array.from({ length: 10 }, (_, tenth) => [10 * (tenth + 1), 0]),
    'the server holds none of them',
  );
  for (const { heapBytes, residentBytes } of reported) t.ok(heapBytes > 0 && residentBytes > heapBytes);
  const grownKb = (reported.at(-1)!.heapBytes - reported[4]!.heapBytes) / 1024;
  t.ok(grownKb < 50 * perSocketKbMax, `${Math.round(grownKb)} KB of heap for 50 sockets`);
});

t.test('the cost of a replica', { skip: whyNoRedis() ?? false }, async (t) => {
  const found = await prices(2, 1, 4);
  t.same(
    found.map(({ durability }) => durability),
    ['committed', 'replicated', 'replicated-output'],
  );
  for (const price of found) t.ok(price.pieceMs > 0 && price.piecesPerSecond > 0, price.durability);
});

t.test('a server leaves a profile where it is asked to', { skip: whyNoMeasure() ?? false }, async (t) => {
  build();
  const profile = t.testdir();
  const starting = questions
    .filter(({ name }) => name === 'start')
    .map((question) => ({ ...question, contenders: question.contenders.filter(({ name }) => name === 'parley') }));
  const { answers } = await answer(
    { asked: starting, size: 'smoke', rounds: 1, peers: false, profile, ruler: null },
    watcher,
  );
  t.same(
    answers.flatMap(({ failures }) => failures),
    [],
  );
  t.match(await readdir(profile), [/\.cpuprofile$/]);
});

/** Questions whose contenders differ in a number, or in what they start: one of them is asked. */
const askedOfOne: Readonly<Record<string, string>> = {
  sessions: 'many stored',
  store: 'lmdb',
  processes: 'two processes',
};

/**
 * Every contender answers the first question; the others are asked of two at most, to whom they are put no differently
 * than to the rest. Calls speak at the pace of speech, which a machine that runs all tests does not keep: `npm run
 * bench -- call --smoke` asks for them.
 */
const asked = questions
  .filter(({ name }) => name !== 'call')
  .map((question, index) => {
    const contenders = question.contenders.filter(({ name }) => (askedOfOne[question.name] ?? name) === name);
    return { ...question, contenders: index === 0 ? contenders : contenders.slice(0, 2) };
  });

t.test('every question is answered', { skip: whyNoMeasure() ?? false }, async (t) => {
  build();
  const result = await answer({ asked, size: 'smoke', rounds: 1, peers: false, profile: null, ruler: null }, watcher);
  const told = toldOf(result, asked);
  for (const { question, answer } of told) {
    t.same(answer.failures, [], question.name);
    const absent = new Set(answer.absent.map(({ contender }) => contender));
    for (const contender of question.contenders.filter(({ name }) => !absent.has(name))) {
      for (const name of question.cases('smoke')) {
        if (question.takes?.(contender, name) === false) continue;
        const rows = answer.rows.filter((row) => row.contender === contender.name && row.case === name);
        t.ok(
          rows.length > 0 && rows.every(({ samples }) => samples.length === 1 && typeof samples[0] === 'number'),
          `${question.name}: ${contender.name}, ${name}`,
        );
      }
    }
  }
  const named = (reason: string): boolean =>
    ['asked for with --peers', 'nginx is not installed', whyNoRedis()].includes(reason);
  t.same(
    result.answers.flatMap(({ absent }) => absent).filter(({ reason }) => !named(reason)),
    [],
    'who is absent is so for a reason that is known',
  );
  const [table, report, performance] = [
    tableOf(told, result),
    reportOf(result, told),
    performanceOf({ runs: [result], past: [] }, asked),
  ];
  for (const { title } of asked) {
    t.ok(
      table.includes(title) && report.includes(title) && performance.includes(title),
      `${title} is in the table, the report and the document`,
    );
  }
  t.equal(
    report.split('<svg').length - 1,
    new Set(result.answers.flatMap(({ question, rows }) => rows.map(({ figure }) => `${question} ${figure}`))).size,
    'each figure is drawn',
  );
  t.notMatch(report, /(src|href)="/, 'the report needs nothing beside it');
});

t.test('load and provider in Node, where there is no compiler', { skip: whyNoMeasure() ?? false }, async (t) => {
  const floorAlone = questions
    .filter(({ name }) => ['relay', 'turn', 'first-token'].includes(name))
    .map((question) => ({ ...question, contenders: question.contenders.slice(0, 1) }));
  const { ruler, answers } = await answer(
    { asked: floorAlone, size: 'smoke', rounds: 1, peers: false, profile: null, ruler: 'Node' },
    watcher,
  );
  t.equal(ruler, 'Node');
  t.same(
    answers.flatMap(({ failures }) => failures),
    [],
  );
  t.ok(answers.every(({ rows }) => rows.length > 0));
});

t.test('goals and yardsticks name rows that there are', async (t) => {
  for (const question of questions) {
    const names = question.contenders.map(({ name }) => name);
    t.equal(new Set(names).size, names.length, `${question.name} has each contender once`);
    const units = question.figures.filter(({ name }) => name === question.yardstick?.figure).map(({ unit }) => unit);
    t.ok(
      question.yardstick === undefined ||
        (names.includes(question.yardstick.contender) && ['µs', 'ms'].includes(units[0]!)),
      `${question.name}: its yardstick is a time`,
    );
    for (const { text, of, against, when } of question.goals) {
      t.ok(
        when === undefined || question.figures.some(({ name }) => name === when.figure),
        `${question.name}: ${text}, while`,
      );
      for (const row of against === undefined ? [of] : [of, against]) {
        t.ok(
          names.includes(row.contender) &&
            question.cases('full').includes(row.case) &&
            question.figures.some(({ name }) => name === row.figure),
          `${question.name}: ${text}`,
        );
      }
    }
  }
});

t.test('a goal is judged by the median of what the rounds say', async (t) => {
  const row = (contender: string, ...samples: (number | null)[]) => ({
    contender,
    case: 'c',
    figure: 'f',
    unit: '',
    samples,
  });
  const [of, against] = [
    { contender: 'a', case: 'c', figure: 'f' },
    { contender: 'b', case: 'c', figure: 'f' },
  ];
  const goal = { text: '', kind: 'ratio', of, against, most: 1.2 } as const;
  const judged = judge(goal, [row('a', 10, 30, 12), row('b', 10, 10, 10)]);
  t.same(judged?.spread, { median: 1.2, least: 1, most: 3 });
  t.equal(judged?.met, true);
  t.equal(
    judge(goal, [row('a', 13, null, 13), row('b', 10, 1, 10)])?.met,
    false,
    'a round without a sample does not count',
  );
  t.equal(judge(goal, [row('a', 1)]), null, 'what was not measured is not judged');
});

/** A question of one case and two figures, a run that answered it, and the goals. */
function answered(
  goals: readonly Goal[],
  samples: readonly number[],
  loadShare: number,
): { question: Question; run: Result } {
  const question = {
    ...questions[0]!,
    goals,
    cases: () => ['c'],
    figures: [{ name: 'f', unit: 'µs' }, loadCore],
    contenders: [{ ...questions[0]!.contenders[0]!, name: 'a' }],
  };
  const row = { contender: 'a', case: 'c' };
  const rows = [
    { ...row, figure: 'f', unit: 'µs', samples: [...samples] },
    { ...row, figure: loadCore.name, unit: '%', samples: [loadShare] },
  ];
  const answers = [{ question: question.name, rows, absent: [], failures: [] }];
  return {
    question,
    run: { size: 'quick', rounds: 1, ruler: 'C', startedAt: '2026-01-01T00:00:00Z', machine: machineFacts(), answers },
  };
}

const of = { contender: 'a', case: 'c', figure: 'f' };

t.test('why a goal is missed is said beside it', async (t) => {
  const goals: Goal[] = [
    { text: 'small', kind: 'value', of, most: 1, obstacle: 'It is large.' },
    { text: 'smaller', kind: 'value', of, most: 0.5, stretch: true },
  ];
  const { question, run } = answered(goals, [2], 50);
  const written = performanceOf({ runs: [run], past: [] }, [question]);
  t.ok(written.includes('\n- small: 2.00. It is large.\n- smaller (stretch): 2.00\n'), written);
  t.match(written, /Run: 2026-01-01, Node \d+, load and provider in C\./);
});

t.test('figures measured while the load had little room are marked', async (t) => {
  const goals: Goal[] = [{ text: 'small', kind: 'value', of, most: 9 }];
  for (const [share, mark] of [
    [84, ''],
    [86, ' †'],
  ] as const) {
    const { question, run } = answered(goals, [2], share);
    const [written, table] = [
      performanceOf({ runs: [run], past: [] }, [question]),
      tableOf(toldOf(run, [question]), run),
    ];
    t.ok(written.includes(`| a | 2.00${mark} | ${share}.0 |`), written);
    t.ok(
      written.includes(`| small | 2.00${mark} |  |  |  | 1 (1) | 2.00${mark} |  | met (1 of 3 days or hosts) |`),
      written,
    );
    t.equal(table.includes('† Measured while'), share > 85, table);
    t.match(table, new RegExp(`2\\.00${mark} µs`));
  }
});

t.test('a run that asks some questions leaves the other answers as they were', async (t) => {
  const run = (startedAt: string, ...names: string[]): Result => ({
    ...answered([], [1], 1).run,
    startedAt,
    answers: names.map((question) => ({ question, rows: [], absent: [], failures: [] })),
  });
  const added = [
    run('2026-01-01', 'relay', 'turn'),
    run('2026-01-02', 'start'),
    run('2026-01-03', 'start'),
    run('2026-01-04', 'turn'),
  ];
  const kept = added.reduce<Kept>((before, one) => withNew(before, one, questions), { runs: [], past: [] });
  t.same(
    kept.runs.map(({ startedAt, answers }) => [startedAt, ...answers.map(({ question }) => question)]),
    [
      ['2026-01-01', 'relay'],
      ['2026-01-03', 'start'],
      ['2026-01-04', 'turn'],
    ],
  );
  const written = performanceOf(kept, questions);
  t.match(
    written,
    /### Relaying an event[^#]*Run: 2026-01-01,[^#]*### A turn of one token[^#]*Run: 2026-01-04,[^#]*### Starting[^#]*Run: 2026-01-03,/,
  );
  const old = answered([{ text: 'small', kind: 'value', of, most: 9 }], [2], 1);
  t.ok(
    performanceOf({ runs: [{ ...old.run, rounds: 5 }], past: [] }, [old.question]).includes(
      '- not measured with every round kept: small',
    ),
    'medians alone decide nothing',
  );
  t.ok(performanceOf(await readKept(), questions).includes('### A turn of one token'), 'what is kept can be written');
});

t.test('where a clip speaks, and what of it was heard', async (t) => {
  const samples = new Int16Array(16_000);
  samples.fill(3, 0, 16_000);
  samples.fill(1000, 3200, 8000);
  const { onsetMs, endMs } = clipOf(Buffer.from(samples.buffer));
  t.same([onsetMs, endMs], [200, 500]);
  t.same(wordErrors('ten of clubs', 'Ten of clubs.'), { wrong: 0, words: 3 });
  t.same(wordErrors(' seven of hearts ', '7 of hearts!'), { wrong: 0, words: 3 });
  t.same(wordErrors('ten of clubs', 'of the clubs'), { wrong: 2, words: 3 }, 'one left out, one put in');
  t.same(wordErrors('ten of clubs', ''), { wrong: 3, words: 3 });
  t.same(wordErrors('one', 'one two three'), { wrong: 2, words: 1 });
});

t.test('the load sees what is lost, doubled or left open', async (t) => {
  const delta = (text: string): string => `event: message.delta\nid: 1\ndata: ${JSON.stringify({ text })}\n\n`;
  const all = Array.from({ length: 30 }, (_, index) => tokenAt(index));
  const end = 'event: turn.completed\nid: 1\ndata: {}\n\n';
  const take =
    (...pieces: string[]) =>
    () => {
      const stream = new AnswerStream(parleyFormat, all.length);
      for (const piece of pieces) stream.take(Buffer.from(piece).toString('latin1'), 1);
      stream.end();
      return stream.deltas;
    };
  t.equal(take(...all.map(delta), end)(), 30);
  t.equal(
    take(delta(all.slice(0, 7).join('')), delta(all.slice(7).join('')), end)(),
    2,
    'however many tokens a frame holds',
  );
  const whole = all.map(delta).join('') + end;
  t.equal(take(whole.slice(0, 333), whole.slice(333))(), 30, 'wherever it is cut');
  t.throws(take(...all.slice(1).map(delta), end), /Not the text/);
  t.throws(take(...all.slice(0, 29).map(delta), end), /characters came/);
  t.throws(take(delta(all[0]!), ...all.map(delta), end), /Not the text/);
  t.throws(take(...all.map(delta)), /0 terminal/);
  t.throws(take(...all.map(delta), end, end), /2 terminal/);
  t.throws(take('event: error\nid: 0\ndata: {"code":"api_error"}\n\n'), /failed/);
});

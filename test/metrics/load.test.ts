/** The last hour in steps: the counts of a process in each, and of all processes together. */
import t from 'tap';
import { atTurnEnd } from '../../src/base/clock.ts';
import { LoopLag } from '../../src/metrics/lag.ts';
import { LoadMeter, type LoadBoard, type LoadRow, type LoadStep } from '../../src/metrics/load.ts';
import { ManualClock } from '../providers/model/provider.ts';

const turnEnd = (): Promise<void> => new Promise((resolve) => atTurnEnd(resolve));

class Process {
  readonly counted = {
    requests: 100,
    refused: 10,
    events: 1000,
    storeSteps: 50,
    storeSeconds: 5,
    turnsInFlight: 0,
    openCalls: 0,
    memoryBytes: 1000,
  };
  lag = 1;
  readonly meter: LoadMeter;

  constructor(clock: ManualClock, name: string, board: LoadBoard | null = null) {
    this.meter = new LoadMeter(
      clock,
      name,
      { reading: async () => ({ ...this.counted }), lagMs: () => this.lag },
      board,
    );
  }
}

/** Advances the clock by seconds, and lets everything due in each happen. */
async function pass(clock: ManualClock, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    clock.advance(1000);
    await turnEnd();
  }
}

const told = (steps: readonly LoadStep[]): LoadStep[] => steps.filter(({ requests }) => requests !== null);
const memory = (): LoadBoard & { rows: LoadRow[] } => {
  const rows: LoadRow[] = [];
  return {
    rows,
    put: async (row) => void rows.push(JSON.parse(JSON.stringify(row))),
    read: async (from) => rows.filter(({ start }) => start >= from),
  };
};

t.test('a step has what was gained in it', async (t) => {
  const clock = new ManualClock();
  const one = new Process(clock, 'one');
  await one.meter.start();
  await pass(clock, 2);
  one.counted.requests += 3;
  for (let turn = 0; turn < 100; turn++) one.meter.firstOutput(turn < 98 ? 20 : 500);
  one.meter.voiceToVoice(600);
  const under = told(await one.meter.steps());
  t.match(
    under,
    [{ start: 1000, requests: 3, refused: 0, events: 0, storeMs: null, memoryBytes: 1000 }],
    'the step under way, and not what was before',
  );
  t.same(told(await one.meter.steps()), under, 'reading it changes nothing');
  await pass(clock, 3);
  Object.assign(one.counted, {
    requests: 110,
    refused: 11,
    events: 1040,
    storeSteps: 54,
    storeSeconds: 5.01,
    turnsInFlight: 7,
    openCalls: 2,
  });
  one.lag = 2.345;
  await pass(clock, 5);
  const [first, second, third, ...more] = told(await one.meter.steps());
  t.same([first!.start, first!.requests, more.length], [1000, 3, 0]);
  t.ok(
    Math.abs(first!.firstOutputP50Ms! - 20) <= 1 && Math.abs(first!.firstOutputP99Ms! - 500) <= 25,
    `within 5 %: ${first!.firstOutputP50Ms} ${first!.firstOutputP99Ms}`,
  );
  t.ok(
    Math.abs(first!.voiceToVoiceP50Ms! - 600) <= 30 && first!.voiceToVoiceP99Ms === first!.voiceToVoiceP50Ms,
    `the replies of calls apart: ${first!.voiceToVoiceP50Ms}`,
  );
  t.same(second, {
    start: 1005,
    requests: 7,
    refused: 1,
    turnsInFlight: 7,
    openCalls: 2,
    events: 40,
    firstOutputP50Ms: null,
    firstOutputP99Ms: null,
    voiceToVoiceP50Ms: null,
    voiceToVoiceP99Ms: null,
    lagMs: 2.3,
    memoryBytes: 1000,
    storeMs: 2.5,
  });
  t.match(third, { start: 1010, requests: 0 });
});

t.test('an hour is kept, and a step that nobody measured is null', async (t) => {
  const clock = new ManualClock();
  const one = new Process(clock, 'one');
  await one.meter.start();
  await pass(clock, 10);
  // The event loop is held up: no timer fires for a while.
  clock.jump(20_000);
  one.counted.requests += 5;
  await pass(clock, 5);
  const steps = await one.meter.steps();
  t.equal(steps.length, 720);
  t.same(
    told(steps).map(({ start, requests }) => [start, requests]),
    [
      [1000, 0],
      [1005, 0],
      [1010, 5],
      [1035, 0],
    ],
  );
  await pass(clock, 3600 + 10);
  t.same(
    [told(await one.meter.steps()).length, (await one.meter.steps())[0]!.start],
    [720, 1035 + 3610 - 719 * 5],
    'no more than an hour',
  );
});

t.test('the processes of a board are told together', async (t) => {
  const clock = new ManualClock();
  const board = memory();
  const [one, other] = [new Process(clock, 'one', board), new Process(clock, 'other', board)];
  await Promise.all([one.meter.start(), other.meter.start()]);
  Object.assign(one.counted, { requests: 101, storeSteps: 51, storeSeconds: 5.001, turnsInFlight: 2 });
  Object.assign(other.counted, { requests: 120, storeSteps: 53, storeSeconds: 5.007, turnsInFlight: 3 });
  other.lag = 9;
  for (let turn = 0; turn < 10; turn++) (turn < 6 ? one : other).meter.firstOutput(turn < 6 ? 10 : 1000);
  await pass(clock, 6);
  for (const { meter } of [one, other]) {
    const [step, under, ...more] = told(await meter.steps());
    t.match(step, { start: 1000, requests: 21, turnsInFlight: 5, memoryBytes: 2000, lagMs: 9, storeMs: 2 });
    t.ok(Math.abs(step!.firstOutputP50Ms! - 10) <= 1 && Math.abs(step!.firstOutputP99Ms! - 1000) <= 50);
    t.match([under, more.length], [{ start: 1005, requests: 0 }, 0]);
  }
  t.equal(board.rows.length, 2, 'a row for each process and step');
  const { openCalls: _, voiceToVoice: __, ...earlier } = board.rows[0]!;
  board.rows.push({ ...earlier, process: 'earlier' } as LoadRow);
  one.counted.openCalls = 4;
  t.match(
    told(await one.meter.steps()),
    [{ openCalls: 0, voiceToVoiceP50Ms: null }, { openCalls: 4 }],
    'a process of an earlier version counts no calls',
  );
  const lost: LoadBoard = { put: () => Promise.reject(new Error('away')), read: async () => [] };
  const third = new Process(clock, 'third', lost);
  await third.meter.start();
  await pass(clock, 10);
  t.equal(told(await third.meter.steps()).length, 3, 'a board that is away stops nobody');
});

t.test('the lag is what the event loop is late by, and never below 0', (t) => {
  const monitor = { mean: 35_000_000, resets: 0, reset: () => void monitor.resets++ };
  const lag = new LoopLag(monitor);
  t.same([lag.meanMs(false), monitor.resets], [15, 0]);
  t.same([lag.meanMs(true), monitor.resets], [15, 1]);
  for (const mean of [20_000_000, 19_900_000, NaN])
    t.equal(new LoopLag({ ...monitor, mean }).meanMs(true), 0, `a mean of ${mean}`);
  t.end();
});

t.test('a reading that fails is left out, also the first, and what it would have counted is in the next', async (t) => {
  const clock = new ManualClock();
  const counted = {
    requests: 5,
    refused: 0,
    events: 0,
    storeSteps: 0,
    storeSeconds: 0,
    turnsInFlight: 0,
    openCalls: 0,
    memoryBytes: 1000,
  };
  let fails = true;
  const reading = async () => (fails ? Promise.reject(new Error('EMFILE')) : { ...counted });
  const meter = new LoadMeter(clock, 'one', { reading, lagMs: () => 1 }, null);
  await meter.start();
  t.same(told(await meter.steps()), [], 'without any reading no step is known');
  await pass(clock, 5);
  fails = false;
  await pass(clock, 5);
  counted.requests += 3;
  await pass(clock, 3);
  t.match(told(await meter.steps()), [{ start: 1010, requests: 3 }]);
  fails = true;
  t.same(told(await meter.steps()), [], 'the step under way is not known');
  await pass(clock, 5);
  counted.requests += 4;
  fails = false;
  await pass(clock, 5);
  t.match(told(await meter.steps()), [
    { start: 1010, requests: 7 },
    { start: 1020, requests: 0 },
  ]);
});

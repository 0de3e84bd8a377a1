/** Under load pieces are handed over at a beat; what comes first never waits. */
import t from 'tap';
import {
  Pace,
  pacedPiecesPerSecond,
  crowdedPiecesPerSecond,
  paceMs,
  crowdedPaceMs,
  paceLeastMs,
  paceRestShare,
  paceFullShare,
} from '../../src/turn/pace.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { settle, Stage } from './stage.ts';

/** Lets every promise that can settle do so. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Pieces of other turns within a tenth of a second, so many a second or a few more; every sixteenth is looked at. */
function load({ pace, clock }: { pace: Pace; clock: ManualClock }, perSecond: number): void {
  const pieces = Math.floor(perSecond / 160) * 16 + 16;
  for (let index = 1; index < pieces; index++) pace.note();
  clock.advance(100);
  pace.note();
}

const busy = pacedPiecesPerSecond;
const nearlyBusy = busy - 160;

async function stored(stage: Stage): Promise<void> {
  // A write in a crowd begins at the end of the event loop's iteration.
  await settled();
  await settled();
  stage.appends.at(-1)!.resolve('stored');
  await settled();
}

const texts = (stage: Stage): string[] => stage.appends.map(({ asked }) => asked.text);

t.test('a process with little to do stores each piece at once', async (t) => {
  const stage = new Stage().start();
  load(stage, nearlyBusy);
  for (const piece of ['a', 'b', 'c']) {
    stage.model.text(piece);
    await stored(stage);
  }
  t.same(texts(stage), ['a', 'b', 'c']);
});

t.test('a busy process stores the first piece at once, and the rest at the beat', async (t) => {
  const stage = new Stage().start();
  load(stage, busy);
  stage.model.text('first');
  await stored(stage);
  t.equal(stage.begun, 'begun');
  for (const piece of [' and', ' then', ' more']) stage.model.text(piece);
  await settled();
  t.same(texts(stage), ['first']);
  stage.clock.advance(paceMs);
  await stored(stage);
  t.same(texts(stage), ['first', ' and then more']);
  t.same(stage.appends.at(-1)!.asked.position, 5);
  stage.clock.advance(paceMs);
  await settled();
  t.equal(stage.appends.length, 2, 'a beat with nothing new writes nothing');
  stage.model.text('!');
  await stored(stage);
  t.same(texts(stage).at(-1), '!', 'after a beat without a piece the next one goes at once');
});

t.test('a crowded process reads the model at the beat, and stores that output at once', async (t) => {
  const stage = new Stage().start({ holdable: true });
  load(stage, crowdedPiecesPerSecond);
  stage.model.text('first');
  t.equal(stage.heard, false);
  await stored(stage);
  t.same([stage.begun, stage.appends.length], ['begun', 1]);
  for (const piece of [' came', ' with it']) stage.model.text(piece);
  await stored(stage);
  t.same(texts(stage), ['first', ' came with it'], 'what had been read waits for no beat');
  stage.clock.advance(crowdedPaceMs - 1);
  t.equal(stage.heard, false);
  load(stage, 2 * crowdedPiecesPerSecond);
  t.equal(stage.heard, true);
  // Text arrives record by record with promises in between, as over TLS.
  for (const piece of [' and', ' then', ' more']) {
    stage.model.text(piece);
    await settle();
  }
  t.equal(stage.heard, false);
  await stored(stage);
  t.same(texts(stage), ['first', ' came with it', ' and then more']);
  void stage.runner.stop('aborted');
  t.equal(stage.cancelled, 1);
});

t.test(
  'a model that cannot be held is written at the beat in a crowd, and one that can is never held outside of one',
  async (t) => {
    const stage = new Stage().start();
    load(stage, crowdedPiecesPerSecond);
    for (const piece of ['first', ' rest']) {
      stage.model.text(piece);
      await stored(stage);
    }
    t.same(texts(stage), ['first']);
    stage.clock.advance(crowdedPaceMs);
    await stored(stage);
    t.same(texts(stage), ['first', ' rest']);
    const other = new Stage().start({ holdable: true });
    load(other, busy);
    other.model.text('first');
    t.equal(other.heard, true);
  },
);

for (const ending of ['end', 'abort'] as const) {
  t.test(`an ${ending} waits for no beat and takes along what waits`, async (t) => {
    const stage = new Stage().start();
    load(stage, busy);
    stage.model.text('first');
    await stored(stage);
    stage.model.text(' rest');
    if (ending === 'end') stage.model.end();
    else void stage.runner.stop('aborted');
    await settled();
    t.match(stage.finishes[0]!.asked, {
      tail: { position: 5, text: ' rest' },
      outcome: { status: ending === 'end' ? 'completed' : 'aborted' },
    });
    stage.finishes[0]!.resolve({ inputTokens: 1, outputTokens: 1 });
    await settled();
    stage.clock.advance(paceMs);
    await settled();
    t.same(texts(stage), ['first']);
    t.same(stage.runner.log.terminal?.type, ending === 'end' ? 'completed' : 'aborted');
  });
}

t.test('all turns share a beat, and a pace that nobody waits for sets no timer', async (t) => {
  const clock = new ManualClock();
  const pace = new Pace(clock);
  t.equal(clock.timers, 0);
  const called: number[] = [];
  pace.next(() => called.push(1));
  pace.next(() => called.push(2));
  t.equal(clock.timers, 1);
  clock.advance(paceMs);
  t.same([called, clock.timers], [[1, 2], 0]);
});

t.test('a crowd beats in groups one after another, each turn once in the time of a beat', async (t) => {
  const clock = new ManualClock();
  const pace = new Pace(clock);
  load({ pace, clock }, crowdedPiecesPerSecond);
  const called = Array<number>(40).fill(0);
  const all = (): number => called.reduce((sum, count) => sum + count);
  const goOn = (turn: number): void =>
    pace.next(() => {
      called[turn]!++;
      goOn(turn);
    });
  called.forEach((_, turn) => goOn(turn));
  const portions: number[] = [];
  for (let beat = 0; beat < 32; beat++) {
    const before = all();
    clock.advance(crowdedPaceMs / 16);
    portions.push(all() - before);
  }
  t.ok(
    portions.every((portion) => portion <= called.length / 16 + 3),
    `${portions}`,
  );
  t.same(called, Array(called.length).fill(2));
});

t.test('a crowd that has ended is measured as ended without further pieces', async (t) => {
  const clock = new ManualClock();
  const pace = new Pace(clock);
  load({ pace, clock }, crowdedPiecesPerSecond);
  pace.next(() => {});
  for (let piece = 0; piece < 5000; piece++) pace.note();
  for (let beat = 0; beat < 10; beat++) clock.advance(crowdedPaceMs);
  t.same([pace.busy, pace.crowded, clock.timers], [false, false, 0]);
  const unwaited = new Pace(clock);
  load({ pace: unwaited, clock }, busy);
  t.same([unwaited.busy, clock.timers], [true, 1], 'whether anybody waits for a beat or not');
});

t.test('a crowded process beats slower, and one that is quiet again not at all', async (t) => {
  const clock = new ManualClock();
  const pace = new Pace(clock);
  let beats = 0;
  load({ pace, clock }, crowdedPiecesPerSecond);
  pace.next(() => beats++);
  clock.advance(paceMs);
  t.equal(beats, 0);
  clock.advance(crowdedPaceMs - paceMs);
  t.same([beats, pace.busy], [1, true]);
  for (let beat = 0; beat < 3; beat++) {
    pace.next(() => beats++);
    clock.advance(crowdedPaceMs);
  }
  t.same([beats, pace.busy], [4, false], 'the beat itself finds that nothing comes any more');
});

/** Returns the longest wait of a turn for a beat, after the loop has been so busy for a second. */
function longestWait(share: number, perSecond: number): number {
  const clock = new ManualClock();
  const pace = new Pace(clock, { share: () => share });
  for (let look = 0; look < 10; look++) load({ pace, clock }, perSecond);
  let called = false;
  pace.next(() => (called = true));
  let waited = 0;
  for (; !called && waited < 100; waited += 2.5) clock.advance(2.5);
  return waited;
}

t.test('the wait of a piece grows with the load of the event loop', async (t) => {
  const waits = [
    0,
    paceRestShare,
    (paceRestShare + paceFullShare) / 2,
    (paceRestShare + 3 * paceFullShare) / 4,
    paceFullShare,
    1,
  ].map((share) => longestWait(share, 2 * crowdedPiecesPerSecond));
  t.same(
    waits,
    [...waits].sort((one, other) => one - other),
  );
  t.ok(waits[0]! <= 2 * paceLeastMs, `${waits[0]} ms at rest`);
  t.equal(waits[1], waits[0], 'a loop with little to do is like one with nothing');
  t.ok(waits[4]! >= crowdedPaceMs - 2.5, `${waits[4]} ms where it is busy`);
  t.equal(waits[5], waits[4]);
  t.ok(waits[2]! > waits[1]! && waits[2]! < waits[4]!, `${waits[2]} ms in between`);
  t.ok(longestWait(0, busy + 160) <= paceLeastMs + 2.5, 'also where all beat together');
  t.ok(longestWait(1, busy + 160) >= paceMs - 2.5);
});

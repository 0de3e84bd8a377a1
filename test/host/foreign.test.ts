/** Readers of a turn that another process runs: what they ask the store, and when. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { ForeignTurns } from '../../src/host/foreign.ts';
import { limits } from '../../src/limits.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { StoreUnavailable, type Notice, type OutputAfter, type Turn } from '../../src/store.ts';
import { ManualClock } from '../model/provider.ts';
import { Scene, type Begun } from '../store/fixtures.ts';
import { withSteps } from './scene.ts';

/** A turn in flight, and a process beside it whose looks are counted and whose notices can be held back. */
async function open(t: Test) {
  const store = memoryStore();
  await store.open(0);
  const clock = new ManualClock();
  const looks: number[] = [];
  const state = { away: false, deaf: false, forgotten: 0, onLook: () => {} };
  const seen = withSteps(store, {
    outputAfter: async (place, position) => {
      looks.push(position);
      if (state.away) throw new StoreUnavailable('away');
      // What a store says that has forgotten so much is what one says that is asked for so much more.
      const answer = store.outputAfter(place, position + state.forgotten);
      state.onLook();
      return answer;
    },
  });
  const foreign = new ForeignTurns(seen, clock);
  const hear = (notice: Notice): void => void (notice.type === 'turn.moved' && !state.deaf && foreign.wake(notice.turnId));
  const unwatch = await store.watch(hear);
  t.teardown(() => unwatch().then(() => store.close()));
  const turn: Begun = await new Scene(store, Date.now()).streaming();
  /** Time passes in steps that let what was asked be answered. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 50) {
      clock.advance(50);
      await turnOfTheLoop();
    }
  };
  return { clock, foreign, looks, state, turn, pass };
}

t.test('a turn that grows is read on from where it was read to', async (t) => {
  const { foreign, looks, turn, pass } = await open(t);
  await turn.append(0, '👋one ');
  const log = await foreign.follow(turn.place);
  const leave = log.follow(() => {});
  for (const position of [5, 6, 7]) {
    await turn.append(position, 'x');
    await pass(limits.foreignPollMs);
  }
  t.equal(log.pieces.join(''), '👋one xxx');
  t.same(looks, [0, 5, 6, 7]);
  leave();
});

t.test('one that is silent is looked at rarely, and at once when it moves', async (t) => {
  const { foreign, looks, turn, pass } = await open(t);
  const log = await foreign.follow(turn.place);
  log.follow(() => {});
  await pass(limits.foreignPollMs + 4 * limits.foreignSilentMs);
  t.equal(looks.length, 6);
  await turn.append(0, 'one');
  await turnOfTheLoop();
  t.equal(log.pieces.join(''), 'one', 'no time has passed');
  await pass(limits.foreignPollMs);
  await turn.scene.store.finishTurn(turn.finishStep({ tail: { position: 3, text: '!' } }));
  await turnOfTheLoop();
  t.same([log.pieces.join(''), log.terminal?.type], ['one!', 'completed']);
});

t.test('without notices it is read all the same', async (t) => {
  const { clock, foreign, state, turn, pass } = await open(t);
  state.deaf = true;
  const log = await foreign.follow(turn.place);
  log.follow(() => {});
  await pass(1000);
  await turn.append(0, 'one');
  await pass(limits.foreignSilentMs);
  t.equal(log.pieces.join(''), 'one');
  await turn.scene.store.withdrawTurn(turn.withdrawStep());
  await pass(limits.foreignSilentMs);
  t.same([log.withdrawn, log.terminal?.type, clock.timers], [true, 'failed', 0]);
});

t.test('a notice that comes during a look has it look again', async (t) => {
  const { foreign, looks, turn, pass } = await open(t);
  const log = await foreign.follow(turn.place);
  log.follow(() => {});
  await pass(limits.foreignPollMs);
  foreign.wake(turn.place.turnId);
  foreign.wake(turn.place.turnId);
  await turnOfTheLoop();
  t.equal(looks.length, 4);
  foreign.wakeAll();
  await turnOfTheLoop();
  t.equal(looks.length, 5);
});

t.test('readers who come at once share one log, in which each piece stands once', async (t) => {
  const { foreign, turn, pass, looks, clock } = await open(t);
  await turn.append(0, 'one ');
  const logs = await Promise.all([1, 2, 3].map(() => foreign.follow(turn.place)));
  t.equal(new Set(logs).size, 1);
  const leave = logs[0]!.follow(() => {});
  await turn.append(4, 'two');
  await Promise.all([foreign.follow(turn.place), foreign.follow(turn.place)]);
  t.equal(logs[0]!.pieces.join(''), 'one two');
  leave();
  await pass(1000);
  t.equal(clock.timers, 0, 'nobody reads: nobody looks');
  t.ok(looks.length < 10);
});

t.test('readers of more than a failover has left hear that it was us, however the turn ends', async (t) => {
  for (const ends of [false, true]) {
    const { foreign, state, turn, pass, clock } = await open(t);
    await turn.append(0, '👋one');
    const log = await foreign.follow(turn.place);
    log.follow(() => {});
    if (ends) await turn.scene.store.finishTurn(turn.finishStep());
    state.forgotten = 1;
    await pass(limits.foreignSilentMs);
    t.same([log.pieces.join(''), log.terminal], ['👋one', { type: 'failed', errorCode: 'api_error' }]);
    t.equal(clock.timers, 0);
  }
});

t.test('who comes after a failover is not shown what it forgot', async (t) => {
  const { foreign, state, turn } = await open(t);
  await turn.append(0, 'one two');
  const log = await foreign.follow(turn.place);
  log.follow(() => {});
  state.forgotten = 1;
  state.onLook = () => (state.forgotten = 0);
  const later = await foreign.follow(turn.place);
  t.match(log.terminal, { errorCode: 'api_error' });
  t.not(later, log);
  t.equal(await foreign.follow(turn.place), later, 'and whoever comes then shares what is new');
});

t.test('of two looks at a time, one tells an end only of what the other has read too', async (t) => {
  for (const [status, behind, end] of [
    ['aborted', 'two', { type: 'failed', errorCode: 'api_error' }],
    ['aborted', 'two three', { type: 'aborted' }],
    ['streaming', 'two', null],
  ] as const) {
    const { turn, clock } = await open(t);
    const answers: Promise<OutputAfter>[] = [];
    const told = (text: string, over: Partial<Turn> = {}): OutputAfter => ({ turn: { ...turn.step.turn, ...over }, text });
    const foreign = new ForeignTurns(withSteps(turn.scene.store, { outputAfter: () => answers.shift()! }), clock);
    answers.push(Promise.resolve(told('one ')));
    const log = await foreign.follow(turn.place);
    log.follow(() => {});
    let tellLate!: (found: OutputAfter) => void;
    answers.push(new Promise((resolve) => (tellLate = resolve)), Promise.resolve(told('two three')));
    foreign.wake(turn.place.turnId);
    await foreign.follow(turn.place);
    tellLate(told(behind, { status }));
    await turnOfTheLoop();
    t.same([log.pieces.join(''), log.terminal], ['one two three', end], `${status} behind ${behind}`);
  }
});

t.test('readers hear of a store that goes away', async (t) => {
  const { foreign, state, turn, pass, clock } = await open(t);
  const log = await foreign.follow(turn.place);
  log.follow(() => {});
  state.away = true;
  await pass(limits.foreignPollMs);
  t.match(log.terminal, { type: 'failed', errorCode: 'api_error' });
  t.equal(clock.timers, 0);
});

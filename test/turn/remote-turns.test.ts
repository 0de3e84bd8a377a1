/** Readers of a turn that another process runs: their reads of the store, and when. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { RemoteTurns, remoteBegunMs, remoteSealMs } from '../../src/turn/remote-turns.ts';
import { limits } from '../../src/base/limits.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { StoreUnavailable, type Notice, type OutputAfter, type Turn } from '../../src/store/store.ts';
import { TurnLog } from '../../src/turn/log.ts';
import { ManualClock } from '../providers/model/provider.ts';
import { Scene, type Begun } from '../store/fixtures.ts';
import { withSteps } from '../host/scene.ts';

/** A turn in flight, and a process beside it whose looks are counted and whose notices can be held back. */
async function open(t: Test, shared: { leaseMs?: number } = {}) {
  const store = memoryStore();
  await store.open(0);
  const clock = new ManualClock();
  const looks: number[] = [];
  const state = { away: false, deaf: false, forgotten: 0, onLook: () => {} };
  const seen = withSteps(store, {
    ...shared,
    outputAfter: async (place, position) => {
      looks.push(position);
      if (state.away) throw new StoreUnavailable('away');
      // A store that has forgotten so much answers like one that is asked for output so much further on.
      const answer = store.turns.outputAfter(place, position + state.forgotten);
      state.onLook();
      return answer;
    },
  });
  const remote = new RemoteTurns(seen, clock);
  const hear = (notice: Notice): void =>
    void (notice.type === 'turn.moved' && !state.deaf && remote.wake(notice.turnId));
  const unwatch = await store.watch(hear);
  t.teardown(() => unwatch().then(() => store.close()));
  const turn: Begun = await new Scene(store, Date.now()).streaming();
  /** Advances the time in steps that let pending requests be answered. */
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 50) {
      clock.advance(50);
      await turnOfTheLoop();
    }
  };
  return { clock, remote, looks, state, turn, pass };
}

t.test('a growing turn is read from the last position', async (t) => {
  const { remote, looks, turn, pass } = await open(t);
  await turn.append(0, '👋one ');
  const log = await remote.follow(turn.place);
  const leave = log.follow(() => {});
  for (const position of [5, 6, 7]) {
    await turn.append(position, 'x');
    await pass(limits.remotePollMs);
  }
  t.equal(log.pieces.join(''), '👋one xxx');
  t.same(looks, [0, 5, 6, 7]);
  leave();
});

t.test('a silent turn is polled rarely, and at once when it moves', async (t) => {
  const { remote, looks, turn, pass } = await open(t);
  const log = await remote.follow(turn.place);
  log.follow(() => {});
  await pass(limits.remotePollMs + 4 * limits.remoteSilentMs);
  t.equal(looks.length, 6);
  await turn.append(0, 'one');
  await turnOfTheLoop();
  t.equal(log.pieces.join(''), 'one', 'no time has passed');
  await pass(limits.remotePollMs);
  await turn.scene.store.turns.finish(turn.finishStep({ tail: { position: 3, text: '!' } }));
  await turnOfTheLoop();
  t.same([log.pieces.join(''), log.terminal?.type], ['one!', 'completed']);
});

t.test('a reader that joins after polls had ended receives the rest', async (t) => {
  const { remote, looks, turn, pass } = await open(t);
  await turn.append(0, 'one');
  const log = await remote.follow(turn.place);
  await pass(10 * limits.remotePollMs);
  t.equal(looks.length, 1, 'nobody reads it');
  // Another reader has another log meanwhile, and both come and go.
  const leave = (await remote.follow(turn.place)).follow(() => {});
  log.follow(() => {})();
  await pass(limits.remoteSilentMs);
  leave();
  await pass(2 * limits.remoteSilentMs);
  log.follow(() => {});
  await turn.append(3, ' two');
  await turn.scene.store.turns.finish(turn.finishStep({ tail: { position: 7, text: '!' } }));
  await pass(limits.remoteSilentMs);
  t.same([log.pieces.join(''), log.terminal?.type], ['one two!', 'completed']);
});

t.test('a remote turn is polled when notices are lost', async (t) => {
  const { clock, remote, state, turn, pass } = await open(t);
  state.deaf = true;
  const log = await remote.follow(turn.place);
  log.follow(() => {});
  await pass(1000);
  await turn.append(0, 'one');
  await pass(limits.remoteSilentMs);
  t.equal(log.pieces.join(''), 'one');
  await turn.scene.store.turns.withdraw(turn.withdrawStep());
  await pass(limits.remoteSilentMs);
  t.same([log.withdrawn, log.terminal?.type, clock.timers], [true, 'failed', 0]);
});

t.test('a notice during a poll causes another poll', async (t) => {
  const { remote, looks, turn, pass } = await open(t);
  const log = await remote.follow(turn.place);
  log.follow(() => {});
  await pass(limits.remotePollMs);
  remote.wake(turn.place.turnId);
  remote.wake(turn.place.turnId);
  await turnOfTheLoop();
  t.equal(looks.length, 4);
  remote.wakeAll();
  await turnOfTheLoop();
  t.equal(looks.length, 5);
});

t.test('concurrent readers share one log that has each piece once', async (t) => {
  const { remote, turn, pass, looks, clock } = await open(t);
  await turn.append(0, 'one ');
  const logs = await Promise.all([1, 2, 3].map(() => remote.follow(turn.place)));
  t.equal(new Set(logs).size, 1);
  const leave = logs[0]!.follow(() => {});
  await turn.append(4, 'two');
  await Promise.all([remote.follow(turn.place), remote.follow(turn.place)]);
  t.equal(logs[0]!.pieces.join(''), 'one two');
  leave();
  await pass(1000);
  t.equal(clock.timers, 0, 'nobody reads: nobody looks');
  t.ok(looks.length < 10);
});

t.test('readers of text that a failover lost receive api_error at every end of the turn', async (t) => {
  for (const ends of [false, true]) {
    const { remote, state, turn, pass, clock } = await open(t);
    await turn.append(0, '👋one');
    const log = await remote.follow(turn.place);
    log.follow(() => {});
    if (ends) await turn.scene.store.turns.finish(turn.finishStep());
    state.forgotten = 1;
    await pass(limits.remoteSilentMs);
    t.same([log.pieces.join(''), log.terminal], ['👋one', { type: 'failed', errorCode: 'api_error' }]);
    t.equal(clock.timers, 0);
  }
});

t.test('a reader that joins after a failover sees only text that the store has', async (t) => {
  const { remote, state, turn } = await open(t);
  await turn.append(0, 'one two');
  const log = await remote.follow(turn.place);
  log.follow(() => {});
  state.forgotten = 1;
  state.onLook = () => (state.forgotten = 0);
  const later = await remote.follow(turn.place);
  t.match(log.terminal, { errorCode: 'api_error' });
  t.not(later, log);
  t.equal(await remote.follow(turn.place), later, 'and whoever comes then shares what is new');
});

t.test('a poll reports the end only after a concurrent one has read as far', async (t) => {
  for (const [status, behind, end] of [
    ['aborted', 'two', { type: 'failed', errorCode: 'api_error' }],
    ['aborted', 'two three', { type: 'aborted' }],
    ['streaming', 'two', null],
  ] as const) {
    const { turn, clock } = await open(t);
    const answers: Promise<OutputAfter>[] = [];
    const told = (text: string, over: Partial<Turn> = {}): OutputAfter => ({
      turn: { ...turn.step.turn, ...over },
      text,
    });
    const remote = new RemoteTurns(withSteps(turn.scene.store, { outputAfter: () => answers.shift()! }), clock);
    answers.push(Promise.resolve(told('one ')));
    const log = await remote.follow(turn.place);
    log.follow(() => {});
    let tellLate!: (found: OutputAfter) => void;
    answers.push(new Promise((resolve) => (tellLate = resolve)), Promise.resolve(told('two three')));
    remote.wake(turn.place.turnId);
    await remote.follow(turn.place);
    tellLate(told(behind, { status }));
    await turnOfTheLoop();
    t.same([log.pieces.join(''), log.terminal], ['one two three', end], `${status} behind ${behind}`);
  }
});

t.test('readers wait while the store is away, and receive its output once it is back', async (t) => {
  const { remote, state, turn, pass, clock } = await open(t);
  const log = await remote.follow(turn.place);
  log.follow(() => {});
  state.away = true;
  await pass(10 * limits.remoteSilentMs);
  t.same([log.terminal, log.cutOff], [null, false]);
  await turn.append(0, 'one');
  await turn.scene.store.turns.finish(turn.finishStep());
  state.away = false;
  await pass(limits.remoteSilentMs);
  t.match([log.pieces.join(''), log.terminal], ['one', { type: 'completed' }]);
  t.equal(clock.timers, 0);
});

t.test('a fault in the program cuts readers off without an end', async (t) => {
  const { remote, state, turn, pass, clock } = await open(t);
  const log = await remote.follow(turn.place);
  log.follow(() => {});
  state.onLook = () => {
    throw new TypeError('a bug');
  };
  await pass(limits.remotePollMs);
  t.same([log.terminal, log.cutOff, clock.timers], [null, true, 0]);
});

/**
 * Opens a store that processes share, like `open`; returns whether a turn that was found has begun, once that is known.
 */
async function joining(t: Test) {
  const parts = await open(t, { leaseMs: limits.leaseMs });
  const log = await parts.remote.follow(parts.turn.place);
  const joined: boolean[] = [];
  const join = (): void =>
    void parts.remote.awaitBeginning(parts.turn.place, log, null).then((begun) => {
      log.follow(() => {});
      joined.push(begun);
    });
  return { ...parts, log, joined, join };
}

t.test('a reader that joins a turn waits until its owner knows that it has begun', async (t) => {
  const growing = await joining(t);
  growing.join();
  await growing.pass(limits.leaseMs);
  t.same(growing.joined, [], 'nothing is stored');
  await growing.turn.append(0, 'one');
  await growing.pass(limits.remotePollMs);
  t.same([growing.log.stored, growing.joined], [3, []], 'of what is stored first the owner may not know');
  await growing.turn.append(3, 'two');
  await growing.pass(limits.remotePollMs);
  t.same(growing.joined, [true]);

  const slow = await joining(t);
  slow.join();
  await slow.turn.append(0, 'one');
  await slow.pass(limits.leaseMs + remoteSealMs);
  t.same(slow.joined, []);
  await slow.pass(limits.remoteSilentMs);
  t.same(slow.joined, [true], 'its model is slow');
  const { terminal } = slow.log;
  await slow.turn.scene.store.turns.finish(slow.turn.finishStep());
  await slow.pass(limits.remoteSilentMs);
  t.match([terminal, slow.log.terminal], [null, { type: 'completed' }], 'it is followed on');

  const refused = await joining(t);
  refused.join();
  await refused.turn.append(0, 'one');
  await refused.pass(limits.remotePollMs);
  await refused.turn.scene.store.turns.withdraw(refused.turn.withdrawStep());
  await refused.pass(limits.remoteSilentMs);
  t.same(refused.joined, [false], 'its chat was 503');
});

t.test('a reader that joins a turn does not wait for a store that is away', async (t) => {
  for (const first of [false, true]) {
    const { state, turn, remote, pass, clock } = await open(t, { leaseMs: limits.leaseMs });
    if (first) await turn.append(0, 'one');
    const log = await remote.follow(turn.place);
    const joined: unknown[] = [];
    remote.awaitBeginning(turn.place, log, null).catch((error) => joined.push(error));
    const leave = log.follow(() => {});
    await turnOfTheLoop();
    state.away = true;
    await pass(limits.remoteSilentMs);
    t.same(joined, [], 'one look that fails is no outage');
    await pass(limits.redisCallMs - limits.remoteSilentMs);
    t.same([joined.length, joined[0] instanceof StoreUnavailable], [1, true]);
    t.same([log.terminal, log.cutOff], [null, false], 'who reads it goes on');
    state.away = false;
    await turn.append(first ? 3 : 0, 'two');
    await pass(limits.remoteSilentMs);
    t.equal(log.pieces.join(''), first ? 'onetwo' : 'two');
    leave();
    await pass(limits.remoteSilentMs);
    t.equal(clock.timers, 0);
  }
});

t.test(
  'a reader that joins a turn that has just ended leaves its owner time to withdraw it, and claims it then',
  async (t) => {
    for (const stands of [true, false]) {
      const { turn, clock, remote } = await open(t, { leaseMs: limits.leaseMs });
      const seal = turn.finishStep({ tail: { position: 0, text: 'one' } });
      await turn.scene.store.turns.finish(seal);
      const withdraw = turn.withdrawStep({ version: 3, turn: seal.turn });
      const log = TurnLog.replay('one', { type: 'aborted' });
      const joined: boolean[] = [];
      const endedAt = Math.floor(clock.now() / 1000);
      void remote.awaitBeginning(turn.place, log, endedAt).then((begun) => joined.push(begun));
      await turnOfTheLoop();
      if (!stands) t.equal((await turn.scene.store.turns.withdraw(withdraw)).outcome, 'finished');
      clock.advance(remoteBegunMs - 1);
      await turnOfTheLoop();
      t.same(joined, []);
      clock.advance(1);
      for (let turns = 0; turns < 3; turns++) await turnOfTheLoop();
      t.same(joined, [stands]);
      t.equal(
        (await turn.scene.store.turns.withdraw(withdraw)).outcome,
        stands ? 'fenced' : 'finished',
        'its owner, cut off until now',
      );
      clock.advance(5000);
      t.equal(
        await remote.awaitBeginning(turn.place, log, endedAt),
        stands,
        'one that ended long ago is joined at once',
      );
    }
  },
);

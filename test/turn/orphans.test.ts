/** Turns whose process died (architecture, idea 4; contract 6). */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { secondsOf } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { takeStep, type Steps } from '../../src/store/steps.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { findTurn } from '../../src/conversation/turns.ts';
import type { Speaker } from '../../src/turn/ports.ts';
import type { TurnEnd } from '../../src/turn/log.ts';
import { TurnReader } from '../../src/turn/reader.ts';
import { Scene, withSteps } from '../host/scene.ts';

t.test('the next start seals the turns of a dead process', async (t) => {
  const first = await Scene.open();
  const [talking, waiting, ending] = [await first.session(), await first.session(), await first.session()];
  await first.streaming(talking.id, 'one 😀');
  await first.begin(waiting.id);
  const second = await first.afterDeath();
  t.equal(await second.state(ending.id), 'open');
  t.equal(await second.store.turns.inFlight(second.workspaceId), 0, 'the slots are free at once');
  await second.host.start();
  t.match(await second.transcript(talking.id), [
    { content: 'Hello' },
    { content: 'one 😀', status: 'partial', stopReason: 'error', errorCode: 'api_error' },
  ]);
  t.same(await second.transcript(waiting.id), [], 'one that said nothing leaves nothing');
  t.same([await second.state(talking.id), await second.state(waiting.id)], ['open', 'open']);
  const at = secondsOf(second.clock.now());
  const [bucket] = await second.store.usage.read(second.workspaceId, {
    assistantIds: null,
    start: at - 60,
    end: at + 60,
    bucketSeconds: 3600,
  });
  t.match(bucket, { turns: 1, failedTurns: 1, inputTokens: 2, outputTokens: 2 }, 'its tokens are estimated');
  t.ok(await second.streaming(talking.id));
  second.host.close();
});

for (const [budget, inputTokens] of [
  [null, 10],
  [7, 4],
  [1, 2],
] as const) {
  t.test(
    `what its model was sent is estimated within the assistant's budget of ${budget ?? 'the default'}`,
    async (t) => {
      const first = await Scene.open();
      const { catalog } = first.store;
      const { record, version } = (await catalog.read('assistant', first.workspaceId, first.assistantId))!;
      await catalog.replace('assistant', { ...record, model: { ...record.model, historyTokensMax: budget } }, version);
      const { id } = await first.session();
      for (const answer of ['one, two, three, ', 'four ']) {
        const { runner, model } = await first.streaming(id, answer);
        model.end();
        await runner.settled;
      }
      const { runner } = await first.streaming(id, 'five');
      const second = await first.afterDeath();
      await second.host.start();
      t.match(await second.store.turns.read(second.workspaceId, id, runner.turnId), { status: 'failed', inputTokens });
      second.host.close();
    },
  );
}

t.test('sealing an orphan ends the call of its turn, and leaves a newer call open', async (t) => {
  const speaker: Speaker = {
    text: () => {},
    rests: () => {},
    over: () => {},
    heard: () => ({ points: 0, voice: { audioMs: 0, heard: 'estimated', cutBy: null } }),
  };
  const first = await Scene.open();
  const noted = async (scene: Scene, id: string, callId: string): Promise<void> =>
    scene.host.sessions.noteCall(await scene.actor(id), callId);
  const ids = [];
  for (const calls of [['call_1'], ['call_1', 'call_1'], ['call_1', 'call_2']]) {
    const { id } = await first.session();
    await noted(first, id, calls[0]!);
    await first.begin(id, null, true, undefined, speaker);
    if (calls.length > 1) await noted(first, id, calls[1]!);
    ids.push(id);
  }
  const typed = await first.session();
  await noted(first, typed.id, 'call_1');
  await first.streaming(typed.id);
  const second = await first.afterDeath();
  const read = async (id: string) => (await second.host.sessions.read(second.workspaceId, id))!.call?.id ?? null;
  t.same(
    await Promise.all([...ids, typed.id].map(read)),
    [null, null, 'call_2', 'call_1'],
    'a chat beside a call says nothing of it',
  );
  second.host.close();
});

t.test('the first request for a session seals its orphan', async (t) => {
  const first = await Scene.open();
  const { id } = await first.session();
  await first.streaming(id);
  const second = await first.afterDeath();
  const record = await second.host.sessions.read(second.workspaceId, id);
  t.match(record!.machine, { state: 'open', context: { activeTurnId: null } });
  t.match((await second.transcript(id)).at(-1), { status: 'partial', content: 'one ' });
  t.ok(await second.streaming(id));
});

t.test('a session that moves while its orphan is sealed costs no second lease', async (t) => {
  const first = await Scene.open();
  const { id } = await first.session();
  await first.streaming(id);
  const { store } = await first.afterDeath();
  let moves = 1;
  const finishTurn: Steps['finishTurn'] = async (step) => {
    if (moves-- <= 0) return store.turns.finish(step);
    // A seizure of the same moment would be taken for the same one.
    first.clock.advance(1);
    const { record, version } = (await store.sessions.read(step.session.workspaceId, id))!;
    await store.sessions.save({ ...record, mark: 'moved', metadata: { moved: 'yes' } }, { version, mark: record.mark });
    return { outcome: 'lost' };
  };
  const second = first.beside(withSteps(store, { finishTurn }));
  t.equal((await second.actor(id)).machine.state, 'open');
  t.match(await store.sessions.read(second.workspaceId, id), {
    record: { machine: { state: 'open' }, metadata: { moved: 'yes' } },
  });
  t.match((await second.transcript(id)).at(-1), { content: 'one ', status: 'partial', errorCode: 'api_error' });
  t.ok(await second.streaming(id));
  second.host.close();

  const third = await first.afterDeath();
  moves = Infinity;
  const restless = first.beside(withSteps(third.store, { finishTurn }));
  t.equal((await restless.actor(id)).machine.state, 'streaming', 'one that never holds still is left to the next look');
  t.equal(moves, Infinity);
  restless.host.close();
});

t.test("an orphan gets the end that its session's state implies", async (t) => {
  const first = await Scene.open();
  const brief = await first.session({ maxCallSeconds: 10 });
  await first.streaming(brief.id);
  first.clock.advance(9000);
  const second = await first.afterDeath();
  second.clock.advance(2000);
  await second.host.sessions.read(second.workspaceId, brief.id);
  t.match((await second.transcript(brief.id)).at(-1), {
    status: 'partial',
    stopReason: 'expired',
    errorCode: 'session_expired',
  });
  t.match((await second.store.sessions.read(second.workspaceId, brief.id))!.record.machine, {
    state: 'expired',
    context: { endedAt: brief.expiresAt },
  });
});

/** A process that starts with a dead one's turn, which the disk has no room to seal. */
async function onFullDisk(): Promise<{ scene: Scene; sessionId: string; turnId: string; frees(): void }> {
  const first = await Scene.open();
  const { id: sessionId } = await first.session();
  const { turnId } = (await first.streaming(sessionId)).runner;
  const after = await first.afterDeath();
  let full = true;
  const finishTurn: Steps['finishTurn'] = (step) =>
    full ? Promise.reject(new StoreUnavailable('The disk is full.')) : after.store.turns.finish(step);
  const scene = after.beside(withSteps(after.store, { finishTurn }));
  await scene.host.start();
  scene.clock.advance(1);
  return { scene, sessionId, turnId, frees: () => (full = false) };
}

t.test('an orphan that could not be sealed at the start is sealed when its takeover lapses', async (t) => {
  const { scene, sessionId, frees } = await onFullDisk();
  t.equal((await scene.actor(sessionId)).machine.state, 'streaming', 'its session is awake meanwhile');
  frees();
  await pass(scene, limits.leaseMs + limits.orphansMs + 50);
  t.equal(await scene.state(sessionId), 'open');
  t.match((await scene.transcript(sessionId)).at(-1), { content: 'one ', status: 'partial', errorCode: 'api_error' });
  scene.host.close();
});

t.test('an orphan that could not be sealed is sealed by the next read, under the same fence', async (t) => {
  for (const failing of ['turn', 'output', 'recentMessages', 'finishTurn', 'takeOverTurn'] as const) {
    const first = await Scene.open();
    const { id } = await first.session();
    await first.streaming(id);
    const { store } = await first.afterDeath();
    let fails = 1;
    const step = async (...given: unknown[]) => {
      const take = (): unknown => takeStep(store, failing, given);
      if (fails-- <= 0) return take();
      if (failing === 'takeOverTurn') await take();
      throw new StoreUnavailable('no answer');
    };
    const second = first.beside(withSteps(store, { leaseMs: limits.leaseMs, [failing]: step }));
    await t.rejects(second.actor(id), { message: 'no answer' });
    second.clock.advance(1000);
    const looks = await Promise.all([
      second.host.sessions.read(second.workspaceId, id),
      second.host.sessions.read(second.workspaceId, id),
    ]);
    t.ok(
      looks.some((record) => record!.machine.state === 'open'),
      `${failing} failed`,
    );
    t.match((await second.transcript(id)).at(-1), { content: 'one ', status: 'partial', errorCode: 'api_error' });
    t.ok(await second.streaming(id));
    second.host.close();
  }
});

t.test('a reader of an orphan receives its end', async (t) => {
  const { scene, sessionId, turnId, frees } = await onFullDisk();
  const { log } = (await findTurn(await scene.actor(sessionId), turnId, scene))!;
  frees();
  const client = {
    text: '',
    delta: (text: string) => ((client.text += text), true),
    heartbeat: () => true,
    mark: () => true,
    onDrain: () => {},
    cut: () => {},
    terminal: (ending: TurnEnd) => endings.push(ending),
  };
  const endings: TurnEnd[] = [];
  new TurnReader(log, 0, client, scene.clock).start();
  t.same([client.text, endings], ['one ', []]);
  await pass(scene, limits.leaseMs + limits.orphansMs + limits.remoteSilentMs + 50);
  t.same(endings, [{ type: 'failed', errorCode: 'api_error' }]);
  scene.host.close();
});

t.test('a session that is read while it begins a turn keeps the turn', async (t) => {
  const made = await Scene.open();
  let begin = (): void => {};
  const held = new Promise<void>((resolve) => (begin = resolve));
  const scene = made.beside(
    withSteps(made.store, { beginTurn: (step) => held.then(() => made.store.turns.begin(step)) }),
  );
  const { id } = await scene.session();
  const beginning = scene.streaming(id);
  const actor = await scene.actor(id);
  while (actor.context.activeTurnId === null) await turnOfTheLoop();
  t.ok(actor.abandoned, 'it looks like one that nobody runs');
  const asked = Promise.all([
    scene.host.sessions.of(scene.workspaceId, id),
    scene.host.sessions.read(scene.workspaceId, id),
  ]);
  begin();
  const { runner } = await beginning;
  await asked;
  t.same(
    [actor.runner, actor.abandoned, runner.log.terminal, await scene.state(id)],
    [runner, false, null, 'streaming'],
  );
});

t.test('a turn and its text are read in one step, also across a failover', async (t) => {
  const scene = await Scene.open();
  const { id } = await scene.session();
  const { model, runner } = await scene.streaming(id);
  model.end();
  await runner.over;
  const stored = await scene.store.turns.read(scene.workspaceId, id, runner.turnId);
  const earlier = async () => ({ ...stored!, status: 'aborted' as const });
  const never = (): Promise<never> => Promise.reject(new Error('half a look'));
  const found = await findTurn(await scene.actor(id), runner.turnId, {
    ...scene,
    store: withSteps(scene.store, { turn: earlier, output: never }),
  });
  t.match(found, { messageId: runner.messageId, log: { pieces: ['one '], terminal: { type: 'completed' } } });
  const forgotten = withSteps(scene.store, { outputAfter: async () => null });
  t.equal(
    await findTurn(await scene.actor(id), runner.turnId, { ...scene, store: forgotten }),
    null,
    'one that is forgotten by then is not there',
  );
});

t.test('a read of the session seals an orphan once its earlier takeover has lapsed', async (t) => {
  const { scene, sessionId, frees } = await onFullDisk();
  scene.host.close();
  t.match((await scene.actor(sessionId)).record.machine, { state: 'streaming' });
  frees();
  scene.clock.advance(limits.leaseMs);
  t.match((await scene.host.sessions.read(scene.workspaceId, sessionId))!.machine, { state: 'open' });
  t.ok(await scene.streaming(sessionId), 'and the next turn begins');
});

/** Two processes that share a store, and how the first of them dies: nothing it sends arrives any more. */
async function two(): Promise<{ one: Scene; other: Scene; die(): void }> {
  const made = await Scene.open();
  let dead = false;
  const steps = [
    'appendOutput',
    'renewTurn',
    'finishTurn',
    'session',
    'requestStop',
    'orphans',
    'ping',
    'sweep',
  ] as const;
  const away =
    (name: (typeof steps)[number]) =>
    (...given: unknown[]) => {
      if (dead) return Promise.reject(new StoreUnavailable('dead'));
      return takeStep(made.store, name, given) as unknown;
    };
  const shared = { leaseMs: limits.leaseMs };
  const one = made.beside(
    withSteps(made.store, { ...shared, ...Object.fromEntries(steps.map((name) => [name, away(name)])) }),
  );
  const other = made.beside(withSteps(made.store, shared));
  return {
    one,
    other,
    die() {
      dead = true;
      one.host.close();
    },
  };
}

/** Time passes in steps that let what fell due happen. */
async function pass(scene: Scene, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 50) {
    scene.clock.advance(Math.min(left, 50));
    await turnOfTheLoop();
  }
}

t.test('an abort of a turn whose process has died is an abort, and waits for no lease', async (t) => {
  const { one, other, die } = await two();
  const { id } = await one.session();
  const { runner } = await one.streaming(id);
  die();
  let aborted = false;
  const aborting = other.host.sessions.abort(await other.actor(id), runner.turnId).then(() => (aborted = true));
  await pass(other, limits.stopMs);
  t.equal(aborted, false, 'its owner may live');
  await pass(other, 200);
  t.equal(aborted, true);
  await aborting;
  t.match((await other.transcript(id)).at(-1), {
    content: 'one ',
    status: 'partial',
    stopReason: 'aborted',
    errorCode: null,
  });
  t.match(await other.store.turns.read(other.workspaceId, id, runner.turnId), {
    status: 'aborted',
    stopReason: 'aborted',
    errorCode: null,
  });
  t.equal(await other.state(id), 'open');
  await pass(other, limits.leaseMs);
  other.host.close();
});

t.test('an orphan is sealed soon after its session expires', async (t) => {
  for (const lastMs of [limits.leaseMs - 500, 1000, 100]) {
    const { one, other, die } = await two();
    await other.host.start();
    const { id, expiresAt } = await one.session({ maxCallSeconds: 10 });
    await pass(one, expiresAt * 1000 - one.clock.now() - lastMs);
    await one.streaming(id);
    die();
    await pass(other, lastMs);
    t.equal(await other.state(id), 'streaming');
    await pass(other, limits.stopMs + limits.orphansMs + 100);
    t.match((await other.transcript(id)).at(-1), {
      content: 'one ',
      status: 'partial',
      stopReason: 'expired',
      errorCode: 'session_expired',
    });
    t.match((await other.store.sessions.read(other.workspaceId, id))!.record.machine, {
      state: 'expired',
      context: { endedAt: expiresAt },
    });
    await pass(other, limits.leaseMs);
    other.host.close();
  }
});

t.test("another process' living turn is left alone until its lease has run out", async (t) => {
  const one = await Scene.open();
  const two = one.beside();
  const { id } = await one.session({ maxCallSeconds: 3600 });
  const talk = await one.streaming(id);
  await two.host.start();
  t.equal((await two.actor(id)).machine.state, 'streaming');
  talk.model.text('two');
  talk.model.end();
  await talk.runner.over;
  t.match((await two.transcript(id)).at(-1), { content: 'one two', status: 'completed' });

  const other = await one.session();
  const stuck = await one.streaming(other.id);
  two.clock.advance(0);
  await two.store.turns.takeOver(
    { workspaceId: one.workspaceId, sessionId: other.id, turnId: stuck.runner.turnId },
    'x',
    0,
    Number.MAX_SAFE_INTEGER,
  );
  two.host.sessions.population.discard(other.id);
  await two.host.start();
  t.match((await two.transcript(other.id)).at(-1), { content: 'one ', status: 'partial', errorCode: 'api_error' });
  stuck.model.text('late');
  await stuck.runner.over;
  while (stuck.runner.log.terminal === null) await turnOfTheLoop();
  t.same(
    [stuck.cancelled(), stuck.runner.log.terminal],
    [true, { type: 'failed', errorCode: 'api_error' }],
    'the slow owner is fenced off, and its readers are told what became of the turn',
  );
  t.match((await one.transcript(other.id)).at(-1), { content: 'one ' });
  one.host.close();
  two.host.close();
});

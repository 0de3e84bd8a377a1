/**
 * Steps whose answer is lost, on a store that processes share: each may have been taken, or may still be (contract 7).
 */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { reachTurn } from '../../src/conversation/turns.ts';
import { limits } from '../../src/base/limits.ts';
import { left, nothing, open, remember, unanswered, verbs } from './losses.ts';
import { fateMs, fateReadersMs } from '../../src/turn/end-steps.ts';
import { remoteBegunMs, remoteSealMs } from '../../src/turn/remote-turns.ts';
import { storeRetryMsMax } from '../../src/base/store-retry.ts';

for (const loss of ['the answer', 'the step', 'late'] as const) {
  t.test(`a begin that loses ${loss} is withdrawn, and a repeat runs anew`, async (t) => {
    const { scene, other, losses, pass, arrives, close } = await open();
    const { id } = await scene.session();
    losses.set('beginTurn', loss).set('withdrawTurn', 'the step');
    await t.rejects(scene.begin(id, remember), unanswered);
    losses.delete('beginTurn');
    const repeated = t.rejects(
      scene.begin(id, remember),
      { message: 'The previous turn of the session is not withdrawn yet. Repeat the request.' },
      'a repeat does not join it',
    );
    await pass(limits.withdrawalMs + 50);
    await repeated;
    losses.clear();
    await pass(storeRetryMsMax);
    await arrives();
    t.same(await left(scene, id), nothing);
    const talk = await scene.begin(id, remember);
    talk.model.text('one ');
    talk.model.end();
    await talk.runner.over;
    t.match(await other.transcript(id), [{ content: 'Hello' }, { content: 'one ', status: 'completed' }]);
    t.equal((await left(scene, id)).memory!.resultId, talk.runner.turnId);
    close();
  });
}

t.test('chats that wait for a withdrawal wait concurrently, and other events do not wait for them', async (t) => {
  const { scene, losses, pass, close } = await open();
  const { id } = await scene.session();
  losses.set('beginTurn', 'the answer').set('withdrawTurn', 'the step');
  await t.rejects(scene.begin(id), unanswered);
  losses.delete('beginTurn');
  const chats = [1, 2, 3].map(() =>
    t.rejects(scene.begin(id), {
      message: 'The previous turn of the session is not withdrawn yet. Repeat the request.',
    }),
  );
  await turnOfTheLoop();
  await (await scene.actor(id)).mailbox.post(async () => {});
  await pass(limits.withdrawalMs + 50);
  await Promise.all(chats);
  const [first, second] = [scene.begin(id), scene.begin(id)];
  const refused = t.rejects(second, { code: 'turn_in_progress' });
  await turnOfTheLoop();
  losses.clear();
  await pass(storeRetryMsMax);
  const talk = await first;
  await refused;
  talk.model.text('one ');
  talk.model.end();
  await talk.runner.over;
  t.match(
    await scene.transcript(id),
    [{ content: 'Hello' }, { content: 'one ' }],
    'it begins where the withdrawal has left the session',
  );
  close();
});

t.test('a lost begin is withdrawn after the session has moved', async (t) => {
  const { scene, other, losses, pass, close } = await open();
  const { id } = await scene.session();
  for (const verb of ['beginTurn', 'withdrawTurn'] as const) losses.set(verb, 'the answer');
  await t.rejects(scene.begin(id, remember), unanswered);
  const ending = other.host.sessions.end(await other.actor(id));
  losses.clear();
  await pass(limits.leaseMs);
  await ending;
  t.match(await left(scene, id), { ...nothing, state: 'ended' });
  close();
});

for (const reply of ['answered', 'lost'] as const) {
  t.test(
    `a begin that was lost is withdrawn after another process has seized the turn and died, the seizure being ${reply}`,
    async (t) => {
      const { scene, other, losses, pass, close } = await open();
      const { id } = await scene.session();
      losses.set('beginTurn', 'the answer').set('withdrawTurn', 'the step');
      await t.rejects(scene.begin(id, remember), unanswered);
      losses.set('session', 'the step');
      await pass(limits.leaseMs + 50);
      const nowMs = scene.clock.now();
      const [place] = await other.store.turns.orphans(nowMs, 1);
      t.match(await other.store.turns.takeOver(place!, 'dead', nowMs + limits.leaseMs, nowMs), { epoch: 2 });
      losses.clear();
      if (reply === 'lost') losses.set('takeOverTurn', 'the answer');
      await pass(limits.leaseMs + storeRetryMsMax);
      losses.clear();
      await pass(storeRetryMsMax);
      t.same(await left(scene, id), nothing);
      t.ok(await scene.begin(id, remember));
      close();
    },
  );
}

t.test('an end of ours finds no turn that is being withdrawn', async (t) => {
  const { scene, losses, pass, close } = await open();
  const { id } = await scene.session();
  losses.set('beginTurn', 'the answer').set('withdrawTurn', 'the step');
  await t.rejects(scene.begin(id, remember), unanswered);
  const ending = scene.host.sessions.end(await scene.actor(id));
  await pass(2 * limits.leaseMs);
  await ending;
  t.match(
    await scene.transcript(id),
    [{}, { status: 'streaming' }],
    'its own process does not seal it, whatever its lease',
  );
  losses.clear();
  await pass(storeRetryMsMax);
  t.match(await left(scene, id), { ...nothing, state: 'ended' });
  close();
});

for (const loss of ['the answer', 'the step', 'late'] as const) {
  t.test(`a first piece that loses ${loss} withdraws the turn`, async (t) => {
    const { scene, losses, pass, arrives, close } = await open();
    const { id } = await scene.session();
    const talk = await scene.begin(id, remember);
    for (const verb of ['appendOutput', 'withdrawTurn'] as const) losses.set(verb, loss);
    talk.model.text('one ');
    t.same(await talk.runner.begun, { kind: 'unavailable' });
    t.equal(talk.cancelled(), true);
    losses.clear();
    await pass(storeRetryMsMax);
    await arrives();
    t.same(await left(scene, id), nothing);
    t.match([scene.overs, scene.faults], [['withdrawn'], [{ reason: 'store_away' }]]);
    t.ok(await scene.streaming(id));
    close();
  });
}

t.test(
  'an owner that has abandoned its first piece renews no lease, and output that another process showed stays',
  async (t) => {
    const { scene, other, losses, pass, close } = await open();
    const { id } = await scene.session();
    const talk = await scene.begin(id, remember);
    losses.set('appendOutput', 'the answer').set('withdrawTurn', 'the step');
    talk.model.text('one ');
    t.same(await talk.runner.begun, { kind: 'unavailable' });
    const place = { workspaceId: scene.workspaceId, sessionId: id, turnId: talk.runner.turnId };
    const log = await other.host.remote.follow(place);
    const begun = other.host.remote.awaitBeginning(place, log, null);
    await turnOfTheLoop();
    await pass(limits.leaseMs + 50);
    await other.actor(id);
    await pass(remoteSealMs);
    await pass(remoteBegunMs);
    t.equal(await begun, true);
    t.match([log.pieces.join(''), log.terminal], ['one ', { type: 'failed', errorCode: 'api_error' }]);
    losses.clear();
    await pass(storeRetryMsMax);
    t.match(await left(scene, id), { state: 'open', messages: 2, turns: 1, memory: { resultId: talk.runner.turnId } });
    close();
  },
);

t.test('a first piece without an answer stays if another process has sealed the turn', async (t) => {
  const { scene, other, losses, pass, close } = await open();
  const { id } = await scene.session();
  const talk = await scene.begin(id, remember);
  for (const verb of ['appendOutput', 'withdrawTurn', 'renewTurn'] as const) losses.set(verb, 'the answer');
  losses.set('withdrawTurn', 'the step');
  talk.model.text('one ');
  t.same(await talk.runner.begun, { kind: 'unavailable' });
  await pass(limits.leaseMs);
  await other.actor(id);
  t.match(await left(other, id), { messages: 2, turns: 1 }, 'who sealed it cannot know what its chat was told');
  losses.clear();
  await pass(storeRetryMsMax);
  t.match(
    await left(other, id),
    { state: 'open', messages: 2, memory: { resultId: talk.runner.turnId }, turns: 1 },
    'somebody may have been shown it',
  );
  t.match(await other.transcript(id), [
    { content: 'Hello' },
    { content: 'one ', status: 'partial', errorCode: 'api_error' },
  ]);
  t.ok(await scene.streaming(id), 'nothing waits any more');
  close();
});

for (const said of [true, false]) {
  t.test(
    `an abort that another process has sealed stands, its owner being cut off before its first output and then ${said ? 'speaking' : 'ending'}`,
    async (t) => {
      const { scene, other, losses, pass, close } = await open();
      const { id } = await scene.session();
      const talk = await scene.begin(id, remember);
      losses.set('renewTurn', 'the step');
      const aborting = other.host.sessions.abort(await other.actor(id), talk.runner.turnId);
      await pass(limits.stopMs + limits.leaseMs / 6);
      await aborting;
      losses.clear();
      if (said) talk.model.text('one ');
      else talk.model.end();
      t.same([await talk.runner.begun, talk.runner.log.stored], [{ kind: 'begun' }, 0]);
      t.same(talk.runner.log.terminal, { type: 'aborted' });
      await pass(storeRetryMsMax);
      t.match(await left(scene, id), {
        state: 'open',
        messages: 2,
        turns: 1,
        memory: { resultId: talk.runner.turnId },
      });
      t.match(
        [await other.transcript(id), scene.overs, scene.faults],
        [[{}, { content: '', status: 'partial', stopReason: 'aborted' }], ['aborted'], { length: 0 }],
      );
      close();
      t.equal(scene.clock.timers, 0, 'nothing is left running');
    },
  );
}

for (const said of [true, false]) {
  t.test(
    `an abort that another process has sealed is no fault of an owner that hears of it with its renewal, having ${said ? 'spoken' : 'said nothing'}`,
    async (t) => {
      const { scene, other, losses, pass, close } = await open();
      const { id } = await scene.session();
      const talk = said ? await scene.streaming(id) : await scene.begin(id);
      const leave = talk.runner.log.follow(() => {});
      losses.set('renewTurn', 'the step');
      const aborting = other.host.sessions.abort(await other.actor(id), talk.runner.turnId);
      await pass(limits.stopMs + limits.leaseMs / 6);
      await aborting;
      losses.clear();
      await pass(limits.leaseMs / 3);
      t.same(
        [await talk.runner.begun, talk.runner.log.terminal, talk.cancelled()],
        [{ kind: 'begun' }, { type: 'aborted' }, true],
      );
      t.match([scene.overs, scene.faults], [['aborted'], { length: 0 }]);
      leave();
      close();
    },
  );
}

t.test('the events of a turn that waits to be withdrawn are not read', async (t) => {
  const { scene, losses, pass, close } = await open();
  const { id } = await scene.session();
  const talk = await scene.begin(id, remember);
  losses.set('appendOutput', 'the answer').set('withdrawTurn', 'the step');
  talk.model.text('one ');
  t.same(await talk.runner.begun, { kind: 'unavailable' });
  await talk.runner.over;
  const { clock, host, store, workspaceId } = scene;
  const principal = { workspaceId, id: 'key_1', kind: 'key', name: 'Key', channel: 'api', assistantIds: null } as const;
  await t.rejects(reachTurn(principal, id, talk.runner.turnId, { clock, host, store } as never), {
    message: 'The turn waits to be withdrawn. Repeat the request.',
  });
  losses.clear();
  await pass(storeRetryMsMax);
  t.same(await left(scene, id), nothing);
  close();
});

t.test('the events of a turn that waits to be withdrawn are read once a repeat has kept it', async (t) => {
  const { scene, losses, close } = await open();
  const { id } = await scene.session();
  const talk = await scene.begin(id, remember);
  losses.set('finishTurn', 'the answer').set('withdrawTurn', 'the step');
  talk.model.end();
  t.same(await talk.runner.begun, { kind: 'unavailable' });
  const { clock, host, store, workspaceId } = scene;
  const { turnId } = talk.runner;
  const principal = { workspaceId, id: 'key_1', kind: 'key', name: 'Key', channel: 'api', assistantIds: null } as const;
  await t.rejects(reachTurn(principal, id, turnId, { clock, host, store } as never), {
    message: 'The turn waits to be withdrawn. Repeat the request.',
  });
  t.equal(
    await store.turns.claim({ workspaceId, sessionId: id, turnId }),
    true,
    'as a process does that joins the repeat to the turn',
  );
  t.match((await reachTurn(principal, id, turnId, { clock, host, store } as never)).log.terminal, {
    type: 'completed',
  });
  close();
});

t.test('a turn is withdrawn though a later version has moved its session meanwhile', async (t) => {
  const { scene, other, losses, pass, close } = await open();
  const { id } = await scene.session();
  const talk = await scene.begin(id, remember);
  losses.set('appendOutput', 'the answer').set('withdrawTurn', 'the step');
  talk.model.text('one ');
  await talk.runner.over;
  const move = async (by: number): Promise<void> => {
    const { record, version } = (await other.store.sessions.read(scene.workspaceId, id))!;
    const machine = { ...record.machine, version: record.machine.version + by };
    await other.store.sessions.save({ ...record, mark: `m${version}`, machine }, { version, mark: record.mark });
  };
  await move(1);
  losses.clear();
  await pass(storeRetryMsMax);
  t.match([await left(other, id), scene.faults], [{ messages: 2 }, [{ reason: 'store_away' }]], 'it is not given up');
  await move(-1);
  await pass(storeRetryMsMax);
  t.same(await left(other, id), nothing);
  close();
});

for (const read of [true, false]) {
  t.test(
    `a turn that nobody seals is polled for a bounded time while it has readers: ${read ? 'read' : 'not read'}`,
    async (t) => {
      const { scene, losses, pass, close } = await open();
      const { id } = await scene.session();
      const talk = await scene.streaming(id);
      losses.set('renewTurn', 'the step');
      const nowMs = scene.clock.now();
      const place = { workspaceId: scene.workspaceId, sessionId: id, turnId: talk.runner.turnId };
      await scene.store.turns.requestStop(place, 'aborted', nowMs, nowMs);
      t.ok(await scene.store.turns.takeOver(place, 'dead', nowMs + 3_600_000, nowMs));
      const { log } = talk.runner;
      const leave = read ? log.follow(() => {}) : () => {};
      talk.model.text('two ');
      await pass(limits.leaseMs);
      t.same([log.terminal, log.cutOff], [null, !read]);
      await pass(fateReadersMs + limits.remoteSilentMs);
      t.same([log.terminal, log.cutOff], [null, true]);
      leave();
      close();
      t.equal(scene.clock.timers, 0, 'nothing is left running');
    },
  );
}

t.test(
  'the fate of a turn that another process took over is not waited for long before its first output',
  async (t) => {
    const { scene, losses, pass, close } = await open();
    const { id } = await scene.session();
    const talk = await scene.begin(id, remember);
    for (const verb of ['renewTurn', 'withdrawTurn', 'outputAfter'] as const) losses.set(verb, 'the step');
    const nowMs = scene.clock.now();
    const place = { workspaceId: scene.workspaceId, sessionId: id, turnId: talk.runner.turnId };
    await scene.store.turns.requestStop(place, 'aborted', nowMs, nowMs);
    t.ok(await scene.store.turns.takeOver(place, 'dead', nowMs + 60_000, nowMs));
    talk.model.text('one ');
    await pass(fateMs + 50);
    t.same(await talk.runner.begun, { kind: 'unavailable' });
    t.match(scene.faults, [{ reason: 'fence_lost' }]);
    close();
  },
);

for (const loss of ['the answer', 'the step', 'late'] as const) {
  t.test(`an end without output that loses ${loss} withdraws the turn`, async (t) => {
    const { scene, losses, pass, arrives, close } = await open();
    const { id } = await scene.session();
    const talk = await scene.begin(id, remember);
    losses.set('finishTurn', loss);
    talk.model.end();
    t.same(await talk.runner.begun, { kind: 'unavailable' });
    losses.clear();
    await pass(storeRetryMsMax);
    await arrives();
    t.same(await left(scene, id), nothing);
    close();
  });

  t.test(`an end that loses ${loss} is reported as it is stored, once it is stored`, async (t) => {
    const { scene, losses, pass, arrives, close } = await open();
    const { id } = await scene.session();
    const talk = await scene.begin(id, remember);
    talk.model.text('one ');
    await talk.runner.begun;
    losses.set('finishTurn', loss);
    talk.model.end();
    await pass(limits.leaseMs);
    t.same([talk.runner.log.terminal, await talk.runner.settled], [null, false]);
    losses.clear();
    await pass(storeRetryMsMax);
    t.match(talk.runner.log.terminal, { type: 'completed' });
    await arrives();
    t.match(await left(scene, id), { messages: 2, slots: 0, turns: 1, memory: { resultId: talk.runner.turnId } });
    t.match(
      [await scene.transcript(id), scene.overs, scene.faults],
      [[{}, { content: 'one ', status: 'completed' }], ['completed'], { length: 0 }],
    );
    close();
  });
}

t.test('a turn waits for its store as long as its lease allows, and its readers see no end', async (t) => {
  const { scene, losses, pass, close } = await open();
  const { id } = await scene.session();
  const talk = await scene.streaming(id, 'one ');
  for (const verb of ['appendOutput', 'renewTurn'] as const) losses.set(verb, 'the answer');
  talk.model.text('two ');
  await pass(limits.leaseMs * 0.7);
  talk.model.text('three');
  t.same([talk.cancelled(), talk.runner.log.stored, talk.runner.log.terminal], [false, 4, null]);
  losses.clear();
  await pass(storeRetryMsMax);
  talk.model.end();
  await talk.runner.over;
  t.match(
    [await scene.transcript(id), scene.faults],
    [[{}, { content: 'one two three', status: 'completed' }], { length: 0 }],
    'each piece once',
  );
  close();
});

for (const seized of [false, true]) {
  t.test(
    `a turn whose lease runs out without an answer ends as the store has it${seized ? ', sealed by another process' : ''}`,
    async (t) => {
      const { scene, other, losses, pass, close } = await open();
      const { id } = await scene.session();
      const talk = await scene.streaming(id, 'one ');
      for (const verb of verbs) losses.set(verb, verb === 'appendOutput' ? 'the answer' : 'the step');
      talk.model.text('two ');
      await turnOfTheLoop();
      losses.set('appendOutput', 'the step');
      talk.model.text('three');
      await pass(limits.leaseMs);
      t.same([talk.cancelled(), talk.runner.log.terminal], [true, null]);
      if (seized) {
        await pass(limits.leaseMs);
        await other.actor(id);
        t.match(await other.state(id), 'open');
      }
      losses.clear();
      await pass(2 * storeRetryMsMax);
      const { content } = (await other.transcript(id)).at(-1)!;
      const { pieces, storedPieces, terminal } = talk.runner.log;
      t.same([pieces.slice(0, storedPieces).join(''), terminal], [content, { type: 'failed', errorCode: 'api_error' }]);
      t.equal(content, seized ? 'one two ' : 'one two three');
      t.match(await other.store.turns.read(other.workspaceId, id, talk.runner.turnId), {
        status: 'failed',
        errorCode: 'api_error',
      });
      t.match([scene.overs, scene.faults], [['failed'], [{ reason: 'lease_lost' }]]);
      close();
    },
  );
}

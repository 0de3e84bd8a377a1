/** The embedded stores' promises about batches: one at a time, answered when committed, failed together. */
import { rejects } from 'node:assert/strict';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import type { Write } from '../../src/store/engine.ts';
import { WriteBatcher, recordsKeptMax, recordKeptBytesMax } from '../../src/store/write-batcher.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { HeldEngine } from './engines.ts';
import { api, at, page, remembered, Scene, snapshot, usageQuery } from './fixtures.ts';

const nowMs = Date.now();

async function scene(): Promise<{ scene: Scene; engine: HeldEngine }> {
  const engine = new HeldEngine();
  const store = new EmbeddedStore(engine);
  await store.open(nowMs);
  return { scene: new Scene(store, nowMs), engine };
}

/** Lets every promise that can settle do so. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const outcome = (promise: Promise<unknown>) => {
  const seen: { value: unknown; error: unknown; over: boolean } = { value: undefined, error: null, over: false };
  promise.then(
    (value: unknown) => Object.assign(seen, { value, over: true }),
    (error: unknown) => Object.assign(seen, { error, over: true }),
  );
  return seen;
};

t.test('the steps of one tick are one batch, and what comes while it commits is the next', async (t) => {
  const { scene: made, engine } = await scene();
  const { store } = made;
  engine.held = true;
  const before = engine.batches.length;
  const first = [1, 2, 3].map(() => outcome(store.sessions.create(made.createStep())));
  await settled();
  t.equal(engine.batches.length, before + 1);
  const second = [1, 2].map(() => outcome(store.sessions.create(made.createStep())));
  await settled();
  t.equal(engine.batches.length, before + 1, 'one batch is in flight at a time');
  t.notOk(
    first.some(({ over }) => over),
    'nothing is answered before it is committed',
  );
  engine.settle();
  await settled();
  t.ok(first.every(({ over, error }) => over && error === null));
  t.notOk(second.some(({ over }) => over));
  t.equal(engine.batches.length, before + 2);
  engine.settle();
  await settled();
  t.ok(second.every(({ over, error }) => over && error === null));
});

t.test('a batch leaves once whatever else is ready has had its turn', async (t) => {
  const { scene: made, engine } = await scene();
  engine.waits = true;
  const before = engine.batches.length;
  const steps = [];
  for (let request = 0; request < 3; request++) {
    steps.push(outcome(made.store.sessions.create(made.createStep())));
    // Waits as long as between two requests in the event loop: every promise continues.
    await settled();
  }
  t.equal(engine.batches.length, before);
  engine.go();
  await settled();
  t.equal(engine.batches.length, before + 1);
  t.ok(steps.every(({ over, error }) => over && error === null));
});

t.test('a reader sees only committed rows', async (t) => {
  const { scene: made, engine } = await scene();
  const { store, workspaceId } = made;
  const turn = await made.streaming();
  engine.held = true;
  const append = outcome(turn.append(0, 'text'));
  const save = outcome(store.sessions.save({ ...turn.step.session, machine: snapshot('ended') }, at(turn.version)));
  await settled();
  t.equal(await store.turns.output(turn.place), '');
  t.equal((await made.transcript(turn.before.id))[1]!.content, '');
  t.equal((await store.sessions.read(workspaceId, turn.before.id))!.version, turn.version);
  engine.settle();
  await settled();
  t.same([append.value, save.value], ['stored', 3]);
  t.equal(await store.turns.output(turn.place), 'text');
});

t.test('a failed batch changes no row, and decisions on top of it fail with it', async (t) => {
  const { scene: made, engine } = await scene();
  const { store, workspaceId, now } = made;
  const session = await made.created();
  const turn = await made.streaming();
  await turn.append(0, 'stored ');
  const look = async () => ({
    session: await store.sessions.read(workspaceId, session.id),
    sessions: await store.sessions.list(workspaceId, made.filter(), page()),
    messages: await made.transcript(turn.before.id),
    output: await store.turns.output(turn.place),
    turn: await store.turns.read(workspaceId, turn.before.id, turn.place.turnId),
    usage: await store.usage.read(workspaceId, usageQuery(now, now + 1)),
  });
  const before = await look();

  engine.held = true;
  const begin = made.beginStep(session, 1, { slot: api(2) });
  const inFlight = [
    store.turns.begin(begin),
    turn.append(7, 'lost'),
    store.sessions.create(made.createStep()),
    store.turns.finish(turn.finishStep({ tail: { position: 11, text: '' } })),
  ].map((step) => outcome(step));
  await settled();
  const onTop = [
    store.sessions.save(session, at(1)), // answers null, because of the turn that is still on its way
    store.sessions.create(made.createStep()),
    store.turns.inFlight(workspaceId),
    store.ping(),
  ].map((step) => outcome(step));
  await settled();
  engine.settle(new Error('ENOSPC'));
  await settled();
  for (const { error, over } of [...inFlight, ...onTop]) t.ok(over && error instanceof StoreUnavailable, String(error));
  engine.held = false;
  t.same(await look(), before);

  t.equal(await store.turns.inFlight(workspaceId), 1, 'the slot of the turn that never began is free');
  t.same(await store.turns.orphans(nowMs, 10), [], 'and the turn that goes on keeps its lease');
  t.equal(await turn.append(7, 'and more'), 'stored');
  t.equal((await store.turns.begin(begin)).outcome, 'begun', 'the same steps sent again go through');
  t.same(await store.turns.finish(turn.finishStep({ tail: { position: 15, text: '!' } })), {
    outcome: 'finished',
    version: 3,
  });
  t.equal(await store.turns.output(turn.place), 'stored and more!');
});

/** The bytes of a batch, as a disk has to take them. */
const bytesOf = (rows: Iterable<Write>): number =>
  [...rows].reduce((sum, [key, change]) => sum + key.length + (change instanceof Uint8Array ? change.length : 0), 0);

t.test(
  'a ping is refused while there is no room for as much as was refused, though a small row has room',
  async (t) => {
    const { scene: made, engine } = await scene();
    const { store } = made;
    const write = engine.write.bind(engine);
    let room = 200;
    engine.write = async (rows) => {
      if (bytesOf(rows) > room) throw new Error('ENOSPC');
      return write(rows);
    };
    await t.resolves(store.ping(), 'a small row has room');
    await rejects(store.sessions.create(made.createStep()), StoreUnavailable);
    await rejects(store.ping(), StoreUnavailable);
    await rejects(store.ping(), StoreUnavailable, 'not once alone');
    room = 10_000;
    await t.resolves(store.ping());
    await store.sessions.create(made.createStep());
    room = 200;
    await t.resolves(store.ping(), 'a ping is small again');
  },
);

t.test('an engine that cannot be read makes the store unavailable, and it comes back', async (t) => {
  const { scene: made, engine } = await scene();
  const { get } = engine;
  engine.get = () => {
    throw new Error('EIO');
  };
  await rejects(made.store.sessions.read(made.workspaceId, 'ses_unknown'), StoreUnavailable);
  await rejects(made.store.sessions.create(made.createStep()), StoreUnavailable);
  engine.get = get;
  t.equal(await made.store.sessions.read(made.workspaceId, 'ses_unknown'), null);
});

t.test('after a failed batch the engine is read before anything is decided', async (t) => {
  const { scene: made, engine } = await scene();
  const turn = await made.streaming();
  engine.held = true;
  const append = outcome(turn.append(0, 'lost'));
  await settled();
  engine.settle(new Error('EIO'));
  await settled();
  t.ok(append.error instanceof StoreUnavailable);
  engine.held = false;
  const { range } = engine;
  engine.range = () => {
    throw new Error('EIO');
  };
  await rejects(turn.append(0, 'x'), StoreUnavailable);
  engine.range = range;
  t.equal(await turn.append(0, 'kept'), 'stored');
  t.equal(await made.store.turns.output(turn.place), 'kept');
});

t.test('a budget whose rows fell with a batch is not taken for the older one on the disk', async (t) => {
  const { scene: made, engine } = await scene();
  const { store, workspaceId } = made;
  const take = (keyId: string, atMs: number) =>
    store.limits.takeBudgets(workspaceId, keyId, [{ budget: 'requests', ceiling: 60 }], atMs);
  await take('key_1', nowMs);
  await store.ping();
  await take('key_1', nowMs + 5000);
  engine.held = true;
  const failed = outcome(store.ping());
  await settled();
  engine.settle(new Error('The disk is full.'));
  await settled();
  t.ok(failed.error);
  engine.held = false;
  await take('key_2', nowMs + 6000);
  const [taken] = await take('key_1', nowMs + 4500);
  t.equal(taken!.remaining, 58, 'though it was full meanwhile, and the clock went back');
});

t.test('closing commits what was decided, and a closed store is unavailable', async (t) => {
  const { scene: made, engine } = await scene();
  const { store, workspaceId } = made;
  engine.held = true;
  const session = made.session();
  const created = outcome(store.sessions.create(made.createStep({ session })));
  const keyId = 'key_1';
  const requests = [{ budget: 'requests', ceiling: 60 }] as const;
  await store.limits.takeBudgets(workspaceId, keyId, requests, nowMs);
  const closed = outcome(store.close());
  await settled();
  t.notOk(closed.over);
  while (!closed.over) {
    engine.settle();
    await settled();
  }
  t.equal(created.error, null);
  await rejects(store.sessions.create(made.createStep()), StoreUnavailable);
  await rejects(store.sessions.read(workspaceId, session.id), StoreUnavailable);
  await rejects(store.ping(), StoreUnavailable);
  engine.held = false;
  const next = new EmbeddedStore(engine);
  await next.open(nowMs);
  t.equal((await next.sessions.read(workspaceId, session.id))?.version, 1);
  const [taken] = await next.limits.takeBudgets(workspaceId, keyId, requests, nowMs);
  t.equal(taken!.remaining, 58, 'budgets go on where they were');
  await next.close();
  const third = new EmbeddedStore(engine);
  await third.open(nowMs);
  const [again] = await third.limits.takeBudgets(workspaceId, keyId, requests, nowMs);
  t.equal(again!.remaining, 57, 'even where nothing else was to be written');
});

t.test('a later process finds the turns of an earlier one without lease or slot', async (t) => {
  const { scene: made, engine } = await scene();
  const turn = await made.streaming();
  await turn.append(0, '👋');
  const next = new EmbeddedStore(engine);
  await next.open(nowMs);
  t.equal(await next.turns.inFlight(made.workspaceId), 0);
  t.same(await next.turns.orphans(nowMs, 10), [turn.place]);
  const fence = await next.turns.takeOver(turn.place, 'next', nowMs + 1000, nowMs);
  t.equal(fence?.epoch, 2);
  t.equal(await next.turns.append({ ...turn.place, fence: turn.fence, position: 1, text: 'x' }), 'fenced');
  t.equal(
    await next.turns.append({ ...turn.place, fence: fence!, position: 1, text: '!' }),
    'stored',
    'its position is found again',
  );
  t.equal(await next.turns.output(turn.place), '👋!');
});

t.test('the removal of a workspace that was cut off is taken up again', async (t) => {
  const { scene: made, engine } = await scene();
  const { store, workspaceId } = made;
  await store.catalog.create('workspace', {
    id: workspaceId,
    name: 'w',
    retentionDays: 1,
    turnsInFlightMax: 1,
    createdAt: 1,
    updatedAt: 1,
  });
  const session = await made.created();
  await store.sessions.create(made.createStep({ remember: remembered(session.id, nowMs + 1000) }));
  engine.held = true;
  const removal = outcome(store.catalog.remove('workspace', workspaceId, workspaceId));
  await settled();
  engine.settle();
  await settled();
  engine.settle(new Error('EIO'));
  await settled();
  t.ok(removal.error instanceof StoreUnavailable);
  engine.held = false;
  t.ok(await store.sessions.read(workspaceId, session.id), 'not all of it has gone yet');
  const next = new EmbeddedStore(engine);
  await next.open(nowMs);
  t.equal(await next.sessions.read(workspaceId, session.id), null);
  t.equal([...engine.range('a', '~', false)].filter(([key]) => key.includes(workspaceId)).length, 0, 'no row is left');
});

t.test('a sweep deletes every row of a session', async (t) => {
  const { scene: made, engine } = await scene();
  const turn = await made.streaming({}, { lastActivityAt: made.now - 31 * 86_400 });
  await turn.append(0, 'text');
  await made.store.turns.finish(turn.finishStep());
  t.same([...engine.range('output/', 'output0', false)], [], 'the pieces went when the turn finished');
  t.equal(await made.store.sweep(nowMs, 10), 1);
  const left = [...engine.range('a', '~', false)].map(([key]) => key).filter((key) => !key.startsWith('usage-'));
  t.same(left, []);
});

t.test('a turn costs the same however long the transcript and however many the sessions', async (t) => {
  const { scene: made, engine } = await scene();
  let reads = 0;
  const { get, range } = engine;
  engine.get = (key) => {
    reads++;
    return get.call(engine, key);
  };
  engine.range = function* (from, to, reverse) {
    for (const row of range.call(engine, from, to, reverse)) {
      reads++;
      yield row;
    }
  };
  let session = await made.created();
  let version = 1;
  const cost = async () => {
    reads = 0;
    const writes = engine.batches.flat().length;
    const turn = await made.begun(session, version);
    await turn.append(0, 'text');
    const step = turn.finishStep();
    await made.store.turns.finish(step);
    session = step.session;
    version += 2;
    return [reads, engine.batches.flat().length - writes];
  };
  await cost();
  const small = await cost();
  for (let count = 0; count < 50; count++) await cost();
  for (let count = 0; count < 500; count++) await made.created();
  t.same(await cost(), small);
});

t.test(
  'a record that is kept is what the row says, to decisions at once and to readers once it is committed',
  async (t) => {
    const engine = new HeldEngine();
    const batcher = new WriteBatcher(engine);
    await batcher.open();
    const written = (number: number): Promise<void> => batcher.step((draft) => draft.keep('row', { number }));
    const { get } = engine;
    let reads = 0;
    engine.get = (key) => {
      reads++;
      return get.call(engine, key);
    };
    const seen = (): unknown[] => [batcher.get('row'), batcher.committed('row')];
    await written(1);
    t.same(seen(), [{ number: 1 }, { number: 1 }]);
    t.equal(reads, 0, 'nothing was unpacked');
    engine.held = true;
    const second = outcome(written(2));
    t.same(seen(), [{ number: 2 }, { number: 1 }], 'while it waits for its batch');
    await settled();
    t.same(seen(), [{ number: 2 }, { number: 1 }], 'and while that commits');
    engine.settle(new Error('EIO'));
    await settled();
    t.ok(second.error instanceof StoreUnavailable);
    t.same(seen(), [{ number: 1 }, { number: 1 }], 'one that was not committed never was');
    engine.held = false;
    await batcher.step((draft) => draft.put('row', { number: 3 }));
    t.same(seen(), [{ number: 3 }, { number: 3 }], 'one that was written without keeping it');
    await written(4);
    await batcher.step((draft) => draft.remove('row'));
    t.same(seen(), [undefined, undefined]);
    await batcher.step((draft) => {
      for (let number = 0; number <= recordsKeptMax; number++) draft.keep(`row-${number}`, number);
    });
    reads = 0;
    const room = recordsKeptMax * (1 - limits.cacheShareKept);
    t.same([batcher.get('row-0'), batcher.get(`row-${room}`)], [0, room]);
    t.equal(reads, 2, 'those kept longest are read');
    t.equal(batcher.get(`row-${room + 1}`), room + 1);
    t.equal(reads, 2, 'and no others');
    for (const length of [recordKeptBytesMax - 100, recordKeptBytesMax + 1]) {
      await batcher.step((draft) => draft.keep('long', 'a'.repeat(length)));
      reads = 0;
      t.equal(batcher.get<string>('long')?.length, length);
      t.equal(reads, length > recordKeptBytesMax ? 1 : 0, 'a long one is read again');
    }
    await batcher.close();
  },
);

t.test('a row that is read often comes from the engine once, and so does its absence', async (t) => {
  const engine = new HeldEngine();
  const batcher = new WriteBatcher(engine);
  await batcher.open();
  await batcher.step((draft) => draft.put('row', 1));
  const { get } = engine;
  let reads = 0;
  engine.get = (key) => {
    reads++;
    return get.call(engine, key);
  };
  const seen = (): unknown[] =>
    ['row', 'none'].flatMap((key) => [batcher.getKept(key), batcher.get(key), batcher.committed(key)]);
  const [one, none] = [
    [1, 1, 1],
    [undefined, undefined, undefined],
  ];
  t.same([seen(), seen(), reads], [[...one, ...none], [...one, ...none], 2]);
  engine.held = true;
  const later = outcome(batcher.step((draft) => (draft.put('row', 2), draft.put('none', 3))));
  t.same(seen(), [2, 2, 1, 3, 3, undefined], 'while it waits for its batch');
  await settled();
  engine.settle(new Error('EIO'));
  await settled();
  t.ok(later.error instanceof StoreUnavailable);
  t.same(seen(), [...one, ...none], 'what was not committed is not kept');
  engine.held = false;
  await batcher.step((draft) => (draft.remove('row'), draft.keep('none', 4)));
  t.same(seen(), [...none, 4, 4, 4]);
  await batcher.close();
});

t.test('a row that is counted up is written once for a batch, and seen by decisions at once', async (t) => {
  const engine = new HeldEngine();
  const batcher = new WriteBatcher(engine);
  await batcher.open();
  const add = (key: string): Promise<void> =>
    batcher.step((draft) => draft.count(key, [(batcher.get<number[]>(key)?.[0] ?? 0) + 1]));
  const seen = (key: string): unknown[] => [batcher.get(key), batcher.committed(key), batcher.range('a', 'z').length];
  await Promise.all([add('row'), add('row'), add('row')]);
  t.same(engine.batches, [['row']]);
  t.same(seen('row'), [[3], [3], 1]);
  engine.held = true;
  const later = [outcome(add('row')), outcome(add('row')), outcome(add('other'))];
  t.same(seen('row'), [[5], [3], 2], 'while it waits for its batch');
  const more = outcome(add('row'));
  t.same(seen('row'), [[6], [3], 2], 'also once a range was read meanwhile');
  await settled();
  t.same(seen('row'), [[6], [3], 2], 'and while that commits');
  engine.settle(new Error('EIO'));
  await settled();
  t.ok([...later, more].every(({ error }) => error instanceof StoreUnavailable));
  t.same(seen('row'), [[3], [3], 1], 'what was not committed was not counted');
  engine.held = false;
  await Promise.all([add('row'), batcher.step((draft) => draft.remove('row'))]);
  t.same(seen('row'), [undefined, undefined, 0], 'removed in the batch that counted it');
  await Promise.all([batcher.step((draft) => draft.remove('row')), add('row')]);
  t.same(seen('row'), [[1], [1], 1], 'counted in the batch that removed it');
  await batcher.step((draft) => {
    draft.count('evicted', [1]);
    for (let number = 0; number <= recordsKeptMax; number++) draft.count(`row-${number}`, [number]);
    return batcher;
  });
  t.same([batcher.get('row-0'), batcher.get('evicted')], [[0], [1]], 'those that memory has no room for are read');
  await batcher.close();
});

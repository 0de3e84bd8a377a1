/** The feed of live actors: committed steps and nothing else, numbered, with their causes (contract 9, P23). */
import t from 'tap';
import { activeSnapshot, keyIdOf } from '../../src/host/keys.ts';
import type { InspectedEvent } from '../../src/actors/inspector.ts';
import { limits } from '../../src/base/limits.ts';
import { randomIds } from '../../src/base/ids.ts';
import { makeKey } from '../../src/access/keys.ts';
import { StoreUnavailable, type BegunTurn, type Cause, type Store } from '../../src/store/store.ts';
import { key } from '../store/fixtures.ts';
import { pass, Scene, withSteps } from './scene.ts';

/** Collects the events that a watcher of one kind of actor sees. */
function watching(scene: Scene, kind: string): InspectedEvent[] {
  const seen: InspectedEvent[] = [];
  scene.host.inspector.watch(
    (inspected) => void (inspected.type === 'event' && inspected.actor.kind === kind && seen.push(inspected)),
  );
  return seen;
}

const told = (seen: readonly InspectedEvent[]): string[] =>
  seen.map(({ seq, event, from, to }) => `${seq} ${event.type} ${from} → ${to}`);

const by = (id: string): Cause => ({ requestId: `req_${id}`, by: { kind: 'key', id, name: id } });

t.test('watchers see a turn step by step', async (t) => {
  const scene = await Scene.open();
  const { id } = await scene.session();
  const seen = watching(scene, 'session');
  const actor = await scene.actor(id);
  const { runner, model } = await scene.begin(id, null, true, by('key_1'));
  await t.rejects(scene.begin(id, null, true, by('key_2')), { code: 'turn_in_progress' });
  model.text('one');
  model.end();
  await runner.settled;
  await scene.host.sessions.end(actor, by('key_3'));
  await t.rejects(scene.begin(id, null, true, by('key_4')), { code: 'session_ended' });
  t.same(told(seen), [
    '2 chat open → streaming',
    '2 chat streaming → streaming',
    '3 finished streaming → open',
    '4 end open → ended',
    '4 chat ended → ended',
  ]);
  t.same(
    seen.map(({ refused }) => refused),
    [false, true, false, false, true],
  );
  t.same(
    seen.map(({ requestId }) => requestId),
    ['req_key_1', 'req_key_2', 'req_key_1', 'req_key_3', 'req_key_4'],
    'a turn that ends by itself has the cause of its chat',
  );
  t.same(seen[1]!.by, { kind: 'key', id: 'key_2', name: 'key_2' });
  t.ok(
    seen.every(({ at }) => at === scene.clock.now()),
    'in milliseconds',
  );
});

t.test("watchers see the cause of a turn's end", async (t) => {
  const scene = await Scene.open();
  const seen = watching(scene, 'session');
  const ended = async (end: (id: string, turnId: string) => Promise<unknown>): Promise<string | null> => {
    const { id } = await scene.session({ maxCallSeconds: 60 });
    const { runner } = await scene.streaming(id, 'one ', true, by('key_1'));
    await end(id, runner.turnId);
    await runner.settled;
    return seen.findLast(({ event }) => event.type === 'finished')!.requestId;
  };
  t.equal(
    await ended(async (id, turnId) => scene.host.sessions.abort(await scene.actor(id), turnId, by('key_2'))),
    'req_key_2',
    'an abort',
  );
  t.equal(
    await ended(async (id) => scene.host.sessions.end(await scene.actor(id), by('key_3'))),
    'req_key_3',
    'the end of the session',
  );
  t.equal(await ended(async () => scene.clock.advance(60_000)), null, 'the deadline');
  const drained = async (): Promise<void> => {
    const over = scene.host.turns.drain(0, 1000);
    scene.clock.advance(1);
    await over;
  };
  t.equal(await ended(drained), null, 'a drain');
});

t.test('watchers see a workspace become full', async (t) => {
  const scene = await Scene.open({ turnsInFlightMax: 1 });
  const [first, second] = [await scene.session(), await scene.session()];
  await scene.streaming(first.id);
  const [sessions, workspaces] = [watching(scene, 'session'), watching(scene, 'workspace')];
  await t.rejects(scene.begin(second.id, null, true, by('key_1')), { code: 'rate_limited' });
  t.same(told(sessions), [], 'the session was not shown streaming');
  t.match(
    workspaces.filter(({ refused }) => refused),
    [{ event: { type: 'acquire' }, outcomes: [{ code: 'rate_limited' }], requestId: 'req_key_1' }],
    'the refusal is shown where it happened',
  );
  t.match((await scene.actor(second.id)).machine.state, 'open');
});

const steps: Readonly<Record<string, (store: Store) => () => Promise<BegunTurn>>> = {
  'the store is full although this process took it for free': () => async () => ({ outcome: 'full' }),
  'the store is away': () => async () => {
    throw new StoreUnavailable('away');
  },
  'another process moved the session first': () => async () => ({ outcome: 'lost' }),
};

for (const [name, answer] of Object.entries(steps)) {
  t.test(name, async (t) => {
    const first = await Scene.open();
    const scene = first.beside(withSteps(first.store, { beginTurn: answer(first.store) }));
    const { id } = await scene.session();
    await scene.actor(id);
    const seen = watching(scene, 'session');
    await t.rejects(scene.begin(id));
    t.same(told(seen), []);
    t.equal((await scene.actor(id)).machine.state, 'open');
  });
}

t.test('watchers see an end that the store rejects', async (t) => {
  const first = await Scene.open();
  let away = true;
  const scene = first.beside(
    withSteps(first.store, {
      saveSession: async (...given) => {
        if (away) throw new StoreUnavailable('away');
        return first.store.sessions.save(...given);
      },
    }),
  );
  const { id } = await scene.session();
  const seen = watching(scene, 'session');
  await t.rejects(scene.host.sessions.end(await scene.actor(id)));
  t.same(told(seen), []);
  away = false;
  await scene.host.sessions.end(await scene.actor(id));
  t.same(told(seen), ['2 end open → ended']);
});

t.test('an actor moved by another process is shown as it is now', async (t) => {
  const scene = await Scene.open();
  const shared = withSteps(scene.store, { leaseMs: 60_000 });
  const [one, two] = [scene.beside(shared), scene.beside(shared)];
  const { id } = await one.session();
  await one.actor(id);
  const lives: unknown[] = [];
  one.host.inspector.watch(
    (inspected) => void (inspected.type === 'activated' && lives.push([inspected.actor.id, inspected.state])),
  );
  await two.host.sessions.end(await two.actor(id));
  await one.actor(id);
  t.same(lives, [[id, 'ended']]);
});

t.test('the first picture has every actor brought up to date', async (t) => {
  const scene = await Scene.open({ turnsInFlightMax: 5 });
  for (let each = 0; each < 3; each++) await scene.streaming((await scene.session()).id);
  const workspace = scene.host.awake().find(({ actor }) => actor.kind === 'workspace')!;
  t.match(workspace, { state: 'available', context: { inFlight: 3, max: 5 } });

  const { publicId, text, digest } = makeKey(randomIds(scene.clock));
  const record = key(scene.workspaceId, {
    id: keyIdOf(publicId),
    publicId,
    digest,
    limits: { requests: 2, speech: 1, transcriptionTokens: 1 },
    machine: activeSnapshot(null),
  });
  await scene.store.catalog.create('key', record);
  const { keys } = scene.host;
  const actor = await keys.authenticate(text);
  const pictured = () => scene.host.awake().find(({ actor: { kind } }) => kind === 'key')!;
  for (let each = 0; each < 3; each++) await keys.take(actor, ['requests']);
  const before = (pictured().context as { debt: { until: number } }).debt.until;
  scene.clock.advance(1000);
  await keys.take(actor, ['requests']);
  t.match(pictured(), { state: 'limited' });
  t.ok((pictured().context as { debt: { until: number } }).debt.until > before, 'with the newest debt');
  for (let each = 0; each < 6; each++) {
    scene.clock.advance(20_000);
    await keys.of(scene.workspaceId, record.id);
  }
  t.match(pictured(), { state: 'active', context: { debt: null } }, 'a debt that is paid off is over');

  const seen = watching(scene, 'key');
  await keys.take(actor, ['requests'], 'req_1');
  await keys.take(actor, ['requests'], 'req_2');
  await keys.take(actor, ['requests'], 'req_3');
  t.same(
    seen.map(({ refused, requestId, from, to }) => [refused, requestId, from, to]),
    [
      [false, 'req_1', 'active', 'active'],
      [false, 'req_2', 'active', 'active'],
      [true, 'req_3', 'active', 'limited'],
    ],
    'every request of a watched key',
  );
  t.match(seen[0], {
    seq: 1,
    by: { kind: 'key', id: record.id, name: record.name },
    event: { budgets: { requests: { limit: 2, remaining: 1, reset: Number } } },
    outcomes: [{ type: 'accepted' }],
  });
  t.match(seen[2]!.event, { budgets: { requests: { remaining: 0 } } });
});

t.test('watchers see a change in the console and its author', async (t) => {
  const scene = await Scene.open();
  await scene.host.assistants.of(scene.workspaceId, scene.assistantId);
  const seen = watching(scene, 'assistant');
  const cause: Cause = { requestId: 'req_1', by: { kind: 'operator', id: 'operator', name: 'operator' } };
  await scene.host.assistants.move(scene.workspaceId, scene.assistantId, 'disable', 1, cause);
  t.match(seen, [
    {
      seq: 2,
      event: { type: 'disable' },
      from: 'published',
      to: 'disabled',
      refused: false,
      requestId: 'req_1',
      by: cause.by,
    },
  ]);
});

t.test('a turn that another process has taken over is among the live actors until its end is known', async (t) => {
  const first = await Scene.open();
  const store = withSteps(first.store, { leaseMs: limits.leaseMs });
  const [one, two] = [first.beside(store), first.beside(store)];
  const { id } = await one.session();
  const { runner, model } = await one.streaming(id);
  const seen = watching(one, 'turn');
  const pictured = () => one.host.awake().filter(({ actor }) => actor.kind === 'turn');
  // A reader waits for its end.
  runner.log.follow(() => {});
  const place = { workspaceId: one.workspaceId, sessionId: id, turnId: runner.turnId };
  const nowMs = one.clock.now();
  await store.turns.requestStop(place, 'aborted', nowMs, nowMs);
  t.ok(await store.turns.takeOver(place, 'dead', nowMs + 100, nowMs));
  model.text('two');
  await runner.over;
  t.match(pictured(), [{ actor: { id: runner.turnId }, state: 'following', seq: 3 }]);
  t.same([one.host.turns.inFlight, one.host.census().turn], [0, 1], 'it is not in flight here');
  t.same(
    one.host.turns.population.followed(runner.turnId)?.past.events.map(({ type }) => type),
    ['output', 'stored', 'taken'],
    'its past is known here',
  );
  await pass(one, 150);
  await two.actor(id);
  await pass(one, limits.remoteSilentMs);
  t.same(told(seen), ['3 taken answering → following', '4 fate following → aborted'], 'and its end is told');
  t.same([pictured(), one.host.census().turn], [[], 0]);
});

/** Moves from each store to the others: each row arrives once, and the API answers as before. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import { exportTo, importFrom } from '../../../src/operations/moving.ts';
import { temporaryFolder } from '../../folders.ts';
import { ids } from '../../store/fixtures.ts';
import { appendOnly, RedisCluster, RedisServer, whyNoRedis } from '../../store/redis-server.ts';
import { answers, live, takeOver, type Life } from './life.ts';
import { inFolder, inMemory, onRedis, opened, type MakePlace, type Place } from './places.ts';

const secret = 'a secret of thirty-two characters';

async function exported(place: Place, out: string): Promise<string[]> {
  const source = place.source();
  await source.open();
  await exportTo({ source, secret, version: '1', clock: new WheelClock(), ids, out, onRows: () => {} });
  await source.close();
  return (await readFile(out, 'utf8')).trimEnd().split('\n');
}

const imported = (place: Place, from: string) => importFrom({ target: place.target(), secret, from, onRows: () => {} });

/** Moves a life: the workspace that it was lived in, which is gone in the end. */
async function move(t: Test, from: MakePlace, to: MakePlace): Promise<string> {
  const folder = await temporaryFolder(t);
  const [here, there] = [await from(t), await to(t)];
  const [life, asked] = await opened(here, async (store) => {
    const life = await live(store, Date.now());
    return [life, await answers(store, life)] as const;
  });

  const lines = await exported(here, join(folder, 'here.jsonl'));
  const first = await imported(there, join(folder, 'here.jsonl'));
  t.same([first.before, first.rows], [0, lines.length - 2]);
  t.same(
    (await exported(there, join(folder, 'there.jsonl'))).slice(1),
    lines.slice(1),
    'the other store tells the same, to the byte',
  );
  t.same(
    await imported(there, join(folder, 'here.jsonl')),
    { ...first, before: first.rows },
    'a second time changes nothing',
  );
  t.same((await exported(there, join(folder, 'again.jsonl'))).slice(1), lines.slice(1));

  await opened(there, async (store) => {
    t.same(await answers(store, life), asked, 'it answers the same');
    await goesOn(t, store, life);
  });
  return life.scene.workspaceId;
}

/** Steps that were taken are answered as they were, and new ones begin where the old ones ended. */
async function goesOn(
  t: Test,
  store: Parameters<typeof live>[0],
  { scene, keys, flying, finishing, withdrawing }: Life,
): Promise<void> {
  const { workspaceId } = scene;
  const nowMs = Date.now();
  const trial = scene.session({ channel: 'console' });
  t.equal(
    (await store.sessions.create(scene.createStep({ session: trial, trialsMax: 1 }))).outcome,
    'full',
    'a trial keeps its place',
  );
  for (const step of finishing)
    t.same(await store.turns.finish(step), { outcome: 'finished', version: step.version + 1 });
  for (const step of withdrawing)
    t.same(await store.turns.withdraw(step), { outcome: 'finished', version: step.version + 1 });
  const debt = (
    await store.limits.takeBudgets(workspaceId, keys[4]!.id, [{ budget: 'requests', ceiling: 3 }], nowMs)
  )[0]!;
  t.same([debt.passed, debt.remaining], [false, 0]);
  t.ok(debt.retryAfterSeconds > 20, 'a debt is still to be paid off');
  const [requests, speech] = await store.limits.takeBudgets(
    workspaceId,
    keys[0]!.id,
    [
      { budget: 'requests', ceiling: 60 },
      { budget: 'speech', ceiling: 30 },
    ],
    nowMs,
  );
  t.ok(requests!.remaining < 60 && speech!.remaining < 30);

  if (store.leaseMs === null) {
    // Only an embedded store takes the caller's word for the time.
    await store.sweep(nowMs + 3 * 86_400_000, 0);
    t.equal(
      await store.requests.find(workspaceId, 'key_1 /sessions', 'k0', nowMs),
      null,
      'memories go when their time is over',
    );
  }

  t.equal(await store.turns.inFlight(workspaceId), 0, 'turns that nobody runs take no slots');
  const orphans = (await store.turns.orphans(nowMs, 100)).filter((place) => place.workspaceId === workspaceId);
  t.same(orphans.map(({ turnId }) => turnId).sort(), flying.map(({ turnId }) => turnId).sort());
  for (const place of flying) {
    const fence = (await takeOver(store, place, nowMs))!;
    const [session, turn, output] = [
      (await store.sessions.read(workspaceId, place.sessionId))!,
      (await store.turns.read(workspaceId, place.sessionId, place.turnId))!,
      await store.turns.output(place),
    ];
    const message = {
      id: turn.messageId,
      turnId: turn.id,
      role: 'assistant',
      content: '',
      status: 'partial',
      stopReason: 'error',
      errorCode: 'api_error',
      createdAt: 1,
    } as const;
    const tail = { position: [...output].length, text: '!' };
    const sealed = {
      ...turn,
      status: 'failed',
      stopReason: 'error',
      errorCode: 'api_error',
      endedAt: scene.now,
    } as const;
    t.match(
      await store.turns.finish({
        session: session.record,
        version: session.version,
        mark: session.record.mark,
        turn: sealed,
        message,
        tail,
        fence,
        nowMs,
      }),
      { outcome: 'finished' },
    );
    const transcript = await scene.transcript.call({ ...scene, store, workspaceId }, place.sessionId);
    t.equal(transcript.find(({ id }) => id === turn.messageId)?.content, `${output}!`);
  }
  t.same(
    (await store.turns.orphans(nowMs, 100)).filter((place) => place.workspaceId === workspaceId),
    [],
  );
  t.equal(await store.catalog.remove('workspace', workspaceId, workspaceId), true);
  t.equal(await store.sessions.read(workspaceId, flying[0]!.sessionId), null, 'and goes whole when its workspace goes');
}

const skip = whyNoRedis() ?? false;

// Moves around a ring of stores, both ways: the file between two stores is the same to the byte for every store that
// wrote it.
t.test('rows move from memory to LMDB', (t) => move(t, inMemory, inFolder));
t.test('rows move from LMDB to memory', (t) => move(t, inFolder, inMemory));

t.test('rows move to and from Redis', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  const redis = onRedis(server.url);
  await t.test('rows move from LMDB to Redis', async (t) => {
    const workspaceId = await move(t, inFolder, redis);
    const left = await server.command('--scan', '--pattern', `*${workspaceId}*`);
    t.same(
      left.split('\n').filter((key) => key !== '' && !key.includes(':write:') && !key.includes(':audit_entry')),
      [],
      'nothing stays behind that was taken in, but the audit',
    );
  });
  await t.test('rows move from Redis to LMDB', (t) => move(t, redis, inFolder));
  await t.test('rows move to and from a Redis Cluster', async (t) => {
    const cluster = await RedisCluster.start();
    t.teardown(() => cluster.stop());
    const spread = onRedis(cluster.url);
    await t.test('rows move from Redis to a cluster', (t) => move(t, redis, spread));
    await t.test('rows move from a cluster to Redis', (t) => move(t, spread, redis));
    await t.test('rows move from memory to a cluster', (t) => move(t, inMemory, spread));
    await t.test('rows move from a cluster to memory', (t) => move(t, spread, inMemory));
  });
});

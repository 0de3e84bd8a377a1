/** Failures of Redis: it forgets scripts, loses replies, hangs, dies. */
import { createConnection, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { once } from 'node:events';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { api, assistant, at, ids, remembered, Scene, snapshot, streaming } from './fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore } from './redis-stores.ts';

const skip = whyNoRedis() ?? false;

/** A way to a server on which replies can be lost: the connection is cut when the next one comes. */
async function lossyWay(port: number) {
  const sockets = new Set<Socket>();
  let losing = false;
  const server = createServer((near) => {
    const far = createConnection(port, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.on('data', (bytes) => far.write(bytes));
    far.on('data', (bytes) => {
      // The answer of a step, not an error (a script that is not known yet) and not the answer of a ping.
      if (!losing || /^[-+]/.test(bytes.toString('latin1', 0, 1))) return void near.write(bytes);
      losing = false;
      near.destroy();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    loseNext: (): void => void (losing = true),
    lost: (): boolean => !losing,
    close(): void {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

const unavailable = (call: Promise<unknown>): Promise<boolean> =>
  call.then(
    () => false,
    (error) => error instanceof StoreUnavailable,
  );

/** Bytes that are in use once the garbage is gone, buffers included. */
function held(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Calls until one is answered. */
async function answers(store: Store): Promise<void> {
  // A call may be refused at once: the event that it waits for must get its turn.
  while (
    !(await store.ping().then(
      () => true,
      () => false,
    ))
  )
    await turnOfTheLoop();
}

t.test('steps go on when Redis has forgotten the scripts', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  const { store, dispose } = await openStore(server.url);
  t.teardown(() => dispose().then(() => server.stop()));
  const scene = new Scene(store, Date.now());
  const turn = await scene.streaming();
  await server.command('SCRIPT', 'FLUSH');
  // Pieces for two steps, which both report that the script is missing.
  const pieces = Array.from({ length: limits.redisGatheredMax + 3 }, (_, position) =>
    String.fromCharCode(0x100 + position),
  );
  t.same(new Set(await Promise.all(pieces.map((text, position) => turn.append(position, text)))), new Set(['stored']));
  await server.command('SCRIPT', 'FLUSH');
  t.same(await store.turns.finish(turn.finishStep()), { outcome: 'finished', version: 3 });
  t.equal(await store.turns.output(turn.place), pieces.join(''));
});

t.test('a step whose reply was lost is sent again, answers as the first time and applies once', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  const way = await lossyWay(server.port);
  const { store, dispose } = await openStore(way.url);
  t.teardown(async () => {
    await dispose();
    way.close();
    await server.stop();
  });
  const scene = new Scene(store, Date.now());
  const { workspaceId, nowMs } = scene;
  const lost = async <T>(step: () => T | Promise<T>): Promise<T> => {
    way.loseNext();
    const answer = await step();
    t.ok(way.lost());
    return answer;
  };
  const record = assistant(workspaceId);
  await lost(() => store.catalog.create('assistant', record));
  t.equal(await lost(() => store.catalog.replace('assistant', { ...record, name: 'B' }, 1)), 2);
  t.equal(await store.catalog.replace('assistant', { ...record, name: 'C' }, 1), null);
  t.equal(await lost(() => store.catalog.remove('assistant', workspaceId, record.id)), true);

  const session = scene.session();
  const memory = remembered(session.id, nowMs + 40_000);
  await scene.created();
  t.same(await lost(() => store.sessions.create(scene.createStep({ session, remember: memory }))), {
    outcome: 'created',
    version: 1,
  });
  t.equal(await lost(() => store.sessions.save({ ...session, machine: snapshot('open', { turns: 1 }) }, at(1))), 2);
  const step = scene.beginStep(session, 2);
  const begun = await lost(() => store.turns.begin(step));
  t.match(begun, { outcome: 'begun', version: 3 });
  if (begun.outcome !== 'begun') return;
  const place = { workspaceId, sessionId: session.id, turnId: step.turn.id };
  t.equal(await lost(() => store.turns.append({ ...place, fence: begun.fence, position: 0, text: 'abc' })), 'stored');
  t.equal(await store.turns.inFlight(workspaceId), 1);
  const finish = {
    session: { ...step.session, machine: snapshot('open') },
    ...at(3),
    turn: { ...step.turn, status: 'completed' as const, endedAt: scene.now },
    message: { ...streaming(step.turn), status: 'completed' as const },
    tail: { position: 3, text: 'd' },
    fence: begun.fence,
    nowMs,
  };
  t.same(await lost(() => store.turns.finish(finish)), { outcome: 'finished', version: 4 });
  t.equal(await store.turns.output(place), 'abcd');
  const [usage] = await store.usage.read(workspaceId, {
    assistantIds: null,
    start: scene.now,
    end: scene.now + 1,
    bucketSeconds: 3600,
  });
  t.match(usage, { sessions: 2, turns: 1 });

  const budgets = [{ budget: 'requests', ceiling: 3 }] as const;
  t.match(await lost(() => store.limits.takeBudgets(workspaceId, 'key_1', budgets, nowMs)), [
    { passed: true, remaining: 2 },
  ]);
  t.match(await store.limits.takeBudgets(workspaceId, 'key_1', budgets, nowMs), [{ passed: true, remaining: 1 }]);

  const orphan = await scene.streaming({ leaseUntilMs: nowMs - 1 });
  t.match(await lost(() => store.turns.takeOver(orphan.place, 'reaper', nowMs + 40_000, nowMs)), {
    epoch: 2,
    owner: 'reaper',
  });
});

t.test('a Redis that hangs is unavailable, costs bounded memory and is back when it is', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  const { store, dispose } = await openStore(server.url);
  t.teardown(() => dispose().then(() => server.stop()));
  const scene = new Scene(store, Date.now());
  const turn = await scene.streaming();
  server.signal('SIGSTOP');
  const text = 'x'.repeat(1000);
  const asked = performance.now();
  const before = held();
  let refused = 0;
  const counted = (error: Error): never => {
    if (error.message.startsWith('Too many commands')) refused++;
    throw error;
  };
  const calls = Array.from({ length: 40_000 }, () => unavailable(turn.append(0, text).catch(counted)));
  await turnOfTheLoop();
  const grown = held() - before;
  t.comment(`40,000 calls that wait cost ${Math.round(grown / 1e6)} MB`);
  t.ok(grown < 150e6, `${grown} bytes`);
  t.ok((await Promise.all(calls)).every(Boolean));
  // The number of held pieces is `redisCallsMax`, and the rest of a step that was begun below that bound.
  t.ok(refused >= 40_000 - limits.redisCallsMax - limits.redisGatheredMax, `${refused} refused at once`);
  t.comment(`refused after ${Math.round(performance.now() - asked)} ms`);
  t.ok(await unavailable(store.sessions.read(scene.workspaceId, turn.before.id)));
  server.signal('SIGCONT');
  const returned = performance.now();
  await answers(store);
  t.comment(`back after ${Math.round(performance.now() - returned)} ms`);
  t.equal(await turn.append(0, text), 'stored');
  t.equal(await store.turns.output(turn.place), text);
});

t.test('a Redis that is away is unavailable, and its data is there when it is back', { skip }, async (t) => {
  // With everysec Redis answers before it writes while a flush of its disk hangs, so a slow disk would fail this.
  const server = await RedisServer.start(...appendOnly, '--appendfsync', 'always');
  const { store, dispose } = await openStore(server.url);
  t.teardown(() => dispose().then(() => server.stop()));
  const scene = new Scene(store, Date.now());
  const acknowledged = new Map<string, string>();
  let killed = false;
  const converse = async (): Promise<void> => {
    const turn = await scene.streaming({ slot: api(1000) });
    const { sessionId, turnId } = turn.place;
    for (let position = 0; position < 6; position += 2) {
      await turn.append(position, '👋x');
      acknowledged.set(`${sessionId} ${turnId}`, '👋x'.repeat(position / 2 + 1));
    }
    await store.turns.finish(turn.finishStep());
  };
  const speakers = Array.from({ length: 8 }, async () => {
    while (!killed) await converse();
  });
  while (acknowledged.size < 200) await store.ping();
  await server.kill();
  killed = true;
  const ended = await Promise.allSettled(speakers);
  t.ok(ended.every((each) => each.status === 'fulfilled' || each.reason instanceof StoreUnavailable));
  t.ok(await unavailable(store.ping()));
  await server.run();
  await answers(store);
  for (const [place, text] of acknowledged) {
    const [sessionId, turnId] = place.split(' ') as [string, string];
    const stored = await store.turns.output({ workspaceId: scene.workspaceId, sessionId, turnId });
    if (!stored.startsWith(text)) t.fail(`${place}: ${stored} of ${text}`);
  }
  t.comment(`${acknowledged.size} turns, every acknowledged piece there`);
});

t.test('a Redis that forgets is refused unless it is allowed', { skip }, async (t) => {
  const volatile = await RedisServer.start();
  const silent = await RedisServer.start(...appendOnly, '--rename-command', 'CONFIG', '');
  t.teardown(() => Promise.all([volatile.stop(), silent.stop()]));
  await t.rejects(openStore(volatile.url), { message: /append-only file/ });
  await t.rejects(openStore(silent.url), { message: /CONFIG GET appendonly/ });
  for (const { url } of [volatile, silent]) await (await openStore(url, { allowVolatile: true })).dispose();
  t.ok(await unavailable(openStore('redis://127.0.0.1:1')));
});

t.test('a replicated step without a replica is not acknowledged', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  const { store, dispose } = await openStore(server.url, { durability: 'replicated' });
  t.teardown(() => dispose().then(() => server.stop()));
  await t.rejects(new Scene(store, Date.now()).created(), { message: /replica/ });
  t.equal(await store.sessions.read(ids.make('wks'), ids.make('ses')), null);
});

t.test(
  'a password that changes while the store is open refuses steps by its name, and is mended without a restart',
  { skip },
  async (t) => {
    const server = await RedisServer.start(...appendOnly);
    t.teardown(() => server.stop());
    await server.command('CONFIG', 'SET', 'requirepass', 'one');
    const { store, dispose } = await openStore(server.url.replace('redis://', 'redis://:one@'));
    t.teardown(dispose);
    const scene = new Scene(store, Date.now());
    const session = await scene.created();
    const asked = (password: string, ...words: string[]): Promise<string> =>
      server.command('-a', password, '--no-auth-warning', ...words);
    await asked('one', 'CONFIG', 'SET', 'requirepass', 'two');
    await asked('two', 'CLIENT', 'KILL', 'TYPE', 'normal');
    for (let message = ''; !message.includes('Redis wants another user or password.');)
      message = await store.ping().then(
        () => '',
        (error: StoreUnavailable) => error.message,
      );
    await asked('two', 'CONFIG', 'SET', 'requirepass', 'one');
    await answers(store);
    t.ok(await store.sessions.read(scene.workspaceId, session.id));
  },
);

/**
 * The acknowledgements that each durability waits for: a primary whose replica has stopped acknowledges no step that a
 * caller relies on.
 */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import type { Store } from '../../src/store/store.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { ReplicaAck } from '../../src/store/redis/replica-ack.ts';
import type { Durability } from '../../src/store/redis/link.ts';
import { RedisTarget } from '../../src/store/redis/load.ts';
import { InFlightReplies } from '../../src/store/redis/in-flight-replies.ts';
import type { RedisReply } from '../../src/store/redis/reply.ts';
import type { Owner } from '../folders.ts';
import { assistant, at, credential, ids, key, remembered, Scene, snapshot, workspace } from './fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { PatientClock, openStore } from './redis-stores.ts';

const skip = whyNoRedis() ?? false;

type Steps = Readonly<Record<string, () => Promise<unknown>>>;

/** A primary and a replica that follows it. */
async function pair(t: Owner): Promise<{ primary: RedisServer; replica: RedisServer }> {
  const primary = await RedisServer.start(...appendOnly, '--repl-diskless-sync-delay', '0');
  const replica = await RedisServer.start(...appendOnly, '--replicaof', `127.0.0.1 ${primary.port}`);
  t.teardown(async () => {
    replica.signal('SIGCONT');
    await Promise.all([primary.stop(), replica.stop()]);
  });
  await primary.replies('state=online', 'INFO', 'replication');
  return { primary, replica };
}

/** Lets the replica run again, and resolves once it has all that the primary has: a step waits for it one second only. */
async function resume(primary: RedisServer, replica: RedisServer): Promise<void> {
  replica.signal('SIGCONT');
  await primary.ask('SET', 'resumed', '');
  await primary.ask('WAIT', '1', '0');
}

/** One of each step, on separate existing records: each can be taken at once with all others. */
async function steps(store: Store): Promise<{ relied: Steps; output: Steps; rest: Steps }> {
  const { catalog } = store;
  const scene = new Scene(store, Date.now());
  const { workspaceId } = scene;
  const [home, revoked, removed] = [workspace({ id: workspaceId }), key(workspaceId), credential(workspaceId)];
  const published = assistant(workspaceId);
  const left = workspace();
  await Promise.all([
    catalog.create('workspace', home),
    catalog.create('workspace', left),
    catalog.create('key', revoked),
  ]);
  await Promise.all([catalog.create('credential', removed), catalog.create('assistant', published)]);
  const [ended, began] = [await scene.created(), await scene.created()];
  const again = remembered(ids.make('ses'), scene.nowMs + 60_000);
  await store.sessions.create(scene.createStep({ remember: again }));
  const [finished, withdrawn, stopped, writing] = [
    await scene.streaming(),
    await scene.streaming(),
    await scene.streaming(),
    await scene.streaming(),
  ];
  const [over, written] = [await scene.streaming(), await scene.streaming()];
  await Promise.all([store.turns.finish(over.finishStep()), written.append(0, 'abc')]);
  const lapsed = await scene.streaming({ leaseUntilMs: scene.nowMs });
  const elsewhere = new Scene(store, Date.now());
  return {
    relied: {
      'a key created': () => catalog.create('key', key(workspaceId)),
      'a key revoked': () => catalog.replace('key', { ...revoked, revokedAt: 2 }, 1),
      'an assistant published': () => catalog.replace('assistant', { ...published, machine: snapshot('published') }, 1),
      'a credential removed': () => catalog.remove('credential', workspaceId, removed.id),
      'a workspace removed': () => catalog.remove('workspace', left.id, left.id),
      'a session created': () => store.sessions.create(scene.createStep()),
      'the first session of a workspace': () => elsewhere.created(),
      'a request found remembered': () => store.requests.find(workspaceId, again.scope, again.key, scene.nowMs),
      'a session ended': () => store.sessions.save({ ...ended, machine: snapshot('ended') }, at(1, ended.mark)),
      'a turn begun': () => store.turns.begin(scene.beginStep(began, 1)),
      'a turn finished': () => store.turns.finish(finished.finishStep()),
      'a turn withdrawn': () => store.turns.withdraw(withdrawn.withdrawStep()),
      'what was read before': () => store.confirm(workspaceId),
      'the end of a turn, read': () => store.turns.outputAfter(over.place, 0),
      'a turn asked to stop': () =>
        store.turns.requestStop(stopped.place, 'aborted', scene.nowMs + 600_000, scene.nowMs),
    },
    output: {
      'a piece of output': () => writing.append(0, 'abc'),
      'a piece of output, read': () => store.turns.outputAfter(written.place, 0),
      'a transcript with a piece of output': () =>
        store.sessions.messages(workspaceId, written.place.sessionId, { limit: 10, after: null, order: 'asc' }),
    },
    rest: {
      'a request found unknown': () => store.requests.find(workspaceId, again.scope, 'another', scene.nowMs),
      'a session read': () => store.sessions.read(workspaceId, ended.id),
      'a budget taken': async () =>
        store.limits.takeBudgets(workspaceId, revoked.id, [{ budget: 'requests', ceiling: 60 }], scene.nowMs),
      'a lease renewed': () => store.turns.renew(stopped.place, stopped.fence, scene.nowMs + 600_000, scene.nowMs),
      'a turn seized': () => store.turns.takeOver(lapsed.place, 'another', scene.nowMs + 600_000, scene.nowMs),
    },
  };
}

const acknowledged = async (steps: Steps): Promise<Record<string, boolean>> => {
  const all = Object.entries(steps).map(async ([name, step]) => {
    try {
      await step();
      return [name, true] as const;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      return [name, false] as const;
    }
  });
  return Object.fromEntries(await Promise.all(all));
};

const all = (steps: Steps, answer: boolean): Record<string, boolean> =>
  Object.fromEntries(Object.keys(steps).map((name) => [name, answer]));

t.test('steps that are acknowledged while the replica is stopped', { skip }, async (t) => {
  const { primary, replica } = await pair(t);
  const expected: Readonly<Record<Durability, { relied: boolean; output: boolean }>> = {
    committed: { relied: true, output: true },
    replicated: { relied: false, output: true },
    'replicated-output': { relied: false, output: false },
  };
  for (const durability of ['committed', 'replicated', 'replicated-output'] as const) {
    await t.test(durability, async (t) => {
      const { store, dispose } = await openStore(primary.url, { durability });
      t.teardown(dispose);
      const { relied, output, rest } = await steps(store);
      // The missing replica alone delays the step's answer.
      t.same(await acknowledged((await steps(store)).relied), all(relied, true), 'with the replica');
      replica.signal('SIGSTOP');
      const found = await acknowledged({ ...rest, ...relied, ...output });
      await resume(primary, replica);
      t.same(found, {
        ...all(rest, true),
        ...all(relied, expected[durability].relied),
        ...all(output, expected[durability].output),
      });
    });
  }
});

t.test('an import goes on once a replica has what was taken in', { skip }, async (t) => {
  const { primary, replica } = await pair(t);
  const clock = new PatientClock();
  const target = new RedisTarget(primary.url, {
    clock,
    prefix: `${ids.secret()}:`,
    allowVolatile: false,
    durability: 'replicated',
  });
  t.teardown(async () => {
    await target.close();
    clock.stop();
  });
  await target.open();
  const row = { type: 'workspace', record: workspace(), version: 1 } as const;
  replica.signal('SIGSTOP');
  await t.rejects(target.load([row], { id: 'a', rows: 1, done: false }), { message: /replica/ });
  await resume(primary, replica);
  await target.load([row], { id: 'a', rows: 1, done: true });
});

t.test(
  'a step that is sent again is acknowledged once a replica has what it wrote the first time',
  { skip },
  async (t) => {
    const { primary, replica } = await pair(t);
    const { store, dispose } = await openStore(primary.url, { durability: 'replicated' });
    t.teardown(dispose);
    const scene = new Scene(store, Date.now());
    await scene.created();
    const step = scene.createStep();
    replica.signal('SIGSTOP');
    await t.rejects(store.sessions.create(step), { message: /replica/ });
    await t.rejects(store.sessions.create(step), { message: /replica/ });
    await resume(primary, replica);
    t.same(await store.sessions.create(step), { outcome: 'created', version: 1 });
  },
);

/** A connection that answers when the test lets it, in the order of its commands, and records the commands. */
function connection() {
  const sent: string[] = [];
  const waiting: { readonly resolve: (reply: RedisReply) => void; readonly reject: (error: Error) => void }[] = [];
  let now = 0;
  const acknowledged = new ReplicaAck(new InFlightReplies({ monotonic: () => now }), (args) => {
    sent.push(String(args[0]));
    return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
  });
  const settle = async (count: number, settled: (one: (typeof waiting)[number]) => void): Promise<void> => {
    for (const one of waiting.splice(0, count)) settled(one);
    await turnOfTheLoop();
  };
  return {
    sent,
    at: (ms: number): void => void (now = ms),
    step: () => acknowledged.send('{root}', ['EVALSHA']),
    replies: (...replies: RedisReply[]) => settle(replies.length, ({ resolve }) => resolve(replies.shift()!)),
    breaks: () => settle(waiting.length, ({ reject }) => reject(new Error('closed'))),
  };
}

const outcome = (step: Promise<RedisReply>): Promise<string> =>
  step.then(
    (reply) => `reply ${reply as number}`,
    (error: Error) => error.message,
  );

t.test(
  'a WAIT goes along with the steps of its turn, and those that come while it is under way share the next',
  async (t) => {
    const redis = connection();
    const [first, second] = [outcome(redis.step()), outcome(redis.step())];
    await redis.replies();
    t.same(redis.sent, ['EVALSHA', 'EVALSHA', 'SET', 'WAIT']);
    const [third, fourth] = [outcome(redis.step()), outcome(redis.step())];
    await redis.replies(1, 2);
    t.same(redis.sent.slice(4), ['EVALSHA', 'EVALSHA'], 'one WAIT at a time');
    await redis.replies(null, 1);
    t.same([await first, await second], ['reply 1', 'reply 2']);
    t.same(redis.sent.slice(6), ['SET', 'WAIT']);
    await redis.replies(3, 4, null, 0);
    t.match(await third, /No replica/);
    t.match(await fourth, /No replica/);
  },
);

t.test('a step is not confirmed by the WAIT before it, though their replies come in one piece', async (t) => {
  const redis = connection();
  const first = outcome(redis.step());
  await redis.replies();
  const second = outcome(redis.step());
  await redis.replies(1, null, 1, 2);
  t.equal(await first, 'reply 1');
  t.same(redis.sent.slice(4), ['SET', 'WAIT']);
  await redis.replies(null, 0);
  t.match(await second, /No replica/);
});

t.test('a step that a silent connection has held up is not confirmed by a WAIT that overtook it', async (t) => {
  const redis = connection();
  const [first, second] = [outcome(redis.step()), redis.replies().then(() => outcome(redis.step()))];
  await redis.replies();
  redis.at(2 * limits.redisCallMs);
  const third = outcome(redis.step());
  await redis.replies(1, null, 1);
  t.same(redis.sent, ['EVALSHA', 'SET', 'WAIT', 'EVALSHA', 'SET', 'WAIT', 'EVALSHA']);
  await redis.replies(2, null, 1, 3);
  t.same([await first, await second], ['reply 1', 'reply 2']);
  await redis.replies(null, 0);
  t.match(await third, /No replica/);
});

t.test('a broken connection confirms no waiting step, and the next step is confirmed', async (t) => {
  const redis = connection();
  const first = outcome(redis.step());
  await redis.replies(1);
  const second = outcome(redis.step());
  await redis.breaks();
  t.same([await first, await second], ['closed', 'closed']);
  await redis.breaks();
  const third = outcome(redis.step());
  await redis.replies();
  await redis.replies(3, null, 1);
  t.equal(await third, 'reply 3');
});

/**
 * Installations on one Redis, each with a separate database number: neither receives the other's messages, even if
 * they have equal ids (contract 11).
 */
import { createClient } from 'redis';
import t, { type Test } from 'tap';
import type { Notice, Store } from '../../src/store/store.ts';
import { appendOnly, RedisCluster, RedisServer, whyNoRedis } from './redis-server.ts';
import { assistant, ids, Scene, workspace } from './fixtures.ts';
import { openStore } from './redis-stores.ts';

const skip = whyNoRedis() ?? false;
const prefix = 'parley:';

async function opened(t: Test, url: string): Promise<Store> {
  const { store, dispose } = await openStore(url, { prefix });
  t.teardown(dispose);
  return store;
}

/** All that a store hears: notices, and what is sent on each channel of its pub/sub. */
class Ear {
  readonly heard: unknown[] = [];
  readonly #store: Store;
  #waits: (() => void) | null = null;

  private constructor(store: Store) {
    this.#store = store;
  }

  static async of(store: Store): Promise<Ear> {
    const ear = new Ear(store);
    const hears = (what: unknown): void => {
      ear.heard.push(what);
      ear.#waits?.();
    };
    await store.watch((notice: Notice) => void (notice.type !== 'missed' && hears(notice)));
    for (const channel of ['watching', 'feed'] as const)
      await store.pubSub!.listen(channel, (text) => hears({ channel, text }));
    return ear;
  }

  /**
   * The messages that were received before a last one of the same store: one server sends each listener all messages
   * in one order.
   */
  async all(): Promise<unknown[]> {
    const last = `last ${ids.secret()}`;
    const isOver = (): boolean => this.heard.some((each) => (each as { text?: string }).text === last);
    const over = new Promise<void>((resolve) => (this.#waits = () => void (isOver() && resolve())));
    await this.#store.pubSub!.publish('feed', last);
    await over;
    return this.heard.filter((each) => !(each as { text?: string }).text?.startsWith('last '));
  }
}

/** Takes every step that other processes of the installation are notified of. */
async function actAll(store: Store, scene: Scene): Promise<void> {
  const own = assistant(scene.workspaceId, { id: scene.assistantId, link: null });
  await store.catalog.create('workspace', workspace({ id: scene.workspaceId }));
  await store.catalog.create('assistant', own);
  await store.catalog.replace('assistant', own, 1);
  await store.catalog.remove('assistant', scene.workspaceId, own.id);
  const turn = await scene.streaming({ leaseUntilMs: scene.nowMs + 2000 });
  await store.turns.outputAfter(turn.place, 0);
  await turn.append(0, 'one');
  await store.turns.outputAfter(turn.place, 3);
  await store.turns.requestStop(turn.place, 'aborted', scene.nowMs + 1000, scene.nowMs);
  await store.turns.finish(turn.finishStep({ tail: { position: 3, text: '' } }));
  const other = await scene.streaming();
  await store.turns.outputAfter(other.place, 0);
  await store.turns.withdraw(other.withdrawStep({ nowMs: scene.nowMs }));
  for (const channel of ['watching', 'feed'] as const) await store.pubSub!.publish(channel, `of ${scene.workspaceId}`);
}

/** The ids that both installations have. */
function same(scene: Scene, other: Store): Scene {
  const twin = new Scene(other, scene.nowMs);
  return Object.assign(twin, { workspaceId: scene.workspaceId, assistantId: scene.assistantId });
}

const kinds = [
  'changed',
  'changed',
  'changed',
  'changed',
  'turn.moved',
  'turn.stop',
  'turn.moved',
  'turn.moved',
  'watching',
  'feed',
];
const kindsOf = (heard: readonly unknown[]): string[] =>
  heard.map((each) => (each as Partial<Notice>).type ?? (each as { channel: string }).channel);
const sorted = (names: readonly string[]): string[] => names.toSorted((a, b) => (a < b ? -1 : 1));

t.test('two databases of one Redis, with the same workspace', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  const [one, second, two] = await Promise.all(['/0', '', '/1'].map((path) => opened(t, server.url + path)));
  const scene = new Scene(one!, Date.now());
  const [ears, foreign] = [await Promise.all([one!, second!].map((store) => Ear.of(store))), await Ear.of(two!)];
  await actAll(one!, scene);
  for (const ear of ears) t.same(kindsOf(await ear.all()), kinds, 'every process of the installation hears of it');
  t.same(await foreign.all(), [], 'and none of another');
  await actAll(two!, same(scene, two!));
  t.same(kindsOf(await foreign.all()), kinds);
  for (const ear of ears) t.equal((await ear.all()).length, kinds.length, 'nor the other way round');
  const channels = (await server.command('PUBSUB', 'CHANNELS')).split('\n');
  t.equal(channels.length, 6);
  t.same(
    channels.filter((name) => !/^parley:[\w-]{20,}:(?:notices|feed|watching)$/.test(name)),
    [],
    'all begin with the prefix, which access rules name',
  );
});

t.test('the id is made once, and stays', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  const idOf = (database = 0): Promise<string> =>
    server.command('-n', String(database), 'HGET', 'parley:{registry}:installation', String(database));
  const channels = async (): Promise<number> =>
    new Set((await server.command('PUBSUB', 'CHANNELS')).split('\n').filter((name) => name.endsWith('notices'))).size;
  // Unused databases, whose first processes start in one moment.
  const many = await Promise.all(
    [0, 1, 2].flatMap((database) => [1, 2, 3, 4].map(() => opened(t, `${server.url}/${database}`))),
  );
  await Promise.all(many.map((store) => store.watch(() => {})));
  t.equal(await channels(), 3, 'all processes agree');
  const first = await idOf();
  await server.kill();
  await server.run();
  const later = await opened(t, server.url);
  await later.watch(() => {});
  t.equal(await idOf(), first, 'it survives the server and the processes');
  t.not(await idOf(1), first);

  // A copy of a database on the same server is a separate installation.
  for (const key of (await server.command('KEYS', '*')).split('\n')) await server.command('COPY', key, key, 'DB', '5');
  const copy = await opened(t, `${server.url}/5`);
  const [ear, original] = [await Ear.of(copy), await Ear.of(later)];
  await later.pubSub!.publish('feed', 'of the original');
  t.same(kindsOf(await original.all()), ['feed']);
  t.same(await ear.all(), []);
  t.not(await idOf(5), first);
});

t.test('a cluster has one database, and its processes hear each other from all shards', { skip }, async (t) => {
  const cluster = await RedisCluster.start();
  t.teardown(() => cluster.stop());
  const stores = await Promise.all([1, 2, 3].map(() => opened(t, cluster.url)));
  const ears = await Promise.all(stores.map((store) => Ear.of(store)));
  for (const store of stores) await actAll(store, new Scene(store, Date.now()));
  // Shards send by themselves, so that their messages come in any order.
  for (const ear of ears) while ((await ear.all()).length < 3 * kinds.length);
  for (const ear of ears) t.same(sorted(kindsOf(await ear.all())), sorted([...kinds, ...kinds, ...kinds]));
  const all = (await Promise.all(cluster.servers.map((server) => server.command('PUBSUB', 'CHANNELS')))).flatMap(
    (text) => text.split('\n').filter(Boolean),
  );
  t.equal(new Set(all).size, 3);
});

t.test('two versions work side by side', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());
  const store = await opened(t, server.url);
  const scene = new Scene(store, Date.now());
  const ear = await Ear.of(store);
  const old = createClient({ url: server.url });
  const listening = await old.duplicate().connect();
  await old.connect();
  t.teardown(() => [old, listening].forEach((client) => client.destroy()));
  const told: string[] = [];
  await listening.subscribe('parley:notices', (text) => void told.push(text));
  // A reader of the version before waits for a turn of this version, and has asked for it in the form of then.
  const turn = await scene.streaming();
  const flight = `parley:{${scene.workspaceId}}:flight:${turn.place.sessionId}:${turn.place.turnId}`;
  await old.hSet(flight, 'awaited', JSON.stringify({ type: 'turn.moved', ...turn.place }));
  t.equal(await turn.append(0, 'one'), 'stored');
  // A reader of this version waits for a turn that a process of the version before runs, which publishes the notice
  // that it finds.
  await store.turns.outputAfter(turn.place, 3);
  const awaited = await old.hGet(flight, 'awaited');
  t.match(JSON.parse(awaited!), { type: 'turn.moved', ...turn.place }, 'which both can read');
  await old.publish('parley:notices', awaited!);
  await old.publish('parley:feed', '{}');
  await turn.append(3, 'two');
  t.same(kindsOf(await ear.all()), ['turn.moved'], 'its own');
  for (const text of told) t.match(JSON.parse(text), { type: 'turn.moved' });
});

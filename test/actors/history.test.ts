/**
 * The fold of an actor's history through its machine is what is stored of it (P23): random lives of hosts, on every
 * store.
 */
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { kinds } from '../../machines/all.ts';
import { nobody } from '../../src/actors/cause.ts';
import { createdMove, folded, moveOf } from '../../src/actors/history.ts';
import { activeSnapshot } from '../../src/host/keys.ts';
import { limits } from '../../src/base/limits.ts';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import { lmdbStore } from '../../src/store/lmdb.ts';
import { MemoryEngine } from '../../src/store/memory.ts';
import type { HistoryKind, Move, Snapshot, Store } from '../../src/store/store.ts';
import { temporaryFolder } from '../folders.ts';
import { checkPasts } from '../simulate/checker.ts';
import { Random } from '../simulate/random.ts';
import { key } from '../store/fixtures.ts';
import { openStore, takenTwice } from '../store/redis-stores.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { Scene, type Talk } from '../host/scene.ts';

const seed = Number(process.env['PARLEY_TEST_SEED'] ?? 23);
/**
 * Lives on each store; a few unless somebody asks for more, as in `PARLEY_LIVES=10000 npm test --
 * test/actors/history.test.ts`.
 */
const wanted = process.env['PARLEY_LIVES'];

/**
 * A store; `again` opens the store of a later process on the same rows, null if another process would have to wait for
 * leases.
 */
interface Place {
  readonly store: Store;
  readonly again: (() => Promise<Place>) | null;
}

async function inMemory(engine = new MemoryEngine()): Promise<Place> {
  const store = new EmbeddedStore(engine);
  await store.open(0);
  // A killed process writes nothing any more: its turns still run here, and their steps must not reach the rows.
  return { store, again: () => store.close().then(() => inMemory(engine)) };
}

async function onDisk(folder: string): Promise<Place> {
  const store = lmdbStore(folder);
  await store.open(0);
  return { store, again: () => store.close().then(() => onDisk(folder)) };
}

class Life {
  readonly #random: Random;
  #place: Place;
  #scene: Scene;
  readonly #keyId: string;
  readonly #sessions: string[] = [];
  /** Turns that nobody has ended yet. */
  #talks: Talk[] = [];
  /** Events in the histories, so that a test can check that enough of them happened. */
  readonly events = new Set<string>();

  private constructor(random: Random, place: Place, scene: Scene, keyId: string) {
    this.#random = random;
    this.#place = place;
    this.#scene = scene;
    this.#keyId = keyId;
  }

  static async begin(random: Random, place: Place): Promise<Life> {
    const first = await Scene.open();
    const { workspaceId, assistantId } = first;
    const [workspace, assistant] = [
      await first.store.catalog.read('workspace', workspaceId, workspaceId),
      await first.store.catalog.read('assistant', workspaceId, assistantId),
    ];
    const { catalog } = place.store;
    await catalog.create('workspace', workspace!.record);
    await catalog.create('assistant', assistant!.record, createdMove(assistant!.record.machine, 0, nobody));
    const record = key(workspaceId, {
      limits: { requests: 2, speech: 1, transcriptionTokens: 1 },
      machine: activeSnapshot(null),
    });
    await catalog.create('key', record, createdMove(record.machine, 0, nobody));
    return new Life(random, place, first.beside(place.store), record.id);
  }

  async step(): Promise<void> {
    const { host, clock, workspaceId, assistantId } = this.#scene;
    const random = this.#random;
    const id = this.#sessions.length === 0 ? null : random.pick(this.#sessions);
    const steps: Readonly<Record<string, () => Promise<unknown>>> = {
      create: async () =>
        this.#sessions.push((await this.#scene.session({ maxCallSeconds: random.pick([30, 3600]) })).id),
      chat: async () => id && this.#talks.push(await this.#scene.begin(id)),
      text: async () => this.#talks.forEach(({ model }) => model.text('some words ')),
      over: async () => this.#over((model) => model.end()),
      fail: async () => this.#over((model) => model.failed('connect')),
      abort: async () =>
        id && this.#talks[0] && host.sessions.abort(await this.#scene.actor(id), this.#talks[0].runner.turnId),
      end: async () => id && host.sessions.end(await this.#scene.actor(id)),
      wait: async () => this.#place.again && clock.advance(random.pick([1_000, 20_000])),
      requests: async () => host.keys.take((await host.keys.of(workspaceId, this.#keyId))!, ['requests']),
      date: async () =>
        host.keys.configure(workspaceId, this.#keyId, (record) => ({
          ...record,
          expiresAt: random.pick([null, Math.floor(clock.now() / 1000) + 10, 1]),
        })),
      revoke: async () => random.chance(0.2) && host.keys.revoke(workspaceId, this.#keyId),
      move: async () =>
        host.assistants.move(
          workspaceId,
          assistantId,
          random.pick(['publish', 'unpublish', 'disable', 'enable'] as const),
          1,
        ),
      voice: async () =>
        host.assistants.configure(workspaceId, assistantId, (record) => ({
          ...record,
          channels: { ...record.channels, voice: random.chance(0.5) },
        })),
      kill: async () => random.chance(0.3) && this.#kill(),
    };
    // Steps that are refused or cut by a kill are part of a life.
    await steps[
      random.pick(['create', 'chat', 'chat', 'chat', 'text', 'text', 'over', 'over', ...Object.keys(steps)])
    ]!().catch(() => {});
  }

  async #over(how: (model: Talk['model']) => void): Promise<void> {
    const talk = this.#talks.shift();
    if (talk === undefined) return;
    how(talk.model);
    await talk.runner.over;
  }

  async #kill(): Promise<void> {
    if (this.#place.again === null) return;
    this.#scene.host.close();
    this.#talks = [];
    this.#place = await this.#place.again();
    this.#scene = this.#scene.beside(this.#place.store);
  }

  /** Returns the faults: none if every fold equals the stored state. */
  async wrong(): Promise<string[]> {
    for (const talk of this.#talks) await talk.runner.stop('aborted');
    const { workspaceId, assistantId } = this.#scene;
    const { store } = this.#place;
    const found: string[] = [];
    const check = async (
      kind: HistoryKind,
      id: string,
      stored: { readonly record: { readonly machine: Snapshot }; readonly version: number } | null,
    ): Promise<void> => {
      const moves = await store.history.read(kind, workspaceId, id);
      for (const { event } of moves) this.events.add(event.type);
      const fold = [...folded(kinds[kind], moves)].at(-1);
      if (moves.length !== stored!.version)
        found.push(`${id} is in version ${stored!.version} by ${moves.length} steps`);
      if (!isDeepStrictEqual(fold, stored!.record.machine))
        found.push(`${id} is ${JSON.stringify(stored!.record.machine)}, and its steps lead to ${JSON.stringify(fold)}`);
    };
    for (const id of this.#sessions) {
      await check('session', id, await store.sessions.read(workspaceId, id));
      found.push(...(await checkPasts(store, workspaceId, id)));
    }
    await check('key', this.#keyId, await store.catalog.read('key', workspaceId, this.#keyId));
    await check('assistant', assistantId, await store.catalog.read('assistant', workspaceId, assistantId));
    this.#scene.host.close();
    return found;
  }

  close(): Promise<void> {
    return this.#place.store.close();
  }
}

async function lives(t: Test, few: number, open: (number: number) => Promise<Place>): Promise<void> {
  const count = Number(wanted ?? few);
  const events = new Set<string>();
  const wrong: string[] = [];
  for (let number = 0; number < count; number++) {
    const random = new Random(seed + number);
    const life = await Life.begin(random, await open(number));
    for (let step = 0; step < 120; step++) await life.step();
    for (const line of await life.wrong()) wrong.push(`seed ${seed + number}: ${line}`);
    for (const event of life.events) events.add(event);
    await life.close();
  }
  t.same(wrong, [], `${count} lives from seed ${seed}`);
  t.same(
    ['create', 'chat', 'finished', 'end', 'configure', 'revoke', 'publish', 'disable'].filter(
      (each) => !events.has(each),
    ),
    [],
    'much has happened',
  );
}

t.test('histories equal the live steps in memory', (t) => lives(t, 8, () => inMemory()));

t.test('histories equal the live steps on LMDB', async (t) => {
  const folder = await temporaryFolder(t);
  await lives(t, 4, (number) => onDisk(`${folder}/${number}`));
});

t.test(
  'histories equal the live steps on Redis with each step sent twice',
  { skip: whyNoRedis() ?? false },
  async (t) => {
    const server = await RedisServer.start(...appendOnly);
    t.teardown(() => server.stop());
    let last: { dispose(): Promise<void> } | null = null;
    t.teardown(() => last?.dispose());
    await lives(t, 4, async () => {
      await last?.dispose();
      const opened = (last = await openStore(server.url, { scripts: takenTwice }));
      return { store: opened.store, again: null };
    });
  },
);

t.test('a fold of moves gives the stored snapshots', async (t) => {
  const kind = kinds.assistant;
  const snapshot = (state: string, voice = false, version = kind.version): Snapshot => ({
    version,
    state,
    context: { voice },
  });
  const verbs = ['publish', 'unpublish'] as const;
  const states = ['published', 'draft'] as const;
  const moves: Move[] = [createdMove(snapshot('draft'), 0, nobody)];
  for (let seq = 2; seq <= 2 * limits.historyCheckpointSteps + 3; seq++) {
    const event = { type: verbs[seq % 2]! };
    moves.push(
      moveOf(
        { event, from: states[(seq + 1) % 2]!, to: states[seq % 2]!, outcomes: [] },
        seq,
        0,
        nobody,
        snapshot(states[seq % 2]!),
      ),
    );
  }
  const due = moves.map(({ to }) => snapshot(to));
  t.same([...folded(kind, moves)], due, 'from its beginning');
  t.same(
    moves.filter(({ snapshot: kept }) => kept !== null).map(({ seq }) => seq),
    [1, limits.historyCheckpointSteps, 2 * limits.historyCheckpointSteps],
    'it can begin at any of these',
  );

  const from = (index: number): (Snapshot | null)[] => [...folded(kind, moves.slice(index))];
  const first = limits.historyCheckpointSteps - 1;
  t.same(
    from(5),
    [...due.slice(5, first).map(() => null), ...due.slice(first)],
    'nothing is known before the first checkpoint',
  );
  const gap = moves.filter(({ seq }) => seq !== 10);
  t.same(
    [...folded(kind, gap)],
    [...due.slice(0, 9), ...due.slice(10, first).map(() => null), ...due.slice(first)],
    'nor behind a step that is missing',
  );
  const other = moves.map((move) => (move.seq === 10 ? { ...move, version: kind.version + 1 } : move));
  t.same(
    [...folded(kind, other)],
    [...due.slice(0, 9), ...due.slice(9, first).map(() => null), ...due.slice(first)],
    "nor behind another version's",
  );
  t.same(
    [...folded(kind, [createdMove(snapshot('draft', false, kind.version + 1), 0, nobody)])],
    [null],
    'a snapshot of a later version is not read',
  );
});

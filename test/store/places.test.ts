/**
 * Places (contract 9, `concurrent_visitors`): the cost of a step does not grow with the places taken, nor with the
 * seats of a holder. Work is counted: rows and replies.
 */
import { createClient } from 'redis';
import t, { type Test } from 'tap';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import type { Engine, Row, Write } from '../../src/store/engine.ts';
import { JournaledEngine } from '../../src/store/journal.ts';
import { LmdbEngine } from '../../src/store/lmdb.ts';
import { MemoryEngine } from '../../src/store/memory.ts';
import { loadScripts } from '../../src/store/redis/scripts.ts';
import type { AskedLimit, SettledLimit, Store } from '../../src/store/store.ts';
import { temporaryFolder } from '../folders.ts';
import { at, ids, Scene } from './fixtures.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { openStore } from './redis-stores.ts';

const name = 'asst_1/visitors';
const place = (ceiling: number, holder: string, untilMs: number, seat = 'ses_1'): AskedLimit => ({
  kind: 'place',
  name,
  ceiling,
  holder,
  seat,
  untilMs,
});

/** A store that counts the work it has done. */
interface Counted {
  readonly store: Store;
  work(): Promise<number>;
}

/** Counts the rows that are read and written. */
class CountedEngine implements Engine {
  readonly name: string;
  rows = 0;
  readonly #engine: Engine;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.name = engine.name;
  }

  open = (): Promise<void> => this.#engine.open();
  close = (): Promise<void> => this.#engine.close();
  pause = (): Promise<void> => this.#engine.pause();

  get(key: string): Uint8Array | undefined {
    this.rows++;
    return this.#engine.get(key);
  }

  *range(from: string, to: string, reverse: boolean): Generator<Row> {
    for (const row of this.#engine.range(from, to, reverse)) {
      this.rows++;
      yield row;
    }
  }

  write(rows: Iterable<Write>): Promise<void> {
    const all = [...rows];
    this.rows += all.length;
    return this.#engine.write(all);
  }
}

async function embedded(t: Test, engine: Engine): Promise<Counted> {
  const counted = new CountedEngine(engine);
  const store = new EmbeddedStore(counted);
  await store.open(Date.now());
  t.teardown(() => store.close());
  return { store, work: async () => counted.rows };
}

/** Counts the replies of the scripts' commands, the most that a script can look at. */
const counting = loadScripts((source) =>
  [
    'local uncounted = redis',
    "local redis = { call = function(...)\n  local reply = uncounted.call(...)\n  uncounted.call('INCRBY', 'work', type(reply) == 'table' and #reply + 1 or 1)\n  return reply\nend }",
    source,
  ].join('\n'),
);

async function redis(t: Test): Promise<Counted> {
  const server = await RedisServer.start(...appendOnly);
  const { store, dispose } = await openStore(server.url, { scripts: counting });
  const client = await createClient({ url: server.url }).connect();
  t.teardown(async () => {
    client.destroy();
    await dispose();
    await server.stop();
  });
  return { store, work: async () => Number(await client.get('work')) };
}

const stores: Record<string, (t: Test) => Promise<Counted>> = {
  memory: (t) => embedded(t, new MemoryEngine()),
  lmdb: async (t) => {
    const folder = await temporaryFolder(t);
    return embedded(t, new JournaledEngine(new LmdbEngine(folder), folder, { flushes: false }));
  },
  redis,
};

for (const [kind, open] of Object.entries(stores)) {
  t.test(kind, { skip: (kind === 'redis' && whyNoRedis()) || false }, async (t) => {
    const { store, work } = await open(t);
    const scene = new Scene(store, Date.now());
    const { workspaceId, nowMs } = scene;
    const take = (...asked: AskedLimit[]) => store.limits.take({ workspaceId, asked, nowMs });
    const session = await scene.created();
    let version = 1;
    const settle = async (holder: string, seat: string, untilMs: number): Promise<void> => {
      const settled: SettledLimit[] = [{ kind: 'place', name, holder, seat, untilMs }];
      version = (await store.sessions.save(session, at(version), undefined, settled, nowMs))!;
    };
    const until = nowMs + 600_000;
    /** The cost and the answer of each step now: with no limit, with an unreached one, and with a reached one. */
    const steps: Record<string, () => Promise<unknown>> = {
      'a new visitor, no limit': () => take(place(Number.MAX_SAFE_INTEGER, ids.make('vis'), until)),
      'a visitor who is there': () => take(place(1, 'vis_0', until + 1)),
      'another session of that visitor': () => take(place(1, 'vis_0', until + 1, ids.make('ses'))),
      'a visitor who is refused': () => take(place(1, ids.make('vis'), until)),
      'how many are there': () => store.limits.used(workspaceId, [{ kind: 'place', name }], nowMs),
      'the end of a turn': () => settle('vis_0', 'ses_1', until),
      'the end of a session': () => settle('vis_0', 'ses_9', 0),
      'what was never there': () => settle('vis_none', 'ses_9', 0),
    };
    const costs = async (): Promise<Record<string, number>> => {
      const found: Record<string, number> = {};
      for (const [step, run] of Object.entries(steps)) {
        const before = await work();
        await run();
        found[step] = (await work()) - before;
      }
      return found;
    };
    const fill = async (from: number, to: number): Promise<void> => {
      for (let first = from; first < to; first += 200) {
        await Promise.all(
          Array.from({ length: Math.min(200, to - first) }, (_, index) =>
            take(place(Number.MAX_SAFE_INTEGER, `vis_${first + index}`, until + first + index)),
          ),
        );
      }
    };
    await fill(0, 10);
    await costs();
    const few = await costs();
    await fill(10, 2000);
    const many = await costs();
    for (const step of Object.keys(steps))
      t.ok(many[step]! <= few[step]! + 6, `${step}: ${few[step]} among ten, ${many[step]} among 2,000`);
    for (let first = 0; first < 1000; first += 200)
      await Promise.all(
        Array.from({ length: 200 }, (_, index) => take(place(1, 'vis_0', until, `ses_of_${first + index}`))),
      );
    const seated = await costs();
    for (const step of Object.keys(steps))
      t.ok(seated[step]! <= few[step]! + 6, `${step}: ${seated[step]} where a visitor has 1,000 sessions`);
  });
}

t.test('places of the version before count until they end', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  const prefix = 'parley:';
  const { store, dispose } = await openStore(server.url, { prefix });
  const client = await createClient({ url: server.url }).connect();
  t.teardown(async () => {
    client.destroy();
    await dispose();
    await server.stop();
  });
  const scene = new Scene(store, Date.now());
  const { workspaceId, nowMs } = scene;
  // Places as a process of that version left them, and as a running one continues to write them.
  const earlier = { kind: 'place', name: 'visitors', seat: 'ses_1' } as const;
  const key = `parley:{${workspaceId}}:limit:visitors`;
  await client.zAdd(key, [
    { value: 'vis_1/ses_1', score: nowMs + 300_000 },
    { value: 'vis_2/ses_1', score: nowMs + 200_000 },
    { value: 'vis_3/ses_1', score: nowMs - 1 },
  ]);
  const used = async (): Promise<number> =>
    (await store.limits.used(workspaceId, [{ kind: 'place', name: 'visitors' }], nowMs))[0]!;
  const take = async (holder: string, ceiling: number) =>
    (
      await store.limits.take({
        workspaceId,
        asked: [{ ...earlier, ceiling, holder, untilMs: nowMs + 100_000 }],
        nowMs,
      })
    )[0]!;
  t.equal(await used(), 2);
  const refused = await take('vis_4', 2);
  t.equal(refused.passed, false);
  t.ok(refused.waitMs! > 190_000 && refused.waitMs! <= 200_000, 'until the first of them ends');
  t.equal((await take('vis_1', 2)).passed, true, 'who has a place keeps it');
  t.equal(await used(), 2, 'and has one');
  t.ok((await take('vis_5', 2)).waitMs! <= 200_000);
  const session = await scene.created();
  const settled = (holder: string, version: number) =>
    store.sessions.save(session, at(version), undefined, [{ ...earlier, holder, untilMs: 0 }], nowMs);
  await settled('vis_1', 1);
  t.equal(await used(), 1);
  await settled('vis_2', 2);
  t.equal(await used(), 0, 'an end is an end, whoever began it');
  t.equal((await take('vis_4', 1)).passed, true);
  t.match(await client.zRange(key, 0, -1), ['vis_4'], 'what that version counts as a holder with a place');
});

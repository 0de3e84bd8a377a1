/**
 * The stores that must answer alike. Each is given the time, reports its notices, can end and be opened again as by a
 * later process, and dumps its rows in the end.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'redis';
import { atTurnEnd } from '../../../src/base/clock.ts';
import type { DumpRow, DumpSource } from '../../../src/store/dump.ts';
import { EmbeddedSource } from '../../../src/store/embedded/dump.ts';
import { EmbeddedStore } from '../../../src/store/embedded.ts';
import type { Write } from '../../../src/store/engine.ts';
import { JournaledEngine, type Base } from '../../../src/store/journal.ts';
import { LmdbSnapshot } from '../../../src/store/lmdb/snapshot.ts';
import { LmdbEngine } from '../../../src/store/lmdb.ts';
import { MemoryEngine } from '../../../src/store/memory.ts';
import { RedisSource } from '../../../src/store/redis/dump.ts';
import type { Scripts } from '../../../src/store/redis/scripts.ts';
import { redisStore } from '../../../src/store/redis.ts';
import { wrapStore, type Steps } from '../../../src/store/steps.ts';
import type { Notice, Store } from '../../../src/store/store.ts';
import { ManualClock } from '../../providers/model/provider.ts';
import { ids } from '../fixtures.ts';
import { toldTheTime } from '../redis-stores.ts';
import { redisDebtMs } from '../../../src/store/redis/debts.ts';

export interface Contender {
  readonly name: string;
  readonly store: Store;
  open(nowMs: number): Promise<void>;
  /** Sets the time, to any value. */
  at(nowMs: number): Promise<void>;
  /** The notices heard since the last call, once all of the steps that were answered have been heard. */
  heard(): Promise<Notice[]>;
  /**
   * Ends the store's process and opens the store in a later one. `transactions` bounds the transactions that the
   * database takes from the journal.
   */
  reopen(nowMs: number, transactions: number): Promise<void>;
  /** Closes the store and returns all of its contents. */
  dump(nowMs: number): Promise<DumpRow[]>;
  /** Removes its data; closes it where `dump` was not called. */
  dispose(): Promise<void>;
}

export type OpenContender = () => Promise<Contender>;

async function rowsOf(source: DumpSource, nowMs: number): Promise<DumpRow[]> {
  await source.open();
  const rows: DumpRow[] = [];
  try {
    for await (const row of source.rows(nowMs)) rows.push(row);
  } finally {
    await source.close();
  }
  return rows;
}

/** An embedded store, as `make` opens it each time, and what reads it when it is closed. */
class Embedded implements Contender {
  readonly name: string;
  readonly #make: () => Store;
  readonly #source: () => DumpSource;
  readonly #ending: (transactions: number) => void;
  #store: Store;
  #heard: Notice[] = [];

  constructor(
    name: string,
    make: () => Store,
    source: () => DumpSource,
    ending: (transactions: number) => void = () => {},
  ) {
    this.name = name;
    this.#make = make;
    this.#source = source;
    this.#ending = ending;
    this.#store = make();
  }

  get store(): Store {
    return this.#store;
  }

  async open(nowMs: number): Promise<void> {
    await this.#store.open(nowMs);
    await this.#store.watch((notice) => this.#heard.push(notice));
  }

  /** The store uses the newest time that a step has passed. */
  async at(nowMs: number): Promise<void> {
    await this.#store.turns.orphans(nowMs, 1);
  }

  async heard(): Promise<Notice[]> {
    return this.#heard.splice(0);
  }

  async reopen(nowMs: number, transactions: number): Promise<void> {
    this.#ending(transactions);
    await this.#store.close();
    this.#store = this.#make();
    await this.open(nowMs);
  }

  async dump(nowMs: number): Promise<DumpRow[]> {
    await this.#store.close();
    return rowsOf(this.#source(), nowMs);
  }

  async dispose(): Promise<void> {
    await this.#store.close();
  }
}

/** Steps to be taken in place of some of a store's own. */
export type Changed = (store: Store) => Partial<Steps>;

const changedBy = (store: Store, changed: Changed): Store => {
  const steps = changed(store);
  return wrapStore(store, (name) => steps[name]);
};

export const inMemory: OpenContender = async () => {
  const engine = new MemoryEngine();
  return new Embedded(
    'memory',
    () => new EmbeddedStore(engine),
    () => new EmbeddedSource(engine),
  );
};

/** A database that takes no more than so many transactions, as one whose process is killed. */
class Database extends LmdbEngine implements Base {
  transactionsLeft = Infinity;

  override async write(rows: Iterable<Write>): Promise<void> {
    if (this.transactionsLeft-- <= 0) throw new Error('The database takes nothing more.');
    await super.write(rows);
  }
}

/** Bounds so small that the database takes the journal's rows again and again within a life. */
const bounds = { journalRowsMax: 24, journalBytesMax: 1 << 20, journalChunkRows: 5 };

export const onLmdb =
  (changed: Changed = () => ({})): OpenContender =>
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-store-'));
    let database!: Database;
    const make = (): Store => {
      database = new Database(folder);
      return changedBy(
        new EmbeddedStore(
          new JournaledEngine(database, folder, { flushes: false, newName: () => ids.secret(), bounds }),
        ),
        changed,
      );
    };
    const contender = new Embedded(
      'lmdb',
      make,
      () => new EmbeddedSource(new LmdbSnapshot(folder)),
      (transactions) => (database.transactionsLeft = transactions),
    );
    const dispose = contender.dispose.bind(contender);
    contender.dispose = async () => {
      await dispose();
      await rm(folder, { recursive: true });
    };
    return contender;
  };

/**
 * A manual clock, but for the pauses before a piece of output that came too early is retried: the test could not end
 * them.
 */
class StepClock extends ManualClock {
  override after(delayMs: number, callback: () => void) {
    if (delayMs > 80) return super.after(delayMs, callback);
    atTurnEnd(callback);
    return { cancel: () => undefined };
  }
}

const barrier = 'barrier';

/** A server whose time is the same for every store on it, and the connection that sets this time. */
export interface TimedServer {
  readonly url: string;
  send(...words: string[]): Promise<unknown>;
  close(): void;
}

export async function timedServer(url: string): Promise<TimedServer> {
  const client = createClient({ url });
  await client.connect();
  return { url, send: (...words) => client.sendCommand(words), close: () => client.destroy() };
}

/** The Redis store under a separate prefix. */
export const onRedis =
  (server: TimedServer, scripts: Scripts = toldTheTime): OpenContender =>
  async () => {
    const clock = new StepClock();
    const prefix = `${ids.secret()}:`;
    const store = redisStore(server.url, { clock, ids, prefix, scripts });
    let heard: Notice[] = [];
    let reached = (): void => {};
    let nowMs = 0;
    const listener = (notice: Notice): void => {
      if (notice.type === 'changed' && notice.id === barrier) reached();
      else heard.push(notice);
    };
    const at = async (laterMs: number): Promise<void> => {
      await server.send('SET', 'now', String(laterMs));
      const passed = nowMs === 0 ? 0 : laterMs - nowMs;
      nowMs = laterMs;
      // Debts that fall due reach Redis before their time has run out as well; a script that Redis does not know is
      // sent twice.
      const due = Math.min(passed, redisDebtMs);
      clock.advance(due);
      for (let trip = 0; trip < 2 && due > 0; trip++) await store.ping();
      clock.advance(passed - due);
    };
    return {
      name: 'redis',
      store,
      at,
      async open(openedMs) {
        await at(openedMs);
        await store.open(openedMs);
        await store.watch(listener);
      },
      async heard() {
        const all = new Promise<void>((resolve) => (reached = resolve));
        const installation = await server.send('HGET', `${prefix}{registry}:installation`, '0');
        await server.send(
          'PUBLISH',
          `${prefix}${String(installation)}:notices`,
          JSON.stringify({ type: 'changed', kind: 'workspace', workspaceId: barrier, id: barrier } satisfies Notice),
        );
        await all;
        return heard.splice(0);
      },
      // The state is in none of our processes.
      reopen: async () => {},
      async dump(endMs) {
        await store.close();
        return rowsOf(new RedisSource(server.url, { clock, prefix }), endMs);
      },
      dispose: () => store.close(),
    };
  };

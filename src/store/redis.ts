/**
 * The store for many processes: every verb is one script on the shard of its workspace, and Redis's clock is the only
 * one.
 */
import type { Clock } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { LoadBoard } from '../metrics/load.ts';
import type { PubSub, Notice, Store } from './store.ts';
import type { StoreClock } from './clock.ts';
import { RedisBudgets } from './redis/budgets.ts';
import { RedisCatalog } from './redis/catalog.ts';
import { DueWorkspaces } from './redis/due-workspaces.ts';
import { Eviction } from './redis/eviction.ts';
import { RedisDesk } from './redis/desk.ts';
import { RedisErasures } from './redis/erasures.ts';
import { RedisHistory } from './redis/history.ts';
import { refuseUnfinished } from './redis/importing.ts';
import { afterLoading } from './redis/loading.ts';
import { Roots } from './redis/keys.ts';
import { RedisLimits } from './redis/limits.ts';
import { RedisLink } from './redis/link.ts';
import type { Durability } from './redis/link.ts';
import { RedisNotices } from './redis/notices.ts';
import { RedisOrphans } from './redis/orphans.ts';
import { Registry } from './redis/registry.ts';
import { RedisRequests } from './redis/requests.ts';
import { RedisLoadBoard } from './redis/load-board.ts';
import { loadScripts } from './redis/scripts.ts';
import type { Scripts } from './redis/scripts.ts';
import { RedisSessions } from './redis/sessions.ts';
import { RedisSweep } from './redis/sweep.ts';
import { RedisTime } from './redis/time.ts';
import { RedisTurns } from './redis/turns.ts';
import { RedisUsage } from './redis/usage.ts';
import { RedisWebhooks } from './redis/webhooks.ts';
import { requireDurable } from './redis/durability.ts';
import { isCluster } from './redis/connection.ts';
import { textOfReply } from './redis/reply.ts';

export interface RedisOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  /** Is set to Redis's time. */
  readonly time?: StoreClock;
  /** The prefix of every key; without a brace. `parley:` by default. */
  readonly prefix?: string;
  /** Opens also a Redis without an append-only file, which loses acknowledged writes when it dies. */
  readonly allowVolatile?: boolean;
  /** `committed` by default. */
  readonly durability?: Durability;
  /** The steps to use in place of the usual ones. */
  readonly scripts?: Scripts;
  /** Called now and then while the store opens only after Redis has read its data. */
  readonly onLoading?: () => void;
}

export class RedisStore implements Store {
  readonly name = 'redis';
  readonly leaseMs = limits.leaseMs;
  readonly catalog: RedisCatalog;
  readonly sessions: RedisSessions;
  readonly turns: RedisTurns;
  readonly desk: RedisDesk;
  readonly limits: RedisLimits;
  readonly usage: RedisUsage;
  readonly requests: RedisRequests;
  /** The load of all processes, stored next to the sessions. */
  readonly loadBoard: LoadBoard;
  readonly history: RedisHistory;
  readonly erasures: RedisErasures;
  readonly webhooks: RedisWebhooks;
  readonly pubSub: PubSub;
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #ids: Ids;
  readonly #database: number;
  readonly #allowVolatile: boolean;
  readonly #clock: Clock;
  readonly #onLoading: () => void;
  readonly #budgets: RedisBudgets;
  readonly #sweep: RedisSweep;
  readonly #notices: RedisNotices;
  readonly #time: RedisTime | null;
  readonly #eviction: Eviction;

  constructor(
    url: string,
    {
      clock,
      ids,
      time,
      prefix,
      allowVolatile = false,
      durability,
      scripts = loadScripts(),
      onLoading = () => {},
    }: RedisOptions,
  ) {
    const link = new RedisLink(url, clock, scripts, durability);
    const roots = new Roots(prefix);
    const registry = new Registry(link, roots, clock, 'active');
    const turning = new Registry(link, roots, clock, 'turning');
    this.#link = link;
    this.#roots = roots;
    this.#ids = ids;
    this.#database = databaseOf(url);
    this.#allowVolatile = allowVolatile;
    this.#clock = clock;
    this.#onLoading = onLoading;
    const calling = new Registry(link, roots, clock, 'calling');
    this.catalog = new RedisCatalog(link, roots, ids, calling);
    const due = new DueWorkspaces();
    this.sessions = new RedisSessions(link, roots, registry, ids, due);
    const orphans = new RedisOrphans(link, roots, clock, turning);
    this.turns = new RedisTurns(link, roots, [registry, turning], orphans, due, clock, time);
    this.desk = new RedisDesk(link, roots, new Registry(link, roots, clock, 'attended'), orphans, ids, due);
    this.#budgets = new RedisBudgets(link, roots, clock, ids);
    this.limits = new RedisLimits(link, roots, ids, this.#budgets);
    this.usage = new RedisUsage(link, roots);
    this.requests = new RedisRequests(link, roots);
    this.loadBoard = new RedisLoadBoard(link, roots);
    this.history = new RedisHistory(link, roots);
    this.erasures = new RedisErasures(link, roots, new Registry(link, roots, clock, 'erasing'), ids);
    this.webhooks = new RedisWebhooks(link, roots, calling, ids, due);
    this.pubSub = {
      publish: async (channel, text) => void (await link.send(roots.registry, 'PUBLISH', roots.channel(channel), text)),
      listen: async (channel, listener) => link.subscribe(roots.channel(channel), listener, () => {}),
    };
    this.#eviction = new Eviction(link, clock);
    this.#sweep = new RedisSweep(link, roots, registry, this.catalog);
    this.#notices = new RedisNotices(link, roots, orphans);
    this.#time = time === undefined ? null : new RedisTime(link, roots, clock, time);
  }

  /** Makes no lease void: other processes may be in the middle of a turn, and leases run out by themselves. */
  async open(_nowMs: number): Promise<void> {
    try {
      await afterLoading(this.#clock, this.#onLoading, async () => {
        await this.#link.open();
        if (!this.#allowVolatile) await requireDurable(this.#link);
        await refuseUnfinished(this.#link, this.#roots);
        await this.ping();
      });
      this.#roots.name(await installationOf(this.#link, this.#roots, this.#database, this.#ids));
      await this.#time?.open();
    } catch (error) {
      await this.#link.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#time?.close();
    await this.#budgets.flush();
    await this.#link.close();
  }

  /** Writes, because a store that can only be read cannot do its work; nor can one that evicts. */
  async ping(): Promise<void> {
    await Promise.all([
      this.#link.send(this.#roots.registry, 'SET', `${this.#roots.registry}:ping`, '1'),
      this.#eviction.refuse(),
    ]);
  }

  confirm(workspaceId: string): Promise<void> {
    return this.#link.confirmDurable(this.#roots.workspace(workspaceId));
  }

  watch(listener: (notice: Notice) => void): Promise<() => Promise<void>> {
    return this.#notices.watch(listener);
  }

  noteTime(_nowMs: number): Promise<boolean> {
    return this.#sweep.noteTime();
  }

  async sweep(nowMs: number, limit: number, isTimeTrusted = true): Promise<number> {
    await this.#sweep.resumeRemovals();
    return isTimeTrusted ? this.#sweep.sessions(nowMs, limit) : 0;
  }
}

/** `redis://host:port` or `rediss:`; `redis-cluster://host:port,host:port` or `rediss-cluster:`. */
export const redisStore = (url: string, options: RedisOptions): Store => new RedisStore(url, options);

/** The database's number; a cluster has no other than 0. */
const databaseOf = (url: string): number => (isCluster(url) ? 0 : Number(new URL(url).pathname.slice(1)));

/**
 * The id of the installation that is stored there; creates it if it is missing. Channels have it in their names,
 * because all databases of a Redis share one space of channels.
 */
async function installationOf(link: RedisLink, roots: Roots, database: number, ids: Ids): Promise<string> {
  const made = ids.secret();
  const id = textOfReply(await link.run('read-installation', roots.registry, { database, id: made }));
  // The id is lost with its primary if no replica has it: no reason to refuse a start that only reads.
  if (id === made) await link.confirmDurable(roots.registry).catch(() => {});
  return id;
}

/** The store for many processes: every verb is one script on the shard of its workspace, and Redis's clock is the only one. */
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import { limits } from '../limits.ts';
import type {
  AppendOutput, Basis, BeginTurn, BudgetName, CreateSession, Fence, FinishTurn, Notice, PageRequest, Session, SessionFilter, StopRequest, Store, TakeLimits, TurnPlace,
  UsageQuery, WithdrawTurn,
} from '../store.ts';
import type { StoreClock } from './clock.ts';
import { RedisBudgets } from './redis/budgets.ts';
import { RedisCatalog } from './redis/catalog.ts';
import { refuseUnfinished } from './redis/importing.ts';
import { Roots } from './redis/keys.ts';
import { RedisLimits } from './redis/limits.ts';
import { Link } from './redis/link.ts';
import type { Durability } from './redis/link.ts';
import { RedisNotices } from './redis/notices.ts';
import { RedisOrphans } from './redis/orphans.ts';
import { Registry } from './redis/registry.ts';
import { loadScripts } from './redis/scripts.ts';
import type { Scripts } from './redis/scripts.ts';
import { RedisSessions } from './redis/sessions.ts';
import { RedisSweep } from './redis/sweep.ts';
import { RedisTime } from './redis/time.ts';
import { RedisTranscript } from './redis/transcript.ts';
import { RedisTurns } from './redis/turns.ts';
import { RedisUsage } from './redis/usage.ts';
import { refuseVolatile } from './redis/volatile.ts';

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
}

export class RedisStore implements Store {
  readonly name = 'redis';
  readonly leaseMs = limits.leaseMs;
  readonly catalog: RedisCatalog;
  readonly #link: Link;
  readonly #roots: Roots;
  readonly #allowVolatile: boolean;
  readonly #sessions: RedisSessions;
  readonly #orphans: RedisOrphans;
  readonly #turns: RedisTurns;
  readonly #transcript: RedisTranscript;
  readonly #budgets: RedisBudgets;
  readonly #limits: RedisLimits;
  readonly #usage: RedisUsage;
  readonly #sweep: RedisSweep;
  readonly #notices: RedisNotices;
  readonly #time: RedisTime | null;

  constructor(url: string, { clock, ids, time, prefix, allowVolatile = false, durability, scripts = loadScripts() }: RedisOptions) {
    const link = new Link(url, clock, scripts, durability);
    const roots = new Roots(prefix);
    const registry = new Registry(link, roots, clock, 'active');
    const turning = new Registry(link, roots, clock, 'turning');
    this.#link = link;
    this.#roots = roots;
    this.#allowVolatile = allowVolatile;
    this.catalog = new RedisCatalog(link, roots, ids);
    this.#sessions = new RedisSessions(link, roots, registry, ids);
    this.#orphans = new RedisOrphans(link, roots, clock, turning);
    this.#turns = new RedisTurns(link, roots, [registry, turning], this.#orphans, clock);
    this.#transcript = new RedisTranscript(link, roots);
    this.#budgets = new RedisBudgets(link, roots, clock, ids);
    this.#limits = new RedisLimits(link, roots, ids);
    this.#usage = new RedisUsage(link, roots);
    this.#sweep = new RedisSweep(link, roots, registry, this.catalog);
    this.#notices = new RedisNotices(link, roots, this.#orphans);
    this.#time = time === undefined ? null : new RedisTime(link, roots, clock, time);
  }

  /** Makes no lease void: other processes may be in the middle of a turn, and leases run out by themselves. */
  async open(_nowMs: number): Promise<void> {
    try {
      await this.#link.open();
      if (!this.#allowVolatile) await refuseVolatile(this.#link, this.#roots);
      await refuseUnfinished(this.#link, this.#roots);
      await this.ping();
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

  /** Writes, because a store that can only be read cannot do its work. */
  async ping(): Promise<void> {
    await this.#link.send(this.#roots.registry, 'SET', `${this.#roots.registry}:ping`, '1');
  }

  createSession(step: CreateSession) {
    return this.#sessions.create(step);
  }

  session(workspaceId: string, sessionId: string) {
    return this.#sessions.read(workspaceId, sessionId);
  }

  confirm(workspaceId: string) {
    return this.#link.confirmDurable(this.#roots.workspace(workspaceId));
  }

  sessions(workspaceId: string, filter: SessionFilter, page: PageRequest) {
    return this.#sessions.list(workspaceId, filter, page);
  }

  saveSession(session: Session, basis: Basis) {
    return this.#sessions.save(session, basis);
  }

  beginTurn(step: BeginTurn) {
    return this.#turns.begin(step);
  }

  appendOutput(step: AppendOutput) {
    return this.#turns.append(step);
  }

  renewTurn(place: TurnPlace, fence: Fence, leaseUntilMs: number, nowMs: number) {
    return this.#turns.renew(place, fence, leaseUntilMs, nowMs);
  }

  requestStop(place: TurnPlace, reason: StopRequest, leaseUntilMs: number, nowMs: number) {
    return this.#turns.requestStop(place, reason, leaseUntilMs, nowMs);
  }

  finishTurn(step: FinishTurn) {
    return this.#turns.finish(step);
  }

  withdrawTurn(step: WithdrawTurn) {
    return this.#turns.withdraw(step);
  }

  claimTurn(place: TurnPlace) {
    return this.#turns.claim(place);
  }

  takeOverTurn(place: TurnPlace, owner: string, leaseUntilMs: number, nowMs: number) {
    return this.#turns.seize(place, owner, leaseUntilMs, nowMs);
  }

  orphans(_nowMs: number, limit: number) {
    return this.#orphans.find(limit);
  }

  turn(workspaceId: string, sessionId: string, turnId: string) {
    return this.#turns.read(workspaceId, sessionId, turnId);
  }

  output(place: TurnPlace) {
    return this.#transcript.output(place);
  }

  outputAfter(place: TurnPlace, position: number) {
    return this.#transcript.outputAfter(place, position);
  }

  turnsInFlight(workspaceId: string) {
    return this.#turns.inFlight(workspaceId);
  }

  messages(workspaceId: string, sessionId: string, page: PageRequest) {
    return this.#transcript.page(workspaceId, sessionId, page);
  }

  recentMessages(workspaceId: string, sessionId: string, before: number, charactersMax: number, messagesMax: number) {
    return this.#transcript.recent(workspaceId, sessionId, before, charactersMax, messagesMax);
  }

  remembered(workspaceId: string, scope: string, key: string, _nowMs: number) {
    return this.#sessions.remembered(workspaceId, scope, key);
  }

  takeBudgets(workspaceId: string, keyId: string, budgets: readonly { budget: BudgetName; ceiling: number }[], _nowMs: number) {
    return this.#budgets.take(workspaceId, keyId, budgets);
  }

  takeLimits(step: TakeLimits) {
    return this.#limits.take(step);
  }

  usage(workspaceId: string, query: UsageQuery) {
    return this.#usage.query(workspaceId, query);
  }

  sweep(_nowMs: number, limit: number) {
    return this.#sweep.sessions(limit);
  }

  watch(listener: (notice: Notice) => void) {
    return this.#notices.watch(listener);
  }
}

/** `redis://host:port` or `rediss:`; `redis-cluster://host:port,host:port` or `rediss-cluster:`. */
export const redisStore = (url: string, options: RedisOptions): Store => new RedisStore(url, options);

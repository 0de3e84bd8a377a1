/** A store used by one process: its parts, over an ordered key-value engine. */
import type { Clock } from '../base/clock.ts';
import type { Notice, Store } from './store.ts';
import { StoreUnavailable } from './store.ts';
import { importUnfinished } from './dump.ts';
import type { DumpProgress } from './dump.ts';
import { EmbeddedBudgets } from './embedded/budgets.ts';
import { EmbeddedCatalog } from './embedded/catalog.ts';
import { EmbeddedDesk } from './embedded/desk.ts';
import { EmbeddedErasures } from './embedded/erasures.ts';
import { Flights } from './embedded/flights.ts';
import { EmbeddedHistory } from './embedded/history.ts';
import * as keys from './embedded/keys.ts';
import { EmbeddedLimits } from './embedded/limits.ts';
import { Memories } from './embedded/memories.ts';
import { Notices } from './embedded/notices.ts';
import { EmbeddedReleases } from './embedded/releases.ts';
import { EmbeddedSessions } from './embedded/sessions.ts';
import { Sweep } from './embedded/sweep.ts';
import { EmbeddedTurns } from './embedded/turns.ts';
import { UsageBook } from './embedded/usage.ts';
import { EmbeddedWebhooks } from './embedded/webhooks.ts';
import type { Engine } from './engine.ts';
import { WriteBatcher } from './write-batcher.ts';
import { isTrusted, withTime, type TimeCourse } from './time-course.ts';

export class EmbeddedStore implements Store {
  readonly name: string;
  readonly leaseMs = null;
  readonly catalog: EmbeddedCatalog;
  readonly sessions: EmbeddedSessions;
  readonly turns: EmbeddedTurns;
  readonly desk: EmbeddedDesk;
  readonly limits: EmbeddedLimits;
  readonly usage: UsageBook;
  readonly requests: Memories;
  readonly history: EmbeddedHistory;
  readonly erasures: EmbeddedErasures;
  readonly webhooks: EmbeddedWebhooks;
  readonly #batcher: WriteBatcher;
  readonly #flights: Flights;
  readonly #sweep: Sweep;
  readonly #notices = new Notices();

  /** `clock`: the one that the steps' times come from. */
  constructor(engine: Engine, clock?: Clock) {
    this.name = engine.name;
    this.#batcher = new WriteBatcher(engine);
    this.#flights = new Flights(this.#batcher);
    this.requests = new Memories(this.#batcher);
    this.history = new EmbeddedHistory(this.#batcher);
    this.usage = new UsageBook(this.#batcher);
    const budgets = new EmbeddedBudgets(this.#batcher, clock);
    this.limits = new EmbeddedLimits(this.#batcher, budgets);
    this.webhooks = new EmbeddedWebhooks(this.#batcher);
    const releases = new EmbeddedReleases(this.#batcher);
    this.sessions = new EmbeddedSessions(
      this.#batcher,
      this.requests,
      this.usage,
      this.limits,
      this.webhooks,
      this.#notices,
      releases,
    );
    this.turns = new EmbeddedTurns(
      this.#batcher,
      this.#flights,
      this.requests,
      this.usage,
      this.#notices,
      this.limits,
      this.webhooks,
      releases,
    );
    this.desk = new EmbeddedDesk({
      batcher: this.#batcher,
      flights: this.#flights,
      memories: this.requests,
      usage: this.usage,
      limits: this.limits,
      webhooks: this.webhooks,
      notices: this.#notices,
    });
    this.erasures = new EmbeddedErasures(this.#batcher, {
      flights: this.#flights,
      memories: this.requests,
      limits: this.limits,
      notices: this.#notices,
    });
    this.#sweep = new Sweep(this.#batcher, this.#notices);
    this.catalog = new EmbeddedCatalog(this.#batcher, this.#notices, this.webhooks, releases, (workspaceId, keyId) => {
      budgets.forget(workspaceId, keyId);
      if (keyId === null) this.limits.forget(workspaceId);
      return keyId === null ? this.#flights.forget(workspaceId) : [];
    });
  }

  async open(_nowMs: number): Promise<void> {
    await this.#batcher.open();
    try {
      if (this.#batcher.committed<DumpProgress>(keys.importing)?.done === false)
        throw new StoreUnavailable(importUnfinished);
      this.webhooks.load();
      await this.#flights.voidLeases();
      await this.catalog.resumeRemovals();
    } catch (error) {
      await this.#batcher.close();
      throw error;
    }
  }

  close(): Promise<void> {
    this.#batcher.wake();
    return this.#batcher.close();
  }

  /**
   * Writes a row, because a store that can only be read cannot do its work; and checks rows that are to be written
   * later.
   */
  async ping(): Promise<void> {
    await this.#batcher.probe('ping');
  }

  /** Does nothing: an embedded store never reads unacknowledged writes. */
  async confirm(_workspaceId: string): Promise<void> {}

  async watch(listener: (notice: Notice) => void): Promise<() => Promise<void>> {
    return this.#notices.watch(listener);
  }

  noteTime(nowMs: number): Promise<boolean> {
    return this.#batcher.step((draft) => {
      const course = withTime(this.#batcher.get<TimeCourse>(keys.time), nowMs);
      draft.put(keys.time, course);
      return isTrusted(course);
    });
  }

  async sweep(nowMs: number, limit: number, isTimeTrusted = true): Promise<number> {
    this.#batcher.wake();
    if (!isTimeTrusted) return 0;
    await this.requests.sweep(nowMs);
    return this.#sweep.sessions(nowMs, limit);
  }
}

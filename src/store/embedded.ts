/** A store used by one process: its parts, over an ordered key-value engine. */
import type { Clock } from '../base/clock.ts';
import type { Notice, Store } from './store.ts';
import { StoreUnavailable } from './store.ts';
import { importUnfinished } from './dump.ts';
import type { DumpProgress } from './dump.ts';
import { EmbeddedBudgets } from './embedded/budgets.ts';
import { EmbeddedCatalog } from './embedded/catalog.ts';
import { Flights } from './embedded/flights.ts';
import { EmbeddedHistory } from './embedded/history.ts';
import * as keys from './embedded/keys.ts';
import { EmbeddedLimits } from './embedded/limits.ts';
import { Memories } from './embedded/memories.ts';
import { Notices } from './embedded/notices.ts';
import { EmbeddedSessions } from './embedded/sessions.ts';
import { Sweep } from './embedded/sweep.ts';
import { EmbeddedTurns } from './embedded/turns.ts';
import { UsageBook } from './embedded/usage.ts';
import type { Engine } from './engine.ts';
import { Ledger } from './ledger.ts';
import { isTrusted, withTime, type TimeCourse } from './time-course.ts';

export class EmbeddedStore implements Store {
  readonly name: string;
  readonly leaseMs = null;
  readonly catalog: EmbeddedCatalog;
  readonly sessions: EmbeddedSessions;
  readonly turns: EmbeddedTurns;
  readonly limits: EmbeddedLimits;
  readonly usage: UsageBook;
  readonly requests: Memories;
  readonly history: EmbeddedHistory;
  readonly #ledger: Ledger;
  readonly #flights: Flights;
  readonly #sweep: Sweep;
  readonly #notices = new Notices();

  /** `clock`: the one that the steps' times come from. */
  constructor(engine: Engine, clock?: Clock) {
    this.name = engine.name;
    this.#ledger = new Ledger(engine);
    this.#flights = new Flights(this.#ledger);
    this.requests = new Memories(this.#ledger);
    this.history = new EmbeddedHistory(this.#ledger);
    this.usage = new UsageBook(this.#ledger);
    const budgets = new EmbeddedBudgets(this.#ledger, clock);
    this.limits = new EmbeddedLimits(this.#ledger, budgets);
    this.sessions = new EmbeddedSessions(this.#ledger, this.requests, this.usage, this.limits);
    this.turns = new EmbeddedTurns(this.#ledger, this.#flights, this.requests, this.usage, this.#notices, this.limits);
    this.#sweep = new Sweep(this.#ledger);
    this.catalog = new EmbeddedCatalog(this.#ledger, this.#notices, (workspaceId, keyId) => {
      budgets.forget(workspaceId, keyId);
      if (keyId === null) this.limits.forget(workspaceId);
      return keyId === null ? this.#flights.forget(workspaceId) : [];
    });
  }

  async open(_nowMs: number): Promise<void> {
    await this.#ledger.open();
    try {
      if (this.#ledger.committed<DumpProgress>(keys.importing)?.done === false)
        throw new StoreUnavailable(importUnfinished);
      await this.#flights.voidLeases();
      await this.catalog.resumeRemovals();
    } catch (error) {
      await this.#ledger.close();
      throw error;
    }
  }

  close(): Promise<void> {
    this.#ledger.wake();
    return this.#ledger.close();
  }

  /**
   * Writes a row, because a store that can only be read cannot do its work; and checks rows that are to be written
   * later.
   */
  async ping(): Promise<void> {
    await this.#ledger.probe('ping');
  }

  /** Does nothing: an embedded store never reads unacknowledged writes. */
  async confirm(_workspaceId: string): Promise<void> {}

  async watch(listener: (notice: Notice) => void): Promise<() => Promise<void>> {
    return this.#notices.watch(listener);
  }

  noteTime(nowMs: number): Promise<boolean> {
    return this.#ledger.step((draft) => {
      const course = withTime(this.#ledger.get<TimeCourse>(keys.time), nowMs);
      draft.put(keys.time, course);
      return isTrusted(course);
    });
  }

  async sweep(nowMs: number, limit: number, isTimeTrusted = true): Promise<number> {
    this.#ledger.wake();
    if (!isTimeTrusted) return 0;
    await this.requests.sweep(nowMs);
    return this.#sweep.sessions(nowMs, limit);
  }
}

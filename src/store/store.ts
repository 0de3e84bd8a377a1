/**
 * The data that must outlive a process, in the domain's own verbs, by part (`store/parts/`). Every verb is one atomic
 * step: it applies completely or not at all. If it is sent again with the same ids, it applies once and returns the
 * same answer. A store that does not answer rejects with `StoreUnavailable`.
 *
 * A rejection is certain if one process owns the store (`leaseMs` is null): the step was not applied and never will be.
 * If several processes share the store, the answer may have been lost: the step may have been applied, or may still be
 * applied long after its sender has given up. Each verb says what a lost answer leaves behind, and which process
 * settles it. A verb that only reads leaves nothing behind: the caller retries it, or the request gets 503.
 *
 * Times are milliseconds since the epoch where the name ends in `Ms`, whole seconds where it ends in `At`.
 */
import type { CatalogKind } from './records.ts';
import type { Catalog } from './parts/catalog.ts';
import type { DeskStore } from './parts/desk.ts';
import type { ErasureStore } from './parts/erasures.ts';
import type { HistoryStore } from './parts/history.ts';
import type { LimitStore } from './parts/limits.ts';
import type { RequestStore } from './parts/requests.ts';
import type { SessionStore } from './parts/sessions.ts';
import type { StopRequest, TurnStore } from './parts/turns.ts';
import type { UsageStore } from './parts/usage.ts';
import type { ExaminedDelivery, WebhookStore } from './parts/webhooks.ts';

export type * from './records.ts';
export type * from './parts/catalog.ts';
export type * from './parts/desk.ts';
export type * from './parts/erasures.ts';
export type * from './parts/history.ts';
export type * from './parts/limits.ts';
export type * from './parts/pages.ts';
export type * from './parts/requests.ts';
export type * from './parts/sessions.ts';
export type * from './parts/turns.ts';
export type * from './parts/usage.ts';
export type * from './parts/webhooks.ts';

/**
 * A message that processes send to each other: a hint, delivered at most once, about data that the store itself holds
 * durably. After `missed`, other notices may have been lost.
 */
export type Notice =
  | {
      readonly type: 'turn.stop';
      readonly workspaceId: string;
      readonly sessionId: string;
      readonly turnId: string;
      readonly reason: StopRequest;
    }
  | { readonly type: 'turn.moved'; readonly workspaceId: string; readonly sessionId: string; readonly turnId: string }
  /** The step has moved or removed a session that a process follows (`SessionStore.awaitMove`). */
  | { readonly type: 'session.moved'; readonly workspaceId: string; readonly sessionId: string }
  /** The removal of a workspace is announced again once its records are removed, where that is another step. */
  | { readonly type: 'changed'; readonly kind: CatalogKind; readonly workspaceId: string; readonly id: string }
  /** A session or a visitor was erased: no process keeps a copy of it. */
  | {
      readonly type: 'erased';
      readonly workspaceId: string;
      readonly kind: 'session' | 'visitor';
      readonly id: string;
    }
  | { readonly type: 'missed' };

/**
 * Messages between processes on a shared store, which are not stored: to every process that listens, the sender too, at
 * most once. A lost answer: it may have been sent or not, and nothing relies on it.
 */
export interface PubSub {
  publish(channel: 'watching' | 'feed', text: string): Promise<void>;
  /** Calls the listener until the returned function is called. */
  listen(channel: 'watching' | 'feed', listener: (text: string) => void): Promise<() => Promise<void>>;
}

export interface Store {
  /** `memory`, `lmdb`, `redis`. */
  readonly name: string;
  /**
   * Milliseconds that a lease on a turn lasts where several processes share the store; null where one process owns it.
   */
  readonly leaseMs: number | null;
  /** Absent where one process owns the store. */
  readonly pubSub?: PubSub | undefined;
  readonly catalog: Catalog;
  readonly sessions: SessionStore;
  readonly turns: TurnStore;
  readonly desk: DeskStore;
  readonly limits: LimitStore;
  readonly usage: UsageStore;
  readonly requests: RequestStore;
  readonly history: HistoryStore;
  readonly erasures: ErasureStore;
  readonly webhooks: WebhookStore;
  /**
   * Opens the store; rejects with one clear sentence if it cannot. Turns of processes that are certainly dead lose
   * their leases here.
   */
  open(nowMs: number): Promise<void>;
  /** Resolves when every acknowledged write is safe and the store is closed. */
  close(): Promise<void>;
  /** Rejects if the store cannot answer now. A lost answer: the store counts as away until the next answer. */
  ping(): Promise<void>;
  /**
   * Resolves once everything read from the workspace so far is as durable as an acknowledged write. An answer that
   * writes nothing, because the write is stored already, waits for this: the write itself may never have been
   * acknowledged.
   */
  confirm(workspaceId: string): Promise<void>;
  /**
   * Calls the listener with the notices of every process on this store, including this one, until the returned function
   * is called. A lost answer: the caller retries; nothing relies on a notice alone.
   */
  watch(listener: (notice: Notice) => void): Promise<() => Promise<void>>;
  /**
   * Notes the time, once for each sweep; resolves with whether it has moved so evenly that rows past their time may be
   * deleted (see `time-course.ts`). A lost answer: nothing is deleted before the next sweep.
   */
  noteTime(nowMs: number): Promise<boolean>;
  /**
   * Deletes at most `limit` sessions past retention with their contents, and expired memories; resolves with the number
   * of sessions. Nothing is deleted by its age unless the time is trusted. A lost answer: the next sweep continues.
   */
  sweep(nowMs: number, limit: number, isTimeTrusted?: boolean): Promise<number>;
}

/** The readers of a store that is examined. */
export interface Records {
  readonly catalog: Pick<Catalog, 'list'>;
  readonly sessions: Pick<SessionStore, 'list'>;
  /** The deliveries of a workspace, also damaged ones, and of webhooks that are gone. */
  deliveries(workspaceId: string): AsyncIterable<ExaminedDelivery>;
}

/** The store did not answer: clients get 503 `api_error`. Each verb says whether its step may have been applied. */
export class StoreUnavailable extends Error {}

/** The folder belongs to a process of this machine. */
export class StoreInUse extends StoreUnavailable {
  readonly pid: number;

  constructor(folder: string, pid: number) {
    super(`The folder ${folder} is in use by another process (${pid}).`);
    this.pid = pid;
  }
}

/** Another assistant has the slug; nothing was changed. */
export class SlugTaken extends Error {}

/** Another assistant of the workspace has the alias; nothing was changed. */
export class AliasTaken extends Error {}

/** Another credential of the workspace has the name; nothing was changed. */
export class NameTaken extends Error {}

/** The kind has no room for another record (see `boundOf`). */
export class RecordsFull extends Error {}

/** A row is gone without which the record is refused (see `prerequisitesOf`); nothing was changed. */
export class PrerequisiteGone extends Error {}

/** The store is reachable but refuses the connection: retries do not help, only another address does. */
export class StoreRefused extends StoreUnavailable {}

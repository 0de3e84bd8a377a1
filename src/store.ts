/**
 * What must outlive a process, in the domain's own verbs. Every verb is one atomic step: it applies completely or not at all. If
 * it is sent again with the same ids, it applies once and returns the same answer. A store that does not answer rejects with
 * `StoreUnavailable`.
 *
 * Where one process owns the store (`leaseMs` is null), a rejection is certain: the step was not applied and never will be. Where
 * several processes share the store, the answer may have been lost: the step may have been applied, or may still be applied long
 * after its sender has given up. Each verb says what a lost answer leaves behind, and which process settles it. A verb that only
 * reads leaves nothing behind: the caller retries it, or the request gets 503.
 *
 * Times are milliseconds since the epoch where the name ends in `Ms`, whole seconds where it ends in `At`.
 */
import type { Assistant, BudgetName, CatalogKind, CatalogRecords, Key, Message, IdempotencyRecord, Session, Turn, UsageBucket } from './records.ts';

export type * from './records.ts';

/** A record with the number that a later write is compared against. */
export interface Versioned<T> {
  readonly record: T;
  readonly version: number;
}

export interface Page<T> {
  readonly items: T[];
  /** Where the next page begins; null at the end. */
  readonly next: string | null;
}

export interface PageRequest {
  readonly limit: number;
  /** A cursor of an earlier page; its item may have been deleted since. */
  readonly after: string | null;
  readonly order: 'asc' | 'desc';
}

/** Proof that a process owns a turn. A turn begins with epoch 1. Both parts must match: after a failover the store may give the same epoch again. */
export interface Fence {
  readonly epoch: number;
  readonly owner: string;
}

/** The fence of the process that took a turn over. `stop`: the reason of an earlier request to stop the turn; null if there was none. */
export interface TakenOver extends Fence {
  readonly stop: StopRequest | null;
}

/** A budget after one request was charged to it. */
export interface Taken {
  readonly budget: BudgetName;
  readonly passed: boolean;
  /** Whole requests left. */
  readonly remaining: number;
  /** Whole seconds until a request would pass; 0 if this one passed. */
  readonly retryAfterSeconds: number;
  /** The Unix second at which the bucket is full again. */
  readonly resetAt: number;
}

/** A limit on how much may be used in a period. */
export interface AskedRate {
  /** `bucket`: refills continuously, and a refused request costs nothing. `counter`: counts the use in fixed periods, the first of which began in 1970. */
  readonly kind: 'bucket' | 'counter';
  readonly name: string;
  /** 0 refuses every request. */
  readonly ceiling: number;
  /** At most a day. */
  readonly periodMs: number;
  readonly cost: number;
}

/** One of the places of a name, held until `untilMs`. A holder that has a place already keeps it and takes no second one. */
export interface AskedPlace {
  readonly kind: 'place';
  readonly name: string;
  readonly ceiling: number;
  readonly holder: string;
  readonly untilMs: number;
}

/** A limit to be charged. Its name contains its subject, as in `asst_…/messages/vis_…`; within a workspace one name is one limit. */
export type AskedLimit = AskedRate | AskedPlace;

export interface TakeLimits {
  readonly workspaceId: string;
  /** Each limit has a different name. */
  readonly asked: readonly AskedLimit[];
  readonly nowMs: number;
}

/** The answer of one limit. */
export interface TakenLimit {
  /** Whether this limit lets the request pass; another one may still refuse it. */
  readonly passed: boolean;
  /** Milliseconds until the limit may let the request pass: 0 if it passes now, null if it never will. */
  readonly waitMs: number | null;
}

/** The console's records: few, each replaced by compare-and-set. The workspace id of a workspace's record is its own id. */
export interface Catalog {
  /**
   * Rejects with `SlugTaken` if the record is an assistant whose slug another assistant has; slugs are unique across all
   * workspaces. A lost answer: the record may be stored although the caller got 503; it then appears in the list, to be kept or
   * removed.
   */
  create<K extends CatalogKind>(kind: K, record: CatalogRecords[K]): Promise<void>;
  read<K extends CatalogKind>(kind: K, workspaceId: string, id: string): Promise<Versioned<CatalogRecords[K]> | null>;
  /**
   * Replaces the record if its version still is `version`: resolves with the new version, or null if another writer replaced or
   * removed the record. Rejects with `SlugTaken` as `create` does; the slug that the record had before is free afterwards. A lost
   * answer: every process reads what is stored within `catalogFreshMs`, and a caller that repeats the change decides on that.
   */
  replace<K extends CatalogKind>(kind: K, record: CatalogRecords[K], version: number): Promise<number | null>;
  /** Removes the record; resolves with whether it existed. Removing a workspace removes all its contents. A lost answer: a repeat finds no record. */
  remove(kind: CatalogKind, workspaceId: string, id: string): Promise<boolean>;
  /** In order of creation; the cursor is an id. `workspaceId` is ignored for workspaces. */
  list<K extends CatalogKind>(kind: K, workspaceId: string, page: PageRequest): Promise<Page<CatalogRecords[K]>>;
  /** The key with this public id, in any state. */
  keyByPublicId(publicId: string): Promise<Versioned<Key> | null>;
  /** The assistant with this slug, in any state and any workspace. */
  assistantBySlug(slug: string): Promise<Versioned<Assistant> | null>;
}

export interface CreateSession {
  readonly session: Session;
  readonly greeting: Message | null;
  readonly remember: IdempotencyRecord | null;
  readonly nowMs: number;
}

/**
 * The version of the session that a decision was made on. Both parts must match, or another writer has moved the session: after a
 * failover the store may give the same version again.
 */
export interface Basis {
  readonly version: number;
  /** Undefined for a session without a mark (see `Session`); then only the version is compared. */
  readonly mark: string | undefined;
}

/** One of the workspace's slots of a name. Each name has slots of its own, and at most `ceiling` of them are taken at a time. */
export interface Slot {
  /** `api` for the API's turns. */
  readonly name: string;
  readonly ceiling: number;
}

export interface BeginTurn extends Basis {
  /** The session after the step; its `messageCount` already counts both messages. */
  readonly session: Session;
  readonly turn: Turn;
  readonly userMessage: Message;
  /** Status `streaming`, content empty. */
  readonly assistantMessage: Message;
  /** The slot that the turn takes until it ends or its lease runs out; null if it takes none. */
  readonly slot: Slot | null;
  readonly owner: string;
  /** When the owner's lease on the turn and its slot runs out. */
  readonly leaseUntilMs: number;
  readonly remember: IdempotencyRecord | null;
  readonly nowMs: number;
}

export type BegunTurn =
  | { outcome: 'begun'; version: number; fence: Fence }
  | { outcome: 'lost' } // another writer moved the session
  | { outcome: 'full' }; // every slot of the name is taken

export interface AppendOutput {
  readonly workspaceId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly fence: Fence;
  /** Code points stored before this piece. A piece at a position that is stored already changes nothing. */
  readonly position: number;
  readonly text: string;
  /** If given, the append also renews the lease as `renewTurn` does: until `leaseUntilMs`, and `nowMs` is the time now. */
  readonly leaseUntilMs?: number;
  readonly nowMs?: number;
}

/** Why another process than the owner wants a turn to stop. */
export type StopRequest = 'aborted' | 'expired';

/** The answer to an append. `{ stop }`: the text was stored, and the turn was requested to stop for this reason. */
export type Appended = 'stored' | 'fenced' | { readonly stop: StopRequest };
export type Renewed = 'renewed' | 'fenced' | { readonly stop: StopRequest };

/**
 * A message that processes send to each other: a hint, delivered at most once, about what the store itself holds durably. After
 * `missed`, other notices may have been lost.
 */
export type Notice =
  | { readonly type: 'turn.stop'; readonly workspaceId: string; readonly sessionId: string; readonly turnId: string; readonly reason: StopRequest }
  | { readonly type: 'turn.moved'; readonly workspaceId: string; readonly sessionId: string; readonly turnId: string }
  | { readonly type: 'changed'; readonly kind: CatalogKind; readonly workspaceId: string; readonly id: string }
  | { readonly type: 'missed' };

export interface FinishTurn extends Basis {
  /** The session after the step. */
  readonly session: Session;
  readonly turn: Turn;
  /** The assistant's message as it will be stored; the store fills `content` with the turn's whole output. */
  readonly message: Message;
  /** Output that is not stored yet, and the number of code points stored before it. */
  readonly tail: { readonly position: number; readonly text: string };
  readonly fence: Fence;
  readonly nowMs: number;
}

export type Finished = { outcome: 'finished'; version: number } | { outcome: 'lost' } | { outcome: 'fenced' };

export interface WithdrawTurn extends Basis {
  /** The session after the step, without the turn. */
  readonly session: Session;
  /** The turn as it was read last. If the turn was finished after that read (`endedAt`), the step answers `lost`. */
  readonly turn: Turn;
  /** The owner's fence. For a turn that has not begun: the fence that `beginTurn` will give it. For a finished turn: the fence that it was finished under. */
  readonly fence: Fence;
  /** The scope and key that the turn's request is remembered under. Needed for a finished turn only: a turn in flight stores them itself. */
  readonly remember?: Pick<IdempotencyRecord, 'scope' | 'key'> | null;
}

export interface TurnPlace {
  readonly workspaceId: string;
  readonly sessionId: string;
  readonly turnId: string;
}

/** A turn and its text behind a position, both read at the same moment. */
export interface OutputAfter {
  readonly turn: Turn;
  /** Null if the stored text does not reach the position: a failover lost the text in between. */
  readonly text: string | null;
}

export interface SessionFilter {
  /** Only sessions of these assistants; null for any. */
  readonly assistantIds: readonly string[] | null;
  readonly status: 'open' | 'ended' | 'expired' | null;
  /** Sessions whose last activity is before this time are past retention and are left out. */
  readonly activeSince: number;
  /** The time now, for the status: an open session whose `expiresAt` is reached counts as expired. */
  readonly now: number;
}

export interface UsageQuery {
  /** Only these assistants; null for all. */
  readonly assistantIds: readonly string[] | null;
  /** `start` is inclusive, `end` exclusive, both in Unix seconds. */
  readonly start: number;
  readonly end: number;
  readonly bucketSeconds: 3600 | 86400;
}

export interface Store {
  /** `memory`, `lmdb`, `redis`. */
  readonly name: string;
  /** Milliseconds that a lease on a turn lasts where several processes share the store; null where one process owns it. */
  readonly leaseMs: number | null;
  readonly catalog: Catalog;
  /** Opens the store; rejects with one clear sentence if it cannot. Turns of processes that are certainly dead lose their leases here. */
  open(nowMs: number): Promise<void>;
  /** Resolves when every acknowledged write is safe and the store is closed. */
  close(): Promise<void>;
  /** Rejects if the store cannot answer now. A lost answer: the store counts as away until the next answer. */
  ping(): Promise<void>;

  /**
   * Creates a session with its greeting and counts it, or finds the request remembered. A lost answer: a repeat under the same
   * idempotency key returns that session; without a key the session stays unused until it expires (specification 7, "Retrying").
   */
  createSession(step: CreateSession): Promise<{ outcome: 'created'; version: number } | { outcome: 'remembered'; remembered: IdempotencyRecord }>;
  session(workspaceId: string, sessionId: string): Promise<Versioned<Session> | null>;
  /**
   * Resolves once everything read from the workspace so far is as durable as an acknowledged write. An answer that writes nothing,
   * because the write is stored already, waits for this: the write itself may never have been acknowledged.
   */
  confirm(workspaceId: string): Promise<void>;
  /** Newest first by default; the cursor is a session's id. */
  sessions(workspaceId: string, filter: SessionFilter, page: PageRequest): Promise<Page<Session>>;
  /**
   * Replaces a session, with no output to store: resolves with the new version, or null if another writer moved the session. A
   * lost answer: the process polls the session until the move is stored or can no longer be applied, and stops the turn of a
   * session that is over.
   */
  saveSession(session: Session, basis: Basis): Promise<number | null>;

  /**
   * Stores the session, the turn, both messages, the workspace's slot and the remembered request, all or none. A lost answer: the
   * process withdraws the turn; if the process dies, the next process that finds the turn after its lease has run out withdraws
   * it.
   */
  beginTurn(step: BeginTurn): Promise<BegunTurn>;
  /**
   * Resolves once the text is stored: only then may a reader see it. A lost answer: if it was the first piece, the turn is
   * withdrawn, because its chat gets 503; a later piece is retried as long as the lease allows, and after that is sent with the
   * end of the turn.
   */
  appendOutput(step: AppendOutput): Promise<Appended>;
  /**
   * Prolongs the owner's lease on a turn and its slot. A lease that has run out is renewed if no other process has taken the turn
   * over and its slot is still free; otherwise the owner has lost it. A lost answer: the lease counts as not renewed, and the
   * owner retries.
   */
  renewTurn(place: TurnPlace, fence: Fence, leaseUntilMs: number, nowMs: number): Promise<Renewed>;
  /**
   * Requests that a turn stops. Its owner gets the request with its next append or renewal, and as a notice. The first reason is
   * kept. The rest of the lease is cut to `leaseUntilMs`, so that a turn whose owner has died need not wait for all of it.
   * Resolves with whether the turn is in flight. A lost answer: the turn may stop although the caller got 503; a repeat finds the
   * request stored.
   */
  requestStop(place: TurnPlace, reason: StopRequest, leaseUntilMs: number, nowMs: number): Promise<boolean>;
  /**
   * Seals the output into the transcript, frees the slot, counts the usage and moves the session. A lost answer: the same end is
   * sent again until the store answers, and readers see it only then; if the chat has not begun, the turn is withdrawn instead.
   */
  finishTurn(step: FinishTurn): Promise<Finished>;
  /**
   * Undoes a turn whose chat was answered with a failure: removes its messages, its slot, its usage, its remembered request and
   * its stored output. A finished turn is withdrawn only under the fence that it was finished under; the session may have
   * continued since. For a turn that has not begun, the step moves the session if it still stands at `Basis`, so that a beginning
   * that arrives later is rejected. A lost answer: the process reads the session and sends the step again until nothing is left.
   * If the process dies, the next process that finds the turn withdraws it if it has no output and seals it otherwise: no process
   * knows any more what its chat was answered.
   */
  withdrawTurn(step: WithdrawTurn): Promise<Finished>;
  /**
   * Keeps a finished turn from being withdrawn, because a request that joined the turn is about to be answered with it. False if
   * the turn does not exist or is not finished. A lost answer: the turn may be kept although the request got 503; a repeat finds
   * it kept.
   */
  claimTurn(place: TurnPlace): Promise<boolean>;
  /**
   * Takes over a turn whose lease has run out: resolves with the new fence, or null if the lease still runs or the turn is over. A
   * lost answer: a repeat with the same `leaseUntilMs` gets the same answer; otherwise the turn is found again when that lease has
   * run out.
   */
  takeOverTurn(place: TurnPlace, owner: string, leaseUntilMs: number, nowMs: number): Promise<TakenOver | null>;
  /**
   * Turns whose lease has run out. If another process cut the lease or gave it for less than `leaseMs`, and that notice is lost,
   * the turn may come up to `leaseMs` late.
   */
  orphans(nowMs: number, limit: number): Promise<TurnPlace[]>;
  turn(workspaceId: string, sessionId: string, turnId: string): Promise<Turn | null>;
  /** The text of a turn stored so far, finished or not. */
  output(place: TurnPlace): Promise<string>;
  /**
   * The turn, and its stored text behind the first `position` code points; null if there is no such turn. Reads no more than that
   * text. If a turn in flight has no text there yet, the store sends one notice `turn.moved` for its next piece or its end.
   */
  outputAfter(place: TurnPlace, position: number): Promise<OutputAfter | null>;
  /** How many of the workspace's `api` slots are taken. */
  turnsInFlight(workspaceId: string): Promise<number>;

  /** The transcript; a streaming message carries the output stored so far. The cursor is an index. */
  messages(workspaceId: string, sessionId: string, page: PageRequest): Promise<Page<Message>>;
  /**
   * The newest messages before index `before`, oldest first: at most `messagesMax` messages and at most `charactersMax` code
   * points in total (the message that crosses the bound is left out).
   */
  recentMessages(workspaceId: string, sessionId: string, before: number, charactersMax: number, messagesMax: number): Promise<Message[]>;

  remembered(workspaceId: string, scope: string, key: string, nowMs: number): Promise<IdempotencyRecord | null>;

  /**
   * Charges one request to each of the budgets, in the order given, until one refuses. If all pass, each is charged; otherwise the
   * budget that refuses goes one into debt and the others stay as they were (contract 3 and 5). Resolves with one answer for each
   * budget that was checked, in order. A lost answer: the request gets 503, and may have been charged.
   */
  takeBudgets(workspaceId: string, keyId: string, budgets: readonly { budget: BudgetName; ceiling: number }[], nowMs: number): Taken[] | Promise<Taken[]>;

  /**
   * Takes all of these limits, or none if one of them refuses: then nothing is charged, and each limit answers whether it refuses
   * and for how long. The answers are in the order of the request. What is stored is deleted when its time is over, or with its
   * workspace. A lost answer: the request gets 503, and may have been charged.
   */
  takeLimits(step: TakeLimits): Promise<TakenLimit[]>;

  /** Every bucket of the window, empty ones with zeros. */
  usage(workspaceId: string, query: UsageQuery): Promise<UsageBucket[]>;

  /**
   * Deletes at most `limit` sessions past retention with their contents, and expired memories; resolves with the number of
   * sessions. A lost answer: the next sweep continues.
   */
  sweep(nowMs: number, limit: number): Promise<number>;

  /**
   * Calls the listener with the notices of every process on this store, including this one, until the returned function is called.
   * A lost answer: the caller retries; nothing relies on a notice alone.
   */
  watch(listener: (notice: Notice) => void): Promise<() => Promise<void>>;
}

/** The store did not answer: clients get 503 `api_error`. Each verb says whether its step may have been applied. */
export class StoreUnavailable extends Error {}

/** Another assistant has the slug; nothing was changed. */
export class SlugTaken extends Error {}

/** The store is reachable but refuses the connection: retries do not help, only another address does. */
export class StoreRefused extends StoreUnavailable {}

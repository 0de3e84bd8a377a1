/**
 * What must outlive a process, in the domain's own verbs. Every verb is one atomic step: it happens whole or not at
 * all, and sent a second time with the same ids it answers as the first time and applies once. A store that cannot
 * answer rejects with `StoreUnavailable`, and nothing has changed as far as any reader can tell.
 *
 * Times are milliseconds since the epoch where the name ends in `Ms`, whole seconds where it ends in `At`.
 */

/** A machine at rest: its version, the state it is in and its context. Packed with msgpackr by the stores that write. */
export interface Snapshot {
  readonly version: number;
  readonly state: string;
  readonly context: unknown;
}

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
  /** A cursor of an earlier page; the item it names need not exist any more. */
  readonly after: string | null;
  readonly order: 'asc' | 'desc';
}

export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly retentionDays: number;
  readonly turnsInFlightMax: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface VisitorField {
  readonly name: string;
  readonly label: string;
  readonly type: 'text' | 'email' | 'number' | 'boolean';
  readonly required: boolean;
}

export interface ModelSettings {
  readonly provider: string;
  readonly name: string;
  readonly credentialId: string | null;
  readonly systemPrompt: string | null;
  readonly temperature: number | null;
  readonly outputTokensMax: number | null;
}

export interface VoiceSettings {
  readonly provider: string;
  readonly name: string | null;
  readonly voice: string | null;
  readonly credentialId: string | null;
}

export interface LinkSettings {
  readonly slug: string | null;
  readonly limits: Readonly<Record<string, number | null>>;
  readonly origins: readonly string[];
}

export interface Assistant {
  readonly id: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly description: string | null;
  readonly greeting: string | null;
  readonly channels: { readonly voice: boolean; readonly link: boolean; readonly widget: boolean };
  readonly visitorFields: readonly VisitorField[];
  readonly maxCallSeconds: number;
  readonly model: ModelSettings;
  readonly voice: VoiceSettings | null;
  readonly link: LinkSettings | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The assistant machine: draft, published or disabled. */
  readonly machine: Snapshot;
}

/** The budgets of a key, each a ceiling per minute. */
export interface KeyLimits {
  readonly requests: number;
  readonly speech: number;
  readonly transcriptionTokens: number;
}
export type BudgetName = keyof KeyLimits;

export interface Key {
  readonly id: string;
  readonly workspaceId: string;
  /** The part of the key that may be shown and looked up. */
  readonly publicId: string;
  /** SHA-256 of the whole key. The key itself is stored nowhere. */
  readonly digest: Uint8Array;
  readonly name: string;
  /** The assistants it may use; null for all. */
  readonly assistantIds: readonly string[] | null;
  readonly expiresAt: number | null;
  readonly limits: KeyLimits;
  readonly createdAt: number;
  readonly revokedAt: number | null;
  /** The key machine: active, limited, revoked or expired. */
  readonly machine: Snapshot;
}

export interface Credential {
  readonly id: string;
  readonly workspaceId: string;
  readonly kind: 'model' | 'voice';
  readonly provider: string;
  readonly baseUrl: string | null;
  /** AES-256-GCM, bound to workspace and id: nonce, ciphertext and tag. */
  readonly sealed: Uint8Array;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface Session {
  readonly id: string;
  readonly workspaceId: string;
  readonly assistantId: string;
  readonly channel: 'api' | 'link' | 'widget';
  readonly visitor: Readonly<Record<string, string | number | boolean>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly maxCallSeconds: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** When it was last created, turned to or ended: retention counts from here. */
  readonly lastActivityAt: number;
  /** How many messages the transcript holds: the next one's index. */
  readonly messageCount: number;
  /** The session machine: open, streaming, ended or expired. */
  readonly machine: Snapshot;
  /**
   * Different for every move of the session: after a failover that forgot some, its version alone can repeat. Absent in
   * rows of versions that had none.
   */
  readonly mark?: string;
}

export type StopReason = 'end' | 'aborted' | 'error' | 'expired';

export interface Message {
  readonly id: string;
  readonly turnId: string | null;
  readonly role: 'user' | 'assistant';
  readonly content: string;
  readonly status: 'completed' | 'partial' | 'streaming';
  readonly stopReason: StopReason | null;
  readonly errorCode: string | null;
  readonly createdAt: number;
}

export interface Turn {
  readonly id: string;
  readonly sessionId: string;
  /** The assistant's message. */
  readonly messageId: string;
  /** That message's index in the transcript; the user's stands just before it. */
  readonly messageIndex: number;
  readonly status: 'streaming' | 'completed' | 'aborted' | 'failed';
  readonly stopReason: StopReason | null;
  readonly errorCode: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly createdAt: number;
  readonly endedAt: number | null;
}

/** Proof of owning a turn. Both parts must match: after a failover an epoch alone can repeat. */
export interface Fence {
  readonly epoch: number;
  readonly owner: string;
}

/** The fence of whoever took a turn over, and why somebody had asked it to stop before; null if nobody had. */
export interface Seized extends Fence {
  readonly stop: StopRequest | null;
}

/** A request made under an `Idempotency-Key` (contract 6), remembered with what it made. */
export interface Remembered {
  /** The API key's id and the path. */
  readonly scope: string;
  readonly key: string;
  /** A digest of the body as parsed JSON. */
  readonly bodyDigest: string;
  /** The session or the turn that the request made. */
  readonly resultId: string;
  /** When the memory ends. */
  readonly untilMs: number;
}

export interface UsageCounts {
  readonly sessions: number;
  readonly turns: number;
  readonly failedTurns: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly speechCharacters: number;
  readonly transcriptionSeconds: number;
}

/** Usage in one bucket: its first second, and what was counted within it and the window asked for. */
export interface UsageBucket extends UsageCounts {
  readonly start: number;
}

/** A budget after a request was held against it. */
export interface Taken {
  readonly budget: BudgetName;
  readonly passed: boolean;
  /** Whole requests left. */
  readonly remaining: number;
  /** Whole seconds until a request would pass; 0 if this one did. */
  readonly retryAfterSeconds: number;
  /** The Unix second at which the bucket is full again. */
  readonly resetAt: number;
}

export interface CatalogRecords {
  workspace: Workspace;
  assistant: Assistant;
  key: Key;
  credential: Credential;
}
export type CatalogKind = keyof CatalogRecords;

/** What the console keeps: a handful of records, compared and set. A workspace lies in itself. */
export interface Catalog {
  create<K extends CatalogKind>(kind: K, record: CatalogRecords[K]): Promise<void>;
  read<K extends CatalogKind>(kind: K, workspaceId: string, id: string): Promise<Versioned<CatalogRecords[K]> | null>;
  /** Replaces the record if its version still is `version`: the new version, or null if somebody else moved or it is gone. */
  replace<K extends CatalogKind>(kind: K, record: CatalogRecords[K], version: number): Promise<number | null>;
  /** Removes the record: whether there was one. Removing a workspace removes all that it holds. */
  remove(kind: CatalogKind, workspaceId: string, id: string): Promise<boolean>;
  /** In order of creation; the cursor is an id. `workspaceId` is ignored for workspaces. */
  list<K extends CatalogKind>(kind: K, workspaceId: string, page: PageRequest): Promise<Page<CatalogRecords[K]>>;
  /** The key with this public id, whatever its state. */
  keyByPublicId(publicId: string): Promise<Versioned<Key> | null>;
}

export interface CreateSession {
  readonly session: Session;
  readonly greeting: Message | null;
  readonly remember: Remembered | null;
  readonly nowMs: number;
}

/** The move of a session that a decision was made on. Both parts must match, or somebody else has moved it: after a failover a version alone can repeat. */
export interface Basis {
  readonly version: number;
  /** Where the session had none (see `Session`), its version says it alone. */
  readonly mark: string | undefined;
}

export interface BeginTurn extends Basis {
  /** The session as it will be; its `messageCount` counts both messages already. */
  readonly session: Session;
  readonly turn: Turn;
  readonly userMessage: Message;
  /** Status `streaming`, content empty. */
  readonly assistantMessage: Message;
  /** The workspace's ceiling of turns in flight. */
  readonly turnsInFlightMax: number;
  readonly owner: string;
  /** When the owner's lease on the turn and its slot runs out. */
  readonly leaseUntilMs: number;
  readonly remember: Remembered | null;
  readonly nowMs: number;
}

export type BegunTurn =
  | { outcome: 'begun'; version: number; fence: Fence }
  | { outcome: 'lost' } // somebody else moved the session
  | { outcome: 'full' }; // every slot of the workspace is taken

export interface AppendOutput {
  readonly workspaceId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly fence: Fence;
  /** Code points stored before this piece. A piece at a position that is stored already changes nothing. */
  readonly position: number;
  readonly text: string;
  /** Given, it renews the lease as `renewTurn` does: until when, and the time now. */
  readonly leaseUntilMs?: number;
  readonly nowMs?: number;
}

/** Why somebody other than the owner wants a turn to stop. */
export type StopRequest = 'aborted' | 'expired';

/** A text that was stored, in a turn that somebody wants to stop, is answered with the reason. */
export type Appended = 'stored' | 'fenced' | { readonly stop: StopRequest };
export type Renewed = 'renewed' | 'fenced' | { readonly stop: StopRequest };

/**
 * What processes tell each other: a hint, heard at most once, of what the store itself says durably. After `missed`
 * others may have been lost.
 */
export type Notice =
  | { readonly type: 'turn.stop'; readonly workspaceId: string; readonly sessionId: string; readonly turnId: string; readonly reason: StopRequest }
  | { readonly type: 'turn.moved'; readonly workspaceId: string; readonly sessionId: string; readonly turnId: string }
  | { readonly type: 'changed'; readonly kind: CatalogKind; readonly workspaceId: string; readonly id: string }
  | { readonly type: 'missed' };

export interface FinishTurn extends Basis {
  /** The session as it will be. */
  readonly session: Session;
  readonly turn: Turn;
  /** The assistant's message as it will stand; the store fills `content` with the turn's whole output. */
  readonly message: Message;
  /** Output that is not stored yet, and the code points stored before it. */
  readonly tail: { readonly position: number; readonly text: string };
  readonly fence: Fence;
  readonly nowMs: number;
}

export type Finished = { outcome: 'finished'; version: number } | { outcome: 'lost' } | { outcome: 'fenced' };

export interface WithdrawTurn extends Basis {
  /** The session as it was before the turn began. */
  readonly session: Session;
  readonly turn: Turn;
  readonly fence: Fence;
}

export interface TurnPlace {
  readonly workspaceId: string;
  readonly sessionId: string;
  readonly turnId: string;
}

/** A turn and what of its text lies behind a position, both of the same moment. */
export interface OutputAfter {
  readonly turn: Turn;
  /** Null if the stored text does not reach the position: a failover has forgotten what did. */
  readonly text: string | null;
}

export interface SessionFilter {
  /** Only sessions of these assistants; null for any. */
  readonly assistantIds: readonly string[] | null;
  readonly status: 'open' | 'ended' | 'expired' | null;
  /** Sessions whose last activity lies before are past retention and left out. */
  readonly activeSince: number;
  /** For the status: an open session whose `expiresAt` is reached counts as expired. */
  readonly now: number;
}

export interface UsageQuery {
  /** Only these assistants; null for all. */
  readonly assistantIds: readonly string[] | null;
  /** Inclusive and exclusive, in Unix seconds. */
  readonly start: number;
  readonly end: number;
  readonly bucketSeconds: 3600 | 86400;
}

export interface Store {
  /** `memory`, `lmdb`, `redis`. */
  readonly name: string;
  /** Other processes use the store as well, and a lease on a turn lasts so many milliseconds; null where one process owns the store. */
  readonly leaseMs: number | null;
  readonly catalog: Catalog;
  /** Opens it; rejects with one clear sentence if that cannot be. Turns of processes that are surely dead lose their leases here. */
  open(nowMs: number): Promise<void>;
  /** Resolves when all that was acknowledged is safe and the store is closed. */
  close(): Promise<void>;
  /** Rejects if the store cannot answer now. */
  ping(): Promise<void>;

  /** Creates a session with its greeting and counts it; or finds the request remembered. */
  createSession(step: CreateSession): Promise<{ outcome: 'created'; version: number } | { outcome: 'remembered'; remembered: Remembered }>;
  session(workspaceId: string, sessionId: string): Promise<Versioned<Session> | null>;
  /** Newest first by default; the cursor is a session's id. */
  sessions(workspaceId: string, filter: SessionFilter, page: PageRequest): Promise<Page<Session>>;
  /** Replaces a session that has no output to store: the new version, or null if somebody else moved. */
  saveSession(session: Session, basis: Basis): Promise<number | null>;

  /** Session, turn, both messages, the workspace's slot and the memory of the request, at once or not at all. */
  beginTurn(step: BeginTurn): Promise<BegunTurn>;
  /** Resolves once the text is stored: only then may anybody see it. */
  appendOutput(step: AppendOutput): Promise<Appended>;
  /**
   * Prolongs the owner's lease on a turn and its slot. A lease that has run out is renewed while nobody has taken the
   * turn over and its slot is still free; otherwise the owner has lost it.
   */
  renewTurn(place: TurnPlace, fence: Fence, leaseUntilMs: number, nowMs: number): Promise<Renewed>;
  /**
   * Asks a turn's owner to stop, whoever it is: told at its next append or renewal, and as a notice. The first reason stands. What is left
   * of its lease is cut to `leaseUntilMs`, so that a turn whose owner has died need not wait for all of it. Whether the turn is in flight.
   */
  requestStop(place: TurnPlace, reason: StopRequest, leaseUntilMs: number, nowMs: number): Promise<boolean>;
  /** Seals the output into the transcript, frees the slot, counts the usage and moves the session. */
  finishTurn(step: FinishTurn): Promise<Finished>;
  /** Undoes a turn that failed before its first output: its messages, its slot and the memory of its request go. */
  withdrawTurn(step: WithdrawTurn): Promise<Finished>;
  /** Takes over a turn whose lease has run out: the new fence, or null if it has not or the turn is over. */
  seizeTurn(place: TurnPlace, owner: string, leaseUntilMs: number, nowMs: number): Promise<Seized | null>;
  /** Turns whose lease has run out. Of one that another process gave for less than `leaseMs`, or cut, it may be told so much later where its notice is lost. */
  orphans(nowMs: number, limit: number): Promise<TurnPlace[]>;
  turn(workspaceId: string, sessionId: string, turnId: string): Promise<Turn | null>;
  /** The text of a turn stored so far, finished or not. */
  output(place: TurnPlace): Promise<string>;
  /**
   * The turn, and its stored text behind the first `position` code points; null if there is no such turn. Reads no more than that
   * text. Where a turn in flight has none, its next piece or its end is told as a notice `turn.moved`, once.
   */
  outputAfter(place: TurnPlace, position: number): Promise<OutputAfter | null>;
  /** How many slots of the workspace are taken. */
  turnsInFlight(workspaceId: string): Promise<number>;

  /** The transcript; a streaming message carries the output stored so far. The cursor is an index. */
  messages(workspaceId: string, sessionId: string, page: PageRequest): Promise<Page<Message>>;
  /**
   * The newest messages before index `before`, oldest of them first: at most `messagesMax`, and of at most `charactersMax`
   * code points together (the message that crosses the bound is left out).
   */
  recentMessages(workspaceId: string, sessionId: string, before: number, charactersMax: number, messagesMax: number): Promise<Message[]>;

  remembered(workspaceId: string, scope: string, key: string, nowMs: number): Promise<Remembered | null>;

  /**
   * Holds one request against each of the budgets in turn, in the order given, until one refuses. All pass and each
   * is charged; or the one that refuses goes one into debt and the others stay as they were (contract 3 and 5).
   * Answers for the budgets that were looked at, in order.
   */
  takeBudgets(workspaceId: string, keyId: string, budgets: readonly { budget: BudgetName; ceiling: number }[], nowMs: number): Taken[] | Promise<Taken[]>;

  /** Every bucket of the window, the empty ones as zeros. */
  usage(workspaceId: string, query: UsageQuery): Promise<UsageBucket[]>;

  /** Deletes at most `limit` sessions past their workspace's retention with all they hold, and memories past their time: how many sessions. */
  sweep(nowMs: number, limit: number): Promise<number>;

  /** Hears the notices of every process on this store, this one's own too, until the function it resolves to is called. */
  watch(listener: (notice: Notice) => void): Promise<() => Promise<void>>;
}

/** The store cannot answer: clients hear 503 `api_error`. */
export class StoreUnavailable extends Error {}

/** The store is there and does not let us in: no time will better it, only another address. */
export class StoreRefused extends StoreUnavailable {}

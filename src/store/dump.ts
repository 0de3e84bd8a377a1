/**
 * A store's contents as rows in the domain's words: every store can load the export of another one. Every store exports
 * a workspace's rows together and in one order: the workspace, its assistants, their versions, their tests, credentials, tools,
 * webhooks and keys, each session with its messages (a turn after its own message), deliveries, the remembered requests, the usage,
 * and its rows of the audit. The history of an actor follows its own row. The audit of workspaces, of people and of
 * removed workspaces comes last.
 *
 * A turn in flight is exported as one whose owner has died: its message has the output stored so far, its lease and
 * slot are void, and the first process that serves the other store seals it as partial. Rows without effect are left
 * out: expired memories, budgets that are full again, and the rest of a workspace that is being removed. Sign-ins to
 * the console and their links are left out too: in another store people sign in anew. Runs of tests are left out with
 * their sessions: in another store tests are run anew.
 */
import type {
  Assistant,
  AssistantTest,
  AssistantVersion,
  AuditEntry,
  CandidateCounts,
  CatalogKind,
  CatalogRecords,
  Credential,
  Fence,
  HistoryKind,
  Key,
  Message,
  Move,
  ReleaseCounts,
  IdempotencyRecord,
  Session,
  StopRequest,
  StoredDelivery,
  Tool,
  ToolCall,
  Turn,
  UsageCounts,
  VersionCounts,
  Versioned,
  Webhook,
  Workspace,
} from './store.ts';
import { budgetNames, type Buckets } from './budgets.ts';
import { sessionShape } from './shapes.ts';
import { installation } from './records.ts';
import { auditOfWorkspaces } from './records/audit.ts';
import { usageFields } from './usage.ts';
import type { Grain } from './usage.ts';

/** The answer of a step that must be able to return it again. */
export interface Answered {
  readonly fence: Fence;
  readonly version: number;
}

export interface WorkspaceRow extends Versioned<Workspace> {
  readonly type: 'workspace';
}

export interface AssistantRow extends Versioned<Assistant> {
  readonly type: 'assistant';
}

/** The counts of an assistant's versions; absent without any. It follows the assistant's own row and its history. */
export interface ReleaseRow {
  readonly type: 'release';
  readonly workspaceId: string;
  readonly assistantId: string;
  /** The revision with which the counting of the candidate's turns began; 0 without a rollout. */
  readonly since: number;
  readonly candidate: CandidateCounts;
  /** Sorted by number. */
  readonly versions: readonly ({ readonly number: number } & VersionCounts)[];
}

export interface AssistantVersionRow extends Versioned<AssistantVersion> {
  readonly type: 'assistant_version';
}

export interface AssistantTestRow extends Versioned<AssistantTest> {
  readonly type: 'assistant_test';
}

export interface CredentialRow extends Versioned<Credential> {
  readonly type: 'credential';
}

export interface ToolRow extends Versioned<Tool> {
  readonly type: 'tool';
}

export interface WebhookRow extends Versioned<Webhook> {
  readonly type: 'webhook';
}

export interface KeyRow extends Versioned<Key> {
  readonly type: 'key';
  /** The budgets that may not be full yet. */
  readonly budgets: Buckets;
  /**
   * When the key was used last, to the minute. Absent if it never was, and in exports of versions that did not keep it.
   */
  readonly usedAt?: number;
}

export interface SessionRow extends Versioned<Session> {
  readonly type: 'session';
  /** The turn that was withdrawn last; no other row names it. */
  readonly withdrawn: ({ readonly turnId: string } & Answered) | null;
}

/** The history of an actor, oldest first: it follows the actor's own row, if it is not empty. */
export interface DumpedHistoryRow {
  readonly type: 'history';
  readonly workspaceId: string;
  readonly kind: HistoryKind;
  readonly id: string;
  readonly moves: readonly Move[];
}

export interface MessageRow {
  readonly type: 'message';
  readonly workspaceId: string;
  readonly sessionId: string;
  readonly index: number;
  readonly record: Message;
}

export interface TurnRow {
  readonly type: 'turn';
  readonly workspaceId: string;
  readonly record: Turn;
  readonly begun: Answered;
  readonly finished: Answered | null;
  /** For a turn that is not sealed: its owner, the request to stop it, and the name of its remembered request. */
  readonly flight: {
    readonly fence: Fence;
    readonly stop: StopRequest | null;
    readonly remembered: { readonly scope: string; readonly key: string } | null;
    /**
     * Code points of a spoken reply that readers may see, −1 where they see nothing of the turn; absent where they see
     * all.
     */
    readonly released?: number;
    /** The message's tool calls, in their order; absent if empty. */
    readonly calls?: readonly ToolCall[];
  } | null;
}

export interface MemoryRow {
  readonly type: 'memory';
  readonly workspaceId: string;
  readonly record: IdempotencyRecord;
}

/**
 * An assistant's usage under one key, or under none, in the second or the hour that begins at `start`, in Unix seconds.
 */
export interface UsageRow {
  readonly type: 'usage';
  readonly workspaceId: string;
  readonly assistantId: string;
  /** The API key whose usage it is; absent if it is no key's. */
  readonly keyId?: string;
  readonly grain: Grain;
  readonly start: number;
  readonly counts: UsageCounts;
}

/** An event on its way to a webhook. A lease on it is void. */
export interface DeliveryRow {
  readonly type: 'delivery';
  readonly record: StoredDelivery;
}

/** A row of the audit. Such rows never change. */
export interface AuditRow {
  readonly type: 'audit';
  readonly record: AuditEntry;
}

export type DumpRow =
  | WorkspaceRow
  | AssistantRow
  | ReleaseRow
  | AssistantVersionRow
  | AssistantTestRow
  | CredentialRow
  | ToolRow
  | WebhookRow
  | KeyRow
  | SessionRow
  | DumpedHistoryRow
  | MessageRow
  | TurnRow
  | MemoryRow
  | UsageRow
  | DeliveryRow
  | AuditRow;

/** A store that can be exported. */
export interface DumpSource {
  /** `memory`, `lmdb`, `redis`. */
  readonly name: string;
  open(): Promise<void>;
  close(): Promise<void>;
  /** All rows. Memory stays bounded, however many there are. */
  rows(nowMs: number): AsyncIterable<DumpRow>;
}

/** Progress of a store in loading the rows of a file. */
export interface DumpProgress {
  /** The export's id. */
  readonly id: string;
  readonly rows: number;
  readonly done: boolean;
}

/** A store that can be loaded. Until the load is complete, no server opens it. */
export interface DumpTarget {
  readonly name: string;
  open(): Promise<void>;
  close(): Promise<void>;
  /**
   * Reads the number of this export's rows that were loaded before; rejects with `DumpRefused` if the store holds any
   * other rows.
   */
  progress(id: string): Promise<DumpProgress>;
  /**
   * Loads rows, and then records how far that reaches. Every row is set and none is added to, so a row that is loaded
   * twice is stored once.
   */
  load(rows: readonly DumpRow[], progress: DumpProgress): Promise<void>;
}

/** An export or an import that is impossible, with advice in one sentence. */
export class DumpRefused extends Error {}

export const holdsOtherData = (): DumpRefused =>
  new DumpRefused(
    'The store holds other data. Import into an empty one (a new folder, another database of Redis) before a server first starts on it.',
  );

/** Reason why a store cannot be opened. */
export const importUnfinished =
  'An import into this store was cut. Run parley import again with the same file: it goes on where it was.';

/** A store's records of each kind, in the order of their ids, from which `rowsOf` makes the rows. */
export interface Holdings {
  records<K extends CatalogKind>(kind: K, workspaceId: string): AsyncIterable<Versioned<CatalogRecords[K]>>;
  releaseCounts(workspaceId: string, assistantId: string): Promise<ReleaseCounts>;
  buckets(workspaceId: string, keyId: string): Promise<{ readonly buckets: Buckets; readonly usedAt: number | null }>;
  /** The moves of an assistant or a key. */
  moves(kind: HistoryKind, workspaceId: string, id: string): Promise<readonly Move[]>;
  /** Each session before its history and its messages, and each turn after its own message. */
  sessions(workspaceId: string): AsyncIterable<SessionRow | DumpedHistoryRow | MessageRow | TurnRow>;
  /** Ordered by webhook, then by id. */
  deliveries(workspaceId: string): AsyncIterable<StoredDelivery>;
  /** Ordered by end, then by name. */
  memories(workspaceId: string): AsyncIterable<IdempotencyRecord>;
  /** Ordered by assistant and key; each hour before its seconds. */
  usage(workspaceId: string): AsyncIterable<UsageRow>;
}

/** Milliseconds that a bucket takes from its deepest debt until it is full. */
export const bucketFullMs = 120_000;

/** The rows of all workspaces, in the common order. */
export async function* dumpRows(holdings: Holdings, nowMs: number): AsyncGenerator<DumpRow> {
  const living = new Set<string>();
  for await (const workspace of holdings.records('workspace', '')) {
    const { id } = workspace.record;
    living.add(id);
    yield { type: 'workspace', ...workspace };
    for await (const assistant of holdings.records('assistant', id)) {
      yield { type: 'assistant', ...assistant };
      yield* historyRow(
        'assistant',
        id,
        assistant.record.id,
        await holdings.moves('assistant', id, assistant.record.id),
      );
      yield* releaseRows(assistant.record, await holdings.releaseCounts(id, assistant.record.id));
    }
    for await (const made of holdings.records('assistant_version', id)) yield { type: 'assistant_version', ...made };
    for await (const test of holdings.records('assistant_test', id)) yield { type: 'assistant_test', ...test };
    for await (const credential of holdings.records('credential', id)) yield { type: 'credential', ...credential };
    for await (const tool of holdings.records('tool', id)) yield { type: 'tool', ...tool };
    for await (const webhook of holdings.records('webhook', id)) yield { type: 'webhook', ...webhook };
    for await (const key of holdings.records('key', id)) {
      const { buckets, usedAt } = await holdings.buckets(id, key.record.id);
      yield { type: 'key', ...key, budgets: unfilled(buckets, nowMs), ...(usedAt !== null && { usedAt }) };
      yield* historyRow('key', id, key.record.id, await holdings.moves('key', id, key.record.id));
    }
    // Stores may keep the fields in another order; an export is the same to the byte.
    let isOfTest = false;
    for await (const row of holdings.sessions(id)) {
      if (row.type === 'session') isOfTest = row.record.channel === 'test';
      if (isOfTest) continue;
      yield row.type === 'session' ? { ...row, record: sessionShape.inOrder(row.record) } : row;
    }
    for await (const record of holdings.deliveries(id)) yield { type: 'delivery', record };
    for await (const record of holdings.memories(id))
      if (record.untilMs > nowMs) yield { type: 'memory', workspaceId: id, record };
    yield* holdings.usage(id);
    yield* auditRows(holdings, id);
  }
  yield* auditRows(holdings, installation);
  yield* auditRows(holdings, auditOfWorkspaces);
  const removed = new Set<string>();
  for await (const { record } of holdings.records('audit_entry', auditOfWorkspaces))
    if (!living.has(record.objectId)) removed.add(record.objectId);
  for (const id of removed) yield* auditRows(holdings, id);
}

/** The row of an assistant's counts, if it has any. */
function releaseRows({ id, workspaceId, release }: Assistant, { candidate, versions }: ReleaseCounts): ReleaseRow[] {
  if (versions.size === 0 && candidate.turns === 0) return [];
  const since = release?.candidate?.since ?? 0;
  const numbered = [...versions].map(([number, counts]) => ({ number, ...counts }));
  const ascending = numbered.sort((one, other) => one.number - other.number);
  return [{ type: 'release', workspaceId, assistantId: id, since, candidate, versions: ascending }];
}

async function* auditRows(holdings: Holdings, place: string): AsyncGenerator<AuditRow> {
  for await (const { record } of holdings.records('audit_entry', place)) yield { type: 'audit', record };
}

/** An actor's history, if it has one. */
export const historyRow = (
  kind: HistoryKind,
  workspaceId: string,
  id: string,
  moves: readonly Move[],
): DumpedHistoryRow[] => (moves.length === 0 ? [] : [{ type: 'history', workspaceId, kind, id, moves }]);

const unfilled = (buckets: Buckets, nowMs: number): Buckets =>
  Object.fromEntries(
    budgetNames.flatMap((name) => {
      const bucket = buckets[name];
      return bucket !== undefined && bucket.at + bucketFullMs > nowMs
        ? [[name, { level: bucket.level, at: bucket.at }]]
        : [];
    }),
  );

/** The counts, from a row in the order in which stores keep them. A count that older rows do not have is 0. */
export function usageRow(
  [workspaceId, assistantId, keyId]: readonly [string, string, string | undefined],
  grain: Grain,
  start: number,
  counted: readonly number[],
): UsageRow {
  const counts = Object.fromEntries(
    usageFields.map((field, index) => [field, counted[index] ?? 0]),
  ) as unknown as UsageCounts;
  return { type: 'usage', workspaceId, assistantId, ...(keyId !== undefined && { keyId }), grain, start, counts };
}

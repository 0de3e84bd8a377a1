/**
 * The stored records: the console's records, sessions with their messages, remembered requests, usage. Times are
 * milliseconds since the epoch where the name ends in `Ms`, whole seconds where it ends in `At`.
 */
import type { Grant, Role } from '../base/roles.ts';
import { limits } from '../base/limits.ts';
import { aliasKey } from '../base/link-fields.ts';
import type { AttendanceChange, Attendant, DeskSettings } from './records/attendance.ts';
import type { AuditedStep, AuditEntry, AuditPlace } from './records/audit.ts';
import type { KeyLimits, ReservedTokens } from './records/key-limits.ts';
import type { LinkSettings, SessionLink, TurnLink } from './records/link.ts';
import type { AnsweredCalls, PendingCall, Tool, ToolCall } from './records/tools.ts';
import type { VersionedSettings } from './records/settings.ts';
import type { AssistantVersion, Release } from './records/versions.ts';
import {
  runKeyOf,
  testKey,
  type AssistantTest,
  type TestQueue,
  type TestResult,
  type TestRun,
} from './records/tests.ts';
import type { Webhook } from './records/webhooks.ts';

export type * from './records/attendance.ts';
export type * from './records/audit.ts';
export type * from './records/key-limits.ts';
export type * from './records/link.ts';
export type * from './records/settings.ts';
export type * from './records/tests.ts';
export type * from './records/tools.ts';
export type * from './records/usage.ts';
export type * from './records/versions.ts';
export type * from './records/webhooks.ts';

/** A stored snapshot of a machine: its version, state and context. Stores on disk pack it with msgpackr. */
export interface Snapshot {
  readonly version: number;
  readonly state: string;
  readonly context: unknown;
}

/**
 * The caller that caused a step: an API key, a visitor of the link, a person signed in to the console, or the holder of
 * the operator token.
 */
export interface By {
  readonly kind: 'key' | 'visitor' | 'person' | 'operator';
  readonly id: string;
  readonly name: string;
}

/**
 * The request that caused a step of an actor, and its caller. Both are null for a deadline and for the restart of a
 * process.
 */
export interface Cause {
  readonly requestId: string | null;
  readonly by: By | null;
  /** Writes the audit row of a change of a record; absent where no person makes it. Never stored itself. */
  readonly audit?: (before: never, after: never) => AuditEntry | undefined;
  /** Writes the audit row of a step of a conversation; absent where no person takes it in the console. Never stored. */
  readonly auditStep?: (step: AuditedStep) => AuditEntry;
}

/** The kinds of actors whose history is stored. */
export type HistoryKind = 'session' | 'key' | 'assistant';

/** One committed step of an actor. */
export interface Move {
  /** The number of the step, from 1: the version of the actor's record after it. */
  readonly seq: number;
  readonly atMs: number;
  /** The version of the machine. */
  readonly version: number;
  /** The event with its fields; `create` for the step that made the actor. */
  readonly event: { readonly type: string };
  /** The stored state before the step; null for the step that made the actor. */
  readonly from: string | null;
  readonly to: string;
  readonly outcomes: readonly { readonly type: string }[];
  readonly cause: Cause;
  /**
   * The stored snapshot after the step, with every `historyCheckpointSteps`th step and the first one: a fold begins
   * there.
   */
  readonly snapshot: Snapshot | null;
  /**
   * The past of the turn that the step ends. Left out for every other step, and where the process that ran the turn has
   * died.
   */
  readonly turn?: TurnPast;
}

/** The steps of a turn, up to the one that the session's step stores. */
export interface TurnPast {
  readonly turnId: string;
  /** The version of the turn's machine. */
  readonly version: number;
  /** The machine's input. */
  readonly runsUntil: number;
  readonly shared: boolean;
  /** Left out for a turn that no call speaks. */
  readonly spoken?: boolean;
  /** Left out for a turn without fallback models. */
  readonly fallbacks?: number;
  /** The events that moved the machine, oldest first, with their fields: the first `turnEventsKept`. */
  readonly events: readonly { readonly type: string; readonly at: number }[];
  /** The cause of the stop among them; its fields are `null` without a cause or without a stop. */
  readonly stoppedBy: Cause;
}

export interface Workspace {
  readonly id: string;
  readonly name: string;
  readonly retentionDays: number;
  readonly turnsInFlightMax: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface Assistant extends VersionedSettings {
  readonly id: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly description: string | null;
  readonly channels: { readonly voice: boolean; readonly link: boolean; readonly widget: boolean };
  readonly link: LinkSettings | null;
  /** The desk, where people answer (contract 23). Absent in rows of versions without it: closed. */
  readonly desk?: DeskSettings;
  /** The assistant's name for clients of other protocols (contract 14). Absent in rows of versions without one. */
  readonly alias?: string | null;
  /** Null before its first version. Absent in rows of builds without versions, until their first change. */
  readonly release?: Release | null;
  /** Whether each turn takes the version that a new session would get. Absent in rows without it: `pin`. */
  readonly sessionPolicy?: 'pin' | 'follow';
  /** A draft is published, or rolled out, only once its tests have passed (contract 21). Absent: at any time. */
  readonly requireTests?: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The assistant machine: draft, published or disabled. */
  readonly machine: Snapshot;
}

/** The key of an assistant's alias; null for none. */
const aliasKeyOf = ({ alias }: Pick<Assistant, 'alias'>): string | null => (alias ? aliasKey(alias) : null);

/**
 * The name that a record claims among its workspace's aliases and names of credentials; null for none. No alias has a
 * slash.
 */
export function claimOf({ kind, record }: CatalogEntry): string | null {
  if (kind === 'credential') return record.name ? `credential/${record.name}` : null;
  return kind === 'assistant' ? aliasKeyOf(record) : null;
}

/** Whether a save leaves the alias as it is: it must not fail because another assistant has it too. */
export const keptAlias = (before: Assistant, after: Assistant): boolean => aliasKeyOf(before) === aliasKeyOf(after);

export interface Key {
  readonly id: string;
  readonly workspaceId: string;
  /** The part of the key that may be shown and looked up. */
  readonly publicId: string;
  /** SHA-256 of the whole key. The key itself is stored nowhere. */
  readonly digest: Uint8Array;
  readonly name: string;
  /** The assistants that the key may use; null for all. */
  readonly assistantIds: readonly string[] | null;
  readonly expiresAt: number | null;
  /**
   * The date that it had before a rotation gave it the end of its overlap: keys that it is replaced by have this one.
   * Absent where `expiresAt` is its own.
   */
  readonly ownExpiresAt?: number | null;
  readonly limits: KeyLimits;
  readonly createdAt: number;
  readonly revokedAt: number | null;
  /** The key machine: active, limited, revoked or expired. */
  readonly machine: Snapshot;
}

export interface Credential {
  readonly id: string;
  readonly workspaceId: string;
  readonly kind: 'model' | 'voice' | 'tool';
  readonly provider: string;
  readonly baseUrl: string | null;
  /** AES-256-GCM, bound to workspace and id: nonce, ciphertext and tag. */
  readonly sealed: Uint8Array;
  /** The header that a credential of a tool is sent in, bare; null or absent: `Authorization: Bearer`. */
  readonly header?: string | null;
  /** Unique within the workspace. Absent in rows of versions without names. */
  readonly name?: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface Session {
  readonly id: string;
  readonly workspaceId: string;
  readonly assistantId: string;
  readonly channel: 'api' | 'link' | 'widget' | 'console' | 'test';
  /** The API key that made it; null if none did. Absent in rows of versions that did not keep it. */
  readonly keyId?: string | null;
  readonly visitor: Readonly<Record<string, string | number | boolean>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly maxCallSeconds: number;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** When the session was last created, used or ended: retention counts from here. */
  readonly lastActivityAt: number;
  /** The next message's index. There are fewer messages if a turn was withdrawn after another one had begun. */
  readonly messageCount: number;
  /** The session machine: open, streaming, ended or expired. */
  readonly machine: Snapshot;
  /**
   * Different for every move of the session, because after a failover that lost some moves the store may give the same
   * version again. Absent in rows of versions that had no marks.
   */
  readonly mark?: string;
  /** Absent where no visitor holds the conversation. */
  readonly link?: SessionLink;
  /**
   * The open call, and the milliseconds since the epoch until which its process has said that it is open; `turnId`:
   * its last turn, absent before its first. Absent without an open call.
   */
  readonly call?: { readonly id: string; readonly untilMs: number; readonly turnId?: string };
  /**
   * Number of earlier messages that were not sent to the model of the last turn, because there were too many. Absent
   * if that never happened.
   */
  readonly historyLeftOut?: number;
  /**
   * The calls of the last turn that wait for `tool_results`, and the index of their message: a turn in flight has
   * answered or declined them. Absent without such tool calls.
   */
  readonly pending?: { readonly index: number; readonly calls: readonly PendingCall[] };
  /**
   * The beginning of the first message of a user, for lists, and the index of that message: it counts while it is below
   * `messageCount`, since a withdrawn turn takes its message along. Absent before that message, and in rows of versions
   * that did not keep it.
   */
  readonly opening?: { readonly index: number; readonly text: string };
  /** The number of the assistant's version. Absent for a trial, and in rows of builds without versions. */
  readonly assistantVersion?: number;
  /** Number of recalls of the assistant's sessions before it got its version. Absent for none. */
  readonly recalls?: number;
  /**
   * Number of the session's events (contract 23), with all events of the turn in flight; see `records/events.ts`. Absent
   * before the first turn, and in rows of versions without events.
   */
  readonly eventCount?: number;
  /**
   * The number of the first event of the end of a turn in flight, where events of the desk come before it. Absent
   * elsewhere.
   */
  readonly turnEnd?: { readonly turnId: string; readonly number: number };
  /** Numbers that have no event, because their turns were withdrawn after another had begun. Absent without any. */
  readonly withdrawnEvents?: readonly { readonly from: number; readonly count: number }[];
  /** A client of another protocol holds the conversation (contract 14 and 15): it is never at the desk. */
  readonly isForeign?: true;
  /** The attendance machine: who answers (contract 23). Absent while nobody has asked for a person or taken it. */
  readonly attendance?: Snapshot;
}

/** `content_filter` is for clients of OpenAI's API; other clients get `end`. */
export type StopReason = 'end' | 'length' | 'content_filter' | 'aborted' | 'error' | 'expired' | 'tool_calls' | 'taken';

export interface Message {
  readonly id: string;
  readonly turnId: string | null;
  readonly role: 'user' | 'assistant' | 'person' | 'notice';
  readonly content: string;
  readonly status: 'completed' | 'partial' | 'streaming';
  readonly stopReason: StopReason | null;
  readonly errorCode: string | null;
  readonly createdAt: number;
  /** Absent where it was typed, and while it streams. */
  readonly voice?: SpokenVoice | HeardVoice;
  /** The turn's tool calls, in the model's order. Absent if empty. */
  readonly toolCalls?: readonly ToolCall[];
  /** The version that an assistant's message is from, as in its turn. Absent in other messages. */
  readonly assistantVersion?: number;
  /** The feedback on the turn; set by a read of the transcript, and only there. Absent without feedback. */
  readonly feedback?: Feedback;
  /** The visitor who wrote it, if the site has signed who that is (contract 23). Absent for everybody else. */
  readonly visitorId?: string;
  /** The person of the desk who wrote it (contract 23). Absent in other messages. */
  readonly by?: Attendant;
  /** The change of who answers; its note is the content, which is empty without one. Absent in other messages. */
  readonly attendance?: AttendanceChange;
  /**
   * The number of its first event in the session, of a message outside of a turn. Absent in messages of turns and of the
   * step that created the session.
   */
  readonly sequence?: number;
  /** The turn before whose end the desk stored the message. Absent in other messages. */
  readonly duringTurnId?: string;
}

/** A rating of the reply of a turn (contract 19). */
export interface Feedback {
  readonly rating: 'up' | 'down';
  readonly comment: string | null;
  /** Unix seconds. */
  readonly at: number;
}

/** A person's message that was said: milliseconds from the first to the last voice (contract 18). */
export interface SpokenVoice {
  readonly audioMs: number;
}

/** A reply that was spoken: the milliseconds that were played, how that is known, and what cut it (contract 18). */
export interface HeardVoice extends SpokenVoice {
  readonly heard: 'played' | 'estimated' | 'sent';
  readonly cutBy: 'speech' | 'client' | 'api' | 'lost' | null;
}

export interface Turn {
  readonly id: string;
  readonly sessionId: string;
  /** The assistant's message. */
  readonly messageId: string;
  /** The message's index in the transcript; the user's message, if the turn has one, is just before it. */
  readonly messageIndex: number;
  readonly status: 'streaming' | 'completed' | 'aborted' | 'failed';
  readonly stopReason: StopReason | null;
  readonly errorCode: string | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Input tokens that the provider read from its cache. Absent for none. */
  readonly cachedInputTokens?: number;
  /** Absent in flight, in turns whose process died, and in rows of versions that did not keep it. */
  readonly model?: AskedModel;
  readonly createdAt: number;
  readonly endedAt: number | null;
  /** Set by a read, and only there, once a request that joined the turn was answered with it (`TurnStore.claim`). */
  readonly claimed?: true;
  /** Set by a read, and only there (`TurnStore.rate`). Absent without feedback. */
  readonly feedback?: Feedback;
  /** Absent where no call speaks its reply. */
  readonly spoken?: true;
  /**
   * Absent where no visitor's limits paid for the turn, and after its end: a visitor's address must not outlast its
   * hour.
   */
  readonly link?: TurnLink;
  /** Absent where the turn's key has no token budget, and after the turn's end. */
  readonly reserved?: ReservedTokens;
  /** Absent where no calls waited. */
  readonly answered?: AnsweredCalls;
  /** The turn answers results of tool calls: it has no message of the user. */
  readonly unasked?: true;
  /**
   * Number of tool calls in the turn's message, and number of tool calls that it sent, including approved ones.
   * Absent before its end, and without tool calls.
   */
  readonly calls?: { readonly made: number; readonly sent: number };
  /** The turn's span, as a header `traceparent` (contract 16). Absent while traces are off. */
  readonly traceparent?: string;
  /** The number of the version that answers. Absent for a trial, and in rows of builds without versions. */
  readonly assistantVersion?: number;
  /** The number of its first event in the session (contract 23). Absent in rows of versions without events. */
  readonly sequence?: number;
  /** The number of the first event of its end, where events of the desk come before it. Absent elsewhere. */
  readonly endSequence?: number;
  /**
   * No process withdraws the turn any more: its chat was answered before its end, or another process has sealed it.
   * Absent in flight, where one process owns the store, and if only a claim says so (`claimed`).
   */
  readonly certain?: true;
}

/** The model that a turn asked last: 0 for the assistant's own, else the place among its fallbacks, from 1. */
export interface AskedModel {
  readonly provider: string;
  readonly name: string;
  readonly fallback: number;
}

/** Whether a session counts no usage and has no events: a trial of the console, or a session of a test. */
export const isUncounted = ({ channel }: Pick<Session, 'channel'>): boolean =>
  channel === 'console' || channel === 'test';

/** The index of a turn's first message. */
export const firstIndexOf = ({ messageIndex, unasked }: Pick<Turn, 'messageIndex' | 'unasked'>): number =>
  unasked ? messageIndex : messageIndex - 1;

/** A message of a turn; without an end it is complete from the beginning. */
export function messageOf(
  turn: Turn,
  id: string,
  role: Message['role'],
  content: string,
  end: Pick<Message, 'status' | 'stopReason' | 'errorCode' | 'voice' | 'toolCalls' | 'visitorId'> = complete,
): Message {
  const message: Unsealed<Message> = {
    id,
    turnId: turn.id,
    role,
    content,
    status: end.status,
    stopReason: end.stopReason,
    errorCode: end.errorCode,
    createdAt: turn.createdAt,
  };
  if (end.voice !== undefined) message.voice = end.voice;
  if (end.toolCalls !== undefined) message.toolCalls = end.toolCalls;
  if (role === 'assistant' && turn.assistantVersion !== undefined) message.assistantVersion = turn.assistantVersion;
  if (end.visitorId !== undefined) message.visitorId = end.visitorId;
  return message;
}

const complete = { status: 'completed', stopReason: null, errorCode: null } as const;

/**
 * A record while it is made. Each turn sets the fields that few have one by one: behind a spread V8 makes new hidden
 * classes with each object.
 */
export type Unsealed<Fields> = { -readonly [Name in keyof Fields]: Fields[Name] };

/** The assistant's message of a turn in flight. Stores keep its output apart from it. */
export const streamingMessage = (turn: Turn, content = '', toolCalls: readonly ToolCall[] = []): Message =>
  messageOf(
    turn,
    turn.messageId,
    'assistant',
    content,
    toolCalls.length === 0 ? streaming : { ...streaming, toolCalls },
  );

const streaming = { status: 'streaming', stopReason: null, errorCode: null } as const;

/** A request made under an `Idempotency-Key` (contract 6), remembered with its result. */
export interface IdempotencyRecord {
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

/** The ids of sessions in a remembered request: its result, the session of its path, the session of a response. */
export const sessionsNamedIn = ({ scope, bodyDigest, resultId }: IdempotencyRecord): string[] =>
  `${resultId} ${scope} ${bodyDigest}`.match(/\bses_\w+/g) ?? [];

/** The name used in place of a workspace for records of the installation itself in the catalog. */
export const installation = 'installation';

/**
 * A person's sign-in to the console (contract 9). Neither it nor a link is exported: in another store people sign in
 * anew.
 */
export interface SignIn {
  readonly id: string;
  readonly workspaceId: typeof installation;
  /** SHA-256 of the cookie's secret. */
  readonly digest: Uint8Array;
  /** The fingerprint of the operator token under which it began: a new operator token ends it. */
  readonly operator: string;
  readonly person: Person;
  /** Whether the person has a record. Absent in rows of versions without roles: an owner, unless there is one. */
  readonly recorded?: true;
  /** The client's network address. */
  readonly address: string;
  /** The header `User-Agent`; null without one. */
  readonly agent: string | null;
  readonly signedInAt: number;
  readonly lastSeenAt: number;
}

/** A person who is signed in: the operator, or a person for whom a link was made. */
export interface Person {
  readonly id: string;
  readonly name: string;
}

/** A link that signs a person in once. */
export interface SignInLink {
  /** SHA-256 of its token. */
  readonly id: string;
  readonly workspaceId: typeof installation;
  readonly operator: string;
  readonly name: string;
  /** Absent in rows of versions without roles: an owner of all workspaces. */
  readonly grant?: Grant;
  /** The person who made it: it is void once they could not make it any more. Absent for the operator token. */
  readonly madeBy?: string;
  readonly expiresAt: number;
}

/** A person who may sign in to the console (contract 22). Not exported, as sign-ins are not. */
export interface PersonRecord {
  readonly id: string;
  readonly workspaceId: typeof installation;
  readonly name: string;
  readonly role: Role;
  /** The workspace that the role is for; null for all workspaces. */
  readonly onlyWorkspaceId: string | null;
  readonly source: 'link' | 'oidc';
  /** Whether the console has set the role or the workspace: the claims of later sign-ins change neither. */
  readonly grantedByHand?: true;
  readonly blocked: boolean;
  readonly createdAt: number;
  readonly lastSeenAt: number;
}

export interface CatalogRecords {
  workspace: Workspace;
  assistant: Assistant;
  key: Key;
  credential: Credential;
  tool: Tool;
  webhook: Webhook;
  sign_in: SignIn;
  sign_in_link: SignInLink;
  person: PersonRecord;
  audit_entry: AuditEntry;
  audit_place: AuditPlace;
  assistant_version: AssistantVersion;
  assistant_test: AssistantTest;
  test_run: TestRun;
  test_result: TestResult;
  test_queue: TestQueue;
}
export type CatalogKind = keyof CatalogRecords;

/** A record with its kind, which decides the record's type. */
export type CatalogEntry = {
  readonly [K in CatalogKind]: { readonly kind: K; readonly record: CatalogRecords[K] };
}[CatalogKind];

/** The compiler does not connect a kind with its record where neither is known yet. */
export const entryOf = <K extends CatalogKind>(kind: K, record: CatalogRecords[K]): CatalogEntry =>
  ({ kind, record }) as CatalogEntry;

/**
 * The most records of the entry's kind that there may be, among those whose ids begin with a text; null for a kind
 * without a bound.
 */
export function boundOf({ kind, record }: CatalogEntry): { readonly most: number; readonly begin: string } | null {
  if (kind === 'webhook') return { most: limits.webhooksMax, begin: '' };
  return kind === 'assistant_test' ? { most: limits.testsMax, begin: `${record.assistantId}_` } : null;
}

/** A row of the same workspace. */
export interface RowName {
  readonly kind: 'session' | 'assistant_test' | 'test_run';
  readonly id: string;
}

/**
 * The rows without which a new record is refused: nothing is made of a session, a test or a run that an erasure has
 * removed.
 */
export function prerequisitesOf({ kind, record }: CatalogEntry): readonly RowName[] {
  if (kind === 'assistant_test')
    return record.fromSessionId === null ? [] : [{ kind: 'session', id: record.fromSessionId }];
  if (kind === 'test_result') return [{ kind: 'test_run', id: runKeyOf(record) }];
  if (kind !== 'test_run') return [];
  const { plan, assistantId } = record;
  return plan.kind === 'replay'
    ? plan.sessionIds.map((id) => ({ kind: 'session', id }))
    : plan.testIds.map((id) => ({ kind: 'assistant_test', id: testKey(assistantId, id) }));
}

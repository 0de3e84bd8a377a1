/** The answers of the console's API (contract 9): the shapes of the wire, and shapes that its table gives in words. */
import type { Static } from 'typebox';
import type { ActorKind } from '../../../machines/all.ts';
import type * as wire from '../../wire/wire.ts';

export type Workspace = wire.WorkspaceView;
export type Assistant = wire.ConsoleAssistantView;
export type Candidate = NonNullable<Assistant['candidate']>;
export type Version = wire.VersionView;
export type VersionWithConfig = Static<typeof wire.VersionWithConfigView>;
export type VersionChange = wire.VersionChangesView['data'][number];
export type RestoredAssistant = Static<typeof wire.RestoredAssistantView>;
export type AssistantPreview = Static<typeof wire.AssistantPreviewView>;
export type AssistantTest = wire.TestView;
export type TestRun = wire.TestRunView;
export type TestRunWithResults = wire.TestRunWithResultsView;
export type TestResult = Extract<TestRunWithResults['results'][number], { test_id: string }>;
export type ReplayResult = Extract<TestRunWithResults['results'][number], { session_id: string }>;
export type LinkStatus = wire.LinkStatusView;
export type Credential = wire.CredentialView;
export type CredentialTest = wire.CredentialTestView;
export type Tool = wire.ToolView;
export type CreatedTool = wire.CreatedToolView;
export type RefreshedTool = wire.RefreshedToolView;
export type ToolTest = wire.ToolTestView;
export type ToolError = NonNullable<ToolTest['error']>;
export type TurnStep = Static<typeof wire.TurnStepView>;
export type ToolCall = Message['tool_calls'][number];
export type Message = Static<typeof wire.MessageView>;
export type Turn = Static<typeof wire.TurnView>;
export type Voice = Static<typeof wire.VoiceView>;
export type Usage = Static<typeof wire.UsageView>;

export type Session = Static<typeof wire.SessionView>;
export type ListedSession = Session & { readonly first_words?: string | null };
export type ConsoleSession = Static<typeof wire.ConsoleSessionView>;
export type DeskSession = Static<typeof wire.DeskSessionList>['data'][number];
export type Erasure = wire.ErasureView;
export type Key = wire.KeyView;
export type CreatedKey = wire.CreatedKeyView;
export type Budget = Key['budgets']['requests'];
export type Person = Static<typeof wire.PersonView>;
export type Role = Person['role'];
export type ConsolePerson = wire.ConsolePersonView;
export type Webhook = wire.WebhookView;
export type CreatedWebhook = wire.CreatedWebhookView;
export type WebhookDelivery = wire.DeliveryView;
export type AuditEntry = wire.AuditEntryView;
export type SignIn = Static<typeof wire.SignInView>;
export type SignInOptions = wire.SignInOptionsView;
export type SignInLink = Static<typeof wire.SignInLinkView>;
export type Load = Static<typeof wire.LoadView>;
export type LoadStep = Load['data'][number];

export interface List<Item> {
  /** Number of items on all pages; null if there are more than are counted. Present only on request. */
  readonly total?: number | null;
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** The cause of a step. */
export type Cause = NonNullable<wire.HistoryItem['by']>;

export interface Emitted {
  readonly type: string;
  readonly code?: string | null;
  readonly [field: string]: unknown;
}

export type HistoryRow = wire.HistoryItem;

export interface ActorName {
  readonly kind: ActorKind;
  readonly id: string;
  readonly workspace_id: string;
}

export interface LiveActor extends ActorName {
  readonly state: string;
  readonly context: unknown;
}

/** A message of the feed; `at` is in milliseconds. */
export type FeedMessage =
  | { readonly type: 'actors'; readonly at: number; readonly actors: readonly LiveActor[] }
  | FeedEvent
  | { readonly type: 'activated'; readonly at: number; readonly actor: ActorName; readonly state: string }
  | { readonly type: 'passivated'; readonly at: number; readonly actor: ActorName; readonly state: string }
  | { readonly type: 'dropped'; readonly count: number };

export interface FeedEvent {
  readonly type: 'event';
  readonly seq: number;
  readonly at: number;
  readonly actor: ActorName;
  readonly event: string;
  readonly from: string;
  readonly to: string;
  readonly context: unknown;
  readonly outcomes: readonly Emitted[];
  readonly refused: boolean;
  readonly request_id: string | null;
  readonly by: Cause | null;
  /** The event with its fields. */
  readonly data: { readonly type: string; readonly [field: string]: unknown };
}

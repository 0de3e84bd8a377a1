/** What the console's API answers (contract 9): the shapes of the wire, and those that its table gives in words. */
import type { Static } from 'typebox';
import type { ActorKind } from '../../machines/all.ts';
import type * as wire from '../wire.ts';

export type Workspace = wire.WorkspaceView;
export type Assistant = wire.ConsoleAssistantView;
export type Credential = wire.CredentialView;
export type CredentialTest = wire.CredentialTestView;
export type Message = Static<typeof wire.MessageView>;
export type Turn = Static<typeof wire.TurnView>;
export type Usage = Static<typeof wire.UsageView>;

/** Sessions of trials have a channel that the API never shows. */
export type Session = Omit<Static<typeof wire.SessionView>, 'channel'> & { readonly channel: 'api' | 'link' | 'widget' | 'console' };

export interface Budget {
  readonly limit: number;
  readonly remaining: number;
  /** Unix seconds by which it is full again. */
  readonly reset: number;
}

export type BudgetName = keyof wire.KeyView['limits'];

export type Key = wire.KeyView & {
  /** To the minute; null if it was never used. */
  readonly last_used_at?: number | null;
  readonly budgets?: Readonly<Record<BudgetName, Budget>>;
};
export type CreatedKey = Key & { readonly key: string };

export interface List<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly signed_in_at: number | null;
  readonly expires_at: number | null;
}

export interface SignIn {
  readonly id: string;
  readonly name: string;
  readonly signed_in_at: number;
  readonly last_seen_at: number;
  readonly expires_at: number;
  readonly address: string;
  /** As the browser names itself. */
  readonly agent: string | null;
  readonly current: boolean;
}

export interface SignInLink {
  readonly url: string;
  readonly name: string;
  readonly expires_at: number;
}

/** Who caused a step. */
export interface Cause {
  readonly kind: 'key' | 'visitor' | 'person' | 'operator';
  readonly id: string;
  readonly name: string | null;
}

export interface Emitted {
  readonly type: string;
  readonly code?: string | null;
  readonly [field: string]: unknown;
}

/** A row of an actor's history. */
export interface HistoryRow {
  /** Of the step, from 1; a refusal has that of the step before it. */
  readonly seq: number;
  /** Unix seconds. */
  readonly at: number;
  readonly event: string;
  /** Null for the step that made the actor. */
  readonly from: string | null;
  readonly to: string;
  readonly outcomes: readonly Emitted[];
  readonly refused: boolean;
  readonly request_id: string | null;
  readonly by: Cause | null;
  /** How many equal refusals the row stands for. */
  readonly count: number;
  /** The event with its fields, where the server keeps them; `at` in milliseconds. */
  readonly data?: { readonly type: string } | null;
  /** The context after it, where the server can work it out. */
  readonly context?: unknown;
}

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
  readonly event: { readonly type: string };
  readonly from: string;
  readonly to: string;
  readonly context: unknown;
  readonly outcomes: readonly Emitted[];
  readonly refused: boolean;
  readonly request_id: string | null;
  readonly by: Cause | null;
}

export interface LoadStep {
  readonly start: number;
  /** Null where nothing was measured, here and below. */
  readonly requests: number | null;
  readonly refused: number | null;
  readonly turns_in_flight: number | null;
  readonly events: number | null;
  readonly first_output_p50_ms: number | null;
  readonly first_output_p99_ms: number | null;
  readonly loop_lag_ms: number | null;
  readonly memory_bytes: number | null;
  readonly store_ms: number | null;
}

export interface Load {
  readonly step_seconds: number;
  readonly data: readonly LoadStep[];
}

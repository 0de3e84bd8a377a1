/** A request as a handler gets it, and the reply that it gives back. */
import type { ErrorName } from './errors.ts';
import type { Outlet, RequestHead, ResponseHeaders } from './edge.ts';
import type { KeyActor } from './host/keys.ts';
import type { Services } from './services.ts';
import type { BudgetName } from './store.ts';
import type { Shape } from './wire.ts';
import type { TSchema } from 'typebox';

/** The content type of every answer in JSON. */
export const jsonType = 'application/json; charset=utf-8';

/** An API key that passed authentication. */
export interface KeyCaller {
  readonly kind: 'key';
  readonly workspaceId: string;
  readonly keyId: string;
  readonly actor: KeyActor;
  /** The assistants that it may use; null for all. */
  readonly assistantIds: readonly string[] | null;
}

export interface OperatorCaller {
  readonly kind: 'operator';
}
export interface NobodyCaller {
  readonly kind: 'anyone';
}
export type Caller = KeyCaller | OperatorCaller | NobodyCaller;

export interface Request<C extends Caller = Caller, Query = unknown, Body = unknown> {
  readonly requestId: string;
  readonly head: RequestHead;
  readonly caller: C;
  /** The path's parameters, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** The body before its fields were looked at. */
  readonly json: unknown;
  /** `Idempotency-Key`, on the routes that take one. */
  readonly idempotencyKey: string | null;
  readonly services: Services;
}

export type Reply =
  | { status: number; headers?: ResponseHeaders; json: unknown }
  | { status: number; headers?: ResponseHeaders; text: string }
  | { status: number; headers?: ResponseHeaders; empty: true }
  /** Goes on after the handler has returned; `onGone` calls back when the client leaves before the end. What it rejects with cuts the answer. */
  | { status: number; headers?: ResponseHeaders; stream: (outlet: Outlet, onGone: (callback: () => void) => void) => void | Promise<void> };

/** What a success looks like in the OpenAPI document. */
export interface Success {
  readonly status: number;
  readonly description: string;
  readonly content: { readonly type: string; readonly schema: TSchema } | null;
  /** Headers that it may carry beyond those of every response. */
  readonly headers?: readonly string[];
}

/** A row of the table of routes (contract 6 and 9). */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With parameters in braces, as in `/sessions/{id}`. */
  readonly path: string;
  /** Its name in the OpenAPI document. */
  readonly operation: string;
  readonly summary: string;
  /** Who may call. */
  readonly caller: Caller['kind'];
  /** The budgets that a call is held against, in order. */
  readonly budgets: readonly BudgetName[];
  /** New work is refused while the process drains. */
  readonly newWork: boolean;
  /** May be sent under an `Idempotency-Key`. */
  readonly repeatable: boolean;
  readonly query: Shape<TSchema>;
  readonly body: Shape<TSchema> | null;
  readonly success: Success;
  /** What the handler may refuse with, beyond what the pipeline itself does. */
  readonly errors: readonly ErrorName[];
  /** Gets what this row's own validators and caller check have let through. */
  handler(request: Request): Reply | Promise<Reply>;
}

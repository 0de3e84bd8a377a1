/** A handler's request, and the reply that it returns. */
import type { ErrorName } from '../base/errors.ts';
import type { Answerable, Outlet, RequestHead, ResponseHeaders, Upgrade } from '../base/edge.ts';
import type { AssistantActor } from '../host/assistants.ts';
import type { KeyActor } from '../host/keys.ts';
import type { Principal } from '../conversation/principal.ts';
import type { Services } from '../conversation/services.ts';
import type { BudgetName, By, SignIn } from '../store/store.ts';
import type { TokenClaims } from '../access/socket-tokens.ts';
import type { VisitorClaims } from '../access/visitor-tokens.ts';
import type { Grant, Permission } from '../base/roles.ts';
import type { Span } from '../base/tracing.ts';
import type { Shape } from '../wire/wire.ts';
import type { TSchema } from 'typebox';

/** The content type of every answer in JSON. */
export const jsonType = 'application/json; charset=utf-8';

/** A caller who may hold conversations. */
export interface PrincipalCaller {
  readonly principal: Principal;
}

/** An API key that passed authentication. */
export interface KeyCaller extends PrincipalCaller {
  readonly kind: 'key';
  readonly actor: KeyActor;
}

/** The user of the console: the bearer of the operator token, or a person who is signed in. */
export interface OperatorCaller {
  readonly kind: 'operator';
  readonly by: By;
  /** The person's role, and the workspace that it is for. */
  readonly grant: Grant;
  /** Null for the bearer of the operator token. */
  readonly signIn: SignIn | null;
  /** The header that gives a browser its cookie again; null where it need not be. */
  readonly setCookie: string | null;
}
export interface NobodyCaller {
  readonly kind: 'anyone';
}
/** The bearer of a token that opens one socket: a transcription, or a call. */
export interface TokenCaller extends PrincipalCaller {
  readonly kind: 'token' | 'call';
  readonly claims: TokenClaims;
  /** The subprotocol that the token came in, to be answered; null if it came in the query. */
  readonly protocol: string | null;
}
/** A caller that knows the slug of an assistant's link. */
export interface GuestCaller {
  readonly kind: 'guest';
  readonly assistant: AssistantActor;
}
/** A guest that requests a visitor's token; `renews`: the claims of the token to renew, or null. */
export interface NewcomerCaller {
  readonly kind: 'newcomer';
  readonly assistant: AssistantActor;
  readonly renews: Pick<VisitorClaims, 'id' | 'expiresAt' | 'proof'> | null;
}
/** The bearer of a visitor's token. */
export interface VisitorCaller extends PrincipalCaller {
  readonly kind: 'visitor';
  readonly assistant: AssistantActor;
}
export type Caller =
  | KeyCaller
  | OperatorCaller
  | NobodyCaller
  | TokenCaller
  | GuestCaller
  | NewcomerCaller
  | VisitorCaller;

/** The head of a request, and word of its client's leaving. */
export type ClientHead = RequestHead & Pick<Answerable, 'onGone'>;

/** Names that stand in braces in the paths of the routes. */
export const pathParameters = [
  'w',
  'id',
  'turn_id',
  'visitor_id',
  'delivery_id',
  'test_id',
  'run_id',
  'n',
  'kind',
  'slug',
  'file',
  'path',
] as const;

/** The parameters of a path, percent-decoded. A handler reads the names of its route only. */
export type PathParameters = Readonly<Record<(typeof pathParameters)[number], string>>;

export interface Request<C = Caller, Query = unknown, Body = unknown> {
  readonly requestId: string;
  /** The request's span; null while traces are off. */
  readonly span: Span | null;
  readonly head: ClientHead;
  readonly caller: C;
  readonly params: PathParameters;
  readonly query: Query;
  readonly body: Body;
  /** The parsed body before its fields were checked. */
  readonly json: unknown;
  /** `Idempotency-Key`, on the routes that take one. */
  readonly idempotencyKey: string | null;
  readonly services: Services;
}

export type Reply =
  | { status: number; headers?: ResponseHeaders; json: unknown }
  | { status: number; headers?: ResponseHeaders; text: string }
  | { status: number; headers?: ResponseHeaders; bytes: Uint8Array }
  | { status: number; headers?: ResponseHeaders; empty: true }
  /**
   * Runs on after the handler has returned; `onGone` calls back when the client leaves before the end. If it rejects,
   * the answer is cut.
   */
  | {
      status: number;
      headers?: ResponseHeaders;
      stream: (outlet: Outlet, onGone: (callback: () => void) => void) => void | Promise<void>;
    };

/** A success, as the OpenAPI document describes it. */
export interface Success {
  readonly status: number;
  readonly description: string;
  readonly content: { readonly type: string; readonly schema: TSchema } | null;
  /** Other types of text in which the answer may be requested. */
  readonly exports?: readonly string[];
  /** The description of a 204 that the route may answer instead; absent if it never does. */
  readonly orNothing?: string;
  /** Further headers that the answer may have. */
  readonly headers?: readonly string[];
}

/** Whether the path is one of the console's, which browsers call with a person's cookie too. */
export const isConsole = ({ path }: Pick<Route, 'path'>): boolean => path.startsWith('/console/');

/** Whether the path is one of an assistant's public link. */
export const isLink = (path: string): boolean => path.startsWith('/p/');

/**
 * Whether the path is of a file that a visitor's browser requests: a file of the link's pages or of the widget, or the
 * icon.
 */
export const isLinkFile = (path: string): boolean =>
  path.startsWith('/link/') || path === '/widget.js' || path === '/favicon.ico';

/** A row of the table of routes (contract 6 and 9). */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
  /**
   * With parameters in braces, as in `/sessions/{id}`; `{path*}` at the end is the rest of the path, slashes and all.
   */
  readonly path: string;
  /** Name of the operation in the OpenAPI document. */
  readonly operation: string;
  readonly summary: string;
  /** The kind of caller that may use the route. */
  readonly caller: Caller['kind'];
  /** The operation that a person's role must permit; absent where people do not call. */
  readonly permission?: Permission;
  /** The budgets that a call is charged to, in order. */
  readonly budgets: readonly BudgetName[];
  /** New work is refused while the process drains. */
  readonly newWork: boolean;
  /** May be sent under an `Idempotency-Key`. */
  readonly repeatable: boolean;
  readonly query: Shape<TSchema>;
  readonly body: Shape<TSchema> | null;
  /** Whether no body at all means an empty object. */
  readonly bodyOptional: boolean;
  readonly success: Success;
  /** Looks at the head before the caller is known, and throws what refuses it. */
  readonly gate?: (head: ClientHead, services: Services) => void;
  /**
   * The handler gets the body as it came, including its faults, as `json`, and answers faults in a different shape.
   * `body` only describes it.
   */
  readonly takesBytes?: true;
  /** The handler's possible failures, in addition to the pipeline's. */
  readonly errors: readonly ErrorName[];
  /** Gets only requests that this row's own validators and caller check have accepted. */
  handler(request: Request): Reply | Promise<Reply>;
  /**
   * A path that becomes a WebSocket: accepts the upgrade with at least these headers, or throws the `Failure` that
   * answers it.
   */
  open?(request: Request, upgrade: Upgrade, headers: ResponseHeaders): void | Promise<void>;
}

/** Writes rows of the table of routes: one function for each kind of caller. */
import { Type, type Static, type TSchema } from 'typebox';
import { Failure, type ErrorName } from '../../base/errors.ts';
import type { ResponseHeaders, Upgrade } from '../../base/edge.ts';
import type { Permission } from '../../base/roles.ts';
import type {
  Caller,
  GuestCaller,
  KeyCaller,
  NewcomerCaller,
  NobodyCaller,
  OperatorCaller,
  Reply,
  Request,
  Route,
  Success,
  TokenCaller,
  VisitorCaller,
} from '../request.ts';
import type { BudgetName } from '../../store/store.ts';
import * as wire from '../../wire/wire.ts';

type Line = Route['method'];
interface Options<Q extends TSchema, B extends TSchema> {
  readonly summary: string;
  readonly query?: Q;
  readonly body?: B;
  readonly tooLong?: wire.TooLong;
  readonly bodyOptional?: boolean;
  readonly success: Success;
  readonly errors?: readonly ErrorName[];
  readonly newWork?: boolean;
  readonly repeatable?: boolean;
  /** The endpoint's own budget; a call is charged to it after the budget of requests. */
  readonly budget?: BudgetName;
}
type Handler<C extends Caller, Q extends TSchema, B extends TSchema> = (
  request: Request<C, Static<Q>, Static<B>>,
) => Reply | Promise<Reply>;

const nothing = wire.shape(Type.Object({}));

/** A row of the table, for one kind of caller. */
const rowFor =
  <C extends Caller>(caller: C['kind']) =>
  <Q extends TSchema = TSchema, B extends TSchema = TSchema>(
    method: Line,
    path: string,
    handler: Handler<C, Q, B>,
    options: Options<Q, B>,
    operation = operationName(method, path),
  ): Route => ({
    method,
    path,
    operation,
    summary: options.summary,
    caller,
    budgets: caller === 'key' ? ['requests', ...(options.budget === undefined ? [] : [options.budget])] : [],
    newWork: options.newWork ?? false,
    repeatable: options.repeatable ?? false,
    query: options.query === undefined ? nothing : wire.shape(options.query),
    body: options.body === undefined ? null : wire.shape(options.body, options.tooLong),
    bodyOptional: options.bodyOptional ?? false,
    success: options.success,
    errors: options.errors ?? [],
    handler: handler,
  });

export const api = rowFor<KeyCaller>('key');

/** A row of the console's API, which names the operation that the person's role must permit. */
export const operator = <Q extends TSchema = TSchema, B extends TSchema = TSchema>(
  method: Line,
  path: string,
  permission: Permission,
  handler: Handler<OperatorCaller, Q, B>,
  options: Options<Q, B>,
): Route => ({ ...rowFor<OperatorCaller>('operator')<Q, B>(method, path, handler, options), permission });

export const open = rowFor<NobodyCaller>('anyone');
export const guest = rowFor<GuestCaller>('guest');
export const newcomer = rowFor<NewcomerCaller>('newcomer');
export const visitor = rowFor<VisitorCaller>('visitor');

/** A path that becomes a WebSocket; a request that does not ask for an upgrade gets 404. */
const socketFor =
  <C extends Caller>(caller: C['kind']) =>
  <Q extends TSchema = TSchema>(
    path: string,
    accept: (request: Request<C, Static<Q>>, upgrade: Upgrade, headers: ResponseHeaders) => void | Promise<void>,
    options: Omit<Options<Q, TSchema>, 'success'>,
  ): Route => ({
    ...rowFor<Caller>(caller)<Q>('GET', path, plain, {
      ...options,
      success: socket,
      errors: [...(options.errors ?? []), 'route_not_found'],
    }),
    open: accept,
  });

const socket: Success = { status: 101, description: 'It is a WebSocket from here on.', content: null };

const plain = (): never => {
  throw new Failure('route_not_found');
};

export const keySocket = socketFor<KeyCaller>('key');
export const operatorSocket = <Q extends TSchema = TSchema>(
  path: string,
  permission: Permission,
  accept: (request: Request<OperatorCaller, Static<Q>>, upgrade: Upgrade, headers: ResponseHeaders) => void,
  options: Omit<Options<Q, TSchema>, 'success'>,
): Route => ({ ...socketFor<OperatorCaller>('operator')<Q>(path, accept, options), permission });
export const tokenSocket = socketFor<TokenCaller>('token');
export const callSocket = socketFor<TokenCaller>('call');

/** `POST /sessions/{id}/end` becomes `post_sessions_id_end`. */
const operationName = (method: string, path: string): string =>
  `${method.toLowerCase()}${path.replace(/[^a-z]+/g, '_')}`.replace(/_$/, '');

export const json = (schema: TSchema, description: string, status = 200, headers: readonly string[] = []): Success => ({
  status,
  description,
  content: { type: 'application/json', schema },
  headers,
});
export const text = (type: string, description: string, headers: readonly string[] = []): Success => ({
  status: 200,
  description,
  content: { type, schema: Type.String() },
  headers,
});
export const elsewhere: Success = { status: 308, description: 'It is at the address in Location.', content: null };
export const nothingLeft: Success = { status: 204, description: 'It is gone.', content: null };

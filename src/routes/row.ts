/** How a row of the table of routes is written: once for each kind of caller. */
import { Type, type Static, type TSchema } from 'typebox';
import type { ErrorName } from '../errors.ts';
import type { KeyCaller, NobodyCaller, OperatorCaller, Reply, Request, Route, Success } from '../request.ts';
import type { BudgetName } from '../store.ts';
import * as wire from '../wire.ts';

type Line = 'GET' | 'POST' | 'PATCH' | 'DELETE';
interface Options<Q extends TSchema, B extends TSchema> {
  readonly summary: string;
  readonly query?: Q;
  readonly body?: B;
  readonly tooLong?: wire.TooLong;
  readonly success: Success;
  readonly errors?: readonly ErrorName[];
  readonly newWork?: boolean;
  readonly repeatable?: boolean;
  /** A budget of the endpoint's own, which is held against a call after that of requests. */
  readonly budget?: BudgetName;
}
type Handler<C extends KeyCaller | OperatorCaller | NobodyCaller, Q extends TSchema, B extends TSchema> = (
  request: Request<C, Static<Q>, Static<B>>,
) => Reply | Promise<Reply>;

const nothing = wire.shape(Type.Object({}));

/** A row of the table, for one kind of caller. */
const rowFor =
  <C extends KeyCaller | OperatorCaller | NobodyCaller>(caller: C['kind']) =>
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
    success: options.success,
    errors: options.errors ?? [],
    handler: handler as unknown as Route['handler'],
  });

export const api = rowFor<KeyCaller>('key');
export const operator = rowFor<OperatorCaller>('operator');
export const open = rowFor<NobodyCaller>('anyone');

/** `POST /sessions/{id}/end` becomes `post_sessions_id_end`. */
const operationName = (method: string, path: string): string =>
  `${method.toLowerCase()}${path.replace(/[^a-z]+/g, '_')}`.replace(/_$/, '');

export const json = (schema: TSchema, description: string, status = 200, headers: readonly string[] = []): Success => ({
  status,
  description,
  content: { type: 'application/json', schema },
  headers,
});
export const text = (type: string, description: string): Success => ({ status: 200, description, content: { type, schema: Type.String() } });
export const nothingLeft: Success = { status: 204, description: 'It is gone.', content: null };

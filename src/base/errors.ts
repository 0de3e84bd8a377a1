/**
 * The one table of all failures that a client can get (contract 2). A message is a fixed sentence; only a field's path,
 * a wait in seconds or a limit is filled in. No text of a provider, a library or the runtime ever becomes part of one.
 */
import { jsonText } from './json.ts';

/** Whether and how a client repeats the request (contract 2, "Retrying"). */
export type RetryRule = 'never' | 'after' | 'backoff_thrice' | 'backoff';

export interface ErrorRow {
  readonly code: string;
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly retry: RetryRule;
}

const row = <const C extends string>(
  code: C,
  status: number,
  type: string,
  message: string,
  retry: RetryRule = 'never',
) => ({ code, status, type, message, retry }) as const;

/** Rows by name. Several rows share the code `invalid_request`, and two each `api_error` and `rate_limited`. */
export const errors = {
  missing_api_key: row('missing_api_key', 401, 'authentication_error', 'No API key was sent.'),
  invalid_api_key: row('invalid_api_key', 401, 'authentication_error', 'The API key is not valid.'),
  revoked_api_key: row('revoked_api_key', 401, 'authentication_error', 'The API key has been revoked.'),
  expired_api_key: row('expired_api_key', 401, 'authentication_error', 'The API key has expired.'),
  invalid_token: row('invalid_token', 401, 'authentication_error', 'The token is unknown, used or expired.'),

  site_not_permitted: row('assistant_not_permitted', 403, 'permission_error', 'This site may not use the assistant.'),
  assistant_not_permitted: row(
    'assistant_not_permitted',
    403,
    'permission_error',
    'The API key may not use this assistant.',
  ),
  role_not_permitted: row('role_not_permitted', 403, 'permission_error', 'Your role does not permit this.'),

  route_not_found: row('route_not_found', 404, 'not_found', 'No such path, or the path does not have this method.'),
  assistant_not_found: row('assistant_not_found', 404, 'not_found', 'No such assistant.'),
  version_not_found: row('version_not_found', 404, 'not_found', 'No such version of the assistant.'),
  session_not_found: row('session_not_found', 404, 'not_found', 'No such session.'),
  turn_not_found: row('turn_not_found', 404, 'not_found', 'No such turn.'),
  model_not_found: row('model_not_found', 404, 'not_found', 'No such model.'),

  assistant_not_published: row('assistant_not_published', 409, 'conflict', 'The assistant is not published.'),
  assistant_disabled: row('assistant_disabled', 409, 'conflict', 'The assistant is disabled.'),
  session_ended: row('session_ended', 409, 'conflict', 'The session has ended.'),
  session_expired: row('session_expired', 409, 'conflict', 'The session has expired.'),
  turn_in_progress: row('turn_in_progress', 409, 'conflict', 'A turn is already in progress on this session.'),
  session_taken: row(
    'session_taken',
    409,
    'conflict',
    'Another person has the session, or nobody has it and the operation needs somebody.',
  ),
  tests_not_passed: row(
    'tests_not_passed',
    409,
    'conflict',
    'The draft has not passed the tests that the assistant requires.',
  ),
  draft_changed: row('draft_changed', 409, 'conflict', 'The draft is not the one that `If-Match` names.'),
  voice_disabled: row('voice_disabled', 409, 'conflict', 'Voice is off on this assistant.'),

  unreadable_header: row('invalid_request', 400, 'invalid_request', 'The header `{field}` could not be read.'),
  headers_too_large: row(
    'invalid_request',
    400,
    'invalid_request',
    'The headers are more than {limit} lines, or too long.',
  ),
  different_keys: row(
    'invalid_request',
    400,
    'invalid_request',
    'The headers `Authorization` and `X-Api-Key` hold different keys.',
  ),
  content_type: row(
    'invalid_request',
    400,
    'invalid_request',
    'The header `Content-Type` does not say that the body is JSON.',
  ),
  malformed_json: row('invalid_request', 400, 'invalid_request', 'The body is not valid JSON.'),
  body_too_large: row('invalid_request', 400, 'invalid_request', 'The body is larger than {limit} bytes.'),
  body_timeout: row('invalid_request', 400, 'invalid_request', 'The body did not arrive in time.'),
  insecure_sign_in: row(
    'invalid_request',
    400,
    'invalid_request',
    'Signing in needs HTTPS, or an address of this machine.',
  ),
  not_an_object: row('invalid_request', 422, 'invalid_request', 'The body must be a JSON object.'),
  missing_field: row('invalid_request', 422, 'invalid_request', 'The field `{field}` is required.'),
  invalid_field: row(
    'invalid_request',
    422,
    'invalid_request',
    'The field `{field}` has the wrong type or a value that is not allowed.',
  ),
  text_only: row(
    'invalid_request',
    422,
    'invalid_request',
    'The part `{field}` is not taken: the last message is read as text, without pictures and files.',
  ),
  not_supported: row(
    'invalid_request',
    422,
    'invalid_request',
    'The field `{field}` is not taken: the model of this assistant refuses it, or the assistant has tools of its own.',
  ),
  unencrypted_url: row(
    'invalid_request',
    422,
    'invalid_request',
    'The field `{field}` must begin with https://, or with http:// and a private address where the server allows these.',
  ),
  idempotency_mismatch: row(
    'invalid_request',
    422,
    'invalid_request',
    'The header `Idempotency-Key` was used before with another body.',
  ),
  missing_visitor_fields: row(
    'missing_visitor_fields',
    422,
    'invalid_request',
    'Required visitor fields are missing: {field}.',
  ),
  message_too_long: row('message_too_long', 422, 'invalid_request', 'The message is longer than {limit} characters.'),
  text_too_long: row('text_too_long', 422, 'invalid_request', 'The text is longer than {limit} characters.'),
  invalid_range: row(
    'invalid_range',
    422,
    'invalid_request',
    'The window must not start after it ends, and is at most {limit} days long.',
  ),

  assistant_unavailable: row(
    'assistant_unavailable',
    503,
    'service_unavailable',
    'The assistant cannot answer at the moment.',
  ),
  voice_unavailable: row('voice_unavailable', 503, 'service_unavailable', 'Voice is not available at the moment.'),
  service_unavailable: row(
    'api_error',
    503,
    'service_unavailable',
    'The service is temporarily unavailable.',
    'backoff',
  ),
  api_error: row('api_error', 500, 'api_error', 'Something went wrong on our side.', 'backoff_thrice'),

  rate_limited: row(
    'rate_limited',
    429,
    'rate_limit_error',
    'Rate limit exceeded. Retry in {seconds} seconds.',
    'after',
  ),
} satisfies Record<string, ErrorRow>;

export type ErrorName = keyof typeof errors;

/** The row of the code that a turn or a socket failed with: these codes are names of rows. */
export const rowOfCode = (code: string): ErrorRow => (code in errors ? errors[code as ErrorName] : errors.api_error);

export interface FailureDetail {
  /** The path of the offending field, as in `visitor.email`, or the name of a header. */
  field?: string;
  /** Whole seconds until a retry can pass; also sent as `Retry-After`. */
  seconds?: number;
  /** The bound that was crossed. */
  limit?: number;
  /** The path of the offending field where the sentence does not name it (contract 14). */
  param?: string;
  /** The limit that refused, as its name in the metrics, unless it is a key's budget or the workspace's turns. */
  limiter?: 'authentication' | 'link_reads' | 'tokensPerDay';
  /** The error behind the failure, for the log only. */
  cause?: unknown;
}

/** The failure that a client gets: a row of the table with its blanks filled in. */
export interface Refusal {
  readonly row: ErrorRow;
  readonly message: string;
  readonly seconds: number | undefined;
  /** The path of the offending field; undefined for none. */
  readonly param: string | undefined;
  readonly limiter?: FailureDetail['limiter'];
  readonly cause?: unknown;
}

/** The rows whose blank is the path of a field of the body or the query. */
const namesOfField: ReadonlySet<ErrorName> = new Set([
  'missing_field',
  'invalid_field',
  'text_only',
  'not_supported',
  'unencrypted_url',
]);

const paramOf = (name: ErrorName, { field, param }: FailureDetail): string | undefined =>
  param ?? (namesOfField.has(name) ? field : undefined);

/** A refusal that is returned, because throwing one costs more than deciding and writing it. */
export const refused = (name: ErrorName, detail: FailureDetail = {}): Refusal => ({
  row: errors[name],
  message: sentence(errors[name].message, detail),
  seconds: detail.seconds,
  param: paramOf(name, detail),
  ...(detail.limiter !== undefined && { limiter: detail.limiter }),
});

/** A refusal that is thrown. */
export class Failure extends Error implements Refusal {
  readonly row: ErrorRow;
  readonly seconds: number | undefined;
  readonly param: string | undefined;
  readonly limiter: FailureDetail['limiter'];

  constructor(name: ErrorName, detail: FailureDetail = {}) {
    const row = errors[name];
    // A refusal is an answer: its stack trace is of no use, and to collect it costs more than the rest of the refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(sentence(row.message, detail), detail.cause === undefined ? undefined : { cause: detail.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.row = row;
    this.seconds = detail.seconds;
    this.param = paramOf(name, detail);
    this.limiter = detail.limiter;
  }

  get code(): string {
    return this.row.code;
  }

  get status(): number {
    return this.row.status;
  }
}

function sentence(template: string, { field, seconds, limit }: FailureDetail): string {
  let text = template;
  if (field !== undefined) text = text.replace('{field}', () => field);
  if (seconds !== undefined) text = text.replace('{seconds}', String(seconds));
  if (limit !== undefined) text = text.replace('{limit}', String(limit));
  return text;
}

/** The body of every failure as JSON text (contract 2). */
export const failureText = ({ row, message }: Refusal, requestId: string): string =>
  `{"error":{"type":"${row.type}","code":"${row.code}","message":${quoted(message)}},"request_id":"${requestId}"}`;

/** Only a field's path can contain characters that JSON escapes. */
const quoted = (message: string): string => (/^[ !#-[\]-~]*$/.test(message) ? `"${message}"` : jsonText(message));

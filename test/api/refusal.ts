/** The shape of every failure (contract 1 to 5). */
import type { Test } from 'tap';
import { slowness } from '../run/speed.mjs';
import type { Answer } from './house.ts';

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Whether a budget was charged, as the rate headers show: on the API, for each refusal after authentication. */
  readonly rated: boolean;
  /** Whole seconds, for refusals with a wait. */
  readonly retryAfter?: number;
  /** True for the error shape of OpenAI's API (contract 14). */
  readonly ofOpenAi?: true;
}

/** Status → type, from contract 2. */
const types: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found',
  405: 'not_found',
  409: 'conflict',
  422: 'invalid_request',
  429: 'rate_limit_error',
  500: 'api_error',
  503: 'service_unavailable',
};

/** The same for contract 14, where it differs. */
const typesOfOpenAi: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  404: 'invalid_request_error',
  409: 'invalid_request_error',
};

export const rateHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'] as const;

export function isRefused(t: Test, answer: Answer, expected: Refusal, name = expected.code): void {
  const { status, headers, json } = answer;
  const { code, message, rated, retryAfter, ofOpenAi } = asLate(answer, expected);
  const requestId = headers.get('x-request-id');
  const error = {
    type: (ofOpenAi && typesOfOpenAi[expected.status]) ?? types[expected.status],
    code,
    message,
    ...(ofOpenAi && { param: null }),
  };
  t.same({ status, json }, { status: expected.status, json: { error, request_id: requestId } }, name);
  t.match(requestId, /^req_[0-9a-z]{26}$/, `${name}: X-Request-Id`);
  t.equal(headers.get('content-type'), 'application/json; charset=utf-8', `${name}: JSON`);
  t.equal(
    headers.get('www-authenticate'),
    expected.status === 401 ? 'Bearer' : null,
    `${name}: WWW-Authenticate on a 401 alone`,
  );
  t.equal(headers.get('retry-after'), retryAfter === undefined ? null : String(retryAfter), `${name}: Retry-After`);
  isRated(t, answer, rated, name);
}

/** Seconds of a wait that a slow machine may have passed before its answer. */
const lateSeconds = Math.ceil(slowness());

/** A refusal whose wait has become a little shorter meanwhile: the announced wait is the expected one. */
function asLate({ headers }: Answer, expected: Refusal): Refusal {
  const { retryAfter } = expected;
  const told = Number(headers.get('retry-after'));
  const isLate = retryAfter !== undefined && told >= 1 && told < retryAfter && told >= retryAfter - lateSeconds;
  return isLate
    ? { ...limitedFor(told), rated: expected.rated, ...(expected.ofOpenAi && { ofOpenAi: true }) }
    : expected;
}

/** The three rate headers, all or none of them. */
export function isRated(t: Test, { headers }: Answer, rated: boolean, name: string): void {
  const digits = rateHeaders.map((header) => /^\d+$/.test(headers.get(header) ?? ''));
  t.same(
    digits,
    rateHeaders.map(() => rated),
    `${name}: ${rated ? 'rate headers' : 'no rate headers'}`,
  );
  if (!rated)
    t.same(
      rateHeaders.filter((header) => headers.has(header)),
      [],
      `${name}: not even unreadable ones`,
    );
}

/** A 422 `invalid_request` whose message names the field by its path. */
export const wrongField = (field: string): Refusal => ({
  status: 422,
  code: 'invalid_request',
  message: `The field \`${field}\` has the wrong type or a value that is not allowed.`,
  rated: true,
});
export const unreadableHeader = (name: string): Refusal => ({
  ...wrongField(''),
  status: 400,
  message: `The header \`${name}\` could not be read.`,
});
export const missingField = (field: string): Refusal => ({
  ...wrongField(field),
  message: `The field \`${field}\` is required.`,
});

export const unencryptedUrl = (field: string): Refusal => ({
  ...wrongField(field),
  message: `The field \`${field}\` must begin with https://, or with http:// and a private address where the server allows these.`,
});

const row = (status: number, code: string, message: string, rated = true): Refusal => ({
  status,
  code,
  message,
  rated,
});

/** The fixed sentences of refusals that many tests meet. */
export const refusals = {
  missingKey: row(401, 'missing_api_key', 'No API key was sent.', false),
  invalidKey: row(401, 'invalid_api_key', 'The API key is not valid.', false),
  revokedKey: row(401, 'revoked_api_key', 'The API key has been revoked.', false),
  expiredKey: row(401, 'expired_api_key', 'The API key has expired.', false),
  noRoute: row(404, 'route_not_found', 'No such path, or the path does not have this method.', false),
  invalidToken: row(401, 'invalid_token', 'The token is unknown, used or expired.', false),
  differentKeys: row(400, 'invalid_request', 'The headers `Authorization` and `X-Api-Key` hold different keys.', false),
  malformedJson: row(400, 'invalid_request', 'The body is not valid JSON.'),
  notJson: row(400, 'invalid_request', 'The header `Content-Type` does not say that the body is JSON.'),
  tooLarge: row(400, 'invalid_request', 'The body is larger than 262144 bytes.'),
  insecureSignIn: row(400, 'invalid_request', 'Signing in needs HTTPS, or an address of this machine.', false),
  notAnObject: row(422, 'invalid_request', 'The body must be a JSON object.'),
  messageTooLong: row(422, 'message_too_long', 'The message is longer than 8000 characters.'),
  invalidRange: row(422, 'invalid_range', 'The window must not start after it ends, and is at most 90 days long.'),
  mismatch: row(422, 'invalid_request', 'The header `Idempotency-Key` was used before with another body.'),
  textTooLong: row(422, 'text_too_long', 'The text is longer than 1000 characters.'),
  roleNotPermitted: row(403, 'role_not_permitted', 'Your role does not permit this.'),
  notPermitted: row(403, 'assistant_not_permitted', 'The API key may not use this assistant.'),
  noAssistant: row(404, 'assistant_not_found', 'No such assistant.'),
  noVersion: row(404, 'version_not_found', 'No such version of the assistant.'),
  noSession: row(404, 'session_not_found', 'No such session.'),
  noTurn: row(404, 'turn_not_found', 'No such turn.'),
  notPublished: row(409, 'assistant_not_published', 'The assistant is not published.'),
  disabled: row(409, 'assistant_disabled', 'The assistant is disabled.'),
  ended: row(409, 'session_ended', 'The session has ended.'),
  expired: row(409, 'session_expired', 'The session has expired.'),
  inProgress: row(409, 'turn_in_progress', 'A turn is already in progress on this session.'),
  sessionTaken: row(
    409,
    'session_taken',
    'Another person has the session, or nobody has it and the operation needs somebody.',
    false,
  ),
  testsNotPassed: row(
    409,
    'tests_not_passed',
    'The draft has not passed the tests that the assistant requires.',
    false,
  ),
  draftChanged: row(409, 'draft_changed', 'The draft is not the one that `If-Match` names.', false),
  voiceDisabled: row(409, 'voice_disabled', 'Voice is off on this assistant.'),
  voiceUnavailable: row(503, 'voice_unavailable', 'Voice is not available at the moment.'),
  unavailable: row(503, 'assistant_unavailable', 'The assistant cannot answer at the moment.'),
  draining: { ...row(503, 'api_error', 'The service is temporarily unavailable.'), retryAfter: 5 },
  fault: row(500, 'api_error', 'Something went wrong on our side.'),
} satisfies Record<string, Refusal>;

/** A 429 whose wait is the same in the message and in the header. */
export const limitedFor = (seconds: number): Refusal => ({
  status: 429,
  code: 'rate_limited',
  message: `Rate limit exceeded. Retry in ${seconds} seconds.`,
  rated: true,
  retryAfter: seconds,
});

/** The same without rate headers, as the console answers. */
export const unrated = (refusal: Refusal): Refusal => ({ ...refusal, rated: false });

/** The same at a path, below `/v1/` in the shape that all failures have there. */
export const refusedAt = (path: string, refusal: Refusal): Refusal =>
  path.startsWith('/v1/') ? { ...refusal, ofOpenAi: true } : refusal;

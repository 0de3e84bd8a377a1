/**
 * The errors that the client throws. They are recognised by a brand, so `instanceof` holds across copies of this
 * package.
 */
import type { ErrorCode, ErrorType } from './types.ts';

const brand = Symbol.for('parley-client.error');

export interface ErrorFields {
  readonly code: ErrorCode | null;
  readonly type: ErrorType | null;
  readonly status: number | null;
  readonly requestId: string | null;
  readonly field?: string | null;
  readonly retryable?: boolean;
  readonly retryAfterSeconds?: number | null;
  readonly cause?: unknown;
}

/** Everything that the API answers with a failure, and everything that keeps an answer from coming. */
export class ParleyError extends Error {
  /** The name in stack traces, also where an application minifies names. */
  static override readonly name: string = 'ParleyError';
  /** The specific cause, from the API's closed table; null if no answer came. */
  declare readonly code: ErrorCode | null;
  /** The broad category; null if no answer came. */
  declare readonly type: ErrorType | null;
  /** The HTTP status; null if no answer came, or if the failure came within a stream. */
  declare readonly status: number | null;
  /** The id of the failed request, as the service logs it. */
  declare readonly requestId: string | null;
  /** The path of the field, or the name of the header, that the message names. */
  declare readonly field: string | null;
  /** Whether the same request can succeed later. */
  declare readonly retryable: boolean;
  /** From `Retry-After`; null without one. */
  declare readonly retryAfterSeconds: number | null;

  constructor(message: string, { cause, ...fields }: ErrorFields) {
    super(message, cause === undefined ? undefined : { cause });
    Object.assign(this, { name: this[brand], field: null, retryable: false, retryAfterSeconds: null, ...fields });
  }

  get [brand](): string {
    return 'ParleyError';
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    const name = names.get(this);
    if (name === undefined) return Function.prototype[Symbol.hasInstance].call(this, value);
    const found = typeof value === 'object' && value !== null ? (value as { [brand]?: unknown })[brand] : undefined;
    return found === name || (found !== undefined && name === 'ParleyError');
  }
}

/** A 429: `retryAfterSeconds` is the whole seconds until the request would pass. */
export class RateLimitError extends ParleyError {
  static override readonly name = 'RateLimitError';
  declare readonly retryAfterSeconds: number;

  override get [brand](): string {
    return 'RateLimitError';
  }
}

/** The connection failed, timed out or was cut; `code` and `status` are null, `cause` is the runtime's own error. */
export class ConnectionError extends ParleyError {
  static override readonly name = 'ConnectionError';
  /** Origin of the request; null for a stream that was cut. */
  readonly origin: string | null;
  /** Whether an answer had begun. If not, the request may never have arrived. */
  readonly answered: boolean;

  constructor(
    message: string,
    { origin = null, answered = false, cause }: { origin?: string | null; answered?: boolean; cause?: unknown } = {},
  ) {
    super(message, { code: null, type: null, status: null, requestId: null, retryable: true, cause });
    this.origin = origin;
    this.answered = answered;
  }

  override get [brand](): string {
    return 'ConnectionError';
  }
}

/** A turn that ended in an `error` event. */
export class TurnFailedError extends ParleyError {
  static override readonly name = 'TurnFailedError';
  /** The text that the assistant had said before; it is in the transcript as well. */
  declare readonly partial: string;

  constructor(message: string, fields: ErrorFields & { readonly partial: string }) {
    super(message, fields);
  }

  override get [brand](): string {
    return 'TurnFailedError';
  }
}

/** The failure that a socket's last message names. */
export const codedError = (code: ErrorCode, message: string): ParleyError =>
  new ParleyError(message, { code, type: categoryOf(code), status: null, requestId: null });

/** Error types by the codes that end a stream or a socket; codes of an absent service have the default. */
const categories: { readonly [Code in ErrorCode]?: ErrorType } = {
  assistant_disabled: 'conflict',
  assistant_not_published: 'conflict',
  voice_disabled: 'conflict',
  session_ended: 'conflict',
  session_expired: 'conflict',
  api_error: 'api_error',
  rate_limited: 'rate_limit_error',
  invalid_request: 'invalid_request',
};

/** The category of a code that ends a stream or a socket. */
export const categoryOf = (code: ErrorCode): ErrorType => categories[code] ?? 'service_unavailable';

/** Names of these classes alone: a class that a user derives from one of them is recognised as any other class is. */
const names = new Map<unknown, string>([
  [ParleyError, 'ParleyError'],
  [RateLimitError, 'RateLimitError'],
  [ConnectionError, 'ConnectionError'],
  [TurnFailedError, 'TurnFailedError'],
]);

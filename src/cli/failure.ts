/** What ends a command early and how it is told. Exit codes: 0 done, 1 it failed, 2 it was called the wrong way. */
import { SettingError } from '../config.ts';

/** The command was called the wrong way: exit 2. */
export class UsageFailure extends Error {}

/** The command was right and still did not succeed: exit 1. The message is one line for a person. */
export class CommandFailure extends Error {}

/** No answer came. */
export class ConnectionFailure extends Error {
  /** Whether the request may have reached the server: if not, sending it again cannot do anything twice. */
  readonly sent: boolean;

  constructor(message: string, sent: boolean) {
    super(message);
    this.sent = sent;
  }
}

/** The server answered with a failure. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  /** From `Retry-After`; null without one. */
  readonly retryAfterSeconds: number | null;
  /** The body as it came, or null if it was not the API's. */
  readonly text: string | null;

  constructor(status: number, body: { code: string; message: string; requestId: string | null; text: string | null }, retryAfterSeconds: number | null) {
    super(body.message);
    this.status = status;
    this.code = body.code;
    this.requestId = body.requestId;
    this.text = body.text;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export const exitCode = (error: unknown): 1 | 2 => (error instanceof UsageFailure || error instanceof SettingError ? 2 : 1);

/** The failure as one line for a person: the message, and for the API's failures its code and request id. */
export function failureLine(error: unknown): string {
  const [message = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  if (!(error instanceof ApiFailure)) return message;
  const origin = [error.code, error.requestId === null ? '' : `request ${error.requestId}`].filter(Boolean).join(', ');
  return origin === '' ? message : `${message} (${origin})`;
}

/** The failure as JSON: the API's own body where it sent one, the same shape otherwise. */
export function failureJson(error: unknown): string {
  if (error instanceof ApiFailure && error.text !== null) return error.text;
  const code = exitCode(error) === 2 ? 'usage' : error instanceof ConnectionFailure ? 'connection_failed' : 'command_failed';
  const requestId = error instanceof ApiFailure ? error.requestId : null;
  return JSON.stringify({ error: { type: 'command_error', code, message: failureLine(error) }, request_id: requestId });
}

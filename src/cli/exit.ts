/**
 * The failures that end a command early, and their messages. Exit codes: 0 done, 1 it failed, 2 it was called the wrong
 * way.
 */
import { ConnectionError, ParleyError } from '../client/failure.ts';
import { SettingError } from '../base/config.ts';

/** The command was called the wrong way: exit 2. */
export class UsageFailure extends Error {}

/** The command was right and still did not succeed: exit 1. The message is one line for a person. */
export class CommandFailure extends Error {}

/** A failure that the API answered, with a sentence of the command's for the person at the terminal. */
export class AdvisedFailure extends CommandFailure {
  readonly answer: ParleyError;

  constructor(message: string, answer: ParleyError) {
    super(message);
    this.answer = answer;
  }
}

export const exitCode = (error: unknown): 1 | 2 =>
  error instanceof UsageFailure || error instanceof SettingError ? 2 : 1;

/** The failure as one line for a person: the message, and for the API's failures its code and request id. */
export function failureLine(error: unknown): string {
  if (error instanceof ConnectionError) return connectionLine(error);
  const [message = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  const answer = answerOf(error);
  if (answer === null) return message;
  const origin = [answer.code, answer.requestId === null ? '' : `request ${answer.requestId}`]
    .filter(Boolean)
    .join(', ');
  return origin === '' ? message : `${message} (${origin})`;
}

/** The failure as JSON: as the API answers it, the same shape otherwise. */
export function failureJson(error: unknown): string {
  const answer = answerOf(error);
  if (answer?.code)
    return JSON.stringify({
      error: { type: answer.type, code: answer.code, message: answer.message },
      request_id: answer.requestId,
    });
  const code =
    exitCode(error) === 2 ? 'usage' : error instanceof ConnectionError ? 'connection_failed' : 'command_failed';
  return JSON.stringify({ error: { type: 'command_error', code, message: failureLine(error) }, request_id: null });
}

function answerOf(error: unknown): ParleyError | null {
  if (error instanceof AdvisedFailure) return error.answer;
  return error instanceof ParleyError ? error : null;
}

/** System errors that come before the first byte is sent. */
const neverSent = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

/** Node wraps the system's error in the error of `fetch`. */
function connectionLine({ message, origin, cause }: ConnectionError): string {
  const code = (cause as { cause?: { code?: string } } | undefined)?.cause?.code;
  if (code === 'ECONNREFUSED')
    return `Nothing listens at ${origin}. Start the server with \`npm start\`, or name another with --url.`;
  if (code !== undefined && neverSent.has(code)) return `${origin} cannot be reached (${code}).`;
  return code === undefined ? message : message.replace(/\.$/, ` (${code}).`);
}

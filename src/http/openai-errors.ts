/**
 * Failures in the shape of OpenAI's API (contract 14): each has its usual code and sentence, with the status and type
 * that OpenAI's clients expect.
 */
import type { ErrorRow, Refusal } from '../base/errors.ts';
import { jsonText } from '../base/json.ts';

/** OpenAI's clients know no 422. */
export const openaiStatus = (status: number): number => (status === 422 ? 400 : status);

/** The refusals of a caller keep the types that the clients know for them. */
const ownTypes: readonly number[] = [401, 403, 429];

const typeOf = ({ status, type }: ErrorRow): string =>
  status < 500 && !ownTypes.includes(status) ? 'invalid_request_error' : type;

/** A field's path as OpenAI's API writes it: `messages[0].content[1]`. */
const indexed = (path: string): string => path.replace(/\.(\d+)(?=\.|$)/g, '[$1]');

/** The body of an answer that failed. Its sentence names the field as `param` does. */
export function openaiFailureText({ row, message, param }: Refusal, requestId: string): string {
  const error =
    param === undefined
      ? { message, type: typeOf(row), param: null, code: row.code }
      : {
          message: message.replace(param, () => indexed(param)),
          type: typeOf(row),
          param: indexed(param),
          code: row.code,
        };
  return jsonText({ error, request_id: requestId });
}

/** A failure within a stream: its type goes with its code. */
export const openaiStreamError = ({ code, message, type }: ErrorRow) => ({ message, type, param: null, code });

/**
 * Whether the response asks the client not to repeat the request: after these statuses OpenAI's clients retry by
 * default, also where contract 2 forbids it for the code.
 */
export const isFinal = ({ status, retry }: ErrorRow): boolean => retry === 'never' && (status === 409 || status >= 500);

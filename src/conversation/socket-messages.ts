/**
 * The text messages of a socket: parses a client's messages, and writes the one that announces the end (contract 8).
 */
import type { Socket } from '../base/edge.ts';
import { rowOfCode } from '../base/errors.ts';
import { jsonText, parseObject, withoutMark } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import type { Static, TSchema } from 'typebox';
import type { Shape } from '../wire/wire.ts';

export const [refused, tooLarge, ours, restart] = [1008, 1009, 1011, 1012];

/** Room that is kept for the error before the close. */
export const closingBytes = 1024;

export interface ClientMessage {
  readonly type?: unknown;
}

/** The message; null if it is no JSON object, or too long. */
export function parseMessage(text: string): ClientMessage | null {
  return text.length > limits.socketTextCharactersMax ? null : parseObject(withoutMark(text));
}

/** The message if it has the shape, else null. */
export function fits<S extends TSchema>(shape: Shape<S>, message: object): Static<S> | null {
  try {
    return shape.parse(message);
  } catch {
    return null;
  }
}

/** Messages for these codes; other codes have the message of the table of errors. */
const sentences: Readonly<Record<string, string>> = {
  invalid_request: 'The message could not be read, or is not allowed here.',
  rate_limited: 'The audio comes faster than it is spoken, or what is sent is not read.',
};

/** `code`: of the error that is sent before, if one is. */
export function endWith(socket: Socket, code: string | null, close: number): void {
  if (code !== null) socket.send(jsonText({ type: 'error', code, message: sentenceFor(code, close) }));
  socket.close(close);
}

export function sentenceFor(code: string, close: number): string {
  if (close === tooLarge) return `The message is larger than ${limits.socketMessageBytesMax} bytes.`;
  if (close === restart) return 'The server is restarting.';
  return sentences[code] ?? errorSentence(code);
}

/** The sentence of the table of errors; the rows of the codes that sockets know have them for their names. */
export const errorSentence = (code: string): string => rowOfCode(code).message;

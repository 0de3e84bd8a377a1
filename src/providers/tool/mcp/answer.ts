/**
 * Reads the response to a request from an HTTP body: JSON, or an event stream. Ignores a wrong content type, because
 * many servers send one.
 */
import { createParser, type EventSourceParser } from 'eventsource-parser';
import { isObject, parseValue, withoutMark } from '../../../base/json.ts';

/** An answer of JSON-RPC. */
export type Answer = { readonly result: unknown } | { readonly error: unknown };

export interface AnswerListener {
  answered(answer: Answer): void;
  /** Called for a request of the server to its client. */
  asked(id: string | number, method: string): void;
}

export class AnswerReader {
  readonly isStream: boolean;
  readonly #id: number | null;
  readonly #listener: AnswerListener;
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;
  /** The text until a message is found. */
  #texts: string[] = [];
  #hasMessage = false;

  /** Reads a response. `id`: id of the request; null if no answer is awaited. `contentType`: in lower case. */
  constructor(id: number | null, contentType: string, listener: AnswerListener) {
    this.#id = id;
    this.#listener = listener;
    this.isStream = contentType.includes('text/event-stream');
    this.#parser = createParser({ onEvent: ({ data }) => this.#read(data) });
  }

  feed(chunk: Uint8Array): void {
    this.#take(this.#decoder.decode(chunk, { stream: true }));
  }

  /** Ends the body. A last event without its blank line counts. */
  end(): void {
    this.#take(this.#decoder.decode());
    if (this.isStream) this.#parser.feed('\n\n');
    if (this.#hasMessage) return;
    const text = this.#texts.join('');
    if (!this.#read(text) && !this.isStream) this.#parser.feed(`${text}\n\n`);
  }

  #take(text: string): void {
    if (!this.#hasMessage) this.#texts.push(text);
    if (this.isStream) this.#parser.feed(text);
  }

  /** Reads a message, or a batch of them (MCP 2025-03-26); false if the text is neither. */
  #read(text: string): boolean {
    const value = parseValue(withoutMark(text));
    if (value === undefined) return false;
    for (const message of Array.isArray(value) ? value : [value]) if (isObject(message)) this.#message(message);
    return true;
  }

  #message(message: Readonly<Record<string, unknown>>): void {
    const { id, method } = message;
    this.#hasMessage = true;
    this.#texts = [];
    if (typeof method === 'string')
      return typeof id === 'string' || typeof id === 'number' ? this.#listener.asked(id, method) : undefined;
    // An error that the server cannot assign has no id. Some servers write the id as a string.
    if (this.#id === null || !(id === undefined || id === null || id === this.#id || id === String(this.#id))) return;
    if ('result' in message && message['result'] !== null) this.#listener.answered({ result: message['result'] });
    else if ('error' in message) this.#listener.answered({ error: message['error'] });
  }
}

/** Errors of the MCP server in words of ours (contract 15): no text of the protocol's package reaches a client. */
import { errors } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';

/** The sentences of the codes that the package answers with by itself. */
const sentences: ReadonlyMap<unknown, string> = new Map([
  [-32700, 'The message is not a valid one of JSON-RPC.'],
  [-32600, 'The message is not a valid request of the protocol.'],
  [-32601, 'No such method.'],
  [-32602, 'The parameters of the request are not valid.'],
  [-32603, errors.api_error.message],
]);

/** The code of a revision that is not answered; its data names those that are. */
const unknownRevision = -32022;
const elsewise = 'A header of the request, or its revision of the protocol, is not one that is answered here.';

/** The sentences of one request's errors. */
export class McpErrors {
  readonly #own = new Set<string>();

  /** Notes a sentence of ours, which stays as it is. */
  own(sentence: string): string {
    this.#own.add(sentence);
    return sentence;
  }

  /** The text of a message with its error, if it has one, in our words. */
  inOurWords(text: string): string {
    if (!text.includes('"error"')) return text;
    const message: unknown = JSON.parse(text);
    const error = isObject(message) ? message['error'] : undefined;
    if (!isObject(message) || !isObject(error) || this.#own.has(String(error['message']))) return text;
    const { code, data } = error;
    return JSON.stringify({
      ...message,
      error: { code, message: sentences.get(code) ?? elsewise, ...(code === unknownRevision && { data }) },
    });
  }

  /** Rewrites the errors in whole events of a stream likewise. */
  inOurEvents(events: string): string {
    if (!events.includes('"error"')) return events;
    return events
      .split('\n')
      .map((line) => (line.startsWith(field) ? field + this.inOurWords(line.slice(field.length)) : line))
      .join('\n');
  }
}

const field = 'data: ';

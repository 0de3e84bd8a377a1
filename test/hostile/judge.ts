/**
 * Checks the bytes that a connection got against the contract: our answers in their one shape, and a short list of the
 * engines' own answers.
 */
import { createParser } from 'eventsource-parser';
import { openaiStatus } from '../../src/http/openai-errors.ts';
import { errors, type ErrorRow } from '../../src/base/errors.ts';
import { conformity, type Conformity } from '../api/conformity.ts';
import type { House } from '../api/house.ts';
import { readAnswers, readRequest, type ReadAnswer, type ReadRequest } from './reader.ts';

export type Edge = 'uws' | 'node';

/**
 * Answers that an engine's parser gives by itself before we see a request (contract 1); it closes the connection then.
 * No other answer may come from anything but our code.
 */
const engineAnswers: Readonly<Record<Edge, readonly RegExp[]>> = {
  uws: [
    /^HTTP\/1\.1 (?:400 Bad Request|431 Request Header Fields Too Large|505 HTTP Version Not Supported)\r\nConnection: close\r\n\r\n(?:<h1>[\w ]+<\/h1>.*)?$/s,
  ],
  node: [
    /^HTTP\/1\.1 (?:400 Bad Request|408 Request Timeout|413 Payload Too Large|417 Expectation Failed|431 Request Header Fields Too Large)\r\nConnection: close\r\n\r\n$/,
  ],
};

/** Whole requests that an engine does not take all the same. */
const engineRefusals: Readonly<
  Record<
    Edge,
    readonly { readonly why: string; readonly of: (request: ReadRequest, pieces: readonly string[]) => boolean }[]
  >
> = {
  uws: [
    {
      why: 'a name that its filter for a second Host takes for one',
      of: ({ headers }) => headers.some(([name]) => /^h[^o]?st$/.test(name)),
    },
  ],
  node: [
    { why: 'a method that its parser does not know', of: ({ method }) => !nodeMethods.test(method) },
    {
      why: 'a tab behind the one word of Transfer-Encoding',
      of: (_, pieces) => /^transfer-encoding:[^\r\n]*\t\r$/im.test(pieces.join('')),
    },
    { why: 'CONNECT, which asks for a tunnel', of: ({ method }) => method === 'CONNECT' },
  ],
};

const nodeMethods =
  /^(?:ACL|BIND|CHECKOUT|CONNECT|COPY|DELETE|GET|HEAD|LINK|LOCK|M-SEARCH|MERGE|MKACTIVITY|MKCALENDAR|MKCOL|MOVE|NOTIFY|OPTIONS|PATCH|POST|PROPFIND|PROPPATCH|PURGE|PUT|QUERY|REBIND|REPORT|SEARCH|SOURCE|SUBSCRIBE|TRACE|UNBIND|UNLINK|UNLOCK|UNSUBSCRIBE)$/;

const isHead = (pieces: readonly string[]): boolean => /^HEAD /i.test(pieces.join(''));

export interface Outcome {
  /** The bytes sent, a segment each, and the bytes received, as Latin-1. */
  readonly pieces: readonly string[];
  readonly got: string;
  readonly closed: boolean;
}

export class Judge {
  readonly #edge: Edge;
  readonly #conforms: Conformity;

  private constructor(edge: Edge, conforms: Conformity) {
    this.#edge = edge;
    this.#conforms = conforms;
  }

  static async open(edge: Edge, house: House): Promise<Judge> {
    return new Judge(edge, await conformity(house));
  }

  /** Whether an answer has to be waited for: the request is whole, and the engine is known to take such ones. */
  owesAnswer(pieces: readonly string[]): boolean {
    const request = readRequest(pieces.join(''));
    return request.kind === 'whole' && !engineRefusals[this.#edge].some(({ of }) => of(request, pieces));
  }

  isAnswered(pieces: readonly string[], got: string): boolean {
    return readAnswers(got, isHead(pieces)).answers.length > 0;
  }

  /** Whether an engine spoke, and so is about to close. */
  isRefused(pieces: readonly string[], got: string): boolean {
    return readAnswers(got, isHead(pieces)).answers.some((answer) => this.#isEngines(answer));
  }

  /** Throws the fault of an outcome. */
  check({ pieces, got, closed }: Outcome): void {
    const request = readRequest(pieces.join(''));
    const { answers, rest } = readAnswers(got, isHead(pieces));
    // An engine may have accepted a request that is not whole; nobody waits for the end of its stream.
    const isBegun = request.kind !== 'whole' && eventStream.test(rest);
    if (rest !== '' && !isBegun) throw new Error('bytes that are no whole answer');
    const ours = answers.filter((answer) => !this.#isEngines(answer));
    if (answers.slice(0, -1).some((answer) => this.#isEngines(answer)))
      throw new Error("an engine's answer that is not the last");
    if (ours.length < answers.length && !closed) throw new Error("an engine's answer on a connection that stays open");
    if (this.owesAnswer(pieces) && (ours.length !== 1 || answers.length !== 1))
      throw new Error(`${ours.length} answers of ours to one whole request`);
    for (const answer of ours) this.#checkOurs(answer, request, isHead(pieces));
  }

  #isEngines({ bytes }: ReadAnswer): boolean {
    return engineAnswers[this.#edge].some((pattern) => pattern.test(bytes));
  }

  #checkOurs({ status, headers, body }: ReadAnswer, { kind, method, target }: ReadRequest, toHead: boolean): void {
    if (!/^req_[0-9a-z]{26}$/.test(headers.get('x-request-id') ?? ''))
      throw new Error('an answer without X-Request-Id');
    if (status === 101) return;
    if (status >= 500) throw new Error(`${status}: nothing here is to fail`);
    const isJson = headers.get('content-type') === 'application/json; charset=utf-8';
    const text = Buffer.from(body, 'latin1').toString();
    const json: any = isJson && text !== '' ? JSON.parse(text) : undefined;
    if (status >= 400 && !toHead) checkFailure(status, json, headers);
    if (headers.get('content-type') === 'text/event-stream') this.#checkEvents(text);
    // For a request that is not whole only the engine knows the method and path; a refusal of HEAD has no body.
    if (kind === 'whole' && !(status >= 400 && toHead) && !isPage(target) && !isPreflight(method, target))
      this.#conforms.check(method.toUpperCase(), target, { status, headers, json });
  }

  #checkEvents(text: string): void {
    const parser = createParser({
      onEvent: ({ event = '', data }) => this.#conforms.checkEvent({ event, data: JSON.parse(data) }),
    });
    parser.feed(text);
  }
}

/** The console's pages, their files and what only they request are no operations of the document. */
const isPage = (target: string): boolean =>
  /^\/console(?!\/api(?:[/?]|$))|^\/console\/api\/(?:oidc|sign-in)\b/.test(target);
/** `OPTIONS` is answered under a link, and is in no document. */
const isPreflight = (method: string, target: string): boolean =>
  method.toUpperCase() === 'OPTIONS' && target.startsWith('/p/');

const eventStream = /^HTTP\/1\.1 200 [^\r]*\r\n(?:[^\r]+\r\n)*content-type: text\/event-stream\r\n/i;

const rows: readonly ErrorRow[] = Object.values(errors);
const sentences = new Map(
  rows.map((row) => [row, new RegExp(`^${row.message.replace(/[.]/g, '\\$&').replace(/\{\w+\}/, '[^]+')}$`)]),
);

/** Throws unless a failure is a row of the table in the one shape. */
export function checkFailure(status: number, json: any, headers: Headers): void {
  const keys = [
    Object.keys(json ?? {})
      .sort()
      .join(),
    Object.keys(json?.error ?? {})
      .sort()
      .join(),
  ].join(' ');
  const isOpenai = keys === 'error,request_id code,message,param,type';
  if (!isOpenai && keys !== 'error,request_id code,message,type')
    throw new Error(`not the one shape: ${JSON.stringify(json)}`);
  const { type, code, message } = json.error;
  if (json.request_id !== headers.get('x-request-id')) throw new Error('request_id is not X-Request-Id');
  // Below /v1/ a row has another status or type (contract 14).
  const fits = (row: ErrorRow): boolean =>
    (isOpenai ? openaiStatus(row.status) === status : row.status === status && row.type === type) &&
    row.code === code &&
    sentences.get(row)!.test(message);
  if (!rows.some(fits)) throw new Error(`not a row of the table: ${status} ${JSON.stringify(json.error)}`);
}

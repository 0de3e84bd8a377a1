import { STATUS_CODES } from 'node:http';
import { atTurnEnd, type Clock } from '../../../base/clock.ts';
import type { EdgeBounds, RequestHead, ResponseHeaders } from '../../../base/edge.ts';
import { addressOf } from '../address.ts';
import type { BodyReader } from '../body.ts';
import { runGuarded } from '../guard.ts';
import { bodiless, checkHeaders } from '../response.ts';
import type { Cuttable, Running } from '../running.ts';
import { valuesOf } from '../screen.ts';
import type { HeaderLines } from '../screen.ts';
import type { HttpRequest, HttpResponse } from './engine.ts';

/** The parts that all requests of one edge share. */
export interface UwsShared {
  readonly bounds: EdgeBounds;
  readonly clock: Clock;
  readonly running: Running;
}

const beyondAscii = /[^\x00-\x7f]/;

/**
 * All header lines of a request. The engine decodes them as UTF-8; this returns one character a byte, as `node:http`
 * does. Bytes of 0x80 and above at a value's ends are lost: the engine trims them like spaces, and nothing in its
 * interface shows them.
 */
export function headerLines(request: HttpRequest): HeaderLines {
  const lines: string[] = [];
  request.forEach((name, value) => {
    if (beyondAscii.test(value)) {
      const first = valuesOf(lines, name).length === 0;
      lines.push(name, first ? request.getHeader(name) : bytewise(value));
    } else lines.push(name, value);
  });
  return lines;
}

/** The UTF-8 bytes of a text, one character a byte. */
export const bytewise = (text: string): string =>
  beyondAscii.test(text) ? Buffer.from(text).toString('latin1') : text;

/**
 * A request in this engine, answered or upgraded. `HttpResponse` must not be touched once it was aborted or has ended.
 */
export class UwsRequest implements RequestHead, Cuttable {
  /** Index in the list of the edge's open work; see `SlotListItem`. */
  slot = -1;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly remoteAddress: string;
  gone = false;
  protected readonly shared: UwsShared;
  /** Null once aborted or answered. */
  protected response: HttpResponse | null;
  protected bodyReader: BodyReader | null = null;
  readonly #lines: HeaderLines;
  #goneCallbacks: (() => void)[] = [];
  #answered = false;

  constructor(shared: UwsShared, response: HttpResponse, request: HttpRequest, lines: HeaderLines) {
    this.shared = shared;
    this.response = response;
    this.method = request.getCaseSensitiveMethod().toUpperCase();
    this.path = bytewise(request.getUrl());
    this.query = bytewise(request.getQuery() ?? '');
    this.#lines = lines;
    this.remoteAddress = addressOf(new Uint8Array(response.getRemoteAddress()));
    response.onAborted(() => this.#abort());
    shared.running.add(this);
  }

  headers(name: string): readonly string[] {
    return valuesOf(this.#lines, name);
  }

  onGone(callback: () => void): void {
    if (this.gone) runGuarded(callback, () => {});
    // Two callbacks at most: an array that grows by `push` or by spreading reserves room for seventeen.
    else this.#goneCallbacks = this.#goneCallbacks.concat(callback);
  }

  respond(status: number, headers: ResponseHeaders, body: string | Uint8Array = ''): void {
    const response = this.claim(headers);
    if (response !== null) this.sendWhole(response, status, headers, body);
  }

  /** Sends a whole answer on the response that was claimed. */
  protected sendWhole(
    response: HttpResponse,
    status: number,
    headers: ResponseHeaders,
    body: string | Uint8Array,
  ): void {
    if (bodiless(status)) this.respondBare(status, headers);
    // `content-length` is written by hand: if this build writes it, it never marks the answer as complete.
    else if (this.method === 'HEAD' || body.length === 0)
      this.respondBare(status, { ...headers, 'Content-Length': String(Buffer.byteLength(body)) });
    else if (this.closes) this.#respondAndClose(response, status, headers, body);
    else this.#respondAsRead(response, status, headers, body);
  }

  cut(): void {
    this.response?.close();
  }

  /** Whether the connection closes after the answer. */
  protected get closes(): boolean {
    return this.shared.running.draining || this.bodyReader?.closesConnection === true;
  }

  /** Checks that an answer is sent only once; returns the response to send it on, or null after the client has gone. */
  protected claim(headers: ResponseHeaders): HttpResponse | null {
    if (this.gone) return null;
    if (this.#answered) throw new Error('A request is answered once.');
    checkHeaders(headers);
    this.#answered = true;
    this.bodyReader?.release();
    return this.response;
  }

  /**
   * Writes status and headers; must be called corked. In one call, because the engine converts and allocates each text
   * that it is given by itself.
   */
  protected writeHead(status: number, headers: ResponseHeaders, announceClose = this.closes): void {
    // If the engine closes the connection, it says so itself; otherwise a header asks the client to.
    this.response!.writeStatus(
      headerText(headText(status, announceClose ? { ...headers, Connection: 'close' } : headers)),
    );
  }

  /** Called when the answer is complete and the engine has all of it. */
  protected complete(): void {
    this.response = null;
    this.#goneCallbacks = [];
    this.bodyReader?.abandon();
    this.shared.running.delete(this);
  }

  /**
   * Sends an answer as fast as the client reads. While something that was sent earlier on the connection waits for the
   * client, the engine takes no body, and the answer is not complete: the next request ends the connection, so that the
   * buffer stays bounded.
   */
  #respondAsRead(response: HttpResponse, status: number, headers: ResponseHeaders, body: string | Uint8Array): void {
    const total = Buffer.byteLength(body);
    let done = false;
    response.cork(() => {
      this.writeHead(status, headers);
      [, done] = response.tryEnd(body, total);
    });
    if (done) return this.complete();
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    response.onWritable((offset) => {
      const [taken, done] = response.tryEnd(bytes.subarray(offset), total);
      if (done) this.complete();
      return taken;
    });
  }

  /**
   * Sends an answer without a body. The engine accepts it even while other bytes wait for the client, and does not
   * report that. So it is sent once the engine has parsed the bytes that came with the request, and a request among
   * these ends the connection.
   */
  protected respondBare(status: number, headers: ResponseHeaders): void {
    atTurnEnd(() => {
      const { response } = this;
      if (response === null) return;
      response.cork(() => {
        this.writeHead(status, headers);
        response.endWithoutBody();
      });
      this.complete();
    });
  }

  #respondAndClose(response: HttpResponse, status: number, headers: ResponseHeaders, body: string | Uint8Array): void {
    response.cork(() => {
      this.writeHead(status, headers, false);
      response.end(body, true);
    });
    this.complete();
  }

  #abort(): void {
    if (this.response === null) return;
    this.gone = true;
    const callbacks = this.#goneCallbacks;
    this.complete();
    for (const callback of callbacks) runGuarded(callback, () => {});
  }
}

const statusLines = new Map<number, string>();

function statusLine(status: number): string {
  let line = statusLines.get(status);
  if (line === undefined) statusLines.set(status, (line = `${status} ${STATUS_CODES[status] ?? ''}`));
  return line;
}

/**
 * The status and the headers as one text, without the end of the last line: the engine accepts the whole head as a
 * status.
 */
export function headText(status: number, headers: ResponseHeaders): string {
  let text = statusLine(status);
  for (const name in headers) {
    const value = headers[name]!;
    if (typeof value === 'string') text += `\r\n${name}: ${value}`;
    else for (const line of value) text += `\r\n${name}: ${line}`;
  }
  return text;
}

/** The engine writes texts as UTF-8; a header's bytes are Latin-1, as they are with `node:http`. */
export const headerText = (value: string): string | Uint8Array =>
  beyondAscii.test(value) ? Buffer.from(value, 'latin1') : value;

/** A request that must not run. */
export class UnreadableUwsRequest extends UwsRequest {
  /**
   * The engine closes a connection only after the client has read everything that was sent, and until then parses the
   * bytes that follow as the next request. So the whole answer is passed as its status line, whose line end is the
   * body's last one, and the connection is then closed on that.
   */
  override respond(status: number, headers: ResponseHeaders, body: string | Uint8Array = ''): void {
    const response = this.claim(headers);
    if (response === null) return;
    const all = { ...headers, 'Content-Length': String(Buffer.byteLength(body) + 2), Connection: 'close' };
    const head = Buffer.from(`${headText(status, all)}\r\n`, 'latin1');
    const rest =
      this.method === 'HEAD' ? [] : [Buffer.from('\r\n'), typeof body === 'string' ? Buffer.from(body) : body];
    response.cork(() => void response.writeStatus(Buffer.concat([head, ...rest])));
    this.complete();
    response.close();
  }
}

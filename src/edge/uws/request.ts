import { STATUS_CODES } from 'node:http';
import type { Clock } from '../../clock.ts';
import type { EdgeBounds, RequestHead, ResponseHeaders } from '../../edge.ts';
import { addressOf } from '../address.ts';
import type { BodyReader } from '../body.ts';
import { guarded } from '../guard.ts';
import { bodiless, checkHeaders } from '../response.ts';
import type { Cuttable, Running } from '../running.ts';
import { valuesOf } from '../screen.ts';
import type { HeaderLines } from '../screen.ts';
import type { HttpRequest, HttpResponse } from './engine.ts';

/** What all requests of one edge share. */
export interface UwsShared {
  readonly bounds: EdgeBounds;
  readonly clock: Clock;
  readonly running: Running;
}

/** Answers up to this size are passed to the engine whole; larger ones are sent as fast as the client reads, and are not copied. */
const wholeBytesMax = 64 * 1024;

const beyondAscii = /[^\x00-\x7f]/;

/**
 * All header lines of a request. The engine decodes them as UTF-8; this returns one character a byte, as `node:http` does. Bytes
 * of 0x80 and above at a value's ends are lost: the engine trims them like spaces, and nothing in its interface shows them.
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
export const bytewise = (text: string): string => (beyondAscii.test(text) ? Buffer.from(text).toString('latin1') : text);

/** A request in this engine, answered or upgraded. `HttpResponse` must not be touched once it was aborted or has ended. */
export class UwsRequest implements RequestHead, Cuttable {
  /** In the list of the edge's open work; see `Member`. */
  place = -1;
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
    if (this.gone) guarded(callback, () => {});
    // At most two: an array that grows by `push` or by spreading reserves room for seventeen.
    else this.#goneCallbacks = this.#goneCallbacks.concat(callback);
  }

  respond(status: number, headers: ResponseHeaders, body: string | Uint8Array = ''): void {
    const response = this.claim(headers);
    if (response === null) return;
    const closes = this.closes;
    if (this.method === 'HEAD' || bodiless(status)) {
      response.cork(() => {
        this.writeHead(status, headers);
        // `content-length` is written by hand: if this build writes it, it never marks the answer as complete.
        if (!bodiless(status)) response.writeHeader('Content-Length', String(Buffer.byteLength(body)));
        response.endWithoutBody();
      });
      this.complete();
    } else if (closes || Buffer.byteLength(body) <= wholeBytesMax) {
      response.cork(() => {
        this.writeHead(status, headers, false);
        response.end(body, closes);
      });
      this.complete();
    } else this.#respondLarge(response, status, headers, typeof body === 'string' ? Buffer.from(body) : body);
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

  /** Writes status and headers; must be called corked. In one call, because the engine converts and allocates each text that it is given by itself. */
  protected writeHead(status: number, headers: ResponseHeaders, announceClose = this.closes): void {
    // If the engine closes the connection, it says so itself; otherwise a header asks the client to.
    this.response!.writeStatus(headerText(headText(status, announceClose ? { ...headers, Connection: 'close' } : headers)));
  }

  /** Called when the answer is complete and the engine has all of it. */
  protected complete(): void {
    this.response = null;
    this.#goneCallbacks = [];
    this.bodyReader?.abandon();
    this.shared.running.delete(this);
  }

  #respondLarge(response: HttpResponse, status: number, headers: ResponseHeaders, bytes: Uint8Array): void {
    response.onWritable((offset) => {
      const [taken, done] = response.tryEnd(bytes.subarray(offset), bytes.length);
      if (done) this.complete();
      return taken;
    });
    response.cork(() => {
      this.writeHead(status, headers);
      const [, done] = response.tryEnd(bytes, bytes.length);
      if (done) this.complete();
    });
  }

  #abort(): void {
    if (this.response === null) return;
    this.gone = true;
    const callbacks = this.#goneCallbacks;
    this.complete();
    for (const callback of callbacks) guarded(callback, () => {});
  }
}

const statusLines = new Map<number, string>();

function statusLine(status: number): string {
  let line = statusLines.get(status);
  if (line === undefined) statusLines.set(status, (line = `${status} ${STATUS_CODES[status] ?? ''}`));
  return line;
}

/** The status and the headers as one text, without the end of the last line: what the engine takes for a status may be the whole head. */
export function headText(status: number, headers: ResponseHeaders): string {
  let text = statusLine(status);
  for (const name in headers) text += `\r\n${name}: ${headers[name]}`;
  return text;
}

/** The engine writes texts as UTF-8; a header's bytes are Latin-1, as they are with `node:http`. */
export const headerText = (value: string): string | Uint8Array =>
  beyondAscii.test(value) ? Buffer.from(value, 'latin1') : value;

/** A request that must not run. */
export class UnreadableUwsRequest extends UwsRequest {
  /**
   * The engine closes a connection only after the client has read everything that was sent, and until then parses the bytes that
   * follow as the next request. So the whole answer is passed as its status line, whose line end is the body's last one, and the
   * connection is then closed on that.
   */
  override respond(status: number, headers: ResponseHeaders, body: string | Uint8Array = ''): void {
    const response = this.claim(headers);
    if (response === null) return;
    const all = { ...headers, 'Content-Length': String(Buffer.byteLength(body) + 2), Connection: 'close' };
    const head = Buffer.from(`${headText(status, all)}\r\n`, 'latin1');
    const rest = this.method === 'HEAD' ? [] : [Buffer.from('\r\n'), typeof body === 'string' ? Buffer.from(body) : body];
    response.cork(() => void response.writeStatus(Buffer.concat([head, ...rest])));
    this.complete();
    response.close();
  }
}

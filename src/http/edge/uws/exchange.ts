import { atTurnEnd } from '../../../base/clock.ts';
import type { Body, Exchange, Outlet, ResponseHeaders } from '../../../base/edge.ts';
import { BodyReader } from '../body.ts';
import { runGuarded } from '../guard.ts';
import { silentOutlet, streamFraming } from '../response.ts';
import { declaredLength } from '../screen.ts';
import type { HeaderLines } from '../screen.ts';
import type { HttpRequest, HttpResponse } from './engine.ts';
import { UwsRequest } from './request.ts';
import type { UwsShared } from './request.ts';

/** An exchange in this engine. */
export class UwsExchange extends UwsRequest implements Exchange {
  protected override readonly bodyReader: BodyReader;
  readonly #chunked: boolean;

  constructor(shared: UwsShared, response: HttpResponse, request: HttpRequest, lines: HeaderLines) {
    super(shared, response, request, lines);
    const declared = declaredLength(lines);
    const body = new BodyReader(shared.bounds, shared.clock, this.path, declared, () => this.#renew());
    this.#chunked = declared === null;
    this.bodyReader = body;
    // The body is received from the start: the engine drops bytes that arrive without a listener.
    if (!body.settled) response.onData((piece, isLast) => this.#take(body, piece, isLast));
  }

  body(): Promise<Body> {
    return this.bodyReader.read();
  }

  stream(status: number, headers: ResponseHeaders): Outlet {
    const response = this.claim(headers);
    if (response === null) return silentOutlet(false);
    if (this.method !== 'HEAD') return new UwsOutlet(this, response, status, headers);
    this.respondBare(status, { ...headers, ...streamFraming });
    return silentOutlet(true);
  }

  /** For the outlet: the bytes that may wait for a slow reader. */
  get slowReaderBytesMax(): number {
    return this.shared.bounds.slowReaderBytesMax;
  }

  /** For the outlet: whether the connection closes after the answer. */
  get closesAfterwards(): boolean {
    return this.closes;
  }

  /**
   * For the outlet: sends the head of a streaming answer, corked together with its first piece. It announces no close:
   * after that a client takes any end of the connection for the answer's, also the end of an answer that was cut.
   */
  startStream(status: number, headers: ResponseHeaders): void {
    this.writeHead(status, headers, false);
  }

  /** For the outlet: sends an answer that has turned out to be of one piece, which may be empty. */
  answerWhole(response: HttpResponse, status: number, headers: ResponseHeaders, body: string): void {
    this.sendWhole(response, status, headers, body);
  }

  /** For the outlet: the last byte was passed to the engine. */
  endStream(): void {
    this.complete();
  }

  #take(body: BodyReader, piece: ArrayBuffer, isLast: boolean): void {
    // The piece is valid only during the call.
    if (piece.byteLength > 0 && body.collects) body.take(Buffer.from(new Uint8Array(piece)));
    if (isLast && this.#chunked) this.shared.clock.after(0, () => body.finish());
    else if (isLast) body.finish();
    else if (!body.settled) this.#renew();
  }

  /**
   * The engine drops bodies slower than 16 KiB/s after 10 s. Pausing and resuming restarts its timer, so that
   * `bodyMsMax` decides instead.
   */
  #renew(): void {
    this.response?.pause();
    this.response?.resume();
  }
}

/**
 * Pieces are passed to the engine in slices of this size: a write over its 16 KiB cork buffer shows at once whether it
 * was sent.
 */
const sliceBytes = 16 * 1024;

/**
 * The last chunk and a trailer, as a header: the engine writes a header's name and value as they are, wherever the
 * answer stands.
 */
const [lastChunk, trailerEnd] = ['\r\n0\r\nX-End', '1\r\n'];

/**
 * A streaming answer in this engine. The engine's `write` takes everything and returns false if the socket did not,
 * without saying how much it then holds. So after a false no further slice is written before the socket is writable
 * again: the engine holds two slices at most, and the rest of a piece waits here. The caller must hold back: if it does
 * not, it is cut once `slowReaderBytesMax` wait. The engine cuts a client that takes nothing for 10 s.
 */
class UwsOutlet implements Outlet {
  #exchange: UwsExchange;
  #response: HttpResponse;
  #head: { status: number; headers: ResponseHeaders } | null;
  #blocked = false;
  /** Whether the socket ever did not take something: the engine may hold some of it at the end as well. */
  #slow = false;
  /** Whether the end is put off to the end of the turn. */
  #closing = false;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #backpressured = false;
  #ended = false;
  #drain: (() => void) | null = null;

  constructor(exchange: UwsExchange, response: HttpResponse, status: number, headers: ResponseHeaders) {
    this.#exchange = exchange;
    this.#response = response;
    this.#head = { status, headers };
    // The listener keeps the engine from allowing only 10 s until the next request as soon as a blocked piece has been
    // sent.
    response.onWritable(() => this.#writable());
  }

  write(piece: string | Uint8Array): boolean {
    if (this.#exchange.gone || this.#ended) return false;
    if (piece.length > 0) this.#take(piece);
    this.#backpressured = this.#blocked;
    return !this.#blocked && !this.#exchange.gone;
  }

  onDrain(callback: () => void): void {
    this.#drain = callback;
  }

  end(piece = ''): void {
    if (this.#exchange.gone || this.#ended) return;
    this.#ended = true;
    if (this.#head !== null)
      return this.#exchange.answerWhole(this.#response, this.#head.status, this.#head.headers, piece);
    if (this.#blocked) this.#wait(Buffer.from(piece));
    else if (piece.length * 3 <= sliceBytes) this.#finish(piece);
    else {
      this.#pushSlices(Buffer.from(piece));
      if (!this.#blocked) this.#finish('');
    }
  }

  cut(): void {
    if (!this.#ended) this.#exchange.cut();
  }

  #take(piece: string | Uint8Array): void {
    if (this.#blocked) {
      this.#wait(Buffer.from(piece));
      if (this.#waitingBytes > this.#exchange.slowReaderBytesMax) this.#exchange.cut();
    } else if (typeof piece === 'string' && piece.length * 3 <= sliceBytes) this.#blocked = !this.#push(piece);
    else this.#pushSlices(typeof piece === 'string' ? Buffer.from(piece) : piece);
  }

  #pushSlices(bytes: Uint8Array): void {
    let offset = 0;
    while (offset < bytes.length && !this.#blocked) {
      this.#blocked = !this.#push(bytes.subarray(offset, offset + sliceBytes));
      offset += sliceBytes;
    }
    if (offset < bytes.length) this.#wait(Buffer.from(bytes.subarray(offset)));
  }

  #wait(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #push(piece: string | Uint8Array): boolean {
    let taken = true;
    this.#response.cork(() => {
      this.#writeHead();
      taken = this.#response.write(piece);
    });
    return taken;
  }

  #writeHead(): void {
    if (this.#head === null) return;
    this.#exchange.startStream(this.#head.status, this.#head.headers);
    this.#head = null;
  }

  #finish(piece: string): void {
    if (this.#exchange.closesAfterwards && !this.#slow) {
      this.#closing = true;
      // Within the engine's own call the bytes just written would be lost.
      return atTurnEnd(() => this.#finishAndClose(piece));
    }
    this.#response.cork(() => {
      // The engine accepts an end even while other bytes wait for the client.
      this.#blocked = piece !== '' && !this.#response.write(piece);
      if (!this.#blocked) this.#response.end();
    });
    if (!this.#blocked) this.#exchange.endStream();
  }

  /**
   * Writes the end by hand and closes the connection: the engine's own close would write a header into the middle of
   * the stream.
   */
  #finishAndClose(piece: string): void {
    if (this.#exchange.gone) return;
    let sent = false;
    this.#response.cork(() => {
      sent = (piece === '' || this.#response.write(piece)) && !this.#slow;
      // Bytes in the engine's buffer would be lost. Such a connection stays open until its next answer, or until the
      // edge has closed.
      if (sent) this.#response.writeHeader(lastChunk, trailerEnd);
      else this.#response.end();
    });
    this.#exchange.endStream();
    if (sent) this.#response.close();
  }

  #writable(): boolean {
    this.#blocked = false;
    this.#slow = true;
    // The engine relies on this callback to send its buffer; closing an empty cork sends it.
    if (this.#waiting.length === 0) this.#response.cork(() => {});
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const bytes of waiting) {
      if (this.#blocked) this.#wait(bytes);
      else this.#pushSlices(bytes);
    }
    if (this.#blocked || this.#closing || this.#exchange.gone) return true;
    if (this.#ended) this.#finish('');
    else if (this.#backpressured && this.#drain !== null) {
      this.#backpressured = false;
      runGuarded(this.#drain, () => this.#exchange.cut());
    }
    return true;
  }
}

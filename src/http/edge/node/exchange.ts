import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Body, Exchange, Outlet, ResponseHeaders } from '../../../base/edge.ts';
import { BodyReader } from '../body.ts';
import { runGuarded } from '../guard.ts';
import { silentOutlet, streamFraming } from '../response.ts';
import { declaredLength } from '../screen.ts';
import type { HeaderLines } from '../screen.ts';
import { NodeRequest } from './request.ts';
import type { NodeShared } from './request.ts';

/** An exchange in this engine. */
export class NodeExchange extends NodeRequest implements Exchange {
  protected override readonly bodyReader: BodyReader;
  #request: IncomingMessage;
  #reading = false;

  constructor(shared: NodeShared, request: IncomingMessage, response: ServerResponse, lines: HeaderLines) {
    super(shared, request, response, lines);
    this.#request = request;
    this.bodyReader = new BodyReader(shared.bounds, shared.clock, this.path, declaredLength(lines));
    // An aborted request without a listener would be an uncaught error; the connection's `close` reports the abort.
    request.on('error', () => {});
  }

  body(): Promise<Body> {
    if (!this.#reading) {
      this.#reading = true;
      this.#request.on('data', (piece: Buffer) => this.bodyReader.take(piece));
      this.#request.on('end', () => this.bodyReader.finish());
    }
    return this.bodyReader.read();
  }

  stream(status: number, headers: ResponseHeaders): Outlet {
    if (!this.claim(headers)) return silentOutlet(false);
    if (this.method === 'HEAD') {
      this.writeHead(status, { ...headers, ...streamFraming });
      this.response.end();
      return silentOutlet(true);
    }
    // The response keeps the head until the first piece and sends both together. It announces no close: after that a
    // client takes any end of the connection for the answer's, also the end of an answer that was cut.
    this.writeHead(status, headers, false);
    return new NodeOutlet(this, this.shared, this.response);
  }
}

/**
 * A streaming answer in this engine. The stream buffers bytes that the socket does not accept, and `write` then returns
 * false. The caller must hold back: if it does not, it is cut once `slowReaderBytesMax` wait. A client that takes
 * nothing for `connectionIdleMs` is cut as well.
 */
class NodeOutlet implements Outlet {
  #exchange: NodeExchange;
  #shared: NodeShared;
  #response: ServerResponse;
  #backpressured = false;
  #ended = false;
  #drain: (() => void) | null = null;

  constructor(exchange: NodeExchange, shared: NodeShared, response: ServerResponse) {
    this.#exchange = exchange;
    this.#shared = shared;
    this.#response = response;
    response.on('drain', () => this.#drained());
  }

  write(piece: string | Uint8Array): boolean {
    if (this.#exchange.gone || this.#ended) return false;
    if (piece.length === 0) return !this.#backpressured;
    const waiting = this.#response.writableLength;
    if (this.#backpressured && waiting + piece.length > this.#shared.bounds.slowReaderBytesMax) {
      this.#exchange.cut();
      return false;
    }
    const taken = this.#response.write(piece);
    if (!taken && !this.#backpressured) {
      this.#backpressured = true;
      this.#exchange.awaitReader();
    }
    return taken;
  }

  onDrain(callback: () => void): void {
    this.#drain = callback;
  }

  end(piece?: string): void {
    if (this.#exchange.gone || this.#ended) return;
    this.#ended = true;
    this.#response.end(piece);
    this.#exchange.awaitReader();
  }

  cut(): void {
    if (!this.#ended) this.#exchange.cut();
  }

  #drained(): void {
    this.#backpressured = false;
    if (!this.#ended) this.#exchange.forgetReader();
    if (!this.#ended && !this.#exchange.gone && this.#drain !== null)
      runGuarded(this.#drain, () => this.#exchange.cut());
  }
}

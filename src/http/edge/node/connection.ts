import type { Socket as NetSocket } from 'node:net';
import { atTurnEnd } from '../../../base/clock.ts';

/** A request that ends without an answer when its connection closes. */
interface Losable {
  lose(): void;
}

/**
 * The requests of one connection. A request waits until every earlier one is answered and its answer has been sent:
 * they run one after another, and while one waits nothing more is read. This backpressure stops a client that reads no
 * answers.
 */
export class NodeConnection {
  /** Not answered yet, or the answer has not been sent; pipelining makes several. */
  readonly open = new Set<Losable>();
  readonly #socket: NetSocket;
  readonly #waitingMax: number;
  #waiting: (() => void)[] = [];
  #holding = false;

  constructor(socket: NetSocket, waitingMax: number) {
    this.#socket = socket;
    this.#waitingMax = waitingMax;
  }

  /**
   * Runs a request of `open` now, or once earlier requests have ended. One read can bring thousands of small ones: too
   * many close the connection.
   */
  inTurn(run: () => void): void {
    if (this.open.size === 1) return run();
    if (this.#waiting.length === this.#waitingMax) return void this.#socket.destroy();
    this.#waiting.push(run);
    this.#holdBack();
  }

  /** Ends a request. */
  over(request: Losable): void {
    if (!this.open.delete(request)) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    if (this.#waiting.length === 0) this.#socket.resume();
    else this.#holdBack();
    next();
  }

  /**
   * Stops reading. The parser reads on after each request that it finds in its buffer, and at the end of each answer:
   * only later does it stay stopped.
   */
  #holdBack(): void {
    if (this.#holding) return;
    this.#holding = true;
    atTurnEnd(() => {
      this.#holding = false;
      if (this.#waiting.length > 0) this.#socket.pause();
    });
  }

  /** The connection has closed. */
  close(): void {
    this.#waiting = [];
    for (const request of [...this.open]) request.lose();
  }
}

/** One connection to a provider and the request that it carries: one at a time, as pipelining would tie answers to each other. */
import type { Socket } from 'node:net';
import { failureOfConnect } from '../failures.ts';
import type { ModelFailure } from '../../model.ts';
import type { Dialer, SocketListener } from './dial.ts';
import type { ResponseHead } from './head.ts';
import { ResponseParser } from './response.ts';
import type { ResponseListener } from './response.ts';
import type { Target } from './target.ts';

/** Who sent the request. Hears of one ending, unless the connection is destroyed. */
export interface ConnectionUser {
  head(head: ResponseHead): void;
  data(chunk: Buffer): void;
  /** The answer is over; the connection is free for another request, or closed. */
  ended(): void;
  /** `unheard`: the connection had been kept, and was lost before a byte of an answer. */
  failed(failure: ModelFailure, unheard: boolean): void;
}

export interface ConnectionOwner {
  /** The connection has no request, for as long as `keptMs`. False if it is not wanted. */
  keep(connection: Connection, keptMs: number): boolean;
  /** The connection is of no use any more. */
  drop(connection: Connection): void;
  /** Its socket is closed. */
  closed(connection: Connection): void;
}

export class Connection implements ResponseListener, SocketListener {
  readonly origin: string;
  /** By the monotonic clock; the owner's. */
  keptUntil = 0;
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  #connected = false;
  /** The request while the socket connects: not a byte of it goes to a server whose certificate has not been checked. */
  #waiting: Buffer | null = null;
  #user: ConnectionUser | null = null;
  #parser: ResponseParser | null = null;
  #keptMs = 0;
  #answers = 0;
  #heard = false;
  #over = false;
  #held = false;

  constructor(target: Target, dialer: Dialer, owner: ConnectionOwner) {
    this.origin = target.origin;
    this.#owner = owner;
    this.#socket = dialer.open(target, this);
  }

  get usable(): boolean {
    return !this.#socket.destroyed;
  }

  /** The user is called no sooner than this returns. */
  send(request: Buffer, user: ConnectionUser): void {
    this.#user = user;
    this.#parser = new ResponseParser(this);
    this.#heard = false;
    this.#over = false;
    if (this.#connected) this.#socket.write(request);
    else this.#waiting = request;
  }

  /** Reads no more of the answer until `resume`, from when the next bytes of it have come or these have been dealt with. */
  hold(): void {
    this.#held = this.#user !== null;
  }

  resume(): void {
    if (!this.#held) return;
    this.#held = false;
    this.#socket.resume();
  }

  /** Closes at once; the user hears nothing of it. */
  destroy(): void {
    this.#user = null;
    this.#parser?.stop();
    this.#parser = null;
    this.#waiting = null;
    this.#owner.drop(this);
    this.#socket.destroy();
  }

  /** Closes at once and tells the user so. */
  fail(failure: ModelFailure, unheard = false): void {
    const user = this.#user;
    this.destroy();
    user?.failed(failure, unheard);
  }

  head(head: ResponseHead): void {
    this.#keptMs = head.keptMs;
    this.#user?.head(head);
  }

  data(chunk: Buffer): void {
    this.#user?.data(chunk);
  }

  ended(): void {
    this.#over = true;
  }

  malformed(): void {
    this.fail('malformed');
  }

  connected(): void {
    this.#connected = true;
    if (this.#waiting !== null) this.#socket.write(this.#waiting);
    this.#waiting = null;
  }

  read(bytes: Buffer, length: number): boolean {
    this.#take(bytes, length);
    return !this.#held;
  }

  #take(bytes: Buffer, length: number): void {
    // What nobody asked for, and a server that talks out of turn is not to be trusted with the next request.
    if (this.#parser === null) return this.destroy();
    this.#heard = true;
    let used: number;
    try {
      used = this.#parser.feed(bytes, length);
    } catch {
      // Thrown into the socket it would end the process: whoever reads the answer could not make anything of it.
      return this.fail('malformed');
    }
    if (this.#over) this.#release(used === length);
  }

  finished(): void {
    if (this.#parser?.finish() === true) this.#release(false);
    else this.#socket.destroy();
  }

  #release(clean: boolean): void {
    // A connection without a request must hear that it is closed.
    this.resume();
    const user = this.#user;
    this.#user = null;
    this.#parser = null;
    this.#over = false;
    this.#answers++;
    // A request that the server did not wait for is still being written: its rest would be read as the next one.
    const free = clean && this.#socket.writableLength === 0;
    if (!free || !this.#owner.keep(this, this.#keptMs)) this.destroy();
    user?.ended();
  }

  closed(error: Error | null): void {
    this.#owner.closed(this);
    if (this.#connected) this.fail('cut', this.#answers > 0 && !this.#heard);
    else this.fail(failureOfConnect(error));
  }
}

/**
 * One connection to a provider and its request. One request at a time, because pipelining would make answers depend on
 * each other.
 */
import { failureOfConnect } from './failures.ts';
import type { ModelFailure } from '../model.ts';
import type { Dialer, DialListener } from './dial.ts';
import type { ResponseHead } from './head.ts';
import { ResponseParser } from './response.ts';
import type { ResponseListener } from './response.ts';
import type { Target } from './target.ts';
import type { ProviderSocket } from './tunnel.ts';

/** The sender of the request. Gets exactly one of `ended` and `failed`, unless the connection is destroyed. */
export interface ConnectionUser {
  head(head: ResponseHead): void;
  data(chunk: Buffer): void;
  /** The answer is complete; the connection is free for another request, or closed. */
  ended(): void;
  /** `unheard`: the connection was reused, and was lost before the first byte of an answer. */
  failed(failure: ModelFailure, unheard: boolean): void;
}

export interface ConnectionOwner {
  /** Keeps the connection, which has no request now, for at most `keptMs`; false if it is not wanted. */
  keep(connection: ProviderConnection, keptMs: number): boolean;
  /** The connection cannot be used any more. */
  drop(connection: ProviderConnection): void;
  /** The connection's socket is closed. */
  closed(connection: ProviderConnection): void;
}

export class ProviderConnection implements ResponseListener, DialListener {
  readonly origin: string;
  /** When the owner stops keeping the connection, in monotonic milliseconds. */
  keptUntil = 0;
  readonly #owner: ConnectionOwner;
  readonly #socket: ProviderSocket;
  #connected = false;
  /**
   * The request while the socket connects: no byte of it is sent to a server whose certificate has not been checked.
   */
  #waiting: Buffer | null = null;
  /** Permits the waiting request, once the socket is connected. */
  #mayWrite: (() => Promise<boolean>) | undefined;
  #user: ConnectionUser | null = null;
  #parser: ResponseParser | null = null;
  #keptMs = 0;
  #answers = 0;
  #heard = false;
  #over = false;
  #isHeld = false;

  constructor(target: Target, dialer: Dialer, owner: ConnectionOwner) {
    this.origin = target.origin;
    this.#owner = owner;
    this.#socket = dialer.open(target, this);
  }

  get usable(): boolean {
    return !this.#socket.destroyed;
  }

  /** Sends the request; `mayWrite`: see `ProviderPost`. Never calls the user before it returns. */
  send(request: Buffer, user: ConnectionUser, mayWrite?: () => Promise<boolean>): void {
    this.#user = user;
    this.#parser = new ResponseParser(this);
    this.#heard = false;
    this.#over = false;
    this.#waiting = request;
    this.#mayWrite = mayWrite;
    if (this.#connected) this.#write();
  }

  /** Stops reading the answer until `resume`, beginning after the bytes that are handled now or come next. */
  hold(): void {
    this.#isHeld = this.#user !== null;
  }

  resume(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#socket.resume();
  }

  /** Closes the connection at once, without calling the user. */
  destroy(): void {
    this.#user = null;
    this.#parser?.stop();
    this.#parser = null;
    this.#waiting = null;
    this.#owner.drop(this);
    this.#socket.destroy();
  }

  /** Closes the connection at once and reports the failure to the user. */
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
    this.#write();
  }

  /** Writes the waiting request, once it is permitted. */
  #write(): void {
    const request = this.#waiting;
    if (request === null) return;
    const write = (isPermitted: boolean): void => {
      // The user may have cancelled it, or the server closed the connection.
      if (this.#waiting !== request) return;
      if (!isPermitted) return this.fail('connect');
      this.#waiting = null;
      this.#socket.write(request);
    };
    if (this.#mayWrite === undefined) write(true);
    else this.#mayWrite().then(write, () => write(false));
  }

  read(bytes: Buffer, length: number): boolean {
    this.#take(bytes, length);
    return !this.#isHeld;
  }

  #take(bytes: Buffer, length: number): void {
    // An answer without a request: a server that sends out of turn is not trusted with the next request.
    if (this.#parser === null) return this.destroy();
    this.#heard = true;
    let used: number;
    try {
      used = this.#parser.feed(bytes, length);
    } catch {
      // If this error reached the socket it would end the process. It comes from a listener that could not handle the
      // answer.
      return this.fail('malformed');
    }
    if (this.#over) this.#release(used === length);
  }

  finished(): void {
    if (this.#parser?.finish() === true) this.#release(false);
    else this.#socket.destroy();
  }

  #release(clean: boolean): void {
    // A kept connection must read, to notice that the server closes it.
    this.resume();
    const user = this.#user;
    this.#user = null;
    this.#parser = null;
    this.#over = false;
    this.#answers++;
    // The server did not wait for the whole request, which is still being written: it would read the rest as the next
    // request.
    const free = clean && this.#socket.writableLength === 0;
    if (!free || !this.#owner.keep(this, this.#keptMs)) this.destroy();
    user?.ended();
  }

  closed(error: Error | null): void {
    this.#owner.closed(this);
    if (this.#connected && this.#waiting === null) this.fail('cut', this.#answers > 0 && !this.#heard);
    else this.fail(failureOfConnect(error));
  }
}

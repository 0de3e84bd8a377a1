/** The HTTP client to every provider: one pool of connections, the address guard, and the bounds on waiting. */
import { Agent, buildConnector } from 'undici';
import type { Dispatcher } from 'undici';
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '../clock.ts';
import { limits } from '../limits.ts';
import type { ModelFailure } from '../model.ts';
import { baseUrlProblem, guardedLookup } from './address.ts';
import type { Lookup } from './address.ts';
import { ConnectFailed, failureOfStatus, failureOfTransfer } from './failures.ts';

export interface ProviderBounds {
  /** From the look-up of the name to the end of the TLS handshake. */
  readonly connectMs: number;
  /** From the request to `outputBegan`. */
  readonly firstOutputMs: number;
  /** Between two pieces of the answer, after `outputBegan`. */
  readonly idleMs: number;
  /** How much of a body that nobody wants is read so that its connection can be used again. */
  readonly errorBytesMax: number;
}

export const providerBounds: ProviderBounds = {
  connectMs: limits.providerConnectMs,
  firstOutputMs: limits.providerFirstOutputMs,
  idleMs: limits.providerIdleMs,
  errorBytesMax: limits.providerErrorBytesMax,
};

export interface ProviderPost {
  readonly baseUrl: string;
  /** Follows the base URL's path; begins with a slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** Hears of one answer: a head, data, then `ended`; or `failed` at any point. Nothing after `release` or `cancel`. */
export interface ProviderListener {
  /** The answer's status is 2xx. Content type and coding are in lower case, empty if absent. */
  head(contentType: string, contentEncoding: string): void;
  data(chunk: Buffer): void;
  ended(): void;
  /** `status` is null unless it was the status that failed. */
  failed(failure: ModelFailure, status: number | null): void;
}

export interface ProviderCall {
  /** The wait for the first output is over: from here on the idle bound counts. */
  outputBegan(): void;
  /** The caller has all that it wants; the rest is discarded within a bound, to keep the connection. */
  release(): void;
  /** Closes the connection at once. */
  cancel(): void;
}

export interface ProviderHttp {
  /** Sends a request. Never throws, and never calls the listener before it returns. */
  post(post: ProviderPost, listener: ProviderListener): ProviderCall;
  /** Closes every connection; calls in flight fail. */
  close(): Promise<void>;
}

export interface ProviderHttpOptions {
  readonly clock: Clock;
  readonly allowPrivate: boolean;
  readonly bounds?: ProviderBounds;
  readonly lookup?: Lookup;
}

export function providerHttp({ clock, allowPrivate, bounds = providerBounds, lookup }: ProviderHttpOptions): ProviderHttp {
  // Waiting is bounded here, by the one clock, so undici's own timers are off. No proxy is taken from the environment:
  // behind one the address guard would check nothing.
  const connecting = new Set<Socket>();
  const connector = buildConnector({ timeout: 0, lookup: guardedLookup(allowPrivate, lookup) });
  const connect = boundedConnector(clock, bounds.connectMs, connector, connecting);
  const agent = new Agent({ connect, headersTimeout: 0, bodyTimeout: 0 });
  return {
    post(post, listener) {
      const exchange = new Exchange(clock, bounds, listener);
      // In a microtask, because undici reports a request that it cannot form from within `dispatch`.
      queueMicrotask(() => {
        if (baseUrlProblem(post.baseUrl, allowPrivate) === null) exchange.send(agent, post);
        else exchange.fail('address', null);
      });
      return exchange;
    },
    async close() {
      await agent.destroy();
      for (const socket of connecting) socket.destroy(new Error('closed'));
    },
  };
}

/** Bounds each attempt to connect and keeps its socket in `connecting`, because undici lets go only of those connected. */
function boundedConnector(
  clock: Clock,
  connectMs: number,
  connector: buildConnector.connector,
  connecting: Set<Socket>,
): buildConnector.connector {
  return (options, callback) => {
    // The connector returns the socket that it opens, which its type leaves out.
    const socket = connector(options, (...[error, connected]) => {
      timer.cancel();
      connecting.delete(socket);
      if (error === null) callback(null, connected);
      else callback(new ConnectFailed(error), null);
    }) as unknown as Socket;
    connecting.add(socket);
    const timer = clock.after(connectMs, () => socket.destroy(new Error('connect timeout')));
  };
}

/** One request and its answer. `open` tells the listener, `draining` discards what comes, `closed` is over. */
class Exchange implements Dispatcher.DispatchHandler, ProviderCall {
  readonly #clock: Clock;
  readonly #bounds: ProviderBounds;
  readonly #listener: ProviderListener;
  #state: 'open' | 'draining' | 'closed' = 'open';
  #controller: Dispatcher.DispatchController | null = null;
  #timer: Timer;
  #began = false;
  #quietSince: number;
  #drained = 0;

  constructor(clock: Clock, bounds: ProviderBounds, listener: ProviderListener) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.#listener = listener;
    this.#quietSince = clock.monotonic();
    this.#timer = clock.after(bounds.firstOutputMs, () => this.#due());
  }

  send(agent: Agent, { baseUrl, path, headers, body }: ProviderPost): void {
    if (this.#state !== 'open') return;
    const { origin, pathname } = new URL(baseUrl);
    agent.dispatch({ origin, path: pathname.replace(/\/+$/, '') + path, method: 'POST', headers, body }, this);
  }

  fail(failure: ModelFailure, status: number | null): void {
    if (this.#state !== 'open') return;
    this.cancel();
    this.#listener.failed(failure, status);
  }

  outputBegan(): void {
    if (this.#began || this.#state !== 'open') return;
    this.#began = true;
    this.#wait(this.#bounds.idleMs);
  }

  release(): void {
    if (this.#state !== 'open') return;
    this.#state = 'draining';
    this.#wait(this.#bounds.idleMs);
  }

  cancel(): void {
    this.#close();
    this.#controller?.abort(new Error('cancelled'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#state === 'closed') controller.abort(new Error('cancelled'));
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || this.#state !== 'open') return;
    this.#quietSince = this.#clock.monotonic();
    if (status < 300) return this.#listener.head(lower(headers['content-type']), lower(headers['content-encoding']));
    this.release();
    this.#listener.failed(failureOfStatus(status), status);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#state === 'open') {
      this.#quietSince = this.#clock.monotonic();
      this.#listener.data(chunk);
    } else {
      this.#drained += chunk.length;
      if (this.#drained > this.#bounds.errorBytesMax) this.cancel();
    }
  }

  onResponseEnd(): void {
    const open = this.#state === 'open';
    this.#close();
    if (open) this.#listener.ended();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const open = this.#state === 'open';
    this.#close();
    if (open) this.#listener.failed(failureOfTransfer(error), null);
  }

  #close(): void {
    this.#state = 'closed';
    this.#timer.cancel();
  }

  #wait(delayMs: number): void {
    this.#timer.cancel();
    this.#timer = this.#clock.after(delayMs, () => this.#due());
  }

  /** A chunk only notes its time; the timer, when it fires, finds out how much of the wait is left. */
  #due(): void {
    if (this.#state !== 'open') return this.cancel();
    const left = this.#began ? this.#quietSince + this.#bounds.idleMs - this.#clock.monotonic() : 0;
    if (left > 0) this.#wait(left);
    else this.fail(this.#began ? 'idle_timeout' : 'first_output_timeout', null);
  }
}

const lower = (value: string | string[] | undefined): string => String(value ?? '').toLowerCase();

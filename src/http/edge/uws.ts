import { createServer } from 'node:net';
import { atTurnEnd, type Clock } from '../../base/clock.ts';
import type { Edge, EdgeBounds, EdgeListener, HeadFault } from '../../base/edge.ts';
import { runGuarded } from './guard.ts';
import { Running } from './running.ts';
import { declaredLength, headFault, isHandshake } from './screen.ts';
import { Anchor } from './uws/anchor.ts';
import { descriptorFree, descriptorsHalf } from './uws/descriptors.ts';
import { listenExclusivePort, listenSharedPort, loadEngine } from './uws/engine.ts';
import type { App, UwsModule, HttpRequest, HttpResponse, ListenToken } from './uws/engine.ts';
import { UwsExchange } from './uws/exchange.ts';
import { headerLines, UnreadableUwsRequest, type UwsRequest } from './uws/request.ts';
import { socketBehavior, UwsUpgrade } from './uws/socket.ts';

/** Requests of all connections that are answered in the iteration of the event loop in which they are parsed. */
export const requestsAtOnce = 500;

/**
 * The edge on uWebSockets.js. Rejects if its native part does not load (another platform, libc or Node version).
 *
 * The engine decides, and no option changes it: idle connections and slow heads end after 10 s; a client that closes
 * its sending side counts as gone; a request that arrives while another one on its connection is unanswered ends that
 * connection; the parser itself answers requests that it cannot parse.
 *
 * The engine takes a chunk whose size has no digits for the last chunk. So it could run a request that another reader
 * takes for a part of the body. Therefore a chunked request is passed on only once it has ended and the engine has
 * parsed the bytes that came with it: a request among them comes before its turn, and ends the connection.
 */
export async function openUwsEdge(listener: EdgeListener, bounds: EdgeBounds, clock: Clock): Promise<Edge> {
  // The native part reads its bound for a head from the environment once, while it loads.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(bounds.headerBytesMax);
  const engine = await loadEngine();
  return new UwsEdge(engine, listener, bounds, clock);
}

class UwsEdge implements Edge {
  readonly engine = 'uws';
  #engine: UwsModule;
  #app: App;
  /** Null until the edge listens. */
  #anchor: Anchor | null = null;
  #listener: EdgeListener;
  #shared: { bounds: EdgeBounds; clock: Clock; running: Running };
  #token: ListenToken | null = null;
  #connections = 0;
  /** Requests that were handed on in this turn of the event loop. */
  #begun = 0;
  readonly #connectionsUnlooked = descriptorsHalf();
  #closing: Promise<void> | null = null;

  constructor(engine: UwsModule, listener: EdgeListener, bounds: EdgeBounds, clock: Clock) {
    this.#engine = engine;
    this.#listener = listener;
    this.#shared = { bounds, clock, running: new Running() };
    this.#app = engine.App();
    const behavior = socketBehavior(bounds);
    this.#app.filter((response, change) => this.#count(response, change));
    this.#app.ws('/*', {
      ...behavior,
      close: (...closed) => {
        this.#connections--;
        behavior.close(...closed);
      },
      upgrade: (response, request, context) => {
        const lines = headerLines(request);
        const fault = headFault(lines, bounds);
        if (fault !== null) this.#refuse(response, request, lines, fault);
        else if (isHandshake('GET', lines)) {
          const upgrade = new UwsUpgrade(this.#shared, this.#anchor!, response, request, lines, context);
          this.#handOn(upgrade, () => this.#listener.upgrade(upgrade));
        } else this.#exchange(response, request, lines);
      },
    });
    this.#app.any('/*', (response, request) => {
      const lines = headerLines(request);
      const fault = headFault(lines, bounds);
      if (fault !== null) this.#refuse(response, request, lines, fault);
      else this.#exchange(response, request, lines);
    });
  }

  async listen(host: string, port: number, shared = false): Promise<number> {
    this.#anchor = await Anchor.open(this.#engine);
    const token = await new Promise<ListenToken | false>((resolve) => {
      this.#app.listen(host, port, shared ? listenSharedPort : listenExclusivePort, resolve);
    });
    if (token === false) {
      this.#anchor.close();
      throw await listenError(host, port);
    }
    this.#token = token;
    return this.#engine.us_socket_local_port(token);
  }

  stopListening(): void {
    this.#shared.running.draining = true;
    if (this.#token !== null) this.#engine.us_listen_socket_close(this.#token);
    this.#token = null;
  }

  close(graceMs: number): Promise<void> {
    return (this.#closing ??= this.#close(graceMs));
  }

  async #close(graceMs: number): Promise<void> {
    this.stopListening();
    await this.#shared.running.drain(this.#shared.clock, graceMs);
    // An answer given within the engine's own call is sent when that call returns, and no promise resolves before that.
    await new Promise<void>((resolve) => this.#shared.clock.after(0, resolve));
    this.#app.close();
    this.#anchor?.close();
  }

  /**
   * Closes a connection that took the last descriptor, as `node:http` does. Without a free one the engine fails to
   * accept the next connection, and tries again in every turn of the event loop for as long as that one waits.
   */
  #count(response: Pick<HttpResponse, 'close'>, change: 1 | -1): void {
    this.#connections += change;
    if (change > 0 && this.#connections > this.#connectionsUnlooked && !descriptorFree()) response.close();
  }

  /**
   * Answers and closes only once the engine has parsed its buffer. Until then a request that follows comes before its
   * turn, which ends the connection; to close at once would drop the answer.
   */
  #refuse(response: HttpResponse, request: HttpRequest, lines: readonly string[], fault: HeadFault): void {
    const refusal = new UnreadableUwsRequest(this.#shared, response, request, lines);
    atTurnEnd(() => {
      if (!refusal.gone)
        runGuarded(
          () => this.#listener.refuse(refusal, fault),
          () => refusal.cut(),
        );
    });
  }

  #exchange(response: HttpResponse, request: HttpRequest, lines: readonly string[]): void {
    const exchange = new UwsExchange(this.#shared, response, request, lines);
    const handOn = (): void => this.#handOn(exchange, () => this.#listener.exchange(exchange));
    if (declaredLength(lines) === null) void exchange.body().then(handOn);
    else handOn();
  }

  /**
   * Runs a request at once, or, after many in this iteration of the event loop, at its end. The engine parses up to 512
   * KB of a connection without a pause: a request that follows a waiting one ends the connection, so that one iteration
   * does not run all of them.
   */
  #handOn(request: UwsRequest, run: () => unknown): void {
    if (this.#begun++ === 0) atTurnEnd(() => (this.#begun = 0));
    const handOn = (): void => {
      if (!request.gone) runGuarded(run, () => request.cut());
    };
    if (this.#begun <= requestsAtOnce) handOn();
    else atTurnEnd(handOn);
  }
}

/** The engine reports only that it could not listen; listening again with `node:net` gives the system's reason. */
function listenError(host: string, port: number): Promise<Error> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => resolve(new Error(`uWebSockets.js could not listen on ${host}:${port}.`)));
    });
  });
}

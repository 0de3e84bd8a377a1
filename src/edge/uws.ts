import { createServer } from 'node:net';
import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { atTurnEnd, type Clock } from '../clock.ts';
import type { Edge, EdgeBounds, EdgeListener, HeadFault } from '../edge.ts';
import { guarded } from './guard.ts';
import { Running } from './running.ts';
import { declaredLength, faultOf, isHandshake } from './screen.ts';
import { UwsExchange } from './uws/exchange.ts';
import { headerLines, UnreadableUwsRequest } from './uws/request.ts';
import { socketBehavior, UwsUpgrade } from './uws/socket.ts';

type Engine = typeof import('uWebSockets.js');

/**
 * The edge on uWebSockets.js. Rejects where its native part does not load (another platform, libc or Node version).
 *
 * What the engine decides and nobody can change: idle connections and slow heads end after 10 s; a client that closes
 * its sending side is gone; a request that arrives while another on its connection is unanswered ends
 * that connection; the parser answers what it cannot read by itself, and a request line in two segments is such a thing; a
 * header name of more than letters, digits and hyphens is never answered.
 *
 * It takes a chunk whose size has no digits for the last one, so that a request may run which another reader takes for part of the body.
 * So a request in chunks is handed on only once it has ended and the engine has seen what came with it: what came is then a
 * request before its turn, and ends the connection.
 */
export async function openUwsEdge(listener: EdgeListener, bounds: EdgeBounds, clock: Clock): Promise<Edge> {
  // The native part reads its bound for a head from the environment, once, while it loads.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(bounds.headerBytesMax);
  const engine = await loadEngine();
  return new UwsEdge(engine, listener, bounds, clock);
}

/** Rejects with one sentence where the native part does not load. */
export async function loadEngine(): Promise<Engine> {
  try {
    const module: { default?: Engine } & Engine = await import('uWebSockets.js');
    const engine = module.default ?? module;
    // Leaves out the header that names the engine; unknown to the declarations.
    (engine as unknown as { _cfg?: (key: string) => void })._cfg?.('silent');
    return engine;
  } catch (error) {
    const { platform, arch, version } = process;
    throw new Error(`uWebSockets.js does not load on ${platform} ${arch} with Node ${version}.`, { cause: error });
  }
}

/** The engine's `LIBUS_LISTEN_EXCLUSIVE_PORT`: a port in use is an error instead of a port shared. */
const listenExclusivePort = 1;

/** Every process has a socket of its own on the port (SO_REUSEPORT), and the system spreads connections over them. */
const listenSharedPort = 0;

/** The overload that the declarations leave out. */
type ListenWithOptions = (host: string, port: number, options: number, callback: (token: us_listen_socket | false) => void) => void;

class UwsEdge implements Edge {
  readonly engine = 'uws';
  #engine: Engine;
  #app: TemplatedApp;
  #listener: EdgeListener;
  #shared: { bounds: EdgeBounds; clock: Clock; running: Running };
  #token: us_listen_socket | null = null;
  #closing: Promise<void> | null = null;

  constructor(engine: Engine, listener: EdgeListener, bounds: EdgeBounds, clock: Clock) {
    this.#engine = engine;
    this.#listener = listener;
    this.#shared = { bounds, clock, running: new Running() };
    this.#app = engine.App();
    this.#app.ws('/*', {
      ...socketBehavior(bounds),
      upgrade: (response, request, context) => {
        const lines = headerLines(request);
        const fault = faultOf(lines, bounds);
        if (fault !== null) this.#refuse(response, request, lines, fault);
        else if (isHandshake('GET', lines)) {
          const upgrade = new UwsUpgrade(this.#shared, response, request, lines, context);
          guarded(() => this.#listener.upgrade(upgrade), () => upgrade.cut());
        } else this.#exchange(response, request, lines);
      },
    });
    this.#app.any('/*', (response, request) => {
      const lines = headerLines(request);
      const fault = faultOf(lines, bounds);
      if (fault !== null) this.#refuse(response, request, lines, fault);
      else this.#exchange(response, request, lines);
    });
  }

  async listen(host: string, port: number, shared = false): Promise<number> {
    const token = await new Promise<us_listen_socket | false>((resolve) => {
      const listen = this.#app.listen.bind(this.#app) as unknown as ListenWithOptions;
      listen(host, port, shared ? listenSharedPort : listenExclusivePort, resolve);
    });
    if (token === false) throw await listenError(host, port);
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
    await this.#shared.running.drained(this.#shared.clock, graceMs);
    // An answer given within the engine's own call leaves when that call returns, which no promise waits for.
    await new Promise<void>((resolve) => this.#shared.clock.after(0, resolve));
    this.#app.close();
  }

  /**
   * Answered, and closed, only once the engine is through with its buffer: until then a request that follows comes before its turn,
   * which ends the connection; to close at once would drop the answer.
   */
  #refuse(response: HttpResponse, request: HttpRequest, lines: readonly string[], fault: HeadFault): void {
    const refusal = new UnreadableUwsRequest(this.#shared, response, request, lines);
    atTurnEnd(() => {
      if (!refusal.gone) guarded(() => this.#listener.refuse(refusal, fault), () => refusal.cut());
    });
  }

  #exchange(response: HttpResponse, request: HttpRequest, lines: readonly string[]): void {
    const exchange = new UwsExchange(this.#shared, response, request, lines);
    const handOn = (): void => {
      if (!exchange.gone) guarded(() => this.#listener.exchange(exchange), () => exchange.cut());
    };
    if (declaredLength(lines) === null) void exchange.body().then(handOn);
    else handOn();
  }
}

/** The engine only says that it could not listen; the system says why when asked the same again. */
function listenError(host: string, port: number): Promise<Error> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', resolve);
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => resolve(new Error(`uWebSockets.js could not listen on ${host}:${port}.`)));
    });
  });
}

import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer } from 'node:net';
import type { AddressInfo, Socket as NetSocket } from 'node:net';
import { WebSocketServer } from 'ws';
import type { Clock } from '../../base/clock.ts';
import { engineMessageFactor } from '../../base/edge.ts';
import type { Answerable, Edge, EdgeBounds, EdgeListener, HeadFault } from '../../base/edge.ts';
import { runGuarded } from './guard.ts';
import { NodeConnection } from './node/connection.ts';
import { NodeExchange } from './node/exchange.ts';
import { headerLines, UnreadableNodeRequest } from './node/request.ts';
import type { Handshakes, NodeShared } from './node/request.ts';
import { NodeUpgrade } from './node/socket.ts';
import { Running, type Cuttable } from './running.ts';
import { headFault, isHandshake, valuesOf } from './screen.ts';
import type { HeaderLines } from './screen.ts';

/** The edge on `node:http` and `ws`; it works wherever Node does. */
export const openNodeEdge = async (listener: EdgeListener, bounds: EdgeBounds, clock: Clock): Promise<Edge> =>
  new NodeEdge(listener, bounds, clock);

class NodeEdge implements Edge {
  readonly engine = 'node';
  #listener: EdgeListener;
  #shared: NodeShared;
  #server: Server;
  /**
   * Connections that end after the current answer. The parser still reads its buffer, but the requests in it must not
   * run.
   */
  #ending = new WeakSet<NetSocket>();
  /** Resolves when the server has stopped listening and its last connection has ended. */
  #deafness: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  constructor(listener: EdgeListener, bounds: EdgeBounds, clock: Clock) {
    this.#listener = listener;
    const handshakes: Handshakes = new WeakMap();
    const sockets = socketServer(bounds, handshakes);
    this.#shared = { bounds, clock, running: new Running(), sockets, handshakes, connections: new Map() };
    this.#server = createServer({
      maxHeaderSize: bounds.headerBytesMax,
      keepAliveTimeout: bounds.connectionIdleMs,
      headersTimeout: bounds.bodyMsMax,
      // Otherwise Node would answer a request without `Host` by itself, and then run the request after it.
      requireHostHeader: false,
      // The only bound for a body that no handler reads.
      requestTimeout: 2 * bounds.bodyMsMax,
    });
    // The parser drops lines over its bound. A bound that is one higher than allowed shows that there were too many.
    this.#server.maxHeadersCount = bounds.headersCountMax + 1;
    this.#server.on('connection', (socket) => this.#connect(socket));
    this.#server.on('request', (request, response) => this.#exchange(request, response));
    this.#server.on('checkExpectation', (request, response) => this.#exchange(request, response));
    this.#server.on('checkContinue', (request, response) => this.#exchange(request, response, true));
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket as NetSocket, head));
  }

  /** The cluster module shares the port: its workers accept from one socket, so no connection is lost with a worker. */
  listen(host: string, port: number, shared = false): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, exclusive: !shared }, () => {
        this.#server.off('error', reject);
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  stopListening(): void {
    this.#shared.running.draining = true;
    // `close` of the HTTP server would end idle connections as well.
    this.#deafness ??= new Promise((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()));
  }

  close(graceMs: number): Promise<void> {
    return (this.#closing ??= this.#close(graceMs));
  }

  async #close(graceMs: number): Promise<void> {
    const { running, clock, connections } = this.#shared;
    this.stopListening();
    this.#server.close();
    await running.drain(clock, graceMs);
    // The connections left are idle or cut, or are sockets whose peer does not answer the closing frame.
    for (const socket of connections.keys()) socket.destroy();
    await this.#deafness;
  }

  #connect(socket: NetSocket): void {
    // A connection passes here again after its request to upgrade was ignored.
    if (this.#shared.connections.has(socket)) return;
    const connection = new NodeConnection(socket, this.#shared.bounds.pipelinedMax);
    this.#shared.connections.set(socket, connection);
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#shared.connections.delete(socket);
      connection.close();
    });
  }

  #exchange(request: IncomingMessage, response: ServerResponse, awaitsContinue = false): void {
    // The parser reads its buffer to the end.
    if (request.socket.destroyed) return;
    const lines = headerLines(request);
    if (this.#refuses(request, lines, () => new UnreadableNodeRequest(this.#shared, request, response, lines))) return;
    const exchange = new NodeExchange(this.#shared, request, response, lines);
    this.#shared.connections.get(request.socket)!.inTurn(() => {
      if (awaitsContinue) response.writeContinue();
      runGuarded(
        () => this.#listener.exchange(exchange),
        () => exchange.cut(),
      );
    });
  }

  /**
   * Whether the head must not run. If so, refuses it, or cuts the connection if `refusal` is null or the connection is
   * ending already.
   */
  #refuses(
    { socket, httpVersion }: IncomingMessage,
    lines: HeaderLines,
    refusal: (() => Answerable & Cuttable) | null,
  ): boolean {
    if (socket.destroyed) return true;
    // A client that continues after such a head would only fill the memory with requests that never run.
    if (this.#ending.has(socket)) {
      socket.destroy();
      return true;
    }
    const fault =
      httpVersion === '1.1' && valuesOf(lines, 'host').length === 0 ? 'Host' : headFault(lines, this.#shared.bounds);
    if (fault === null && (httpVersion === '1.0' || httpVersion === '1.1')) return false;
    this.#ending.add(socket);
    if (fault === null || refusal === null) socket.destroy();
    else this.#refuse(refusal(), fault);
    return true;
  }

  #refuse(refusal: Answerable & Cuttable, fault: HeadFault): void {
    runGuarded(
      () => this.#listener.refuse(refusal, fault),
      () => refusal.cut(),
    );
  }

  #upgrade(request: IncomingMessage, socket: NetSocket, head: Buffer): void {
    const lines = headerLines(request);
    // A refusal cannot be sent while an earlier request on the connection is unanswered.
    const unanswered = (this.#shared.connections.get(request.socket)?.open.size ?? 0) > 0;
    if (this.#refuses(request, lines, unanswered ? null : () => new NodeUpgrade(this.#shared, request, lines, head)))
      return;
    if (isHandshake(request.method ?? '', lines)) {
      const upgrade = new NodeUpgrade(this.#shared, request, lines, head);
      runGuarded(
        () => this.#listener.upgrade(upgrade),
        () => upgrade.cut(),
      );
    } else this.#ignoreUpgrade(request, socket, head);
  }

  /**
   * Node's parser stops at every request to upgrade, also to `h2c`, which some clients send with each request. A
   * request whose upgrade is ignored is parsed again without the `Upgrade` header.
   */
  #ignoreUpgrade(request: IncomingMessage, socket: NetSocket, head: Buffer): void {
    let text = `${request.method} ${request.url} HTTP/${request.httpVersion}\r\n`;
    for (let i = 0; i < request.rawHeaders.length; i += 2) {
      const name = request.rawHeaders[i]!;
      if (name.toLowerCase() !== 'upgrade') text += `${name}: ${request.rawHeaders[i + 1]}\r\n`;
    }
    socket.unshift(Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), head]));
    this.#server.emit('connection', socket);
  }
}

function socketServer(bounds: EdgeBounds, handshakes: Handshakes): WebSocketServer {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    // Our socket checks UTF-8 by itself, so that it can answer an invalid text before it closes.
    skipUTF8Validation: true,
    maxPayload: engineMessageFactor * bounds.socketMessageBytesMax,
    // Our socket answers pings, which count for its pace: the engine would cut it over 60 that come at once.
    autoPong: false,
    handleProtocols: (_, request) => handshakes.get(request)?.protocol ?? false,
  });
  server.on('headers', (lines, request) => {
    for (const [name, value] of Object.entries(handshakes.get(request)?.headers ?? {}))
      lines.push(...[value].flat().map((line) => `${name}: ${line}`));
  });
  return server;
}

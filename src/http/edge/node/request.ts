import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket as NetSocket } from 'node:net';
import type { WebSocketServer } from 'ws';
import type { Clock } from '../../../base/clock.ts';
import type { EdgeBounds, RequestHead, ResponseHeaders } from '../../../base/edge.ts';
import { plainAddress } from '../address.ts';
import type { BodyReader } from '../body.ts';
import { runGuarded } from '../guard.ts';
import { bodiless, checkHeaders } from '../response.ts';
import type { Cuttable, Running } from '../running.ts';
import { valuesOf } from '../screen.ts';
import type { HeaderLines } from '../screen.ts';
import type { NodeConnection } from './connection.ts';

/** The extra headers and the subprotocol of a handshake, looked up by the request. */
export type Handshakes = WeakMap<IncomingMessage, { headers: ResponseHeaders; protocol: string | undefined }>;

/** The parts that all requests of one edge share. */
export interface NodeShared {
  readonly bounds: EdgeBounds;
  readonly clock: Clock;
  readonly running: Running;
  readonly sockets: WebSocketServer;
  readonly handshakes: Handshakes;
  readonly connections: Map<NetSocket, NodeConnection>;
}

/** All header lines of a request; `headers` of `node:http` joins or drops repeated ones. */
export const headerLines = (request: IncomingMessage): HeaderLines =>
  request.rawHeaders.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));

/** The target without scheme and authority. A client may send these, but they say no more than `Host` does. */
const originForm = (target: string): string => {
  if (target.startsWith('/')) return target;
  const rest = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '');
  return rest.startsWith('?') || rest === '' ? `/${rest}` : rest;
};

/** A request in this engine, answered or upgraded. */
export class NodeRequest implements RequestHead, Cuttable {
  /** Index in the list of the edge's open work; see `SlotListItem`. */
  slot = -1;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly remoteAddress: string;
  gone = false;
  protected readonly shared: NodeShared;
  protected readonly socket: NetSocket;
  protected readonly response: ServerResponse;
  protected bodyReader: BodyReader | null = null;
  #lines: HeaderLines;
  #goneCallbacks: (() => void)[] = [];
  #answered = false;

  constructor(shared: NodeShared, request: IncomingMessage, response: ServerResponse, lines: HeaderLines) {
    const target = originForm(request.url ?? '/');
    const mark = target.indexOf('?');
    this.shared = shared;
    this.socket = request.socket;
    this.response = response;
    this.method = (request.method ?? '').toUpperCase();
    this.path = mark < 0 ? target : target.slice(0, mark);
    this.query = mark < 0 ? '' : target.slice(mark + 1);
    this.remoteAddress = plainAddress(request.socket.remoteAddress);
    this.#lines = lines;
    shared.running.add(this);
    shared.connections.get(request.socket)?.open.add(this);
    response.on('finish', () => this.#finish());
  }

  headers(name: string): readonly string[] {
    return valuesOf(this.#lines, name);
  }

  onGone(callback: () => void): void {
    if (this.gone) runGuarded(callback, () => {});
    else this.#goneCallbacks.push(callback);
  }

  respond(status: number, headers: ResponseHeaders, body: string | Uint8Array = ''): void {
    if (!this.claim(headers)) return;
    const empty = bodiless(status);
    this.writeHead(status, empty ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) });
    if (empty || this.method === 'HEAD') this.response.end();
    else this.response.end(body);
    this.awaitReader();
  }

  /** Cuts the connection if the client reads none of the waiting bytes for `connectionIdleMs`. */
  awaitReader(): void {
    if (this.response.writableLength > 0) this.socket.setTimeout(this.shared.bounds.connectionIdleMs);
  }

  /** Stops that timer: nothing waits for the client to read. */
  forgetReader(): void {
    this.socket.setTimeout(0);
  }

  cut(): void {
    // With a reset: where the client has asked to close the connection, or speaks HTTP/1.0, its plain end is taken for
    // the answer's.
    this.socket.resetAndDestroy();
    this.lose();
  }

  /** Called when the connection has closed. */
  lose(): void {
    if (this.gone) return;
    this.gone = true;
    const callbacks = this.#goneCallbacks;
    this.complete();
    for (const callback of callbacks) runGuarded(callback, () => {});
  }

  /** Whether the connection closes after the answer. */
  protected get closes(): boolean {
    return this.shared.running.draining || this.bodyReader?.closesConnection === true;
  }

  /** Checks that an answer is sent only once; returns whether the client is still connected. */
  protected claim(headers: ResponseHeaders): boolean {
    if (this.gone) return false;
    if (this.#answered) throw new Error('A request is answered once.');
    checkHeaders(headers);
    this.#answered = true;
    this.bodyReader?.release();
    return true;
  }

  protected writeHead(status: number, headers: ResponseHeaders, announceClose = this.closes): void {
    this.response.writeHead(status, announceClose ? { ...headers, connection: 'close' } : headers);
  }

  /** Called when the request has ended. */
  protected complete(): void {
    this.#goneCallbacks = [];
    this.bodyReader?.abandon();
    this.shared.running.delete(this);
    this.shared.connections.get(this.socket)?.over(this);
  }

  #finish(): void {
    this.complete();
    const others = this.shared.connections.get(this.socket)?.open.size ?? 0;
    // After the connection's last open request the engine has just set its own timeout for the next one, which must
    // stay.
    if (others > 0) this.forgetReader();
    // The head of a stream does not announce it.
    else if (this.closes) this.socket.end();
  }
}

/** A request that must not run. */
export class UnreadableNodeRequest extends NodeRequest {
  protected override get closes(): boolean {
    return true;
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket as NetSocket } from 'node:net';
import type { WebSocketServer } from 'ws';
import type { Clock } from '../../clock.ts';
import type { EdgeBounds, RequestHead, ResponseHeaders } from '../../edge.ts';
import { plainAddress } from '../address.ts';
import type { BodyReader } from '../body.ts';
import { guarded } from '../guard.ts';
import { bodiless, checkHeaders } from '../response.ts';
import type { Cuttable, Running } from '../running.ts';
import { valuesOf } from '../screen.ts';
import type { HeaderLines } from '../screen.ts';

/** What a handshake is to say beyond the standard, looked up by the request. */
export type Handshakes = WeakMap<IncomingMessage, { headers: ResponseHeaders; protocol: string | undefined }>;

/** What every request of one edge shares. */
export interface NodeShared {
  readonly bounds: EdgeBounds;
  readonly clock: Clock;
  readonly running: Running;
  readonly sockets: WebSocketServer;
  readonly handshakes: Handshakes;
  /** Every connection with what runs on it; pipelined requests can be several. */
  readonly connections: Map<NetSocket, Set<NodeRequest>>;
}

/** All header lines of a request; `headers` of `node:http` joins or drops repeated ones. */
export const headerLines = (request: IncomingMessage): HeaderLines =>
  request.rawHeaders.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));

/** The target without scheme and authority, which a client may send and which say nothing that Host does not. */
const originForm = (target: string): string => {
  if (target.startsWith('/')) return target;
  const rest = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '');
  return rest.startsWith('?') || rest === '' ? `/${rest}` : rest;
};

/** A request in this engine, answered or upgraded. */
export class NodeRequest implements RequestHead, Cuttable {
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
    shared.connections.get(request.socket)?.add(this);
    response.on('finish', () => this.#finish());
  }

  headers(name: string): readonly string[] {
    return valuesOf(this.#lines, name);
  }

  onGone(callback: () => void): void {
    if (this.gone) guarded(callback, () => {});
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

  /** Cuts the connection if what waits for the client to read does not move for `connectionIdleMs`. */
  awaitReader(): void {
    if (this.response.writableLength > 0) this.socket.setTimeout(this.shared.bounds.connectionIdleMs);
  }

  /** Nothing waits for the client to read. */
  forgetReader(): void {
    this.socket.setTimeout(0);
  }

  cut(): void {
    this.socket.destroy();
    this.lose();
  }

  /** The connection has closed. */
  lose(): void {
    if (this.gone) return;
    this.gone = true;
    const callbacks = this.#goneCallbacks;
    this.complete();
    for (const callback of callbacks) guarded(callback, () => {});
  }

  /** Whether the answer is the connection's last. */
  protected get closes(): boolean {
    return this.shared.running.draining || this.bodyReader?.closesConnection === true;
  }

  /** Checks that an answer can be sent, once; whether there is still somebody to send it to. */
  protected claim(headers: ResponseHeaders): boolean {
    if (this.gone) return false;
    if (this.#answered) throw new Error('A request is answered once.');
    checkHeaders(headers);
    this.#answered = true;
    return true;
  }

  protected writeHead(status: number, headers: ResponseHeaders): void {
    this.response.writeHead(status, this.closes ? { ...headers, connection: 'close' } : headers);
  }

  /** The request is over. */
  protected complete(): void {
    this.#goneCallbacks = [];
    this.bodyReader?.abandon();
    this.shared.running.delete(this);
    this.shared.connections.get(this.socket)?.delete(this);
  }

  #finish(): void {
    this.complete();
    const others = this.shared.connections.get(this.socket)?.size ?? 0;
    // With none left, the engine has just set its own time for the next request.
    if (others > 0) this.forgetReader();
    // A stream whose head went out before the edge began to close has promised the client an open connection.
    else if (this.shared.running.draining) this.socket.end();
  }
}

/** A request that is not to run. */
export class UnreadableNodeRequest extends NodeRequest {
  protected override get closes(): boolean {
    return true;
  }
}

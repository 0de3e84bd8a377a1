/** What the rest of the house sees of HTTP and WebSockets. The engines live in `edge/`. */

/** Header names in lower case with their values. */
export type ResponseHeaders = Readonly<Record<string, string>>;

/** A request's body as far as it came: the bytes, or why there are none. */
export type Body = { kind: 'bytes'; bytes: Uint8Array } | { kind: 'too_large' } | { kind: 'timeout' } | { kind: 'gone' };

/** The head of a request. All of it stays readable for as long as the exchange lives. */
export interface RequestHead {
  /** The method as sent, in upper case. */
  readonly method: string;
  /** The raw path without the query, percent-encoding untouched. */
  readonly path: string;
  /** The raw query without its question mark; empty if there is none. */
  readonly query: string;
  /** The peer's address in text, as the socket has it. */
  readonly remoteAddress: string;
  /** Every value of a header, in order of arrival, one item a line (never joined); the name is in lower case. */
  headers(name: string): readonly string[];
}

/** A request that can be answered whole: once, and once the client has gone it does nothing. */
export interface Answerable extends RequestHead {
  /** True once the client went away before the answer was complete. */
  readonly gone: boolean;
  /** Calls back when the client goes away before the answer is complete: once, at once if it already has. */
  onGone(callback: () => void): void;
  /** Answers whole. `content-length` is set by the engine; to HEAD the head alone is sent. */
  respond(status: number, headers: ResponseHeaders, body?: string | Uint8Array): void;
}

/** One request and its answer. Exactly one of `respond` and `stream` is called, once; after the client has gone both do nothing. */
export interface Exchange extends Answerable {
  /**
   * The whole body, bounded by `bodyBytesMax` and `bodyMsMax`. Whatever exceeds the bound is discarded as it
   * arrives. After `too_large` and `timeout` the answer closes the connection.
   */
  body(): Promise<Body>;
  /** Answers in pieces. The head leaves together with the first piece. */
  stream(status: number, headers: ResponseHeaders): Outlet;
}

/** The open end of a streaming answer. */
export interface Outlet {
  /** Sends a piece; false asks the caller to hold back until `onDrain`. A piece is never lost or reordered. */
  write(piece: string | Uint8Array): boolean;
  /** The callback for every time that a held-back outlet can take more. Setting it replaces the one before. */
  onDrain(callback: () => void): void;
  /** Ends the answer, after a last piece if there is one. The connection stays usable. */
  end(piece?: string): void;
  /** Breaks the connection: there is no rest of the answer, and the client must not take what it has for all. */
  cut(): void;
}

/** A request to become a WebSocket: accepted, or answered like any other request. */
export interface Upgrade extends Answerable {
  /** Opens the socket; `protocol` is the subprotocol chosen of those that the client offered. */
  accept(listener: SocketListener, headers?: ResponseHeaders, protocol?: string): void;
}

export interface SocketListener {
  opened(socket: Socket): void;
  /** A whole message; one over `socketMessageBytesMax` closes the socket with 1009 instead. */
  message(data: string | Uint8Array): void;
  /** The socket can take more again after `send` returned false. */
  drained?(): void;
  closed(code: number): void;
}

export interface Socket {
  /** Sends a message; false asks the caller to hold back until `drained`. Does nothing on a closed socket. */
  send(data: string | Uint8Array): boolean;
  close(code: number, reason?: string): void;
  /** Bytes accepted by `send` that have not left yet. */
  readonly bufferedBytes: number;
}

/** Why a head is not to run: a header that two readers could understand differently, or too many or too long lines. */
export type HeadFault = 'Content-Length' | 'Transfer-Encoding' | 'Host' | 'size';

/** What an engine calls. A rejected promise or a throw is the house's fault and ends the connection. */
export interface EdgeListener {
  exchange(exchange: Exchange): void;
  upgrade(upgrade: Upgrade): void;
  /** A request that is not to run, whatever it asks for. Its answer closes the connection. */
  refuse(request: Answerable, fault: HeadFault): void;
}

export interface EdgeBounds {
  bodyBytesMax: number;
  bodyMsMax: number;
  headerBytesMax: number;
  headersCountMax: number;
  connectionIdleMs: number;
  socketMessageBytesMax: number;
  slowReaderBytesMax: number;
}

export interface Edge {
  /** The engine's name, `uws` or `node`. */
  readonly engine: string;
  /**
   * Listens and resolves with the port bound (a port of 0 picks a free one). Rejects with the system's error if it cannot. A
   * `shared` port, which is not 0, may be listened on by other workers of the same supervisor too, whoever accepts first.
   */
  listen(host: string, port: number, shared?: boolean): Promise<number>;
  /** Lets no new connection in. Those that are open are served on, and each closes with its next answer. */
  stopListening(): void;
  /** Stops listening, ends idle connections and resolves when every exchange is answered or cut after `graceMs`. */
  close(graceMs: number): Promise<void>;
}

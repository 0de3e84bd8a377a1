/** The interface to HTTP and WebSockets for the rest of the code. The engines are in `edge/`. */

/** Header names in lower case with their values; a list is one line each, as `set-cookie` needs it. */
export type ResponseHeaders = Readonly<Record<string, string | string[]>>;

/** A request's body: its bytes, or the reason why they are missing. */
export type Body =
  | { kind: 'bytes'; bytes: Uint8Array }
  | { kind: 'too_large' }
  | { kind: 'timeout' }
  | { kind: 'gone' };

/** The head of a request. All of it stays readable for as long as the exchange lives. */
export interface RequestHead {
  /** The method as sent, in upper case. */
  readonly method: string;
  /** The raw path without the query, percent-encoding untouched. */
  readonly path: string;
  /** The raw query without its question mark; empty without a query. */
  readonly query: string;
  /** The peer's address in text, as the socket has it. */
  readonly remoteAddress: string;
  /** Every value of a header, in order of arrival, one item a line (never joined); the name is in lower case. */
  headers(name: string): readonly string[];
}

/**
 * A request that is answered with one whole reply. It can be answered once; after the client has gone, an answer has no
 * effect.
 */
export interface Answerable extends RequestHead {
  /** True once the client went away before the answer was complete. */
  readonly gone: boolean;
  /** Calls back once when the client goes away before the answer is complete; at once if it already has. */
  onGone(callback: () => void): void;
  /** Sends a whole reply. The engine sets `content-length`; a HEAD request gets the head alone. */
  respond(status: number, headers: ResponseHeaders, body?: string | Uint8Array): void;
}

/**
 * One request and its answer. Exactly one of `respond` and `stream` is called, once; after the client has gone both do
 * nothing.
 */
export interface Exchange extends Answerable {
  /**
   * The whole body, bounded by `bodyBytesMax` and `bodyMsMax`. Bytes beyond the bound are discarded as they arrive.
   * After `too_large` and `timeout` the answer closes the connection.
   */
  body(): Promise<Body>;
  /** Begins an answer in pieces. The head is sent together with the first piece. */
  stream(status: number, headers: ResponseHeaders): Outlet;
}

/** The writing side of a streaming answer. */
export interface Outlet {
  /** Sends a piece; false asks the caller to wait for `onDrain` (backpressure). A piece is never lost or reordered. */
  write(piece: string | Uint8Array): boolean;
  /** Sets the callback for every time that an outlet with backpressure can take more; replaces the earlier callback. */
  onDrain(callback: () => void): void;
  /** Ends the answer, after a last piece if there is one. The connection stays usable. */
  end(piece?: string): void;
  /** Breaks the connection: the answer is incomplete, and the client must be able to see that. */
  cut(): void;
}

/** A request to become a WebSocket: accepted, or answered like any other request. */
export interface Upgrade extends Answerable {
  /** Opens the socket; `protocol` is one of the subprotocols that the client offered. */
  accept(listener: SocketListener, headers?: ResponseHeaders, protocol?: string): void;
}

export interface SocketListener {
  /** Whether the engine counts this text message in the pace of text messages. Without it, every one. */
  isPaced?(text: string): boolean;
  opened(socket: Socket): void;
  /** Called with a whole message; a message over `socketMessageBytesMax` closes the socket with 1009 instead. */
  message(data: string | Uint8Array): void;
  /**
   * Called for a text message that is not UTF-8. Without it such a message closes the socket with 1007; an engine may
   * also cut the socket on one by itself.
   */
  unreadable?(): void;
  /**
   * Called before a message that is too large closes the socket: messages sent now still go out. If it returns true,
   * the message is ignored instead. A message over four times the bound may close the socket without it.
   */
  tooLarge?(): boolean;
  /**
   * Called in place of `message` for a text message beyond the pace, for which pings count as well, before it closes
   * the socket with 1008. As with `tooLarge`, messages sent now still go out, and true ignores the message.
   */
  tooFast?(): boolean;
  /** Called when the socket can take more again after `send` returned false. */
  drained?(): void;
  closed(code: number): void;
}

export interface Socket {
  /** Sends a message; false asks the caller to wait for `drained`. Has no effect on a closed socket. */
  send(data: string | Uint8Array): boolean;
  close(code: number, reason?: string): void;
  /** Bytes accepted by `send` and not sent yet. */
  readonly bufferedBytes: number;
}

/** Reason to refuse a head: a header that two readers could understand differently, or too many or too long lines. */
export type HeadFault = 'Content-Length' | 'Transfer-Encoding' | 'Host' | 'size';

/** The callbacks of an engine. If one throws or rejects, that is a fault of ours, and the connection ends. */
export interface EdgeListener {
  exchange(exchange: Exchange): void | Promise<void>;
  upgrade(upgrade: Upgrade): void | Promise<void>;
  /** Called with a request that must not run, for any target. Its answer closes the connection. */
  refuse(request: Answerable, fault: HeadFault): void;
}

/**
 * An engine itself takes messages of this many times our bound, so that a message beyond ours can be answered before
 * the socket closes.
 */
export const engineMessageFactor = 4;

export interface EdgeBounds {
  bodyBytesMax: number;
  /** The bound of bodies sent to a path; undefined for `bodyBytesMax`. */
  bodyBytesOf?: (path: string) => number | undefined;
  bodyMsMax: number;
  headerBytesMax: number;
  headersCountMax: number;
  connectionIdleMs: number;
  /** Requests that may wait for an answer before them on their connection, above which it is closed. */
  pipelinedMax: number;
  socketMessageBytesMax: number;
  /** The pace of a socket's text messages and pings: so many at once, then so many a second. */
  socketTextsMax: number;
  socketTextsPerSecond: number;
  /** Milliseconds for which the peer of a socket may leave pings unanswered. */
  socketSilentMs: number;
  slowReaderBytesMax: number;
}

export interface Edge {
  /** The engine's name, `uws` or `node`. */
  readonly engine: string;
  /**
   * Listens; resolves with the bound port (port 0 picks a free one). Rejects with the system's error if it cannot.
   * Several workers of one supervisor may listen on a `shared` port, which must not be 0; each connection is accepted
   * by one of them.
   */
  listen(host: string, port: number, shared?: boolean): Promise<number>;
  /**
   * Accepts no new connections. Open connections are served on, and each closes with its next answer; the head of an
   * answer in pieces does not announce it.
   */
  stopListening(): void;
  /**
   * Stops listening and ends idle connections; resolves when every exchange is answered, or was cut after `graceMs`.
   */
  close(graceMs: number): Promise<void>;
}

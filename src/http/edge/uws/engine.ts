/**
 * uWebSockets.js: where its native part is found, and the part of its interface that is used here. The package on the
 * npm registry that contains a release's builds unchanged has one build for each platform and Node version, and no type
 * declarations.
 */

/** The engine's types for bytes; texts are sent as UTF-8. */
type Bytes = string | Uint8Array;

/** The head of a request; must be read before the handler returns. */
export interface HttpRequest {
  /** The first value of a header, in Latin-1; empty without the header. */
  getHeader(name: string): string;
  getUrl(): string;
  getQuery(): string | undefined;
  getCaseSensitiveMethod(): string;
  /** Every header line in order, names in lower case. */
  forEach(callback: (name: string, value: string) => void): void;
}

/** A request's answer; must not be touched once it was aborted or has ended. */
export interface HttpResponse {
  writeStatus(status: Bytes): HttpResponse;
  writeHeader(name: string, value: Bytes): HttpResponse;
  /** False asks the caller to wait for `onWritable`. */
  write(piece: Bytes): boolean;
  end(body?: Bytes, closeConnection?: boolean): HttpResponse;
  endWithoutBody(length?: number, closeConnection?: boolean): HttpResponse;
  tryEnd(rest: Bytes, total: number): [taken: boolean, done: boolean];
  close(): HttpResponse;
  cork(callback: () => void): HttpResponse;
  pause(): void;
  resume(): void;
  onWritable(callback: (offset: number) => boolean): HttpResponse;
  onAborted(callback: () => void): HttpResponse;
  /** The piece is valid until the callback returns. */
  onData(callback: (piece: ArrayBuffer, isLast: boolean) => void): HttpResponse;
  getRemoteAddress(): ArrayBuffer;
  upgrade<Data>(data: Data, key: Bytes, protocol: Bytes, extensions: Bytes, context: UpgradeContext): void;
}

export type UpgradeContext = { readonly kind: 'upgrade context' };
export type ListenToken = { readonly kind: 'listen token' };

export interface WebSocket<Data> {
  /** 1: sent; 0: held by the engine; 2: dropped. */
  send(message: Bytes, isBinary?: boolean): number;
  getBufferedAmount(): number;
  ping(): number;
  end(code?: number, reason?: string): void;
  close(): void;
  getUserData(): Data;
}

export interface WebSocketBehavior<Data> {
  maxPayloadLength: number;
  idleTimeout: number;
  sendPingsAutomatically: boolean;
  maxBackpressure: number;
  upgrade?(response: HttpResponse, request: HttpRequest, context: UpgradeContext): void;
  open(socket: WebSocket<Data>): void;
  message(socket: WebSocket<Data>, message: ArrayBuffer, isBinary: boolean): void;
  drain(socket: WebSocket<Data>): void;
  /** Called once the engine has answered the ping. */
  ping(socket: WebSocket<Data>, message: ArrayBuffer): void;
  pong(socket: WebSocket<Data>, message: ArrayBuffer): void;
  close(socket: WebSocket<Data>, code: number, reason: ArrayBuffer): void;
}

type Handler = (response: HttpResponse, request: HttpRequest) => void;

export interface App {
  any(pattern: string, handler: Handler): App;
  get(pattern: string, handler: Handler): App;
  post(pattern: string, handler: Handler): App;
  /**
   * Called with 1 for each new connection, which may be closed there, and with -1 for each that ends as HTTP: not for
   * one that became a socket.
   */
  filter(callback: (response: Pick<HttpResponse, 'close'>, change: 1 | -1) => void): App;
  ws<Data>(pattern: string, behavior: WebSocketBehavior<Data>): App;
  /** `options` are `listenExclusivePort` or `listenSharedPort`; the token is false where it could not listen. */
  listen(host: string, port: number, options: number, callback: (token: ListenToken | false) => void): App;
  close(): App;
}

export interface UwsModule {
  App(): App;
  us_socket_local_port(token: ListenToken): number;
  us_listen_socket_close(token: ListenToken): void;
  /** `silent` omits the header that names the engine. */
  _cfg(key: string): void;
}

/** The engine's `LIBUS_LISTEN_EXCLUSIVE_PORT`: a port in use is an error instead of a port shared. */
export const listenExclusivePort = 1;

/** Each process opens the port with SO_REUSEPORT, and the system spreads connections over the processes. */
export const listenSharedPort = 0;

/** Rejects with one sentence if the native part does not load. */
export async function loadEngine(): Promise<UwsModule> {
  const { platform, arch, version, versions } = process;
  try {
    // Picks the build for this Node version, by its major number; npm has installed no other.
    const { default: engine }: { default: UwsModule } = await import(
      `@uwsjs/${platform}-${arch}-${versions.node.split('.')[0]}`
    );
    engine._cfg('silent');
    return engine;
  } catch (error) {
    throw new Error(`uWebSockets.js does not load on ${platform} ${arch} with Node ${version}.`, { cause: error });
  }
}

import { isUtf8 } from 'node:buffer';
import { ServerResponse } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Socket as NetSocket } from 'node:net';
import type { WebSocket } from 'ws';
import type { ResponseHeaders, Socket, SocketListener, Upgrade } from '../../../base/edge.ts';
import { TokenBucket } from '../../../base/token-bucket.ts';
import { runGuarded } from '../guard.ts';
import { Heartbeat } from '../heartbeat.ts';
import type { Cuttable } from '../running.ts';
import type { HeaderLines } from '../screen.ts';
import { NodeRequest } from './request.ts';
import type { NodeShared } from './request.ts';

/** A request to upgrade in this engine. */
export class NodeUpgrade extends NodeRequest implements Upgrade {
  #request: IncomingMessage;
  #first: Buffer;
  #onEnd = (): void => this.cut();

  /** `first`: the bytes that came after the head already. */
  constructor(shared: NodeShared, request: IncomingMessage, lines: HeaderLines, first: Buffer) {
    super(shared, request, new ServerResponse(request), lines);
    this.#request = request;
    this.#first = first;
    this.socket.on('end', this.#onEnd);
  }

  override respond(status: number, headers: ResponseHeaders, body?: string | Uint8Array): void {
    if (this.gone) return;
    if (this.response.socket === null) this.response.assignSocket(this.socket);
    this.response.on('finish', () => this.socket.destroySoon());
    super.respond(status, { ...headers, connection: 'close' }, body);
  }

  accept(listener: SocketListener, headers: ResponseHeaders = {}, protocol?: string): void {
    if (!this.claim(headers)) return;
    this.socket.off('end', this.#onEnd);
    this.shared.handshakes.set(this.#request, { headers, protocol });
    const socket = new NodeSocket(this.shared, this.socket, listener);
    this.shared.sockets.handleUpgrade(this.#request, this.socket, this.#first, (engine) => socket.opened(engine));
    this.complete();
  }
}

/** A socket in this engine. */
export class NodeSocket implements Socket, Cuttable {
  /** Index in the list of the edge's open work; see `SlotListItem`. */
  slot = -1;
  #shared: NodeShared;
  #connection: NetSocket;
  #listener: SocketListener;
  #engine: WebSocket | null = null;
  #code: number | null = null;
  #backpressured = false;
  /**
   * True while the listener learns that the socket closes: its last message is sent for any number of waiting bytes.
   */
  #refusing = false;
  #heartbeat: Heartbeat | null = null;
  readonly #pace: TokenBucket;

  constructor(shared: NodeShared, connection: NetSocket, listener: SocketListener) {
    const { clock, bounds } = shared;
    this.#pace = new TokenBucket(clock, bounds.socketTextsMax, bounds.socketTextsPerSecond);
    this.#shared = shared;
    this.#connection = connection;
    this.#listener = listener;
    shared.running.add(this);
    // A handshake that fails at the last moment never opens the socket; then only the end of the connection can be
    // seen.
    connection.once('close', () => this.#shared.running.delete(this));
  }

  get bufferedBytes(): number {
    return this.#code === null ? (this.#engine?.bufferedAmount ?? 0) : 0;
  }

  send(data: string | Uint8Array): boolean {
    if (this.#engine === null || this.#code !== null) return false;
    if (
      this.#backpressured &&
      !this.#refusing &&
      this.bufferedBytes + data.length > this.#shared.bounds.slowReaderBytesMax
    ) {
      this.#code = 1006;
      this.#engine.terminate();
      return false;
    }
    this.#engine.send(data);
    // A stream reports backpressure after every large write, even if the kernel took it at once.
    this.#backpressured = this.#connection.writableNeedDrain && this.bufferedBytes > 0;
    return !this.#backpressured;
  }

  close(code: number, reason?: string): void {
    if (this.#code !== null) return;
    this.#code = code;
    this.#engine?.close(code, reason);
  }

  cut(): void {
    this.close(1001);
    this.#engine?.terminate();
    this.#connection.destroy();
  }

  opened(engine: WebSocket): void {
    this.#engine = engine;
    engine.on('message', (data: Buffer, isBinary) => this.#received(data, isBinary));
    engine.on('ping', (data: Buffer) => this.#pinged(data));
    engine.on('pong', () => this.#heartbeat?.noteAnswer());
    engine.on('error', (error: Error & { code?: string }) => (this.#code ??= closeCodes[error.code ?? ''] ?? 1002));
    engine.on('close', (code) => this.#closed(this.#code ?? code));
    this.#connection.on('drain', () => this.#drained());
    const close = engine.close.bind(engine);
    // The engine closes by itself on a message beyond its own bound: the listener's messages must go out before.
    engine.close = (code, reason) => {
      // With a reason, even an empty one, it answers the client's own close.
      if (code === 1009 && reason === undefined && this.#code === null) this.#call(() => this.#listener.tooLarge?.());
      close(code, reason);
    };
    const { clock, bounds } = this.#shared;
    this.#heartbeat = new Heartbeat(
      clock,
      bounds.socketSilentMs,
      () => engine.ping(),
      () => engine.terminate(),
    );
    this.#call(() => this.#listener.opened(this));
  }

  #received(data: Buffer, isBinary: boolean): void {
    if (this.#code !== null) return;
    if (data.length > this.#shared.bounds.socketMessageBytesMax) return this.#refuse('tooLarge', 1009);
    const message = isBinary ? new Uint8Array(data) : data.toString();
    if (typeof message === 'string' && (this.#listener.isPaced?.(message) ?? true) && !this.#pace.take(1))
      return this.#refuse('tooFast', 1008);
    if (!isBinary && !isUtf8(data)) {
      if (this.#listener.unreadable === undefined) return this.close(1007);
      return this.#call(() => this.#listener.unreadable!());
    }
    this.#call(() => this.#listener.message(message));
  }

  #pinged(data: Buffer): void {
    if (this.#code !== null) return;
    if (!this.#pace.take(1)) return this.#refuse('tooFast', 1008);
    if (this.bufferedBytes > this.#shared.bounds.slowReaderBytesMax) this.#engine!.terminate();
    else this.#engine!.pong(data);
  }

  #drained(): void {
    if (!this.#backpressured || this.#code !== null) return;
    this.#backpressured = false;
    this.#call(() => this.#listener.drained?.());
  }

  #closed(code: number): void {
    this.#engine = null;
    this.#heartbeat?.stop();
    this.#shared.running.delete(this);
    runGuarded(
      () => this.#listener.closed(code),
      () => {},
    );
  }

  /** Closes the socket on a message, unless its listener ignores it. */
  #refuse(reason: 'tooLarge' | 'tooFast', code: number): void {
    let ignored = false;
    this.#refusing = true;
    this.#call(() => void (ignored = this.#listener[reason]?.() === true));
    this.#refusing = false;
    if (!ignored) this.close(code);
  }

  #call(call: () => unknown): void {
    runGuarded(call, () => this.close(1011));
  }
}

/** The code that `ws` closes with when a client breaks the protocol; all other violations are 1002. */
const closeCodes: Record<string, number> = {
  WS_ERR_UNSUPPORTED_MESSAGE_LENGTH: 1009,
  ECONNRESET: 1006,
  EPIPE: 1006,
};

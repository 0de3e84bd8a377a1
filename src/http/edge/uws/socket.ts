import { atTurnEnd } from '../../../base/clock.ts';
import { engineMessageFactor } from '../../../base/edge.ts';
import type { EdgeBounds, ResponseHeaders, Socket, SocketListener, Upgrade } from '../../../base/edge.ts';
import { TokenBucket } from '../../../base/token-bucket.ts';
import { runGuarded } from '../guard.ts';
import { Heartbeat } from '../heartbeat.ts';
import type { Cuttable } from '../running.ts';
import type { HeaderLines } from '../screen.ts';
import type { Anchor } from './anchor.ts';
import type { HttpRequest, HttpResponse, UpgradeContext, WebSocket, WebSocketBehavior } from './engine.ts';
import { headerText, headText, UwsRequest } from './request.ts';
import type { UwsShared } from './request.ts';

/** The data that the engine keeps for each socket. */
export interface UwsSocketData {
  socket: UwsSocket;
}

/** A request to upgrade in this engine. */
export class UwsUpgrade extends UwsRequest implements Upgrade {
  #anchor: Anchor;
  #context: UpgradeContext;

  constructor(
    shared: UwsShared,
    anchor: Anchor,
    response: HttpResponse,
    request: HttpRequest,
    lines: HeaderLines,
    context: UpgradeContext,
  ) {
    super(shared, response, request, lines);
    this.#anchor = anchor;
    this.#context = context;
  }

  accept(listener: SocketListener, headers: ResponseHeaders = {}, protocol = ''): void {
    const response = this.claim(headers);
    if (response === null) return;
    // The engine, while it parses another connection's bytes, takes that connection for the one that became a socket.
    atTurnEnd(() => {
      if (!this.gone) this.#open(response, new UwsSocket(this.shared, listener), headers, protocol);
    });
  }

  /**
   * Not in its own cork, though each piece of the head is then sent by itself: at the end of a cork this build reads
   * the request's state from memory that was freed when the request became a socket, and may close the socket (mended
   * in uWebSockets of July 2026, #1929).
   */
  #open(response: HttpResponse, socket: UwsSocket, headers: ResponseHeaders, protocol: string): void {
    this.complete();
    this.#anchor.cork(() => {
      response.writeStatus(headerText(headText(101, headers)));
      response.upgrade<UwsSocketData>({ socket }, this.headers('sec-websocket-key')[0]!, protocol, '', this.#context);
    });
  }
}

/** A socket in this engine. */
export class UwsSocket implements Socket, Cuttable {
  /** Index in the list of the edge's open work; see `SlotListItem`. */
  slot = -1;
  #shared: UwsShared;
  #listener: SocketListener;
  /** Null before the socket is open and once it is closed. */
  #engine: WebSocket<UwsSocketData> | null = null;
  #backpressured = false;
  /**
   * True while the listener learns that the socket closes: its last message is sent for any number of waiting bytes.
   */
  #refusing = false;
  #tooLarge = false;
  #heartbeat: Heartbeat | null = null;
  readonly #pace: TokenBucket;

  constructor(shared: UwsShared, listener: SocketListener) {
    const { clock, bounds } = shared;
    this.#shared = shared;
    this.#listener = listener;
    this.#pace = new TokenBucket(clock, bounds.socketTextsMax, bounds.socketTextsPerSecond);
    shared.running.add(this);
  }

  get bufferedBytes(): number {
    return this.#engine?.getBufferedAmount() ?? 0;
  }

  send(data: string | Uint8Array): boolean {
    if (this.#engine === null) return false;
    if (
      this.#backpressured &&
      !this.#refusing &&
      this.bufferedBytes + data.length > this.#shared.bounds.slowReaderBytesMax
    ) {
      this.#engine.close();
      return false;
    }
    this.#backpressured = this.#engine.send(data, typeof data !== 'string') !== 1;
    return !this.#backpressured;
  }

  close(code: number, reason?: string): void {
    this.#engine?.end(code, reason);
  }

  cut(): void {
    this.close(1001);
  }

  opened(engine: WebSocket<UwsSocketData>): void {
    this.#engine = engine;
    const { clock, bounds } = this.#shared;
    this.#heartbeat = new Heartbeat(
      clock,
      bounds.socketSilentMs,
      () => engine.ping(),
      () => engine.close(),
    );
    this.#call(() => this.#listener.opened(this));
  }

  received(data: ArrayBuffer, isBinary: boolean): void {
    if (this.#engine === null) return;
    if (data.byteLength > this.#shared.bounds.socketMessageBytesMax) return this.#refuse('tooLarge', 1009);
    // The message is valid only during the call.
    const bytes = Buffer.from(data);
    const message = isBinary ? new Uint8Array(bytes) : bytes.toString();
    if (typeof message === 'string' && (this.#listener.isPaced?.(message) ?? true) && !this.#pace.take(1))
      return this.#refuse('tooFast', 1008);
    this.#call(() => this.#listener.message(message));
  }

  drained(): void {
    if (!this.#backpressured || this.bufferedBytes > 0) return;
    this.#backpressured = false;
    this.#call(() => this.#listener.drained?.());
  }

  /**
   * The engine answers every ping and bounds nothing that waits: a client that pings and reads no answer would fill the
   * memory.
   */
  pinged(): void {
    if (this.#engine === null) return;
    if (this.bufferedBytes > this.#shared.bounds.slowReaderBytesMax) this.#engine.close();
    else if (!this.#pace.take(1)) this.#refuse('tooFast', 1008);
  }

  ponged(): void {
    this.#heartbeat?.noteAnswer();
  }

  /** `reason` is the engine's own text if the engine closed the connection without a closing frame. */
  closed(code: number, reason: string): void {
    this.#engine = null;
    this.#heartbeat?.stop();
    this.#shared.running.delete(this);
    this.#tooLarge = code === 1006 && reason === 'Received too big message';
    // Deferred, because the engine calls this from within `close`.
    queueMicrotask(() =>
      runGuarded(
        () => this.#listener.closed(this.#tooLarge ? 1009 : code),
        () => {},
      ),
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

/** The engine's behaviour for sockets; `upgrade` is the server's own. */
export const socketBehavior = (bounds: EdgeBounds): WebSocketBehavior<UwsSocketData> => ({
  maxPayloadLength: engineMessageFactor * bounds.socketMessageBytesMax,
  // The engine's own pings go to a peer that sends nothing, and take any message for an answer. Ours find a silent peer
  // sooner than this; without a timeout a peer would have 4 seconds to read a closing message, and not 16.
  idleTimeout: 2 * Math.round(bounds.socketSilentMs / 1000),
  sendPingsAutomatically: false,
  // The engine never drops a message: our `send` cuts a reader that is too slow.
  maxBackpressure: 0,
  open: (engine) => engine.getUserData().socket.opened(engine),
  message: (engine, data, isBinary) => engine.getUserData().socket.received(data, isBinary),
  drain: (engine) => engine.getUserData().socket.drained(),
  ping: (engine) => engine.getUserData().socket.pinged(),
  pong: (engine) => engine.getUserData().socket.ponged(),
  close: (engine, code, reason) => {
    // The engine's own texts are ASCII; the getter of a closed socket throws, the property does not.
    const { socket } = engine as unknown as UwsSocketData;
    socket.closed(code, Buffer.from(reason).toString());
  },
});

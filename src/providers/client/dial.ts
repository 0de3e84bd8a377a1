/**
 * Opens sockets to providers: guarded look-up, bounded wait, TLS that is always verified. Only the operator's
 * `PARLEY_PROVIDER_PROXY` sets a proxy; the variables that other programs read are ignored.
 */
import { connect } from 'node:net';
import type { LookupFunction, Socket, TcpNetConnectOpts } from 'node:net';
import { connect as connectSecure, createSecureContext } from 'node:tls';
import type { ConnectionOptions, SecureContext, TLSSocket } from 'node:tls';
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Target } from './target.ts';
import { Tunnel, type ProviderSocket, type Proxy } from './tunnel.ts';

/** Milliseconds before the next address of a name is tried. */
const providerAddressMs = 1_000;
/** Bytes that one read of a socket takes at most. */
export const providerReadBytes = 64 * 1024;
/** Milliseconds of silence before TCP probes the peer. */
const providerProbeMs = 60_000;

/** The events of a socket; `closed` always comes, and comes last. */
export interface DialListener {
  /** The socket is open, and the handshake is done. */
  connected(): void;
  /**
   * The first `length` bytes are new, and are overwritten after the call. False stops reading until the socket is
   * resumed.
   */
  read(bytes: Buffer, length: number): boolean;
  /** The server sends no more bytes. */
  finished(): void;
  closed(error: Error | null): void;
}

export interface DialOptions {
  readonly clock: Clock;
  readonly connectMs: number;
  /** The guarded look-up. The addresses that it accepts depend on whether the connection is encrypted. */
  readonly lookup: { readonly secure: LookupFunction; readonly plain: LookupFunction };
  /** Trusted certificates in PEM, instead of Node's own list. */
  readonly ca: string | undefined;
  /** The proxy for secure targets; null to connect directly. */
  readonly proxy: Proxy | null;
}

const http1 = ['http/1.1'] as const;

export class Dialer {
  readonly #options: DialOptions;
  /**
   * One buffer for all connections: Node reads into it only when bytes have arrived, and passes them on before it reads
   * from another socket. `onread` bypasses the streams, which saves about half the cost of a read; TLS sockets accept
   * it as well.
   */
  readonly #buffer = Buffer.allocUnsafeSlow(providerReadBytes);
  #context: SecureContext | null = null;
  readonly #sessions = new Map<string, Buffer>();

  constructor(options: DialOptions) {
    this.#options = options;
  }

  /** `protocols`: the names that TLS offers (RFC 7301). */
  open(target: Target, listener: DialListener, protocols: readonly string[] = http1): ProviderSocket {
    const { clock, connectMs, proxy } = this.#options;
    const timer = clock.after(connectMs, () => socket.destroy(new Error('connect timeout')));
    const socket: ProviderSocket =
      proxy !== null && target.secure
        ? this.#tunnel(proxy, target, protocols, listener, timer)
        : this.#direct(target, protocols, listener, timer);
    return socket;
  }

  #direct(target: Target, protocols: readonly string[], listener: DialListener, timer: Timer): Socket {
    const { lookup } = this.#options;
    const where: TcpNetConnectOpts = {
      host: target.hostname,
      port: target.port,
      lookup: target.secure ? lookup.secure : lookup.plain,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: providerAddressMs,
      onread: {
        buffer: this.#buffer,
        callback: (length) => listener.read(this.#buffer, length),
      },
    };
    const socket = target.secure ? this.#secure(target, protocols, where) : connect(where);
    socket.once(target.secure ? 'secureConnect' : 'connect', () =>
      socket.setNoDelay(true).setKeepAlive(true, providerProbeMs),
    );
    return listenTo(socket, target.secure, listener, timer);
  }

  /** Unencrypted connections stay in the private network, and a proxy would lead out of it. */
  #tunnel(
    proxy: Proxy,
    target: Target,
    protocols: readonly string[],
    listener: DialListener,
    timer: Timer,
  ): ProviderSocket {
    const { hostname, port } = target;
    return new Tunnel({
      proxy,
      hostname,
      port,
      lookup: this.#options.lookup.secure,
      opened: (tunnel) => {
        tunnel.setNoDelay(true).setKeepAlive(true, providerProbeMs);
        const socket = this.#secure(target, protocols, { socket: tunnel });
        // `onread` works only for sockets that Node itself has connected.
        socket.on('data', (bytes: Buffer) => void (listener.read(bytes, bytes.length) || socket.pause()));
        return listenTo(socket, true, listener, timer);
      },
      failed: (error) => {
        timer.cancel();
        listener.closed(error);
      },
    });
  }

  /** Verification is set explicitly, because the environment can switch off the default. */
  #secure(target: Target, protocols: readonly string[], where: ConnectionOptions): TLSSocket {
    this.#context ??= createSecureContext({ ca: this.#options.ca });
    const session = this.#sessions.get(target.origin);
    const socket = connectSecure({
      ...where,
      servername: target.serverName,
      ALPNProtocols: [...protocols],
      secureContext: this.#context,
      rejectUnauthorized: true,
      ...(session !== undefined && { session }),
    });
    socket.on('session', (ticket) => {
      if (this.#sessions.size >= limits.providerOriginsMax) this.#sessions.clear();
      this.#sessions.set(target.origin, ticket);
    });
    // A TLS session that breaks the handshake would break every later one too.
    const forget = (): boolean => this.#sessions.delete(target.origin);
    socket.once('error', forget).once('secureConnect', () => socket.off('error', forget));
    return socket;
  }
}

/** Calls the listener when the socket connects, ends and closes; `timer` bounds the wait for the connection. */
function listenTo(socket: Socket, secure: boolean, listener: DialListener, timer: Timer): Socket {
  let error: Error | null = null;
  socket.once(secure ? 'secureConnect' : 'connect', () => {
    timer.cancel();
    listener.connected();
  });
  socket.on('end', () => listener.finished());
  socket.on('error', (cause) => (error = cause));
  socket.on('close', () => {
    timer.cancel();
    listener.closed(error);
  });
  return socket;
}

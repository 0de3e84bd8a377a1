/**
 * Opens sockets to providers: guarded look-up, bounded wait, TLS that is always verified. No proxy is taken from the
 * environment: behind one the guard would check nothing.
 */
import { connect } from 'node:net';
import type { LookupFunction, Socket, TcpNetConnectOpts } from 'node:net';
import { connect as connectSecure, createSecureContext } from 'node:tls';
import type { SecureContext } from 'node:tls';
import type { Clock } from '../../clock.ts';
import { limits } from '../../limits.ts';
import type { Target } from './target.ts';

/** What a socket tells, `closed` last and always. */
export interface SocketListener {
  /** It is open, the handshake included. */
  connected(): void;
  /** The first `length` bytes are new; they are overwritten after the call. False to read no more until the socket is resumed. */
  read(bytes: Buffer, length: number): boolean;
  /** The server sends no more. */
  finished(): void;
  closed(error: Error | null): void;
}

export interface DialOptions {
  readonly clock: Clock;
  readonly connectMs: number;
  readonly lookup: LookupFunction;
  /** Certificates in PEM to trust instead of those of Node. */
  readonly ca: string | undefined;
}

export class Dialer {
  readonly #options: DialOptions;
  /**
   * One buffer for every connection: Node reads into it only when bytes are there, and hands them over before it reads
   * from another socket. `onread` goes around the streams, about half of what a read costs; TLS sockets take it as well.
   */
  readonly #buffer = Buffer.allocUnsafeSlow(limits.providerReadBytes);
  #context: SecureContext | null = null;
  readonly #sessions = new Map<string, Buffer>();

  constructor(options: DialOptions) {
    this.#options = options;
  }

  open(target: Target, listener: SocketListener): Socket {
    const { clock, connectMs, lookup } = this.#options;
    const where: TcpNetConnectOpts = {
      host: target.hostname,
      port: target.port,
      lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: limits.providerAddressMs,
      onread: {
        buffer: this.#buffer,
        callback: (length) => listener.read(this.#buffer, length),
      },
    };
    const socket = target.secure ? this.#secure(target, where) : connect(where);
    const timer = clock.after(connectMs, () => socket.destroy(new Error('connect timeout')));
    let error: Error | null = null;
    socket.once(target.secure ? 'secureConnect' : 'connect', () => {
      timer.cancel();
      socket.setNoDelay(true);
      socket.setKeepAlive(true, limits.providerProbeMs);
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

  /** Verification is said aloud, because the environment can switch off what is left to the default. */
  #secure(target: Target, where: TcpNetConnectOpts): Socket {
    this.#context ??= createSecureContext({ ca: this.#options.ca });
    const session = this.#sessions.get(target.origin);
    const socket = connectSecure({
      ...where,
      servername: target.serverName,
      ALPNProtocols: ['http/1.1'],
      secureContext: this.#context,
      rejectUnauthorized: true,
      ...(session !== undefined && { session }),
    });
    socket.on('session', (ticket) => {
      if (this.#sessions.size >= limits.providerOriginsMax) this.#sessions.clear();
      this.#sessions.set(target.origin, ticket);
    });
    // A session that breaks the handshake would break every one that follows.
    const forget = (): boolean => this.#sessions.delete(target.origin);
    socket.once('error', forget).once('secureConnect', () => socket.off('error', forget));
    return socket;
  }
}

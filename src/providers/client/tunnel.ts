/**
 * A connection through the operator's proxy (CONNECT, RFC 9110, 9.3.6). The proxy gets the address that was checked and
 * never the name: it would resolve the name by itself, and the guard would have no effect. The name is in the TLS
 * handshake, for the certificate.
 */
import type { LookupAddress } from 'node:dns';
import { connect, isIPv6, type LookupFunction, type Socket } from 'node:net';

/** Bytes of the head of a proxy's answer to CONNECT. */
const providerProxyHeadBytesMax = 8 * 1024;

/** The proxy does not connect: it cannot be reached, or answers with a status other than 2xx. */
export class ProxyRefused extends Error {}

export interface Proxy {
  /** A name or an address, without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** The value of `Proxy-Authorization`; null if the proxy needs none. */
  readonly authorization: string | null;
}

/** The socket's methods that the connection needs: first the socket to the proxy, later the one through the tunnel. */
export type ProviderSocket = Pick<Socket, 'destroyed' | 'write' | 'resume' | 'writableLength'> & {
  destroy(error?: Error): unknown;
};

export interface TunnelOptions {
  readonly proxy: Proxy;
  readonly hostname: string;
  readonly port: number;
  /** The guarded look-up. */
  readonly lookup: LookupFunction;
  /** Continues over the open tunnel; returns the socket that the connection uses from then on. */
  opened(tunnel: Socket): Socket;
  /** The tunnel could not be opened, or was closed before it was open. */
  failed(error: Error | null): void;
}

export class Tunnel implements ProviderSocket {
  readonly #options: TunnelOptions;
  #socket: Socket | null = null;
  #head: Buffer = Buffer.alloc(0);
  /** Whether the tunnel is open and its socket belongs to the user. */
  #open = false;
  #over = false;

  constructor(options: TunnelOptions) {
    this.#options = options;
    options.lookup(options.hostname, { all: true }, (error, addresses) => {
      if (error !== null) return this.#fail(error);
      this.#connect(preferred(addresses as LookupAddress[]));
    });
  }

  get destroyed(): boolean {
    return this.#over || this.#socket?.destroyed === true;
  }

  get writableLength(): number {
    return this.#socket?.writableLength ?? 0;
  }

  write(bytes: Buffer): boolean {
    return this.#socket!.write(bytes);
  }

  resume(): Socket {
    return this.#socket!.resume();
  }

  destroy(error?: Error): void {
    if (this.#open) this.#socket!.destroy(error);
    else this.#fail(error ?? null);
  }

  #connect(address: string): void {
    if (this.#over) return;
    const { proxy, port } = this.#options;
    const socket = connect({ host: proxy.hostname, port: proxy.port, autoSelectFamily: true });
    this.#socket = socket;
    const authority = `${isIPv6(address) ? `[${address}]` : address}:${port}`;
    const authorization = proxy.authorization === null ? '' : `proxy-authorization: ${proxy.authorization}\r\n`;
    socket.once('connect', () =>
      socket.write(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n${authorization}\r\n`),
    );
    socket.on('data', this.#take).on('end', this.#ended).on('error', this.#lost).on('close', this.#ended);
  }

  readonly #take = (bytes: Buffer): void => {
    this.#head = Buffer.concat([this.#head, bytes]);
    const end = this.#head.indexOf('\r\n\r\n');
    if (end < 0 && this.#head.length <= providerProxyHeadBytesMax) return;
    const status = /^HTTP\/1\.[01] (\d{3})[ \r]/.exec(this.#head.toString('latin1'))?.[1];
    // After the head of a success the bytes are the provider's, and a provider sends nothing before its client does.
    const isClean = end >= 0 && end + 4 === this.#head.length;
    if (status?.startsWith('2') !== true || !isClean)
      return this.#fail(
        new ProxyRefused(status === undefined ? 'the proxy does not answer in HTTP' : `the proxy answers ${status}`),
      );
    const socket = this.#socket!;
    socket.off('data', this.#take).off('end', this.#ended).off('error', this.#lost).off('close', this.#ended);
    socket.pause();
    this.#open = true;
    this.#socket = this.#options.opened(socket);
  };

  readonly #ended = (): void => this.#fail(new ProxyRefused('the proxy closed the connection'));

  readonly #lost = (error: Error): void => this.#fail(new ProxyRefused(error.message));

  #fail(error: Error | null): void {
    if (this.#over || this.#open) return;
    this.#over = true;
    this.#socket?.off('error', this.#lost).on('error', () => {});
    this.#socket?.destroy();
    // The user may be about to take this tunnel.
    queueMicrotask(() => this.#options.failed(error));
  }
}

/** Few proxies can reach IPv6 addresses. */
const preferred = (addresses: readonly LookupAddress[]): string =>
  (addresses.find(({ family }) => family === 4) ?? addresses[0]!).address;

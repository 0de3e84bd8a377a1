/** The HTTP client to every provider: one pool of connections, the address guard, and the bounds on waiting. */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { guardedLookup, addressCheck } from './client/address.ts';
import type { Lookup } from './client/address.ts';
import { Dialer } from './client/dial.ts';
import { ProviderExchange } from './client/exchange.ts';
import type { ProviderBounds, ProviderRequest, ProviderListener } from './client/exchange.ts';
import { Pool } from './client/pool.ts';
import { speaksHttp2 } from './client/http2-probe.ts';
import { requestBytes } from './client/request.ts';
import type { ProviderGet, ProviderPost } from './client/request.ts';
import { targetOf } from './client/target.ts';
import type { Target } from './client/target.ts';
import type { Proxy } from './client/tunnel.ts';

export type { ProviderBounds, ProviderRequest, ProviderListener } from './client/exchange.ts';
export type { ProviderGet, ProviderPost } from './client/request.ts';

/** Milliseconds for a connection to a provider. */
const providerConnectMs = 10_000;
/** Milliseconds from the finish of an answer to its end: for its usage, and for its connection to be kept. */
const providerGraceMs = 3_000;
/** Milliseconds for the beginning of a connection in HTTP/2. */
const providerProbeHttp2Ms = 5_000;

export const providerBounds: ProviderBounds = {
  connectMs: providerConnectMs,
  silenceMs: limits.providerSilenceMs,
  graceMs: providerGraceMs,
  errorBytesMax: limits.providerErrorBytesMax,
};

export interface ProviderHttp {
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
  /**
   * Sends a request, within the given bounds or the default ones. Never throws, and never calls the listener before it
   * returns.
   */
  post(post: ProviderPost, listener: ProviderListener, within?: Partial<ProviderBounds>): ProviderRequest;
  /** The same without a body. The provider only looks the answer up, so the time limit is shorter. */
  get(get: ProviderGet, listener: ProviderListener): ProviderRequest;
  /** Whether the server of a base URL speaks HTTP/2, which is no protocol of this client. Never rejects. */
  speaksHttp2(baseUrl: string): Promise<boolean>;
  /** Closes every connection; calls in flight fail. */
  close(): Promise<void>;
}

export interface ProviderHttpOptions {
  readonly clock: Clock;
  readonly allowPrivate: boolean;
  readonly bounds?: ProviderBounds;
  readonly lookup?: Lookup;
  /** Trusted certificates in PEM, instead of Node's own list. */
  readonly ca?: string;
  /** The operator's proxy, used for encrypted targets. */
  readonly proxy?: Proxy | null;
}

const resolved = Promise.resolve();

export function providerHttp({
  clock,
  allowPrivate,
  bounds = providerBounds,
  lookup,
  ca,
  proxy = null,
}: ProviderHttpOptions): ProviderHttp {
  const guarded = (secure: boolean) => guardedLookup(addressCheck(secure, allowPrivate), lookup);
  const dialer = new Dialer({
    clock,
    connectMs: bounds.connectMs,
    lookup: { secure: guarded(true), plain: guarded(false) },
    ca,
    proxy,
  });
  const pool = new Pool(clock, dialer);
  const targets = new Map<string, Target | null>();
  const targetAt = (baseUrl: string): Target | null => {
    const known = targets.get(baseUrl);
    if (known !== undefined) return known;
    if (targets.size >= limits.providerOriginsMax) targets.clear();
    const target = targetOf(baseUrl, allowPrivate);
    targets.set(baseUrl, target);
    return target;
  };
  const send = (exchange: ProviderExchange, asked: ProviderGet | ProviderPost): void => {
    const target = targetAt(asked.baseUrl);
    if (target === null) return exchange.fail('address', null);
    const request = requestBytes(target, asked);
    if (typeof request === 'string') exchange.fail(request, null);
    else if (!('body' in asked)) exchange.send(target, request);
    else exchange.send(target, request, asked.once, asked.mayWrite);
  };
  const begin = (
    asked: ProviderGet | ProviderPost,
    listener: ProviderListener,
    within: ProviderBounds,
  ): ProviderRequest => {
    const exchange = new ProviderExchange(clock, within, pool, listener);
    // `queueMicrotask` makes an `AsyncResource` for each call.
    resolved.then(() => send(exchange, asked)).catch(() => exchange.fail('connect', null));
    return exchange;
  };
  const shorter = { ...bounds, silenceMs: Math.min(bounds.silenceMs, limits.providerGetMs) };
  return {
    now: () => clock.monotonic(),
    post: (post, listener, within) => begin(post, listener, within === undefined ? bounds : { ...bounds, ...within }),
    get: (get, listener) => begin(get, listener, shorter),
    async speaksHttp2(baseUrl) {
      const target = targetAt(baseUrl);
      return target !== null && speaksHttp2(dialer, clock, target, providerProbeHttp2Ms);
    },
    close: () => pool.close(),
  };
}

/** The HTTP client to every provider: one pool of connections, the address guard, and the bounds on waiting. */
import type { Clock } from './clock.ts';
import { limits } from './limits.ts';
import { guardedLookup, mayCall } from './provider/address.ts';
import type { Lookup } from './provider/address.ts';
import { Dialer } from './provider/dial.ts';
import { Exchange } from './provider/exchange.ts';
import type { ProviderBounds, ProviderCall, ProviderListener } from './provider/exchange.ts';
import { Pool } from './provider/pool.ts';
import { requestBytes } from './provider/request.ts';
import type { ProviderGet, ProviderPost } from './provider/request.ts';
import { targetOf } from './provider/target.ts';
import type { Target } from './provider/target.ts';
import type { Proxy } from './provider/tunnel.ts';

export type { ProviderBounds, ProviderCall, ProviderListener } from './provider/exchange.ts';
export type { ProviderGet, ProviderPost } from './provider/request.ts';

export const providerBounds: ProviderBounds = {
  connectMs: limits.providerConnectMs,
  firstOutputMs: limits.providerFirstOutputMs,
  idleMs: limits.providerIdleMs,
  errorBytesMax: limits.providerErrorBytesMax,
};

export interface ProviderHttp {
  /** Sends a request, within bounds of its own where they are given. Never throws, and never calls the listener before it returns. */
  post(post: ProviderPost, listener: ProviderListener, within?: Partial<ProviderBounds>): ProviderCall;
  /** The same without a body. What is only looked up is there at once or not at all, so the wait for it is shorter. */
  get(get: ProviderGet, listener: ProviderListener): ProviderCall;
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

export function providerHttp({ clock, allowPrivate, bounds = providerBounds, lookup, ca, proxy = null }: ProviderHttpOptions): ProviderHttp {
  const guarded = (secure: boolean) => guardedLookup(mayCall(secure, allowPrivate), lookup);
  const dialer = new Dialer({ clock, connectMs: bounds.connectMs, lookup: { secure: guarded(true), plain: guarded(false) }, ca, proxy });
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
  const send = (exchange: Exchange, asked: ProviderGet | ProviderPost): void => {
    const target = targetAt(asked.baseUrl);
    if (target === null) return exchange.fail('address', null);
    const request = requestBytes(target, asked);
    if (typeof request === 'string') exchange.fail(request, null);
    else exchange.send(target, request);
  };
  const begin = (asked: ProviderGet | ProviderPost, listener: ProviderListener, within: ProviderBounds): ProviderCall => {
    const exchange = new Exchange(clock, within, pool, listener);
    // `queueMicrotask` makes an `AsyncResource` for each call.
    void resolved.then(() => send(exchange, asked));
    return exchange;
  };
  const shorter = { ...bounds, firstOutputMs: Math.min(bounds.firstOutputMs, limits.providerGetMs) };
  return {
    post: (post, listener, within) => begin(post, listener, within === undefined ? bounds : { ...bounds, ...within }),
    get: (get, listener) => begin(get, listener, shorter),
    close: () => pool.close(),
  };
}

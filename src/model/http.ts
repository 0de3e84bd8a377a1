/** The HTTP client to every provider: one pool of connections, the address guard, and the bounds on waiting. */
import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';
import { guardedLookup } from './address.ts';
import type { Lookup } from './address.ts';
import { Dialer } from './http/dial.ts';
import { Exchange } from './http/exchange.ts';
import type { ProviderBounds, ProviderCall, ProviderListener } from './http/exchange.ts';
import { Pool } from './http/pool.ts';
import { requestBytes } from './http/request.ts';
import type { ProviderPost } from './http/request.ts';
import { targetOf } from './http/target.ts';
import type { Target } from './http/target.ts';

export type { ProviderBounds, ProviderCall, ProviderListener } from './http/exchange.ts';
export type { ProviderPost } from './http/request.ts';

export const providerBounds: ProviderBounds = {
  connectMs: limits.providerConnectMs,
  firstOutputMs: limits.providerFirstOutputMs,
  idleMs: limits.providerIdleMs,
  errorBytesMax: limits.providerErrorBytesMax,
};

export interface ProviderHttp {
  /** Sends a request. Never throws, and never calls the listener before it returns. */
  post(post: ProviderPost, listener: ProviderListener): ProviderCall;
  /** Closes every connection; calls in flight fail. */
  close(): Promise<void>;
}

export interface ProviderHttpOptions {
  readonly clock: Clock;
  readonly allowPrivate: boolean;
  readonly bounds?: ProviderBounds;
  readonly lookup?: Lookup;
  /** Certificates in PEM to trust instead of those that Node trusts. */
  readonly ca?: string;
}

export function providerHttp({ clock, allowPrivate, bounds = providerBounds, lookup, ca }: ProviderHttpOptions): ProviderHttp {
  const dialer = new Dialer({ clock, connectMs: bounds.connectMs, lookup: guardedLookup(allowPrivate, lookup), ca });
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
  const send = (exchange: Exchange, post: ProviderPost): void => {
    const target = targetAt(post.baseUrl);
    if (target === null) return exchange.fail('address', null);
    const request = requestBytes(target, post);
    if (typeof request === 'string') exchange.fail(request, null);
    else exchange.send(target, request);
  };
  return {
    post(post, listener) {
      const exchange = new Exchange(clock, bounds, pool, listener);
      queueMicrotask(() => send(exchange, post));
      return exchange;
    },
    close: () => pool.close(),
  };
}

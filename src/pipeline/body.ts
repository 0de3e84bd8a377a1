/** A request's body: bounded, in time, UTF-8, JSON (contract 2 and 12). */
import { Failure } from '../errors.ts';
import type { Exchange } from '../edge.ts';
import { limits } from '../limits.ts';
import type { Route } from '../request.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The parsed body; undefined where there is none and the route wants none. */
export async function readBody(exchange: Exchange, route: Route): Promise<unknown> {
  if (route.method === 'GET') return undefined;
  const body = await exchange.body();
  if (body.kind === 'too_large') throw new Failure('body_too_large', { limit: limits.bodyBytesMax });
  if (body.kind !== 'bytes') throw new Failure('body_timeout');
  if (route.body === null && body.bytes.length === 0) return undefined;
  try {
    return JSON.parse(utf8.decode(body.bytes));
  } catch {
    throw new Failure('malformed_json');
  }
}

/** For a route that wants no body: one that came is an object, whatever is in it (contract 12). */
export function checkUnwanted(json: unknown): void {
  if (json !== undefined && (typeof json !== 'object' || json === null || Array.isArray(json))) throw new Failure('not_an_object');
}

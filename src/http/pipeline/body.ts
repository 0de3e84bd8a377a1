/** Reads a request's body: bounded in size and time, UTF-8, JSON (contract 1 and 2). */
import { Failure } from '../../base/errors.ts';
import type { Body, Exchange } from '../../base/edge.ts';
import { bodyBytesOf } from '../paths.ts';
import { isConsole, type Route } from '../request.ts';
import type { Admission } from './admission.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The parsed body; without one undefined if the route takes none, or an empty object if it may be left out. */
export const readBody = (exchange: Exchange, route: Route, admission: Admission): Promise<unknown> | undefined =>
  route.method === 'GET'
    ? undefined
    : exchange.body().then((body) => {
        const wait = body.kind === 'bytes' && body.bytes.length > 0 ? admission.body(body.bytes.length) : undefined;
        // The exchange alone owns a body that waits to be parsed, and drops it if its client leaves.
        return wait === undefined
          ? taken(body, exchange, route)
          : wait.then(() => exchange.body()).then((kept) => taken(kept, exchange, route));
      });

const taken = (body: Body, exchange: Exchange, route: Route): unknown =>
  route.takesBytes ? body : parseBody(body, exchange, route);

function parseBody(body: Body, exchange: Exchange, route: Route): unknown {
  if (body.kind === 'too_large') throw new Failure('body_too_large', { limit: bodyBytesOf(exchange.path) });
  if (body.kind !== 'bytes') throw new Failure('body_timeout');
  if (body.bytes.length === 0 && (route.body === null || route.bodyOptional))
    return route.body === null ? undefined : {};
  if (isConsole(route) && !mayBeJson(exchange.headers('content-type'))) throw new Failure('content_type');
  try {
    return JSON.parse(utf8.decode(body.bytes));
  } catch {
    throw new Failure('malformed_json');
  }
}

/**
 * Whether the body may be JSON: there is no `content-type`, or it is `application/json` or a type that ends in `+json`
 * (contract 1). A page of another site can send none of these types without a CORS preflight.
 */
function mayBeJson([type, ...more]: readonly string[]): boolean {
  if (type === undefined) return true;
  const essence = mediaType.exec(type)?.[1]!.toLowerCase();
  return more.length === 0 && essence !== undefined && (essence === 'application/json' || essence.endsWith('+json'));
}

/**
 * A type and a subtype, before parameters that are not looked at. Node's `MIMEType` takes 0.4 s for 16 KB of white
 * space.
 */
const mediaType = /^[\t ]*([!#$%&'*+.^`|~\w-]+\/[!#$%&'*+.^`|~\w-]+)[\t ]*(?:;|$)/;

/** For a route without a body: a body that was sent all the same must be an object, of any content (contract 1). */
export function checkUnwanted(json: unknown): void {
  if (json !== undefined && (typeof json !== 'object' || json === null || Array.isArray(json)))
    throw new Failure('not_an_object');
}

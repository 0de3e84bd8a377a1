/** The order of checks, the same for requests and for upgrades (contract 3, 1 to 5). Handlers make the later checks. */
import { Failure, type Refusal } from '../../base/errors.ts';
import { thenSync } from '../../base/then-sync.ts';
import { mayDo, reaches } from '../../base/roles.ts';
import type { ClientHead, OperatorCaller, PathParameters, Request, Route } from '../request.ts';
import type { Find } from '../routes.ts';
import { refusedByDrain, type Services } from '../../conversation/services.ts';
import { queryObject } from '../../wire/wire.ts';
import { checkUnwanted } from './body.ts';
import { callers } from './callers.ts';
import { beginSpan, type Course } from './reply.ts';
import type { RequestHead } from '../../base/edge.ts';
import { limits } from '../../base/limits.ts';

/** A request that has passed the checks, for its route's handler. */
export interface Checked extends Request {
  readonly route: Route;
}

/** Reads and parses the body for the route; undefined without a body. An upgrade has no body. */
export type ReadBody = (route: Route) => Promise<unknown> | undefined;

/**
 * Returns the request that has passed every check, or the refusal of a limit; synchronously, without a promise or a
 * throw, if that needs no store. Every other check that fails throws the `Failure` to be answered, and later checks are
 * not made.
 */
export function checkRequest(
  head: ClientHead,
  find: Find,
  readBody: ReadBody,
  course: Course,
  services: Services,
): Refusal | Promise<Checked | Refusal> | Checked {
  // 1. The route exists.
  const { route, params } = find(head.method, head.path);
  course.route = route;
  route.gate?.(head, services);
  const kind = callers[route.caller];

  // 2. Authentication, and the role of a person.
  const known = thenSync(kind.recognise(head, params, services, course), (caller) => {
    course.caller = caller;
    beginSpan(head, course, services);
    if (caller.kind === 'operator') checkRole(caller, route, params);
    return caller;
  });

  // 3. The caller's budgets.
  const charged = thenSync(known, (caller) => kind.charge(caller, route, course, services, head));

  // 4. and 5.
  return thenSync<Refusal | null, Refusal | Checked>(
    charged,
    (limited) => limited ?? checkContent(head, route, params, readBody, course, services),
  );
}

/** Throws 404 for another workspace than the person's, and 403 where the role does not permit the operation. */
function checkRole({ grant }: OperatorCaller, { permission }: Route, params: Partial<PathParameters>): void {
  if (params.w !== undefined && !reaches(grant, params.w)) throw new Failure('route_not_found');
  if (permission === undefined || !mayDo(grant, permission)) throw new Failure('role_not_permitted');
}

function checkContent(
  head: ClientHead,
  route: Route,
  params: Request['params'],
  readBody: ReadBody,
  course: Course,
  services: Services,
): Checked | Promise<Checked> {
  const idempotencyKey = route.repeatable ? idempotencyKeyOf(head) : null;
  // With an `Idempotency-Key` the request may be a repeat, which is no new work: its handler looks the key up, and
  // refuses new work (contract 6).
  if (route.newWork && services.draining && idempotencyKey === null) throw refusedByDrain();

  // 4. Body size and JSON; the idempotency key above belongs to this check.
  return thenSync(readBody(route), (json) => {
    // 5. Fields.
    const query = route.query.parse(queryObject(head.query, route.query.schema));
    const body = route.takesBytes ? undefined : route.body === null ? checkUnwanted(json) : route.body.parse(json);
    return {
      requestId: course.requestId,
      span: course.span,
      head,
      route,
      caller: course.caller!,
      params,
      query,
      body,
      json,
      idempotencyKey,
      services,
    };
  });
}

/** The header `Idempotency-Key` (contract 6): at most 255 printable ASCII characters; null without the header. */
function idempotencyKeyOf(head: RequestHead): string | null {
  const values = head.headers('idempotency-key');
  if (values.length === 0) return null;
  const key = values[0]!;
  const readable =
    values.length === 1 && key.length <= limits.idempotencyKeyCharactersMax && /^[\x20-\x7e]+$/.test(key);
  if (!readable) throw new Failure('unreadable_header', { field: 'Idempotency-Key' });
  return key;
}

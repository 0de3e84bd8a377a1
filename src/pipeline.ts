/** Every request's way through the house, in the contract's order of checks (contract 3). */
import { Failure, refused, type Refusal } from './errors.ts';
import type { Exchange } from './edge.ts';
import { authenticate } from './pipeline/authenticate.ts';
import { checkUnwanted, readBody } from './pipeline/body.ts';
import { idempotencyKeyOf } from './pipeline/idempotency-key.ts';
import { begunCourse, failed, refusal, send, type Course } from './pipeline/reply.ts';
import { promptly } from './promptly.ts';
import type { KeyCaller, Reply, Request, Route } from './request.ts';
import { find } from './routes.ts';
import type { Services } from './services.ts';
import { queryObject } from './wire.ts';

type Params = Request['params'];

/** Resolves when the request is answered, or its stream begun; a refusal that needs no store is given at once, without a promise. */
export type Pipeline = (exchange: Exchange) => Promise<void> | void;

export function openPipeline(services: Services): Pipeline {
  return (exchange) => {
    const course = begunCourse(services);
    const refuse = (error: unknown): void => send(exchange, failed(error, course, services), course, services);
    let reply: Reply | Promise<Reply>;
    try {
      reply = answer(exchange, course, services);
    } catch (error) {
      return refuse(error);
    }
    if (reply instanceof Promise) return reply.then((given) => send(exchange, given, course, services), refuse);
    send(exchange, reply, course, services);
  };
}

/** The order of checks. Each step throws the `Failure` that answers, and what follows it is not reached; the limiter hands its own back. */
function answer(exchange: Exchange, course: Course, services: Services): Reply | Promise<Reply> {
  // 1. The route exists.
  const { route, params } = find(exchange.method, exchange.path);
  course.route = route;

  // 2. Authentication.
  const known = promptly(authenticate(route.caller, exchange, services), (caller) => (course.caller = caller));

  // 3. The key's budgets.
  const charged = promptly(known, (caller) => (caller.kind === 'key' ? charge(caller, route, course, services) : null));

  // 4. to 9.
  return promptly(charged, (limited) => (limited === null ? serve(exchange, route, params, course, services) : refusal(limited, course, services)));
}

/** The last budget looked at refused, or is the endpoint's own and speaks in the headers. */
const charge = ({ actor }: KeyCaller, route: Route, course: Course, { host }: Services): Refusal | null | Promise<Refusal | null> =>
  promptly(host.keys.take(actor, route.budgets), (budgets) => {
    const taken = budgets.at(-1)!;
    course.rate = { ceiling: actor.record.limits[taken.budget], taken };
    return taken.passed ? null : refused('rate_limited', { seconds: taken.retryAfterSeconds });
  });

async function serve(exchange: Exchange, route: Route, params: Params, course: Course, services: Services): Promise<Reply> {
  if (route.newWork && services.draining) throw new Failure('service_unavailable', { seconds: 5 });

  // 4. Headers, body size and JSON.
  const idempotencyKey = route.repeatable ? idempotencyKeyOf(exchange) : null;
  const json = await readBody(exchange, route);

  // 5. Fields.
  const query = route.query.parse(queryObject(exchange.query, route.query.schema));
  const body = route.body === null ? checkUnwanted(json) : route.body.parse(json);

  // 6. Resource, permission, required visitor fields; 7. state; 8. the workspace's turns in flight; 9. the provider.
  const { requestId } = course;
  return route.handler({ requestId, head: exchange, caller: course.caller!, params, query, body, json, idempotencyKey, services });
}

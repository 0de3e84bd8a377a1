/** Every request's way through the house, in the contract's order of checks (contract 3). */
import { Failure } from './errors.ts';
import type { Exchange } from './edge.ts';
import { authenticate } from './pipeline/authenticate.ts';
import { readBody } from './pipeline/body.ts';
import { idempotencyKeyOf } from './pipeline/idempotency-key.ts';
import { refusal, send, type Course } from './pipeline/reply.ts';
import type { Reply } from './request.ts';
import { find } from './routes.ts';
import type { Services } from './services.ts';
import { queryObject } from './wire.ts';

export type Pipeline = (exchange: Exchange) => Promise<void>;

export function openPipeline(services: Services): Pipeline {
  return async (exchange) => {
    const course: Course = {
      requestId: services.ids.make('req'),
      startedAt: services.clock.monotonic(),
      route: null,
      caller: null,
      rate: null,
    };
    let reply: Reply;
    try {
      reply = await answer(exchange, course, services);
    } catch (error) {
      reply = refusal(error, course, services);
    }
    send(exchange, reply, course, services);
  };
}

/** The order of checks. Each step throws the `Failure` that answers, and what follows it is not reached. */
async function answer(exchange: Exchange, course: Course, services: Services): Promise<Reply> {
  // 1. The route exists.
  const { route, params } = find(exchange.method, exchange.path);
  course.route = route;

  // 2. Authentication.
  const caller = await authenticate(route.caller, exchange, services);
  course.caller = caller;

  // 3. The key's budgets: the last one looked at refused, or is the endpoint's own and speaks in the headers.
  if (caller.kind === 'key') {
    const taken = (await services.host.keys.take(caller.actor, route.budgets)).at(-1)!;
    course.rate = { ceiling: caller.actor.record.limits[taken.budget], taken };
    if (!taken.passed) throw new Failure('rate_limited', { seconds: taken.retryAfterSeconds });
  }
  if (route.newWork && services.draining) throw new Failure('service_unavailable', { seconds: 5 });

  // 4. Headers, body size and JSON.
  const idempotencyKey = route.repeatable ? idempotencyKeyOf(exchange) : null;
  const json = await readBody(exchange, route);

  // 5. Fields.
  const query = route.query.parse(queryObject(exchange.query, route.query.schema));
  const body = route.body?.parse(json);

  // 6. Resource, permission, required visitor fields; 7. state; 8. the workspace's turns in flight; 9. the provider.
  return route.handler({ requestId: course.requestId, head: exchange, caller, params, query, body, json, idempotencyKey, services });
}

/** The service paths on a port of their own, apart from the API's clients: the same answers, failures and log lines. */
import { Failure } from './errors.ts';
import type { EdgeListener, Exchange } from './edge.ts';
import { healthz, metrics, readyz } from './handlers/service.ts';
import { openRefuser } from './pipeline/head.ts';
import { begunCourse, failed, refuse, send, type Course } from './pipeline/reply.ts';
import type { Reply } from './request.ts';
import { finderOf } from './routes.ts';
import { serviceRoutes } from './routes/api.ts';
import type { ServiceDesk, ServiceView } from './services.ts';

const find = finderOf(serviceRoutes);
const handlers: Readonly<Record<string, (look: { readonly services: ServiceView }) => Reply | Promise<Reply>>> = {
  '/healthz': healthz,
  '/readyz': readyz,
  '/metrics': metrics,
};

/** The callbacks of an engine on the service port. */
export const openServiceListener = (desk: ServiceDesk): EdgeListener => ({
  exchange: (exchange) => serve(exchange, desk),
  upgrade: (upgrade) => refuse(upgrade, new Failure('route_not_found'), begunCourse(desk), desk),
  refuse: openRefuser(desk),
});

function serve(exchange: Exchange, desk: ServiceDesk): Promise<void> {
  const course = begunCourse(desk);
  return answer(exchange, course, desk).then(
    (reply) => send(exchange, reply, course, desk),
    (error: unknown) => send(exchange, failed(error, exchange, course, desk), course, desk),
  );
}

async function answer({ method, path }: Exchange, course: Course, services: ServiceDesk): Promise<Reply> {
  const { route } = find(method, path);
  course.route = route;
  return handlers[route.path]!({ services });
}

/** The service paths on a separate port, apart from the API's clients: the same answers, failures and log lines. */
import { Failure } from '../base/errors.ts';
import type { EdgeListener, Exchange } from '../base/edge.ts';
import { alive, metrics, readyz } from './handlers/service.ts';
import { openRefuser } from './pipeline/head.ts';
import { beginCourse, replyToFailure, refuse, sendReply, type Course } from './pipeline/reply.ts';
import type { Reply } from './request.ts';
import { finderOf } from './routes.ts';
import { serviceRoutes } from './routes/api.ts';
import type { ServiceDesk, ServiceView } from '../conversation/services.ts';

const find = finderOf(serviceRoutes);
const handlers: Readonly<Record<string, (look: { readonly services: ServiceView }) => Reply | Promise<Reply>>> = {
  '/healthz': alive,
  '/readyz': readyz,
  '/metrics': metrics,
};

/** The callbacks of an engine on the management port. */
export const openManagementListener = (desk: ServiceDesk): EdgeListener => ({
  exchange: (exchange) => serve(exchange, desk),
  upgrade: (upgrade) => refuse(upgrade, new Failure('route_not_found'), beginCourse(upgrade, desk), desk),
  refuse: openRefuser(desk),
});

function serve(exchange: Exchange, desk: ServiceDesk): Promise<void> {
  const course = beginCourse(exchange, desk);
  return answer(exchange, course, desk).then(
    (reply) => sendReply(exchange, reply, course, desk),
    (error: unknown) => sendReply(exchange, replyToFailure(error, exchange, course, desk), course, desk),
  );
}

async function answer({ method, path }: Exchange, course: Course, services: ServiceDesk): Promise<Reply> {
  const { route } = find(method, path);
  course.route = route;
  return handlers[route.path]!({ services });
}

/** Requests to become a WebSocket: the paths that have one, and the same checks and failures as for any other request. */
import { Failure } from './errors.ts';
import type { Upgrade } from './edge.ts';
import { authenticate } from './pipeline/authenticate.ts';
import { begunCourse, record, refuse } from './pipeline/reply.ts';
import { socketRoutes } from './routes/sockets.ts';
import type { Services } from './services.ts';

export type Upgrader = (upgrade: Upgrade) => Promise<void>;

export const openUpgrader =
  (services: Services): Upgrader =>
  async (upgrade) => {
    const course = begunCourse(services);
    try {
      const socket = socketRoutes.find(({ route }) => route.path === upgrade.path);
      if (socket === undefined) throw new Failure('route_not_found');
      course.route = socket.route;
      course.caller = await authenticate(socket.route.caller, upgrade, services);
      if (socket.route.newWork && services.draining) throw new Failure('service_unavailable', { seconds: 5 });
      socket.open(upgrade, course.requestId, services);
      record(upgrade, 101, course, services);
    } catch (error) {
      refuse(upgrade, error, course, services);
    }
  };

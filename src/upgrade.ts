/** Requests to become a WebSocket: the same checks and failures as for any other request. */
import type { Upgrade } from './edge.ts';
import { check } from './pipeline/checks.ts';
import { answerWhole, begunCourse, record, refusal, refuse } from './pipeline/reply.ts';
import { finderOf } from './routes.ts';
import { socketRoutes } from './routes/sockets.ts';
import type { Services } from './services.ts';

export type Upgrader = (upgrade: Upgrade) => Promise<void>;

const find = finderOf(socketRoutes);
const noBody = (): undefined => undefined;

export const openUpgrader =
  (services: Services): Upgrader =>
  async (upgrade) => {
    const course = begunCourse(services);
    try {
      const checked = await check(upgrade, find, noBody, course, services);
      if ('row' in checked) return answerWhole(upgrade, refusal(checked, course, services), course, services);
      await checked.route.open!(checked, upgrade);
      record(upgrade, 101, course, services);
    } catch (error) {
      refuse(upgrade, error, course, services);
    }
  };

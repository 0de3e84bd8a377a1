/** The path of every request: the checks, its handler, its answer. */
import type { Exchange, Upgrade } from '../base/edge.ts';
import { Admission } from './pipeline/admission.ts';
import { readBody } from './pipeline/body.ts';
import { checkRequest } from './pipeline/checks.ts';
import {
  answerWhole,
  beginCourse,
  openingHeaders,
  replyToFailure,
  record,
  refusal,
  refuse,
  sendReply,
  type Course,
} from './pipeline/reply.ts';
import { thenSync } from '../base/then-sync.ts';
import type { Reply } from './request.ts';
import { answeredRoutes, finderOf, type Find } from './routes.ts';
import type { Services } from '../conversation/services.ts';
import { socketRoutes } from './routes/sockets.ts';

/**
 * Resolves when the request is answered or its stream has begun. While few requests are under way, a refusal that needs
 * no store is answered synchronously, without a promise.
 */
export type Pipeline = (exchange: Exchange) => Promise<void> | void;

export function openPipeline(services: Services): Pipeline {
  const find = finderOf(answeredRoutes(services.config));
  const admission = new Admission();
  const run = (exchange: Exchange, course: Course): Promise<void> | void => {
    const give = (reply: Reply): void => {
      admission.leave();
      sendReply(exchange, reply, course, services);
    };
    const refuse = (error: unknown): void => {
      admission.leave();
      sendReply(exchange, replyToFailure(error, exchange, course, services), course, services);
    };
    let reply: Reply | Promise<Reply>;
    try {
      reply = answer(exchange, find, course, admission, services);
    } catch (error) {
      return refuse(error);
    }
    return reply instanceof Promise ? reply.then(give, refuse) : give(reply);
  };
  return (exchange) => {
    const course = beginCourse(exchange, services);
    return thenSync(admission.enter(), () => run(exchange, course));
  };
}

/**
 * Checks 1 to 5 (contract 3); the handler makes the others: 6. resource and permission; 7. state; 8. turns in flight;
 * 9. provider.
 */
const answer = (
  exchange: Exchange,
  find: Find,
  course: Course,
  admission: Admission,
  services: Services,
): Reply | Promise<Reply> =>
  thenSync(
    checkRequest(exchange, find, (route) => readBody(exchange, route, admission), course, services),
    (checked) => ('row' in checked ? refusal(checked, course, services) : checked.route.handler(checked)),
  );

/** A request to become a WebSocket: the same checks and failures as for any other request. */
export type Upgrader = (upgrade: Upgrade) => Promise<void>;

const findSocket = finderOf(socketRoutes);
const noBody = (): undefined => undefined;

export const openUpgrader =
  (services: Services): Upgrader =>
  async (upgrade) => {
    const course = beginCourse(upgrade, services);
    try {
      const checked = await checkRequest(upgrade, findSocket, noBody, course, services);
      if ('row' in checked) return answerWhole(upgrade, refusal(checked, course, services), course, services);
      await checked.route.open!(checked, upgrade, openingHeaders(course, services));
      record(upgrade, 101, course, services);
    } catch (error) {
      refuse(upgrade, error, course, services);
    }
  };

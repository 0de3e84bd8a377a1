/** The path of every request: the checks, its handler, its answer. */
import type { Exchange } from './edge.ts';
import { readBody } from './pipeline/body.ts';
import { check } from './pipeline/checks.ts';
import { begunCourse, failed, refusal, send, type Course } from './pipeline/reply.ts';
import { promptly } from './promptly.ts';
import type { Reply } from './request.ts';
import { answeredRoutes, finderOf, type Find } from './routes.ts';
import type { Services } from './services.ts';

/** Resolves when the request is answered or its stream has begun. A refusal that needs no store is answered synchronously, without a promise. */
export type Pipeline = (exchange: Exchange) => Promise<void> | void;

export function openPipeline(services: Services): Pipeline {
  const find = finderOf(answeredRoutes(services.config));
  return (exchange) => {
    const course = begunCourse(services);
    const refuse = (error: unknown): void => send(exchange, failed(error, exchange, course, services), course, services);
    let reply: Reply | Promise<Reply>;
    try {
      reply = answer(exchange, find, course, services);
    } catch (error) {
      return refuse(error);
    }
    if (reply instanceof Promise) return reply.then((given) => send(exchange, given, course, services), refuse);
    send(exchange, reply, course, services);
  };
}

/** Checks 1 to 5 (contract 3); the handler makes the others: 6. resource and permission; 7. state; 8. turns in flight; 9. provider. */
const answer = (exchange: Exchange, find: Find, course: Course, services: Services): Reply | Promise<Reply> =>
  promptly(
    check(exchange, find, (route) => readBody(exchange, route), course, services),
    (checked) => ('row' in checked ? refusal(checked, course, services) : checked.route.handler(checked)),
  );

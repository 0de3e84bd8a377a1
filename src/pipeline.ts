/** The path of every request: the checks, its handler, its answer. */
import type { Exchange } from './edge.ts';
import { Admission } from './pipeline/admission.ts';
import { readBody } from './pipeline/body.ts';
import { check } from './pipeline/checks.ts';
import { begunCourse, failed, refusal, send, type Course } from './pipeline/reply.ts';
import { promptly } from './promptly.ts';
import type { Reply } from './request.ts';
import { answeredRoutes, finderOf, type Find } from './routes.ts';
import type { Services } from './services.ts';

/** Resolves when the request is answered or its stream has begun. While few requests are under way, a refusal that needs no store is answered synchronously, without a promise. */
export type Pipeline = (exchange: Exchange) => Promise<void> | void;

export function openPipeline(services: Services): Pipeline {
  const find = finderOf(answeredRoutes(services.config));
  const admission = new Admission();
  const run = (exchange: Exchange, course: Course): Promise<void> | void => {
    const give = (reply: Reply): void => {
      admission.left();
      send(exchange, reply, course, services);
    };
    const refuse = (error: unknown): void => {
      admission.left();
      send(exchange, failed(error, exchange, course, services), course, services);
    };
    let reply: Reply | Promise<Reply>;
    try {
      reply = answer(exchange, find, course, services);
    } catch (error) {
      return refuse(error);
    }
    return reply instanceof Promise ? reply.then(give, refuse) : give(reply);
  };
  return (exchange) => {
    const course = begunCourse(services);
    return promptly(admission.enter(), () => run(exchange, course));
  };
}

/** Checks 1 to 5 (contract 3); the handler makes the others: 6. resource and permission; 7. state; 8. turns in flight; 9. provider. */
const answer = (exchange: Exchange, find: Find, course: Course, services: Services): Reply | Promise<Reply> =>
  promptly(
    check(exchange, find, (route) => readBody(exchange, route), course, services),
    (checked) => ('row' in checked ? refusal(checked, course, services) : checked.route.handler(checked)),
  );

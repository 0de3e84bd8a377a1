import type { RequestHead } from '../../../base/edge.ts';
import type { Refusal } from '../../../base/errors.ts';
import type { Caller, Request, Route } from '../../request.ts';
import type { Services } from '../../../conversation/services.ts';
import type { Course } from '../reply.ts';

/** A kind of caller: recognises it in a request, and charges it. */
export interface CallerKind<C extends Caller = Caller> {
  /**
   * The caller that the head shows; synchronously, or as a promise if the store must be read. Throws the 401, or the
   * 400 for an unreadable header. May set the headers of the course that say which sites may read the answer.
   */
  recognise(head: RequestHead, params: Request['params'], services: Services, course: Course): C | Promise<C>;
  /**
   * Charges the caller for a call of the route; returns the refusal of a limit, or null. Sets the course's rate if the
   * answer has rate headers.
   */
  charge(
    caller: C,
    route: Route,
    course: Course,
    services: Services,
    head: RequestHead,
  ): Refusal | null | Promise<Refusal | null>;
}

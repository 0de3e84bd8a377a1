/** Heads that an edge does not hand on, because what follows them could be read in two ways, or because they are too large (contract 2 and 12, "Framing"). */
import type { Answerable, HeadFault } from '../edge.ts';
import { Failure } from '../errors.ts';
import { limits } from '../limits.ts';
import type { Services } from '../services.ts';
import { begunCourse, refuse } from './reply.ts';

/** Answers such a request, whatever it asks for, in the one error shape. */
export const openRefuser =
  (services: Services) =>
  (request: Answerable, fault: HeadFault): void =>
    refuse(request, failureOf(fault), begunCourse(services), services);

const failureOf = (fault: HeadFault): Failure =>
  fault === 'size' ? new Failure('headers_too_large', { limit: limits.headersCountMax }) : new Failure('unreadable_header', { field: fault });

/**
 * Request heads that an edge refuses, because two readers could disagree about what follows them, or because they are
 * too large (contract 2 and 11, "Framing").
 */
import type { Answerable, HeadFault } from '../../base/edge.ts';
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Recording } from '../../conversation/services.ts';
import { beginCourse, refuse } from './reply.ts';

/** Answers such a request, for any target, with the one error shape. */
export const openRefuser =
  (services: Recording) =>
  (request: Answerable, fault: HeadFault): void =>
    refuse(request, failureOf(fault), beginCourse(request, services), services);

const failureOf = (fault: HeadFault): Failure =>
  fault === 'size'
    ? new Failure('headers_too_large', { limit: limits.headersCountMax })
    : new Failure('unreadable_header', { field: fault });

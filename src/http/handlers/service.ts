/** The paths without a key: health, readiness, metrics, and the OpenAPI and AsyncAPI documents. */
import { Failure } from '../../base/errors.ts';
import type { NobodyCaller, Reply, Request } from '../request.ts';
import { reachedOrigin } from '../../access/own-origins.ts';
import type { ServiceView } from '../../conversation/services.ts';
import { fileReply } from './file.ts';

interface Look {
  readonly services: ServiceView;
}

/** The process is alive. */
export const alive = (): Reply => ({ status: 200, json: { status: 'ok' } });

/**
 * The same for clients of the API, with the address at which the server believes to be reached: `parley doctor`
 * compares it with the one that it used.
 */
export function healthz({ head, services }: Request<NobodyCaller>): Reply {
  const reached = reachedOrigin(head, services.config);
  return { ...alive(), headers: reached === null ? {} : { 'x-reached-at': reached } };
}

/** The process accepts work: it is not draining and its store answers. */
export async function readyz({ services }: Look): Promise<Reply> {
  if (services.draining || !(await services.readiness.isReady())) throw new Failure('service_unavailable');
  return { status: 200, json: { status: 'ready' } };
}

export async function metrics({ services }: Look): Promise<Reply> {
  return {
    status: 200,
    headers: { 'content-type': services.metrics.contentType },
    text: await services.metrics.text(),
  };
}

export const openapi = ({ head, services }: Request<NobodyCaller>): Reply => fileReply(services.openapi(), head);
export const asyncapi = ({ head, services }: Request<NobodyCaller>): Reply => fileReply(services.asyncapi(), head);

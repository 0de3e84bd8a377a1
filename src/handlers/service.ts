/** What needs no key: health, readiness, metrics and the OpenAPI document. */
import { Failure } from '../errors.ts';
import { jsonType, type NobodyCaller, type Reply, type Request } from '../request.ts';

/** The process is alive. */
export const healthz = (): Reply => ({ status: 200, json: { status: 'ok' } });

/** The process takes work: it is not draining and its store answers. */
export async function readyz({ services }: Request<NobodyCaller>): Promise<Reply> {
  if (services.draining) throw new Failure('service_unavailable');
  await services.store.ping();
  return { status: 200, json: { status: 'ready' } };
}

export async function metrics({ services }: Request<NobodyCaller>): Promise<Reply> {
  return { status: 200, headers: { 'content-type': services.metrics.contentType }, text: await services.metrics.text() };
}

export const openapi = ({ services }: Request<NobodyCaller>): Reply => ({
  status: 200,
  headers: { 'content-type': jsonType },
  text: services.openapi(),
});

/** `POST /sessions`, `GET /sessions`, `GET /sessions/{id}` and `POST /sessions/{id}/end`. */
import { idempotencyOf } from '../../conversation/idempotency.ts';
import { checkListed, reachSession, retainedSince } from '../../conversation/reach.ts';
import * as conversation from '../../conversation/sessions.ts';
import type { PartyCaller, Reply, Request } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import type { Session, SessionFilter } from '../../store/store.ts';
import { sessionView } from '../../conversation/views.ts';
import type { CreateSessionBody } from '../../base/wire.ts';
import { list, pageRequest, type PageFields } from './lists.ts';

export async function createSession(request: Request<PartyCaller, unknown, CreateSessionBody>): Promise<Reply> {
  const { caller, body, requestId, services } = request;
  const { session, replayed } = await conversation.openSession(caller.party, body, idempotencyOf(request, caller.party, '/sessions'), requestId, services);
  return sessionCreated(session, '', services.clock.now(), replayed);
}

/** `under`: the path below which the session was opened. */
export const sessionCreated = (session: Session, under: string, nowMs: number, replayed: boolean): Reply => ({
  status: 201,
  headers: { location: `${under}/sessions/${session.id}`, ...(replayed ? { 'idempotent-replayed': 'true' } : {}) },
  json: sessionView(session, nowMs),
});

/** The channels of the API's sessions: a trial of the console is none of them (contract 9). */
export const apiChannels: readonly Session['channel'][] = ['api', 'link', 'widget'];

export type SessionsQuery = PageFields & { readonly assistant_id?: string; readonly status?: string };

export async function listSessions({ caller: { party }, query, services }: Request<PartyCaller, SessionsQuery>): Promise<Reply> {
  const assistantIds = await checkListed(party, query.assistant_id, services);
  return replyWithSessions(party.workspaceId, { assistantIds, channels: apiChannels }, query, services);
}

/** The sessions of a workspace that a filter lets through, beside the parameters of every list. */
export async function replyWithSessions(
  workspaceId: string,
  wanted: Omit<SessionFilter, 'status' | 'activeSince' | 'now'>,
  query: SessionsQuery,
  services: Services,
): Promise<Reply> {
  const now = services.clock.now();
  const filter: SessionFilter = {
    ...wanted,
    status: (query.status ?? null) as SessionFilter['status'],
    activeSince: await retainedSince(workspaceId, services),
    now: Math.floor(now / 1000),
  };
  return list(pageRequest(query, 'desc'), (page) => services.store.sessions.list(workspaceId, filter, page), (session) => sessionView(session, now));
}

export async function getSession({ caller, params, services }: Request<PartyCaller>): Promise<Reply> {
  return { status: 200, json: sessionView(await reachSession(caller.party, params.id!, services), services.clock.now(), caller.party.channel) };
}

export async function endSession({ caller, params, requestId, services }: Request<PartyCaller>): Promise<Reply> {
  return { status: 200, json: sessionView(await conversation.endSession(caller.party, params.id!, requestId, services), services.clock.now(), caller.party.channel) };
}

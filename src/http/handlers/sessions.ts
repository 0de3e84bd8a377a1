/** `POST /sessions`, `GET /sessions`, `GET /sessions/{id}` and `POST /sessions/{id}/end`. */
import { idempotencyOf } from '../../conversation/idempotency.ts';
import { checkListed, reachSession, retainedSince } from '../../conversation/access-checks.ts';
import * as conversation from '../../conversation/sessions.ts';
import { secondsOf } from '../../base/clock.ts';
import type { PrincipalCaller, Reply, Request } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import type { Session, SessionFilter } from '../../store/store.ts';
import { sessionView } from '../../conversation/views.ts';
import type { CreateSessionBody } from '../../wire/wire.ts';
import { list, pageRequest, type PageFields } from './lists.ts';

export async function createSession(request: Request<PrincipalCaller, unknown, CreateSessionBody>): Promise<Reply> {
  const { caller, body, requestId, services } = request;
  const { session, replayed } = await conversation.openSession(
    caller.principal,
    body,
    idempotencyOf(request, caller.principal, '/sessions'),
    requestId,
    services,
  );
  return sessionCreated(session, '', services.clock.now(), replayed);
}

/** `under`: the path below which the session was opened. */
export const sessionCreated = (session: Session, under: string, nowMs: number, replayed: boolean): Reply => ({
  status: 201,
  headers: { location: `${under}/sessions/${session.id}`, ...(replayed ? { 'idempotent-replayed': 'true' } : {}) },
  json: sessionView(session, nowMs),
});

/** The channels of the API's sessions; trials of the console are excluded (contract 9). */
export const apiChannels: readonly Session['channel'][] = ['api', 'link', 'widget'];

export type SessionsQuery = PageFields & { readonly assistant_id?: string; readonly status?: string };

export async function listSessions({
  caller: { principal },
  query,
  services,
}: Request<PrincipalCaller, SessionsQuery>): Promise<Reply> {
  const assistantIds = await checkListed(principal, query.assistant_id, services);
  const { workspaceId } = principal;
  const filter = await sessionFilter(workspaceId, { assistantIds, channels: apiChannels }, query, services);
  return list(
    pageRequest(query, 'desc'),
    (page) => services.store.sessions.list(workspaceId, filter, page),
    (session) => sessionView(session, services.clock.now()),
  );
}

/** The part of a filter that does not stand in the query of every list of sessions. */
export type WantedSessions = Omit<SessionFilter, 'status' | 'activeSince' | 'now'>;

export const sessionFilter = async (
  workspaceId: string,
  wanted: WantedSessions,
  { status }: Pick<SessionsQuery, 'status'>,
  services: Services,
): Promise<SessionFilter> => ({
  ...wanted,
  status: (status ?? null) as SessionFilter['status'],
  activeSince: await retainedSince(workspaceId, services),
  now: secondsOf(services.clock.now()),
});

export async function getSession({ caller, params, services }: Request<PrincipalCaller>): Promise<Reply> {
  return {
    status: 200,
    json: sessionView(
      await reachSession(caller.principal, params.id, services),
      services.clock.now(),
      caller.principal.channel,
    ),
  };
}

export async function endSession({ caller, params, requestId, services }: Request<PrincipalCaller>): Promise<Reply> {
  return {
    status: 200,
    json: sessionView(
      await conversation.endSession(caller.principal, params.id, requestId, services),
      services.clock.now(),
      caller.principal.channel,
    ),
  };
}

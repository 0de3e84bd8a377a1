/** `POST /sessions`, `GET /sessions`, `GET /sessions/{id}` and `POST /sessions/{id}/end`. */
import { Failure } from '../errors.ts';
import type { KeyCaller, Reply, Request } from '../request.ts';
import type { Services } from '../services.ts';
import type { Session, SessionFilter, VisitorField } from '../store.ts';
import { sessionView } from '../views.ts';
import type { CreateSessionBody } from '../wire.ts';
import { listedAssistants, mayUse, reachAssistant, reachSession, retainedSince } from './common.ts';
import { idempotencyOf } from './idempotency.ts';
import { list, pageRequest, type PageFields } from './lists.ts';

export async function createSession(request: Request<KeyCaller, unknown, CreateSessionBody>): Promise<Reply> {
  const { caller, body, services } = request;
  const remember = idempotencyOf(request, '/sessions');
  // Another body under the key is a fault of its fields, so it comes before what the body names. And what was made is there, whatever became of the assistant.
  const earlier = remember && (await services.host.sessions.remembered(caller.workspaceId, remember));
  if (earlier && mayUse(caller, earlier.assistantId)) return created(earlier, services.clock.now(), true);
  const assistant = await reachAssistant(caller, body.assistant_id, services);
  const visitor = visitorOf(body.visitor ?? {}, assistant.visitorFields);

  const actor = await services.host.assistants.of(caller.workspaceId, assistant.id);
  const refusal = actor === null ? 'assistant_not_found' : services.host.assistants.refusal(actor);
  if (refusal !== null) throw new Failure(refusal);
  const { session, replayed } = await services.host.sessions.create({
    workspaceId: caller.workspaceId,
    assistantId: assistant.id,
    channel: 'api',
    visitor,
    metadata: body.metadata ?? {},
    maxCallSeconds: assistant.maxCallSeconds,
    greeting: assistant.greeting,
    remember,
  });
  return created(session, services.clock.now(), replayed);
}

const created = (session: Session, nowMs: number, replayed: boolean): Reply => ({
  status: 201,
  headers: { location: `/sessions/${session.id}`, ...(replayed ? { 'idempotent-replayed': 'true' } : {}) },
  json: sessionView(session, nowMs),
});

type Visitor = CreateSessionBody['visitor'] & {};

/** The visitor's fields, each of the type that the assistant gives it; the required ones must be there and not empty (contract 12). */
function visitorOf(visitor: Visitor, fields: readonly VisitorField[]): Visitor {
  const isMissing = ({ name }: VisitorField) => !Object.hasOwn(visitor, name) || visitor[name] === '';
  const wrong = fields.find((field) => !isMissing(field) && !fits(visitor[field.name]!, field.type));
  if (wrong !== undefined) throw new Failure('invalid_field', { field: `visitor.${wrong.name}` });
  const missing = fields.filter((field) => field.required && isMissing(field));
  if (missing.length > 0) throw new Failure('missing_visitor_fields', { field: missing.map(({ name }) => `\`visitor.${name}\``).join(', ') });
  return visitor;
}

function fits(value: string | number | boolean, type: VisitorField['type']): boolean {
  if (type === 'number' || type === 'boolean') return typeof value === type;
  if (typeof value !== 'string') return false;
  return type === 'text' || /^[^\s@]+@[^\s@]+$/.test(value);
}

export type SessionsQuery = PageFields & { readonly assistant_id?: string; readonly status?: string };

export async function listSessions({ caller, query, services }: Request<KeyCaller, SessionsQuery>): Promise<Reply> {
  const assistantIds = await listedAssistants(caller, query.assistant_id, services);
  return listedSessions(caller.workspaceId, assistantIds, query, services);
}

/** The sessions of a workspace, of these assistants or (null) of all. */
export async function listedSessions(
  workspaceId: string,
  assistantIds: readonly string[] | null,
  query: SessionsQuery,
  services: Services,
): Promise<Reply> {
  const now = services.clock.now();
  const filter: SessionFilter = {
    assistantIds,
    status: (query.status ?? null) as SessionFilter['status'],
    activeSince: await retainedSince(workspaceId, services),
    now: Math.floor(now / 1000),
  };
  return list(pageRequest(query, 'desc'), (page) => services.store.sessions(workspaceId, filter, page), (session) => sessionView(session, now));
}

export async function getSession(request: Request<KeyCaller>): Promise<Reply> {
  return { status: 200, json: sessionView(await reachSession(request), request.services.clock.now()) };
}

export async function endSession(request: Request<KeyCaller>): Promise<Reply> {
  const { caller, services } = request;
  const { id } = await reachSession(request);
  const actor = await services.host.sessions.of(caller.workspaceId, id);
  if (actor === null) throw new Failure('session_not_found');
  await services.host.sessions.end(actor);
  return { status: 200, json: sessionView(actor.record, services.clock.now()) };
}

/** The desk on behalf of a caller (contract 23): visitors ask for a person, and people of the console answer them. */
import { mayWorkDesk } from '../access/people.ts';
import { Failure } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { firstLine } from '../base/text.ts';
import type { Attendant, AttendanceContext } from '../../machines/attendance.ts';
import type { Cause, Message, Page, PageRequest, Session } from '../store/store.ts';
import type { LiveSession } from '../turn/in-flight.ts';
import { reachActor } from './access-checks.ts';
import type { Idempotency } from './idempotency.ts';
import { useOf } from './link.ts';
import { causeByPrincipal, type Principal } from './principal.ts';
import type { Services } from './services.ts';

/** A request to the desk. */
export interface DeskRequest {
  readonly principal: Principal;
  readonly sessionId: string;
  readonly requestId: string;
  readonly services: Services;
}

/** Asks for a person to take the session; a session that waits already, or has a person, stays as it is. */
export async function askForPerson(request: DeskRequest, reason: string | null): Promise<Session> {
  const { principal, requestId, services } = request;
  const { host } = services;
  const actor = await reachDesk(request);
  const assistant = await host.assistants.of(principal.workspaceId, actor.record.assistantId);
  if (!assistant?.record.desk?.enabled) throw new Failure('route_not_found');
  const use = useOf(principal, assistant, services);
  const cause = causeByPrincipal(principal, requestId);
  // A visitor who asks again and again pays as for a session.
  if (use !== undefined) await host.visitors.takeSession(principal.workspaceId, use, cause);
  await host.attendances.ask(actor, reason || null, cause);
  return actor.record;
}

/** Takes the session for the person. Throws 403 `role_not_permitted` if they may not work the desk any more by then. */
export async function takeSession(request: DeskRequest): Promise<Session> {
  const { principal, services } = request;
  const taking = act(request, 'take');
  // A take without an answer may be stored too.
  await taking.catch(() => {});
  const person = await services.signIns.people.find(principal.id);
  if (person === null || mayWorkDesk(person, principal.workspaceId)) return taking;
  // The change of the person has released the sessions that they had by then, and this take may be later.
  await act(request, 'release').catch(ignoreConflict);
  throw new Failure('role_not_permitted');
}

export const returnSession = (request: DeskRequest): Promise<Session> => act(request, 'return');
export const releaseSession = (request: DeskRequest): Promise<Session> => act(request, 'release');

async function act(request: DeskRequest, verb: 'take' | 'return' | 'release'): Promise<Session> {
  const { principal, requestId, services } = request;
  const actor = await reachDesk(request);
  await services.host.attendances[verb](actor, attendantOf(principal), causeByPrincipal(principal, requestId));
  return actor.record;
}

/** Stores a message of the person who has the session; a repeat under the same key returns the same message. */
export async function sendMessage(
  request: DeskRequest,
  text: string,
  remember: Idempotency | null,
): Promise<{ readonly message: Message; readonly replayed: boolean }> {
  const { principal, requestId, services } = request;
  const actor = await reachDesk(request);
  const said = await services.host.attendances.say(
    actor,
    attendantOf(principal),
    text,
    remember,
    causeByPrincipal(principal, requestId),
  );
  if (!('repeatOf' in said)) return { message: said, replayed: false };
  const message = await messageOf(actor, said.repeatOf, services);
  if (message === null) throw new Failure('session_not_found');
  return { message, replayed: true };
}

/** The message among the newest ones of the session, or of all. */
async function messageOf({ record }: LiveSession, id: string, { store }: Services): Promise<Message | null> {
  for (let after: string | null = null; ;) {
    const page: Page<Message> = await store.sessions.messages(record.workspaceId, record.id, {
      limit: limits.listMax,
      after,
      order: 'desc',
    });
    const found = page.items.find((message) => message.id === id);
    if (found !== undefined || page.next === null) return found ?? null;
    after = page.next;
  }
}

/** The sessions at the desk of a workspace: those that wait first, longest first, then those that people have. */
export async function sessionsAtDesk(workspaceId: string, services: Services): Promise<Session[]> {
  const sessions: Session[] = [];
  for (let page: PageRequest | null = { limit: limits.listMax, after: null, order: 'asc' }; page !== null;) {
    const { items, next }: Page<Session> = await services.store.desk.list(workspaceId, page);
    sessions.push(...items);
    page = next === null ? null : { ...page, after: next };
  }
  return sessions;
}

/**
 * Releases the sessions of a person who may not work the desk any more, except in workspaces where they still may: the
 * visitors wait for the next person. A take under way may not be found; it releases its session itself.
 */
export async function releaseSessionsOf(
  personId: string,
  mayWorkIn: (workspaceId: string) => boolean,
  cause: Cause,
  services: Services,
): Promise<void> {
  const { host, store } = services;
  for (const workspaceId of await store.desk.workspaces()) {
    if (mayWorkIn(workspaceId)) continue;
    for (const { id, attendance } of await sessionsAtDesk(workspaceId, services)) {
      const { person } = attendance!.context as AttendanceContext;
      const actor = person?.id === personId ? await host.sessions.of(workspaceId, id) : null;
      if (actor !== null) await host.attendances.release(actor, person!, cause).catch(ignoreConflict);
    }
  }
}

/** The session has ended meanwhile, or the person does not have it any more. */
function ignoreConflict(error: unknown): void {
  if (!(error instanceof Failure) || error.status !== 409) throw error;
}

/** The person as the desk shows them: one line of a name. */
const attendantOf = ({ id, name }: Principal): Attendant => ({
  id,
  name: firstLine(name, limits.personNameCharactersMax),
});

/** The session's actor; 404 `route_not_found` for a conversation of another protocol's client. */
async function reachDesk({ principal, sessionId, services }: DeskRequest): Promise<LiveSession> {
  const actor = await reachActor(principal, sessionId, services);
  if (actor.record.isForeign) throw new Failure('route_not_found');
  return actor;
}

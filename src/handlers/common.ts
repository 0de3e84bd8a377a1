/** What several handlers need: reaching a resource. */
import { secondsOf } from '../clock.ts';
import { Failure } from '../errors.ts';
import { limits } from '../limits.ts';
import { promptly } from '../promptly.ts';
import type { KeyCaller, Request } from '../request.ts';
import type { Services } from '../services.ts';
import type { Assistant, Session } from '../store.ts';

export const mayUse = (caller: KeyCaller, assistantId: string): boolean => caller.assistantIds?.includes(assistantId) ?? true;

/** The assistant: 404 if the workspace has none such, then 403 if the key may not use it. */
export async function reachAssistant(caller: KeyCaller, id: string, services: Services): Promise<Assistant> {
  const actor = await services.host.assistants.of(caller.workspaceId, id);
  if (actor === null) throw new Failure('assistant_not_found');
  if (!mayUse(caller, id)) throw new Failure('assistant_not_permitted');
  return actor.record;
}

/** An assistant that a listing is filtered by: one out of the key's reach is as unknown as none (contract 4). */
export async function listedAssistant(caller: KeyCaller, id: string, services: Services): Promise<void> {
  const actor = await services.host.assistants.of(caller.workspaceId, id);
  if (actor === null || !mayUse(caller, id)) throw new Failure('assistant_not_found');
}

/** The assistants that a listing may show: the one asked for, else all that the key reaches; null for every one. */
export async function listedAssistants(caller: KeyCaller, asked: string | undefined, services: Services): Promise<readonly string[] | null> {
  if (asked === undefined) return caller.assistantIds;
  await listedAssistant(caller, asked, services);
  return [asked];
}

/** Unix seconds before which a session's last activity puts it past retention. */
export const retainedSince = (workspaceId: string, { host, clock }: Services): number | Promise<number> =>
  promptly(host.workspaces.of(workspaceId), (workspace) => {
    const days = workspace?.record.retentionDays ?? limits.retentionDaysDefault;
    return secondsOf(clock.now()) - days * 86_400;
  });

/** The workspace's session: 404 if it is unknown, another workspace's or past retention. */
export const retainedSession = (workspaceId: string, id: string, services: Services): Session | Promise<Session> =>
  promptly(services.host.sessions.read(workspaceId, id), (session) => {
    if (session === null) throw new Failure('session_not_found');
    return promptly(retainedSince(workspaceId, services), (since) => {
      if (session.lastActivityAt < since) throw new Failure('session_not_found');
      return session;
    });
  });

/** The session of the path: 404 as above, then 403. */
export async function reachSession(request: Request<KeyCaller>): Promise<Session> {
  const { caller, params, services } = request;
  const session = await retainedSession(caller.workspaceId, params.id!, services);
  if (!mayUse(caller, session.assistantId)) throw new Failure('assistant_not_permitted');
  return session;
}

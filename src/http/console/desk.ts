/** The desk (contract 23): people of the console take sessions and answer their visitors. */
import * as desk from '../../conversation/desk.ts';
import { idempotencyOf } from '../../conversation/idempotency.ts';
import { attendanceOf } from '../../store/records/attendance.ts';
import { consoleSessionView, messageView } from '../../conversation/views.ts';
import type { AttendanceContext } from '../../../machines/attendance.ts';
import type { Message, Page, PageRequest, Session } from '../../store/store.ts';
import type { PersonMessageBody } from '../../wire/wire.ts';
import { list, pageRequest, type PageFields } from '../handlers/lists.ts';
import { readMessages } from '../../conversation/messages.ts';
import type { Reply } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import { reachWorkspace, type ConsoleRequest } from './common.ts';
import { ofPrincipal } from './trials.ts';

const act =
  (verb: (request: desk.DeskRequest) => Promise<Session>) =>
  async (request: ConsoleRequest): Promise<Reply> => {
    const { caller, params, requestId, services } = await ofPrincipal(request);
    const session = await verb({ principal: caller.principal, sessionId: params.id, requestId, services });
    return { status: 200, json: consoleSessionView(session, services.clock.now()) };
  };

export const takeSession = act(desk.takeSession);
export const returnSession = act(desk.returnSession);
export const releaseSession = act(desk.releaseSession);

export async function sendMessage(request: ConsoleRequest<unknown, PersonMessageBody>): Promise<Reply> {
  const own = await ofPrincipal(request);
  const { caller, params, body, requestId, services } = own;
  const { principal } = caller;
  const { message, replayed } = await desk.sendMessage(
    { principal, sessionId: params.id, requestId, services },
    body.text,
    idempotencyOf(own, principal, `/sessions/${params.id}/messages`),
  );
  return {
    status: 201,
    headers: replayed ? { 'idempotent-replayed': 'true' } : {},
    json: messageView(message, 'console'),
  };
}

interface DeskEntry {
  readonly session: Session;
  readonly lastMessage: Message | null;
}

/** Sessions that wait first, the longest first, then those that people have. The cursors are indexes. */
export async function getDesk(request: ConsoleRequest<PageFields>): Promise<Reply> {
  const { query, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  const nowMs = services.clock.now();
  const ordered = inOrder(await desk.sessionsAtDesk(workspaceId, services), nowMs);
  if (query.order === 'desc') ordered.reverse();
  const read = async ({ after, limit }: PageRequest): Promise<Page<DeskEntry>> => {
    const from = Number(after ?? 0);
    const sessions = ordered.slice(from, from + limit);
    return {
      items: await Promise.all(
        sessions.map(async (session) => ({ session, lastMessage: await lastMessageOf(session, services) })),
      ),
      next: from + limit < ordered.length ? String(from + limit) : null,
    };
  };
  return list(pageRequest(query, 'asc'), read, ({ session, lastMessage }) => ({
    ...consoleSessionView(session, nowMs),
    reason: (session.attendance!.context as AttendanceContext).reason,
    last_message: lastMessage && messageView(lastMessage, 'console'),
  }));
}

function inOrder(sessions: readonly Session[], nowMs: number): Session[] {
  const placed = sessions.map((session) => ({ session, attendance: attendanceOf(session, nowMs) }));
  const of = (state: string): Session[] =>
    placed
      .filter(({ attendance }) => attendance.state === state)
      .sort((one, other) => one.attendance.since - other.attendance.since)
      .map(({ session }) => session);
  return [...of('waiting'), ...of('person')];
}

async function lastMessageOf({ workspaceId, id }: Session, { store }: Services): Promise<Message | null> {
  const { items } = await readMessages(store, workspaceId, id, { limit: 1, after: null, order: 'desc' });
  return items[0] ?? null;
}

/** `/console/api/workspaces`, and the sessions and the usage of a workspace. */
import { Failure } from '../../base/errors.ts';
import { readSession } from '../../conversation/access-checks.ts';
import { listOfAll, listReply, pageRequest, writePage, type PageFields } from '../handlers/lists.ts';
import { sessionFilter, type SessionsQuery } from '../handlers/sessions.ts';
import { transcriptPage } from '../handlers/transcript.ts';
import { usageReply, usageWindow, type UsageFields } from '../handlers/usage.ts';
import { limits } from '../../base/limits.ts';
import type { Reply } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import type { Page, Session, SessionFilter, Workspace } from '../../store/store.ts';
import { consoleSessionView, firstWords, sessionView, workspaceView } from '../../conversation/views.ts';
import type { ConsoleSessionsQuery } from '../../wire/wire.ts';
import {
  causeByOperator,
  listRecords,
  noContent,
  nowSeconds,
  nowhere,
  present,
  reachWorkspace,
  type ConsoleRequest,
} from './common.ts';
import { audited } from './audit.ts';
import { transcriptMarkdown, usageCsv } from './exports.ts';

interface WorkspaceBody {
  readonly name?: string;
  readonly retention_days?: number;
  readonly turns_in_flight_max?: number;
}

/** Parameters of an export. Without a format it is the page or the window in JSON, as on the API. */
interface Exported {
  readonly format?: string;
}

/** Lists the workspaces that the person's role is for. */
export async function listWorkspaces(request: ConsoleRequest<PageFields>): Promise<Reply> {
  const { grant } = request.caller;
  if (grant.workspaceId === null) return listRecords(request, 'workspace', workspaceView);
  const actor = await request.services.host.workspaces.of(grant.workspaceId);
  return listOfAll(actor === null ? [] : [actor.record], { limit: 1 }, 'desc', workspaceView);
}

export async function createWorkspace(
  request: ConsoleRequest<unknown, WorkspaceBody & { name: string }>,
): Promise<Reply> {
  const { body, services } = request;
  const at = nowSeconds(request);
  const workspace: Workspace = {
    id: services.ids.make('wks'),
    name: body.name,
    retentionDays: body.retention_days ?? limits.retentionDaysDefault,
    turnsInFlightMax: body.turns_in_flight_max ?? limits.turnsInFlightMax,
    createdAt: at,
    updatedAt: at,
  };
  await services.store.catalog.create(
    'workspace',
    workspace,
    undefined,
    audited(request, 'workspace')(null, workspace),
  );
  return {
    status: 201,
    headers: { location: `/console/api/workspaces/${workspace.id}` },
    json: workspaceView(workspace),
  };
}

export async function getWorkspace(request: ConsoleRequest): Promise<Reply> {
  return { status: 200, json: workspaceView(await reachWorkspace(request)) };
}

export async function patchWorkspace(request: ConsoleRequest<unknown, WorkspaceBody>): Promise<Reply> {
  const { body, params, services } = request;
  const actor = await services.host.workspaces.configure(
    params.w,
    (record) => ({
      ...record,
      name: body.name ?? record.name,
      retentionDays: body.retention_days ?? record.retentionDays,
      turnsInFlightMax: body.turns_in_flight_max ?? record.turnsInFlightMax,
      updatedAt: nowSeconds(request),
    }),
    causeByOperator(request, audited(request, 'workspace')),
  );
  return { status: 200, json: workspaceView(present(actor).record) };
}

export async function deleteWorkspace(request: ConsoleRequest): Promise<Reply> {
  const { id } = await reachWorkspace(request);
  if (!(await request.services.host.removeWorkspace(id, causeByOperator(request, audited(request, 'workspace')))))
    throw nowhere();
  return noContent;
}

export async function listWorkspaceSessions(
  request: ConsoleRequest<SessionsQuery & ConsoleSessionsQuery>,
): Promise<Reply> {
  const { id } = await reachWorkspace(request);
  const {
    channel,
    key_id: keyId = null,
    from: createdFrom = null,
    to: createdBefore = null,
    q: beginning = null,
  } = request.query;
  const channels = channel === undefined ? listedChannels : [channel];
  const wanted = { assistantIds: await checkListed(request), channels, keyId, createdFrom, createdBefore, beginning };
  const { query, services } = request;
  const filter = await sessionFilter(id, wanted, query, services);
  const view = (session: Session) => ({
    ...sessionView(session, services.clock.now()),
    ...(query.first_words === true && { first_words: firstWords(session) }),
  });
  const page = await writePage(
    pageRequest(query, 'desc'),
    (each) => services.store.sessions.list(id, filter, each),
    view,
  );
  return listReply(page, query.total === true ? await totalOf(id, filter, services) : undefined);
}

/** The channels of a list that names none: sessions of tests are listed where they are asked for (contract 21). */
const listedChannels = ['api', 'link', 'widget', 'console'] as const;

/** Number of sessions that match a filter; null for more than are counted. */
async function totalOf(workspaceId: string, filter: SessionFilter, { store }: Services): Promise<number | null> {
  let total = 0;
  let after: string | null = null;
  do {
    const { items, next }: Page<Session> = await store.sessions.list(workspaceId, filter, {
      limit: limits.listMax,
      after,
      order: 'desc',
    });
    total += items.length;
    after = next;
  } while (after !== null && total <= limits.sessionsCountedMax);
  return total <= limits.sessionsCountedMax ? total : null;
}

async function reachSession(request: ConsoleRequest): Promise<Session> {
  const { id: workspaceId } = await reachWorkspace(request);
  return readSession(workspaceId, request.params.id, request.services);
}

export async function getWorkspaceSession(request: ConsoleRequest): Promise<Reply> {
  return { status: 200, json: consoleSessionView(await reachSession(request), request.services.clock.now()) };
}

export async function getWorkspaceTranscript(request: ConsoleRequest<PageFields & Exported>): Promise<Reply> {
  const session = await reachSession(request);
  if (request.query.format === 'markdown') return transcriptMarkdown(session, request.services);
  return transcriptPage(session.workspaceId, session.id, 'console', request.query, request.services);
}

export async function getWorkspaceUsage(
  request: ConsoleRequest<UsageFields & Exported & { key_id?: string }>,
): Promise<Reply> {
  const window = usageWindow(request.query, request.services);
  const { id } = await reachWorkspace(request);
  const reply = request.query.format === 'csv' ? usageCsv : usageReply;
  return reply(
    id,
    { assistantIds: await checkListed(request), keyId: request.query.key_id ?? null },
    window,
    request.services,
  );
}

/** The assistants that a listing shows: the requested one, or null for all. */
async function checkListed({
  params,
  query,
  services,
}: ConsoleRequest<{ assistant_id?: string }>): Promise<string[] | null> {
  const { assistant_id: asked } = query;
  if (asked === undefined) return null;
  present(await services.host.assistants.of(params.w, asked), new Failure('assistant_not_found'));
  return [asked];
}

/** `/console/api/workspaces/{w}/assistants/{id}/versions`, rollouts of them, and rollbacks to them (contract 20). */
import { Failure } from '../../base/errors.ts';
import { mayDo } from '../../base/roles.ts';
import { limits } from '../../base/limits.ts';
import { definitionView, toolsOf, versionedSettingsView } from '../../host/draft.ts';
import type { Publication, ReleaseRequest } from '../../host/assistants.ts';
import { isUnversioned } from '../../host/versions.ts';
import { changesOf } from '../../store/parts/audit.ts';
import { withSettings } from '../../store/records/settings.ts';
import { versionId } from '../../store/records/versions.ts';
import type {
  Assistant,
  AssistantVersion,
  Page,
  PageRequest,
  ReleaseCounts,
  VersionedTool,
} from '../../store/store.ts';
import type { RollbackBody, RolloutBody, VersionChangesQuery } from '../../wire/wire.ts';
import { list, pageRequest, type PageFields } from '../handlers/lists.ts';
import type { Reply } from '../request.ts';
import { audited } from './audit.ts';
import { testedDraftCheck } from './required-tests.ts';
import { causeByOperator, nowSeconds, present, reachPathAssistant, type ConsoleRequest } from './common.ts';
import { assistantReply, draftCheck, toolReader } from './drafts.ts';
import { mayHave } from './tools.ts';

const unknown = () => new Failure('version_not_found');

/** The assistant of the path; the first look at one from before versions existed stores its version 1. */
export async function reachVersioned(request: ConsoleRequest<unknown, unknown>): Promise<Assistant> {
  const { record } = await reachPathAssistant(request);
  if (!isUnversioned(record)) return record;
  await request.services.host.assistants.keepVersion(record);
  return (await reachPathAssistant(request)).record;
}

export async function listVersions(request: ConsoleRequest<PageFields>): Promise<Reply> {
  const assistant = await reachVersioned(request);
  const { catalog } = request.services.store;
  const { id, workspaceId } = assistant;
  const counts = await catalog.releaseCounts(workspaceId, id);
  const read = async ({ limit, after, order }: PageRequest): Promise<Page<AssistantVersion>> => {
    const number = after === null ? (order === 'asc' ? 0 : limits.versionNumberMax) : Number(after);
    // One more says whether there is another page: versions of another assistant follow in the store.
    const page = { limit: limit + 1, after: versionId(id, number), order };
    const { items } = await catalog.list('assistant_version', workspaceId, page);
    const own = items.filter(({ assistantId }) => assistantId === id);
    return { items: own.slice(0, limit), next: own.length > limit ? String(own[limit - 1]!.number) : null };
  };
  return list(pageRequest(request.query, 'desc'), read, (version) => versionView(version, assistant, counts));
}

export async function getVersion(request: ConsoleRequest): Promise<Reply> {
  const assistant = await reachVersioned(request);
  const version = await reachVersion(assistant, request.params.n, request);
  const counts = await request.services.store.catalog.releaseCounts(assistant.workspaceId, assistant.id);
  const config = {
    ...versionedSettingsView(version.settings),
    ...(readsTools(request) && { tools: version.tools.map(toolConfig) }),
  };
  return { status: 200, json: { ...versionView(version, assistant, counts), config } };
}

/** The differences of a version to another one, or to the draft; by default to the version before. */
export async function versionChanges(request: ConsoleRequest<VersionChangesQuery>): Promise<Reply> {
  const assistant = await reachVersioned(request);
  const version = await reachVersion(assistant, request.params.n, request);
  const { from = version.number === 1 ? null : String(version.number - 1) } = request.query;
  const [before, after] = [await comparedTo(assistant, from, request), compared(version.settings, version.tools)];
  const data = readsTools(request) ? changesOf(before, after) : changesOf(withoutTools(before), withoutTools(after));
  return { status: 200, json: { object: 'version_changes', data } };
}

/** Copies the version's settings to the draft. Tools are shared by assistants, so they are not changed. */
export async function restoreVersion(request: ConsoleRequest): Promise<Reply> {
  const { services } = request;
  const assistant = await reachVersioned(request);
  const version = await reachVersion(assistant, request.params.n, request);
  const versionTools = { toolIds: version.tools.map(({ id }) => id) };
  const now = await toolsOf(versionTools, toolReader(request, assistant.workspaceId));
  const toolIds = version.tools.flatMap(({ id }) => (now.has(id) ? [id] : []));
  if (!(await mayHave(assistant, toolIds, request))) throw new Failure('invalid_field', { field: 'tool_ids' });
  const actor = await services.host.assistants.configure(
    assistant.workspaceId,
    assistant.id,
    (record) => ({ ...withSettings(record, { ...version.settings, toolIds }), updatedAt: nowSeconds(request) }),
    causeByOperator(request, audited(request, 'assistant', 'restore')),
    { check: draftCheck(request) },
  );
  const reply = await assistantReply(present(actor, new Failure('assistant_not_found')).record, request);
  const tools_differ = version.tools.flatMap((tool) => {
    const changes = changesOf(definitionView(tool), now.has(tool.id) ? definitionView(now.get(tool.id)!) : null);
    return changes.length === 0 ? [] : [{ tool_id: tool.id, name: now.get(tool.id)?.name ?? tool.name, changes }];
  });
  return { ...reply, json: { ...(reply as { json: object }).json, tools_differ } };
}

/** Makes an earlier version current; the draft stays as it is. */
export function rollBack(request: ConsoleRequest<unknown, RollbackBody | undefined>): Promise<Reply> {
  return released(request, { type: 'rollback', version: request.body?.version ?? null });
}

/** Rolls a version out to a share of new sessions, or changes the share. */
export async function rollOut(request: ConsoleRequest<unknown, RolloutBody>): Promise<Reply> {
  const { version, percent, halt } = request.body;
  const rule = halt && { failedPercent: halt.failed_percent, afterTurns: halt.after_turns };
  return released(
    request,
    { type: 'rollout', version, percent, ...(rule !== undefined && { halt: rule }) },
    version === 'draft' ? await testedDraftCheck(request) : draftCheck(request),
  );
}

/** `…/rollout/promote`, `/rollout/end` and `…/recall`. */
export const changeRollout =
  (type: 'promote' | 'end' | 'recall') =>
  (request: ConsoleRequest): Promise<Reply> =>
    released(request, { type });

async function released(
  request: ConsoleRequest<unknown, unknown>,
  wanted: ReleaseRequest,
  check?: Publication['check'],
): Promise<Reply> {
  const { id, workspaceId } = await reachVersioned(request);
  const actor = await request.services.host.assistants.release(
    workspaceId,
    id,
    wanted,
    nowSeconds(request),
    causeByOperator(request, audited(request, 'assistant', wanted.type)),
    { check },
  );
  return assistantReply(present(actor, new Failure('assistant_not_found')).record, request);
}

export async function reachVersion(
  { id, workspaceId }: Assistant,
  number: string,
  { services }: ConsoleRequest<unknown, unknown>,
): Promise<AssistantVersion> {
  if (!/^[1-9]\d{0,8}$/.test(number)) throw unknown();
  const stored = await services.store.catalog.read('assistant_version', workspaceId, versionId(id, Number(number)));
  if (stored === null) throw unknown();
  return stored.record;
}

/** The settings that a version is compared to; null for nothing. */
async function comparedTo(assistant: Assistant, from: string | null, request: ConsoleRequest<unknown, unknown>) {
  if (from === null) return null;
  if (from !== 'draft') {
    const { settings, tools } = await reachVersion(assistant, from, request);
    return compared(settings, tools);
  }
  const tools = await toolsOf(assistant, toolReader(request, assistant.workspaceId));
  return compared(
    assistant,
    (assistant.toolIds ?? []).flatMap((id) => tools.get(id) ?? []),
  );
}

/** Settings as they are compared: each tool by its id. */
const compared = (settings: Parameters<typeof versionedSettingsView>[0], tools: readonly VersionedTool[]) => ({
  ...versionedSettingsView(settings),
  tools: Object.fromEntries(tools.map((tool) => [tool.id, definitionView(tool)])),
});

/** Whether the caller may read settings of tools: a version shows them to nobody else. */
const readsTools = ({ caller }: ConsoleRequest<unknown, unknown>): boolean => mayDo(caller.grant, 'tools.read');

function withoutTools(settings: ReturnType<typeof compared> | null) {
  if (settings === null) return null;
  const { tools: _, ...rest } = settings;
  return rest;
}

const toolConfig = (tool: VersionedTool) => ({ ...definitionView(tool), kind: tool.kind, name: tool.name });

const stateOf = (number: number, { release }: Assistant) =>
  number === release?.current ? 'current' : number === release?.candidate?.version ? 'candidate' : 'retired';

function versionView(
  { number, digest, note, createdAt, createdBy }: AssistantVersion,
  assistant: Assistant,
  { versions }: ReleaseCounts,
) {
  const { sessions = 0, turns = 0, failedTurns = 0, feedbackUp = 0, feedbackDown = 0 } = versions.get(number) ?? {};
  return {
    object: 'assistant_version',
    number,
    digest,
    note,
    created_at: createdAt,
    created_by: createdBy,
    state: stateOf(number, assistant),
    sessions,
    turns,
    failed_turns: failedTurns,
    feedback_up: feedbackUp,
    feedback_down: feedbackDown,
  };
}

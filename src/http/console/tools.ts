/** `/console/api/workspaces/{w}/tools` (contract 13): a signing secret is shown once and stored sealed. */
import { Failure } from '../../base/errors.ts';
import { signingHolder } from '../../access/vault.ts';
import { recordsOf } from '../../store/parts/catalog.ts';
import { limits } from '../../base/limits.ts';
import type { CreateToolBody, PatchToolBody } from '../../wire/wire.ts';
import { isUnversioned } from '../../host/versions.ts';
import type { Services } from '../../conversation/services.ts';
import { askForPersonName } from '../../assistant/desk-function.ts';
import { isAt } from '../../assistant/tool-client.ts';
import { newSecret } from '../../providers/tool/signature.ts';
import { isDeleted, replacedBy, replacedSecrets, withReplacedSecrets } from '../../store/records/tools.ts';
import type { Assistant, Tool, ToolFunction } from '../../store/store.ts';
import { list, pageRequest, type PageFields } from '../handlers/lists.ts';
import type { Reply } from '../request.ts';
import { audited } from './audit.ts';
import { causeByOperator, noContent, nowhere, nowSeconds, reachWorkspace, type ConsoleRequest } from './common.ts';
import { checkedFunctions } from './tool-functions.ts';
import { checkTool, digestedToolView, toolTag } from './tool-replies.ts';

export async function listTools(request: ConsoleRequest<PageFields>): Promise<Reply> {
  const { catalog } = request.services.store;
  const { id: workspaceId } = await reachWorkspace(request);
  return list(
    pageRequest(request.query, 'desc'),
    async (page) => {
      const { items, next } = await catalog.list('tool', workspaceId, page);
      return { items: items.filter((tool) => !isDeleted(tool)), next };
    },
    digestedToolView,
  );
}

export async function getTool(request: ConsoleRequest): Promise<Reply> {
  return toolReply((await reachTool(request)).record);
}

export async function createTool(request: ConsoleRequest<unknown, CreateToolBody>): Promise<Reply> {
  const { body, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  const at = nowSeconds(request);
  const blank: Tool = {
    id: services.ids.make('tool'),
    workspaceId,
    kind: body.kind,
    name: body.name,
    url: null,
    credentialId: null,
    timeoutSeconds: limits.toolTimeoutSeconds,
    repeatable: false,
    approval: 'never',
    show: 'name',
    callsPerMinute: null,
    functions: [],
    refreshedAt: null,
    sealed: null,
    createdAt: at,
    updatedAt: at,
  };
  const tool = merged(blank, body);
  await check(tool, request);
  const secret = tool.kind === 'http' ? newSecret(services.ids) : null;
  await services.store.catalog.create(
    'tool',
    secret === null ? tool : { ...tool, sealed: services.vault.seal(signingHolder(tool), secret) },
    undefined,
    audited(request, 'tool')(null, tool),
  );
  return {
    status: 201,
    headers: { location: `/console/api/workspaces/${workspaceId}/tools/${tool.id}`, ...toolTag(tool) },
    json: { ...digestedToolView(tool), ...(secret !== null && { signing_secret: secret }) },
  };
}

export async function patchTool(request: ConsoleRequest<unknown, PatchToolBody>): Promise<Reply> {
  const tool = await changeTool(request, async (before) => {
    checkTool(request, before);
    const after = merged(before, request.body);
    await check(after, request);
    await checkAssistants(after, request);
    return after;
  });
  return toolReply(tool);
}

const toolReply = (tool: Tool): Reply => ({ status: 200, headers: toolTag(tool), json: digestedToolView(tool) });

/** The secret before signs too, for a day, as do those before it for what is left of theirs. */
export async function rotateSecret(request: ConsoleRequest): Promise<Reply> {
  const { services } = request;
  const secret = newSecret(services.ids);
  await changeTool(
    request,
    (before) => {
      if (before.kind !== 'http') throw new Failure('invalid_field', { field: 'kind' });
      const signing = replacedBy(before.sealed, replacedSecrets(before), services.clock.now());
      return withReplacedSecrets({ ...before, sealed: services.vault.seal(signingHolder(before), secret) }, signing);
    },
    'rotate_secret',
  );
  return { status: 200, json: { signing_secret: secret } };
}

/** Deletes a tool, also from the drafts of assistants that have it. Their versions keep it. */
export async function deleteTool(request: ConsoleRequest): Promise<Reply> {
  const { id: workspaceId } = await reachWorkspace(request);
  const { services, params } = request;
  const id = params.id;
  await keepVersions(workspaceId, id, services);
  const deletedAt = nowSeconds(request);
  const auditRow = audited(request, 'tool');
  const deleted = await services.host.tools.change(
    workspaceId,
    id,
    (tool) => ({ ...living(tool), deletedAt }),
    (before) => auditRow(before, null),
  );
  if (deleted === null) throw nowhere();
  for await (const assistant of recordsOf(services.store.catalog, 'assistant', workspaceId)) {
    if (!assistant.toolIds?.includes(id)) continue;
    await services.host.assistants.configure(
      workspaceId,
      assistant.id,
      (record) => ({ ...record, toolIds: record.toolIds?.filter((other) => other !== id) ?? [] }),
      causeByOperator(request, audited(request, 'assistant')),
    );
  }
  await removeUnused(workspaceId, services);
  return noContent;
}

/** Removes the deleted tools that no version contains. */
export async function removeUnused(workspaceId: string, { store, host }: Services): Promise<void> {
  const unused = new Set<string>();
  for await (const tool of recordsOf(store.catalog, 'tool', workspaceId)) if (isDeleted(tool)) unused.add(tool.id);
  if (unused.size === 0) return;
  for await (const { tools } of recordsOf(store.catalog, 'assistant_version', workspaceId))
    for (const { id } of tools) unused.delete(id);
  for (const id of unused) {
    await store.catalog.remove('tool', workspaceId, id);
    host.tools.forget(workspaceId, id);
  }
}

/** Stores the versions of assistants from before versions existed that have the tool: they answer with it as it is. */
async function keepVersions(workspaceId: string, toolId: string, { store, host }: Services): Promise<void> {
  for await (const assistant of recordsOf(store.catalog, 'assistant', workspaceId))
    if (assistant.toolIds?.includes(toolId) && isUnversioned(assistant)) await host.assistants.keepVersion(assistant);
}

/** Throws 404 for a tool that only versions have. */
function living(tool: Tool): Tool {
  if (isDeleted(tool)) throw nowhere();
  return tool;
}

/** The tool of the path, in its workspace. */
export async function reachTool(request: ConsoleRequest<unknown, unknown>) {
  const { id: workspaceId } = await reachWorkspace(request);
  const found = await request.services.store.catalog.read('tool', workspaceId, request.params.id);
  if (found === null) throw nowhere();
  living(found.record);
  return found;
}

/** The tool of the path after a change. */
export async function changeTool(
  request: ConsoleRequest<unknown, unknown>,
  change: (before: Tool) => Tool | Promise<Tool>,
  verb?: string,
): Promise<Tool> {
  const { id: workspaceId } = await reachWorkspace(request);
  await keepVersions(workspaceId, request.params.id, request.services);
  const tool = await request.services.host.tools.change(
    workspaceId,
    request.params.id,
    async (before) => ({
      ...(await change(living(before))),
      updatedAt: nowSeconds(request),
    }),
    audited(request, 'tool', verb),
  );
  if (tool === null) throw nowhere();
  return tool;
}

const kept = <T>(given: T | undefined, before: T): T => (given === undefined ? before : given);

/** The tool with the fields of the body; the others stay. */
function merged({ disabled: wasDisabled, ...tool }: Tool, body: PatchToolBody): Tool {
  return {
    ...tool,
    ...((body.disabled ?? wasDisabled) && { disabled: true }),
    name: body.name ?? tool.name,
    url: kept(body.url, tool.url),
    credentialId: kept(body.credential_id, tool.credentialId),
    timeoutSeconds: body.timeout_seconds ?? tool.timeoutSeconds,
    repeatable: body.repeatable ?? tool.repeatable,
    approval: body.approval ?? tool.approval,
    show: body.show ?? tool.show,
    callsPerMinute: kept(body.calls_per_minute, tool.callsPerMinute),
    functions: body.functions === undefined ? tool.functions : checkedFunctions(tool, body.functions),
  };
}

/** An address that may not be called, a credential of another kind or origin: refused here, not in a turn. */
async function check(
  { workspaceId, kind, url, credentialId }: Tool,
  { services }: ConsoleRequest<unknown, unknown>,
): Promise<void> {
  if (kind === 'client' && url !== null) throw new Failure('invalid_field', { field: 'url' });
  if (kind !== 'client' && url === null) throw new Failure('missing_field', { field: 'url' });
  const problem = url === null ? null : services.baseUrlProblem(url);
  if (problem !== null) throw new Failure(problem, { field: 'url' });
  if (credentialId === null) return;
  const found = await services.store.catalog.read('credential', workspaceId, credentialId);
  if (found?.record.kind !== 'tool' || url === null || !isAt(url, found.record.baseUrl))
    throw new Failure('invalid_field', { field: 'credential_id' });
}

/** The functions of an assistant's tools have different names, and are not too many. */
async function checkAssistants(changed: Tool, request: ConsoleRequest<unknown, unknown>): Promise<void> {
  for await (const assistant of recordsOf(request.services.store.catalog, 'assistant', changed.workspaceId)) {
    if (!assistant.toolIds?.includes(changed.id)) continue;
    if (!(await mayHave(assistant, assistant.toolIds, request, changed)))
      throw new Failure('invalid_field', { field: 'functions' });
  }
}

/**
 * Whether an assistant may have these tools; `changed` is one of them as it is to be. The model is offered one function
 * of a name, the desk's included.
 */
export async function mayHave(
  { workspaceId, desk }: Pick<Assistant, 'workspaceId' | 'desk'>,
  toolIds: readonly string[],
  { services }: ConsoleRequest<unknown, unknown>,
  changed?: Tool,
): Promise<boolean> {
  const tools = await Promise.all(
    toolIds.map(async (id) =>
      id === changed?.id ? changed : (await services.store.catalog.read('tool', workspaceId, id))?.record,
    ),
  );
  if (new Set(toolIds).size < toolIds.length || tools.some((tool) => tool === undefined || isDeleted(tool)))
    return false;
  const names = tools.flatMap((tool) =>
    tool!.functions.filter(({ enabled }: ToolFunction) => enabled).map(({ name }) => name),
  );
  if (desk?.enabled && names.includes(askForPersonName)) return false;
  return names.length <= limits.toolFunctionsMax && new Set(names).size === names.length;
}

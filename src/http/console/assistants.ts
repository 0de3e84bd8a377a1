/** `/console/api/workspaces/{w}/assistants`. */
import { testedDraftCheck, testsCheck } from './required-tests.ts';
import { choiceOf } from '../../conversation/voice-call.ts';
import { Failure } from '../../base/errors.ts';
import { isTemplate, personFacts } from '../../base/variables.ts';
import { aliasKey } from '../../base/link-fields.ts';
import { recordsOf } from '../../store/parts/catalog.ts';
import { defaultDesk, deskTexts } from '../../store/records/attendance.ts';
import { templatesOf } from '../../store/records/settings.ts';
import { draftSnapshot, type AssistantVerb, type Publication } from '../../host/assistants.ts';
import { createdMove } from '../../actors/history.ts';
import { removeRunsOf } from '../../conversation/testing/retention.ts';
import { limits } from '../../base/limits.ts';
import type { Reply } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import type {
  Assistant,
  Credential,
  DeskSettings,
  FallbackModel,
  LinkSettings,
  ModelSettings,
  VisitorField,
  VoiceSettings,
} from '../../store/store.ts';
import { AliasTaken, SlugTaken } from '../../store/store.ts';
import type { CreateAssistantBody, PatchAssistantBody, PublishBody } from '../../wire/wire.ts';
import { list, pageRequest, type PageFields } from '../handlers/lists.ts';
import { mayHave, removeUnused } from './tools.ts';
import { audited } from './audit.ts';
import { assistantReply, draftCheck, draftedView, toolReader } from './drafts.ts';
import {
  causeByOperator,
  noContent,
  nowSeconds,
  present,
  reachPathAssistant,
  reachWorkspace,
  type ConsoleRequest,
} from './common.ts';

type FallbackBody = NonNullable<NonNullable<PatchAssistantBody['model']>['fallbacks']>[number];

const unknown = () => new Failure('assistant_not_found');

/** The defaults of an assistant: it answers from the embedded model. */
export const freshAssistant = {
  description: null,
  greeting: null,
  channels: { voice: false, link: false, widget: false },
  visitorFields: [],
  maxCallSeconds: limits.maxCallSecondsDefault,
  model: {
    provider: 'scripted',
    name: 'scripted',
    credentialId: null,
    historyTokensMax: null,
    systemPrompt: null,
    temperature: null,
    outputTokensMax: null,
    reasoning: 'hidden',
  },
  voice: null,
  link: null,
} satisfies Partial<Assistant>;

export async function listAssistants(request: ConsoleRequest<PageFields>): Promise<Reply> {
  const { catalog } = request.services.store;
  const { id: workspaceId } = await reachWorkspace(request);
  const read = toolReader(request, workspaceId);
  return list(
    pageRequest(request.query, 'desc'),
    async (page) => {
      const { items, next } = await catalog.list('assistant', workspaceId, page);
      return { items: await Promise.all(items.map((record) => draftedView(record, read, catalog))), next };
    },
    (view) => view,
  );
}

export async function createAssistant(request: ConsoleRequest<unknown, CreateAssistantBody>): Promise<Reply> {
  const { body, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  const at = nowSeconds(request);
  const blank = { id: services.ids.make('asst'), workspaceId, name: body.name, createdAt: at, updatedAt: at };
  const configured = merged({ ...freshAssistant, ...blank, release: null, machine: draftSnapshot(false) }, body, at);
  await checkModel(configured, request);
  await checkAlias(configured, request);
  const assistant = { ...configured, machine: draftSnapshot(configured.channels.voice) };
  await withNames(
    services.store.catalog.create(
      'assistant',
      assistant,
      createdMove(assistant.machine, services.clock.now(), causeByOperator(request)),
      audited(request, 'assistant')(null, assistant),
    ),
  );
  // Other processes are notified; this one may remember the slug as unknown.
  services.host.assistants.doubt(assistant.id);
  const { headers, ...reply } = await assistantReply(assistant, request, 201);
  return {
    ...reply,
    headers: { ...headers, location: `/console/api/workspaces/${workspaceId}/assistants/${assistant.id}` },
  };
}

export async function getAssistant(request: ConsoleRequest): Promise<Reply> {
  return assistantReply((await reachPathAssistant(request)).record, request);
}

export async function patchAssistant(request: ConsoleRequest<unknown, PatchAssistantBody>): Promise<Reply> {
  const { body, services } = request;
  const { record: before } = await reachPathAssistant(request);
  await checkModel(merged(before, body, 0), request);
  await checkAlias(merged(before, body, 0), request);
  const at = nowSeconds(request);
  const actor = await withNames(
    services.host.assistants.configure(
      before.workspaceId,
      before.id,
      (record) => merged(record, body, at),
      causeByOperator(request, audited(request, 'assistant')),
      { check: draftCheck(request) },
    ),
  );
  return assistantReply(present(actor, unknown()).record, request);
}

export async function deleteAssistant(request: ConsoleRequest): Promise<Reply> {
  const { services, params } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  const cause = causeByOperator(request, audited(request, 'assistant'));
  await removeRunsOf(workspaceId, params.id, services);
  if (!(await services.host.assistants.remove(workspaceId, params.id, cause))) throw unknown();
  await removeUnused(workspaceId, services);
  return noContent;
}

/** `…/publish`, `/unpublish`, `/disable` and `/enable`. */
export const moveAssistant =
  (verb: AssistantVerb) =>
  async (request: ConsoleRequest<unknown, PublishBody>): Promise<Reply> => {
    const { id: workspaceId } = await reachWorkspace(request);
    const { note = null } = request.body ?? {};
    const actor = await withNames(
      request.services.host.assistants.move(
        workspaceId,
        request.params.id,
        verb,
        nowSeconds(request),
        causeByOperator(request, audited(request, 'assistant', verb)),
        await publicationBy(verb, note, request),
      ),
    );
    return assistantReply(present(actor, unknown()).record, request);
  };

/** The terms of the version that a verb may make: `enable` makes the first one. */
async function publicationBy(verb: AssistantVerb, note: string | null, request: ConsoleRequest): Promise<Publication> {
  if (verb === 'publish') return { note, check: await testedDraftCheck(request) };
  return verb === 'enable' ? { check: await testsCheck(request) } : {};
}

/** Waits for an assistant to be stored; rejects a slug and an alias that belong to another one. */
async function withNames<T>(stored: Promise<T>): Promise<T> {
  try {
    return await stored;
  } catch (error) {
    if (error instanceof AliasTaken) throw new Failure('invalid_field', { field: 'alias' });
    throw error instanceof SlugTaken ? new Failure('invalid_field', { field: 'link.slug' }) : error;
  }
}

/**
 * Returns the record with the fields of the body; the others stay. Throws 422 if a variable of a text has no value in
 * some session, which may follow from new visitor fields.
 */
export function merged(before: Assistant, body: PatchAssistantBody, at: number): Assistant {
  const after = mergedFields(withTemplates(before), body, at);
  const { model, greeting, visitorFields } = after;
  if (!isTemplate(model.systemPrompt, visitorFields))
    throw new Failure('invalid_field', { field: 'model.system_prompt' });
  if (!isTemplate(greeting, visitorFields)) throw new Failure('invalid_field', { field: 'greeting' });
  const wrong = deskTexts.find((name) => !isTemplate(after.desk?.texts[name] ?? null, visitorFields, personFacts));
  if (wrong !== undefined) throw new Failure('invalid_field', { field: `desk.texts.${wrong}` });
  return after;
}

/** The assistant with texts that may have variables. */
function withTemplates(record: Assistant): Assistant {
  if (record.hasVariables) return record;
  const { prompt, greeting } = templatesOf(record);
  return { ...record, greeting, model: { ...record.model, systemPrompt: prompt }, hasVariables: true };
}

function mergedFields(record: Assistant, body: PatchAssistantBody, at: number): Assistant {
  const { channels, visitor_fields: fields } = body;
  return {
    ...record,
    name: body.name ?? record.name,
    description: body.description === undefined ? record.description : body.description,
    greeting: body.greeting === undefined ? record.greeting : body.greeting || null,
    channels: { ...record.channels, ...channels },
    visitorFields: fields === undefined ? record.visitorFields : fields.map(visitorField),
    maxCallSeconds: body.max_call_seconds ?? record.maxCallSeconds,
    model: body.model === undefined ? record.model : mergedModel(record.model, body.model),
    voice: body.voice === undefined ? record.voice : body.voice && mergedVoice(record.voice, body.voice),
    link: body.link === undefined ? record.link : body.link && mergedLink(record.link, body.link),
    ...(body.desk !== undefined && { desk: mergedDesk(record.desk ?? defaultDesk, body.desk) }),
    ...(body.tool_ids !== undefined && { toolIds: body.tool_ids }),
    ...(body.tool_rounds_max !== undefined && { toolRoundsMax: body.tool_rounds_max }),
    ...(body.alias !== undefined && { alias: body.alias }),
    ...(body.session_policy !== undefined && { sessionPolicy: body.session_policy }),
    ...(body.require_tests !== undefined && { requireTests: body.require_tests }),
    updatedAt: at,
  };
}

const visitorField = (field: (PatchAssistantBody['visitor_fields'] & {})[number]): VisitorField => ({
  name: field.name,
  label: field.label ?? field.name,
  type: field.type ?? 'text',
  required: field.required ?? false,
});

const kept = <T>(given: T | undefined, before: T): T => (given === undefined ? before : given);

const mergedModel = (before: ModelSettings, body: PatchAssistantBody['model'] & {}): ModelSettings => ({
  provider: body.provider ?? before.provider,
  name: body.name ?? before.name,
  credentialId: kept(body.credential_id, before.credentialId),
  historyTokensMax: kept(body.history_tokens_max, before.historyTokensMax ?? null),
  systemPrompt: kept(body.system_prompt, before.systemPrompt),
  temperature: kept(body.temperature, before.temperature),
  outputTokensMax: kept(body.output_tokens_max, before.outputTokensMax),
  reasoning: body.reasoning ?? before.reasoning ?? 'hidden',
  ...(body.fallbacks === undefined
    ? before.fallbacks && { fallbacks: before.fallbacks }
    : body.fallbacks && body.fallbacks.length > 0 && { fallbacks: body.fallbacks.map(fallbackOf) }),
});

const fallbackOf = ({ provider, name, credential_id: credentialId = null }: FallbackBody): FallbackModel => ({
  provider,
  name,
  credentialId,
});

const mergedDesk = (before: DeskSettings, body: PatchAssistantBody['desk'] & {}): DeskSettings => ({
  enabled: body.enabled ?? before.enabled,
  waitSeconds: body.wait_seconds ?? before.waitSeconds,
  whileWaiting: body.while_waiting ?? before.whileWaiting,
  texts: {
    waiting: kept(body.texts?.waiting, before.texts.waiting) || null,
    joined: kept(body.texts?.joined, before.texts.joined) || null,
    left: kept(body.texts?.left, before.texts.left) || null,
    nobody: kept(body.texts?.nobody, before.texts.nobody) || null,
  },
});

/** Only where there was a voice before may the provider be left out. */
function mergedVoice(before: VoiceSettings | null, body: PatchAssistantBody['voice'] & {}): VoiceSettings {
  const provider = body.provider ?? before?.provider;
  if (provider === undefined) throw new Failure('missing_field', { field: 'voice.provider' });
  return {
    provider,
    name: kept(body.name, before?.name ?? null),
    transcriptionName: kept(body.transcription_name, before?.transcriptionName ?? null),
    voice: kept(body.voice, before?.voice ?? null),
    credentialId: kept(body.credential_id, before?.credentialId ?? null),
  };
}

export const mergedLink = (before: LinkSettings | null, body: PatchAssistantBody['link'] & {}): LinkSettings => ({
  slug: kept(body.slug, before?.slug ?? null),
  limits: { ...before?.limits, ...body.limits },
  origins: body.origins ?? before?.origins ?? [],
  feedback: body.feedback ?? before?.feedback ?? false,
  ...(before?.identity && { identity: before.identity }),
  identityRequired: body.identity_required ?? before?.identityRequired ?? false,
});

/**
 * A provider that is not offered, a name it cannot read, a credential that the workspace does not have: refused here,
 * not in a turn.
 */
async function checkModel(
  { workspaceId, model, voice, visitorFields, desk, toolIds }: Assistant,
  request: ConsoleRequest<unknown, PatchAssistantBody>,
): Promise<void> {
  const { services, body } = request;
  if (new Set(visitorFields.map(({ name }) => name)).size < visitorFields.length)
    throw new Failure('invalid_field', { field: 'visitor_fields' });
  if (body.model !== undefined) {
    await checkProvider(workspaceId, model, 'model', services);
    for (const [index, fallback] of (body.model.fallbacks ?? []).entries())
      await checkProvider(workspaceId, fallbackOf(fallback), `model.fallbacks.${index}`, services);
  }
  if (body.voice && voice !== null) await checkVoice(workspaceId, voice, services);
  const isNewMix = body.tool_ids !== undefined || (body.desk !== undefined && desk?.enabled === true);
  if (isNewMix && !(await mayHave({ workspaceId, desk }, toolIds ?? [], request)))
    throw new Failure('invalid_field', { field: 'tool_ids' });
}

/** `path`: of the settings in the body. */
async function checkProvider(
  workspaceId: string,
  model: FallbackModel,
  path: string,
  services: Services,
): Promise<void> {
  const provider = services.models.get(model.provider);
  if (provider === undefined) throw new Failure('invalid_field', { field: `${path}.provider` });
  if (provider.accepts !== undefined && !provider.accepts(model.name))
    throw new Failure('invalid_field', { field: `${path}.name` });
  await checkCredential(workspaceId, 'model', model, services, path);
}

/**
 * An alias belongs to one assistant of the workspace. The store knows none of assistants that an earlier version has
 * stored.
 */
async function checkAlias(
  { id, workspaceId, alias }: Assistant,
  { services, body }: ConsoleRequest<unknown, PatchAssistantBody>,
): Promise<void> {
  if (body.alias === undefined || body.alias === null) return;
  for await (const other of recordsOf(services.store.catalog, 'assistant', workspaceId)) {
    if (other.id !== id && typeof other.alias === 'string' && aliasKey(other.alias) === aliasKey(alias!))
      throw new Failure('invalid_field', { field: 'alias' });
  }
}

async function checkVoice(workspaceId: string, voice: VoiceSettings, services: Services): Promise<void> {
  const provider = services.voice.providers.get(voice.provider);
  if (provider === undefined) throw new Failure('invalid_field', { field: 'voice.provider' });
  const refused = provider.refusedField?.(choiceOf(voice)) ?? null;
  if (refused !== null) throw new Failure('invalid_field', { field: `voice.${refused}` });
  await checkCredential(workspaceId, 'voice', voice, services);
}

/** The credential, if one is named, must be the workspace's, of this kind and for this provider. */
async function checkCredential(
  workspaceId: string,
  kind: Credential['kind'],
  { provider, credentialId }: FallbackModel | VoiceSettings,
  services: Services,
  path: string = kind,
): Promise<void> {
  if (credentialId === null) return;
  const found = await services.store.catalog.read('credential', workspaceId, credentialId);
  if (found?.record.kind !== kind || found.record.provider !== provider)
    throw new Failure('invalid_field', { field: `${path}.credential_id` });
}

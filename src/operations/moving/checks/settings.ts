/**
 * Settings made in the console, held to what its API takes: the validators of the API's bodies run over the records.
 */
import { Failure } from '../../../base/errors.ts';
import { isTemplate } from '../../../base/variables.ts';
import { unitsPerRequest } from '../../../../machines/budget.ts';
import { limits } from '../../../base/limits.ts';
import {
  CreateAssistantBody,
  CreateCredentialBody,
  CreateKeyBody,
  CreateSessionBody,
  CreateTestBody,
  CreateToolBody,
  CreateWebhookBody,
  CreateWorkspaceBody,
  shape,
} from '../../../wire/wire.ts';
import {
  consoleAssistantView,
  credentialView,
  toolView,
  webhookView,
  workspaceView,
} from '../../../conversation/views.ts';
import { testView } from '../../../conversation/testing/tests.ts';
import { baseUrlProblem } from '../../../providers/client/address.ts';
import { endsInOperation, modelProviders } from '../../../providers/model.ts';
import { maySendIn } from '../../../providers/tool/credential-header.ts';
import { functionName, isSchema } from '../../../providers/tool/schema.ts';
import { voiceProviders } from '../../../providers/voice.ts';
import type { DumpRow } from '../../../store/dump.ts';
import { draftSnapshot } from '../../../host/assistants.ts';
import type { Assistant, AssistantVersion, Credential, Key, Session, Tool } from '../../../store/records.ts';

const bodies = {
  workspace: shape(CreateWorkspaceBody),
  assistant: shape(CreateAssistantBody),
  credential: shape(CreateCredentialBody),
  tool: shape(CreateToolBody),
  assistant_test: shape(CreateTestBody),
  webhook: shape(CreateWebhookBody),
  key: shape(CreateKeyBody),
  session: shape(CreateSessionBody),
};

/** The path of the first field that the API would not take, or null. */
export function settingsProblem(row: DumpRow): string | null {
  switch (row.type) {
    case 'workspace':
      return bodyProblem('workspace', workspaceView(row.record));
    case 'assistant':
      return assistantProblem(row.record);
    case 'assistant_version':
      return versionProblem(row.record);
    case 'assistant_test':
      return bodyProblem('assistant_test', testView(row.record));
    case 'credential':
      return credentialProblem(row.record);
    case 'tool':
      return toolProblem(row.record);
    case 'webhook':
      return bodyProblem('webhook', webhookView(row.record)) ?? (baseUrlProblem(row.record.url, true) && 'url');
    case 'key':
      return keyProblem(row.record) ?? budgetsProblem(row);
    case 'session':
      return sessionProblem(row.record);
    default:
      return null;
  }
}

/** The field that the body's validator names, by its name in the API. */
function bodyProblem(kind: keyof typeof bodies, body: object): string | null {
  try {
    bodies[kind].parse(body);
    return null;
  } catch (error) {
    if (error instanceof Failure) return error.param ?? 'record';
    throw error;
  }
}

function assistantProblem(assistant: Assistant): string | null {
  const { model, voice, visitorFields, greeting, hasVariables } = assistant;
  const view = consoleAssistantView(assistant);
  const wrong = bodyProblem('assistant', {
    ...view,
    greeting,
    model: { ...view.model, system_prompt: model.systemPrompt },
  });
  if (wrong !== null) return wrong;
  if (hasVariables && !isTemplate(model.systemPrompt, visitorFields)) return 'model.system_prompt';
  if (hasVariables && !isTemplate(greeting, visitorFields)) return 'greeting';
  if (new Set(visitorFields.map(({ name }) => name)).size < visitorFields.length) return 'visitor_fields';
  if (!isOneOf(modelProviders, model.provider)) return 'model.provider';
  const unknown = (model.fallbacks ?? []).findIndex(({ provider }) => !isOneOf(modelProviders, provider));
  if (unknown >= 0) return `model.fallbacks.${unknown}.provider`;
  return voice === null || isOneOf(voiceProviders, voice.provider) ? null : 'voice.provider';
}

/** A version is what an assistant and its tools could have been. */
function versionProblem({ workspaceId, assistantId: id, createdAt, settings, tools }: AssistantVersion): string | null {
  const stamps = { createdAt, updatedAt: createdAt };
  const others = { name: 'Version', description: null, channels: { voice: false, link: false, widget: false } };
  const wrong = assistantProblem({ id, workspaceId, ...others, link: null, ...settings, ...stamps, machine: draft });
  if (wrong !== null) return `settings.${wrong}`;
  const problems = tools.map((tool) =>
    toolProblem({
      workspaceId,
      credentialId: null,
      refreshedAt: null,
      sealed: tool.kind === 'http' ? new Uint8Array() : null,
      ...stamps,
      ...tool,
    }),
  );
  const first = problems.findIndex((problem) => problem !== null);
  return first < 0 ? null : `tools[${first}].${problems[first]}`;
}

const draft = draftSnapshot(false);

const isOneOf = (names: readonly string[], name: string): boolean => names.includes(name);

/**
 * A text stands for the sealed secret. An address in a private network is for the server to refuse, which has that
 * setting.
 */
function credentialProblem(credential: Credential): string | null {
  const { kind, provider, baseUrl, header } = credential;
  const wrong = bodyProblem('credential', { ...credentialView(credential), header: header ?? null, api_key: 'sealed' });
  if (wrong !== null) return wrong;
  if (!isOneOf(kind === 'tool' ? ['tool'] : [...modelProviders, ...voiceProviders], provider)) return 'provider';
  if (header != null && (kind !== 'tool' || !maySendIn(header))) return 'header';
  if (baseUrl === null) return kind === 'tool' ? 'base_url' : null;
  return baseUrlProblem(baseUrl, true) !== null || (kind !== 'tool' && endsInOperation(baseUrl)) ? 'base_url' : null;
}

function toolProblem(tool: Tool): string | null {
  const { kind, url, functions, sealed } = tool;
  // The list of an MCP server may be longer than one that a request may bring.
  const wrong = bodyProblem('tool', { ...toolView(tool), functions: [] });
  if (wrong !== null) return wrong;
  if (url === null ? kind !== 'client' : kind === 'client' || baseUrlProblem(url, true) !== null) return 'url';
  if ((sealed !== null) !== (kind === 'http')) return 'sealed';
  return functionsProblem(tool, functions);
}

function functionsProblem(tool: Tool, functions: Tool['functions']): string | null {
  const names = functions.map(({ name }) => name);
  if (!names.every((name) => functionName.test(name)) || new Set(names).size < names.length) return 'functions';
  if (tool.kind !== 'mcp' && bodyProblem('tool', toolView(tool)) !== null) return 'functions';
  const wrong = functions.findIndex(
    ({ parameters }) =>
      !isSchema(parameters, tool.kind === 'mcp' ? limits.toolMcpSchemaBytesMax : limits.toolSchemaBytesMax),
  );
  return wrong < 0 ? null : `functions[${wrong}].parameters`;
}

const digestBytes = 32;

function keyProblem({ name, assistantIds, expiresAt, limits: given, digest }: Key): string | null {
  const ceilings = {
    requests: given.requests,
    speech: given.speech,
    transcription_tokens: given.transcriptionTokens,
    tokens_per_day: given.tokensPerDay,
  };
  if (digest.length !== digestBytes) return 'record.digest';
  return bodyProblem('key', { name, assistant_ids: assistantIds, expires_at: expiresAt, limits: ceilings });
}

/**
 * A bucket holds no more than its ceiling, and owes no more than that. Ceilings change, so the highest one bounds it.
 */
function budgetsProblem({ budgets }: DumpRow & { type: 'key' }): string | null {
  const excess = Object.entries(budgets).find(
    ([, bucket]) => Math.abs(bucket.level) > limits.ceilingMax * unitsPerRequest,
  );
  return excess === undefined ? null : `budgets.${excess[0]}.level`;
}

function sessionProblem({
  assistantId,
  visitor,
  metadata,
  maxCallSeconds,
  createdAt,
  expiresAt,
}: Session): string | null {
  const wrong = bodyProblem('session', { assistant_id: assistantId, visitor, metadata });
  if (wrong !== null) return wrong;
  if (maxCallSeconds < 1 || maxCallSeconds > limits.maxCallSecondsMax) return 'record.maxCallSeconds';
  return expiresAt < createdAt ? 'record.expiresAt' : null;
}

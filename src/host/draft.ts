/** The draft of an assistant: the settings that the console edits, as a version would contain them (contract 20). */
import { isDeepStrictEqual } from 'node:util';
import { etagOf } from '../base/etag.ts';
import { limits } from '../base/limits.ts';
import { isDeleted } from '../store/records/tools.ts';
import { templatesOf, versionedSettings } from '../store/records/settings.ts';
import { versionId } from '../store/records/versions.ts';
import type { Assistant, AssistantVersion, Tool, VersionedSettings, VersionedTool } from '../store/store.ts';

/** The settings that a version contains, with their defaults filled in. */
export const versionedSettingsView = (settings: VersionedSettings) => ({
  model: {
    provider: settings.model.provider,
    name: settings.model.name,
    credential_id: settings.model.credentialId,
    history_tokens_max: settings.model.historyTokensMax ?? limits.historyTokensMax,
    system_prompt: templatesOf(settings).prompt,
    temperature: settings.model.temperature,
    output_tokens_max: settings.model.outputTokensMax,
    reasoning: settings.model.reasoning ?? ('hidden' as const),
    fallbacks: (settings.model.fallbacks ?? []).map(({ provider, name, credentialId }) => ({
      provider,
      name,
      credential_id: credentialId,
    })),
  },
  greeting: templatesOf(settings).greeting,
  visitor_fields: settings.visitorFields,
  voice: settings.voice && {
    provider: settings.voice.provider,
    name: settings.voice.name,
    transcription_name: settings.voice.transcriptionName ?? null,
    voice: settings.voice.voice,
    credential_id: settings.voice.credentialId,
  },
  max_call_seconds: settings.maxCallSeconds,
  tool_ids: settings.toolIds ?? [],
  tool_rounds_max: settings.toolRoundsMax ?? limits.toolRoundsMax,
});

/** Reads a tool by its id; null for one that is gone. */
export type ReadTool = (id: string) => Promise<Tool | null>;

/** The tools of an assistant by their ids. */
export type ToolsById = ReadonlyMap<string, Tool>;

/** Reads of all tools until two reads in a row are equal. */
const readsMax = 5;

/**
 * Reads the tools of an assistant as they were at one moment: an edit between the reads of two tools would make a draft
 * that there never was. Tools that change with each read are taken as they were read last.
 */
export async function toolsAtOnce(assistant: Pick<Assistant, 'toolIds'>, read: ReadTool): Promise<ToolsById> {
  let tools = await toolsOf(assistant, read);
  for (let reads = 1; tools.size > 1 && reads < readsMax; reads++) {
    const again = await toolsOf(assistant, read);
    if (isDeepStrictEqual(again, tools)) break;
    tools = again;
  }
  return tools;
}

/** Reads the tools of an assistant. */
export async function toolsOf({ toolIds = [] }: Pick<Assistant, 'toolIds'>, read: ReadTool): Promise<ToolsById> {
  const tools = await Promise.all(toolIds.map(read));
  return new Map(tools.flatMap((tool) => (tool === null || isDeleted(tool) ? [] : [[tool.id, tool]])));
}

/** The tools of an assistant among the given ones, in its order. One that is not among them counts as gone. */
const orderedTools = ({ toolIds = [] }: Pick<Assistant, 'toolIds'>, tools: ToolsById): Tool[] =>
  toolIds.flatMap((id) => tools.get(id) ?? []);

/**
 * The digest of a draft: another for every other setting that a version contains, its tools' definitions included.
 */
export const draftDigest = (assistant: Assistant, tools: ToolsById): string =>
  etagOf(
    JSON.stringify({
      ...versionedSettingsView(assistant),
      tools: orderedTools(assistant, tools).map(definitionView),
    }),
  ).slice(1, -1);

/** The version with the given number, of a draft with these tools. */
export const versionOf = (
  assistant: Assistant,
  tools: ToolsById,
  made: Pick<AssistantVersion, 'number' | 'note' | 'createdAt' | 'createdBy'>,
): AssistantVersion => ({
  id: versionId(assistant.id, made.number),
  workspaceId: assistant.workspaceId,
  assistantId: assistant.id,
  ...made,
  digest: draftDigest(assistant, tools),
  settings: versionedSettings(assistant),
  tools: orderedTools(assistant, tools).map(definitionOf),
});

/** The definition of a tool as a version contains it: with the functions that are enabled. */
const definitionOf = ({
  id,
  kind,
  name,
  url,
  timeoutSeconds,
  repeatable,
  approval,
  show,
  callsPerMinute,
  functions,
}: Tool): VersionedTool => ({
  id,
  kind,
  name,
  url,
  timeoutSeconds,
  repeatable,
  approval,
  show,
  callsPerMinute,
  functions: functions.filter(({ enabled }) => enabled).map(({ quarantined: _, ...each }) => each),
});

/** The part of a tool that a version contains: its address, its limits and the functions that a model is offered. */
export const definitionView = (tool: VersionedTool) => ({
  id: tool.id,
  url: tool.url,
  timeout_seconds: tool.timeoutSeconds,
  repeatable: tool.repeatable,
  calls_per_minute: tool.callsPerMinute,
  functions: tool.functions
    .filter(({ enabled }) => enabled)
    .map(({ name, remoteName, description, parameters, approval, show }) => ({
      name,
      ...(remoteName !== undefined && { remote_name: remoteName }),
      description,
      parameters,
      approval: approval ?? tool.approval,
      show: show ?? tool.show,
    })),
});

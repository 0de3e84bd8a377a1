/** The draft of an assistant: the settings that the console edits, as a version would contain them (contract 20). */
import { etagOf } from '../base/etag.ts';
import type { Assistant, Tool } from '../store/store.ts';
import { versionedSettingsView } from './views.ts';

/** Reads a tool by its id; null for one that is gone. */
export type ReadTool = (id: string) => Promise<Tool | null>;

/** The tools of an assistant by their ids. */
export type ToolsById = ReadonlyMap<string, Tool>;

/** Reads the tools of an assistant. */
export async function toolsOf({ toolIds = [] }: Pick<Assistant, 'toolIds'>, read: ReadTool): Promise<ToolsById> {
  const tools = await Promise.all(toolIds.map(read));
  return new Map(tools.flatMap((tool) => (tool === null ? [] : [[tool.id, tool]])));
}

/**
 * The digest of a draft: another for every other setting that a version contains, its tools' definitions included.
 * A tool that is not among the given ones counts as gone.
 */
export const draftDigest = (assistant: Assistant, tools: ToolsById): string =>
  etagOf(
    JSON.stringify({
      ...versionedSettingsView(assistant),
      tools: (assistant.toolIds ?? []).flatMap((id) => tools.get(id) ?? []).map(definitionView),
    }),
  ).slice(1, -1);

/** The part of a tool that a version contains: its address, its limits and the functions that a model is offered. */
const definitionView = (tool: Tool) => ({
  id: tool.id,
  url: tool.url,
  timeout_seconds: tool.timeoutSeconds,
  repeatable: tool.repeatable,
  calls_per_minute: tool.callsPerMinute,
  functions: tool.functions
    .filter(({ enabled }) => enabled)
    .map(({ name, description, parameters, approval, show }) => ({
      name,
      description,
      parameters,
      approval: approval ?? tool.approval,
      show: show ?? tool.show,
    })),
});

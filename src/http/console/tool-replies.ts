/** Answers with a tool, and the check of the tool that a change is based on. */
import { etagOf, isExpected } from '../../base/etag.ts';
import { Failure } from '../../base/errors.ts';
import { toolView } from '../../conversation/views.ts';
import type { Tool } from '../../store/store.ts';
import type { ConsoleRequest } from './common.ts';

/** The tag of a tool's settings, functions included; neither its switch nor what becomes of its list changes it. */
const tagOf = (tool: Tool): string => {
  const { id: _, disabled: __, functions, refreshed_at: ___, refresh_error: ____, ...settings } = toolView(tool);
  const { created_at: _____, updated_at: ______, ...fields } = settings;
  return etagOf(JSON.stringify({ ...fields, functions: functions.map(({ quarantined: _, ...each }) => each) }));
};

export const digestedToolView = (tool: Tool) => ({ ...toolView(tool), digest: tagOf(tool).slice(1, -1) });

export const toolTag = (tool: Tool) => ({ etag: tagOf(tool) });

/** Throws 409 `draft_changed` if the tool is not the one that `If-Match` names. */
export function checkTool({ head }: Pick<ConsoleRequest<unknown, unknown>, 'head'>, tool: Tool): void {
  if (!isExpected(head, tagOf(tool))) throw new Failure('draft_changed');
}

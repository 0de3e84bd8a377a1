/**
 * `/console/api/workspaces/{w}/tools/{id}/refresh`: reads the list of an MCP server; what is new or changed is off
 * until a person turns it on (contract 13).
 */
import { Failure } from '../../base/errors.ts';
import { refreshed, type ToolChange } from '../../providers/tool/listing.ts';
import type { Reply } from '../request.ts';
import { nowSeconds, type ConsoleRequest } from './common.ts';
import { changeTool, reachTool } from './tools.ts';
import { digestedToolView } from './tool-replies.ts';

export async function refreshTool(request: ConsoleRequest): Promise<Reply> {
  const { services } = request;
  const { record } = await reachTool(request);
  if (record.kind !== 'mcp') throw new Failure('invalid_field', { field: 'kind' });
  const listed = await services.tools.list(record);
  if ('step' in listed) {
    const refreshError = { at: nowSeconds(request), ...listed };
    await changeTool(request, (before) => ({ ...before, refreshError }), 'refresh');
    throw new Failure('service_unavailable');
  }
  let changes: readonly ToolChange[] = [];
  const tool = await changeTool(
    request,
    ({ refreshError: _, ...before }) => {
      const after = refreshed(before.functions, listed.tools);
      changes = after.changes;
      return { ...before, functions: after.functions, refreshedAt: nowSeconds(request) };
    },
    'refresh',
  );
  return { status: 200, json: { ...digestedToolView(tool), changes } };
}

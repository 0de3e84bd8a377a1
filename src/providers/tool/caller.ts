/** Sends tool calls to tools of each kind. */
import type { Clock } from '../../base/clock.ts';
import type { ProviderHttp } from '../client.ts';
import type { ToolCaller } from '../tool.ts';
import { callHttpTool } from './http.ts';
import { McpTools } from './mcp.ts';

export function toolCaller(http: ProviderHttp, clock: Clock): ToolCaller {
  const mcp = new McpTools(http, clock);
  return {
    call: (tool, called, asked, signal) =>
      tool.kind === 'mcp'
        ? mcp.call(tool, called, asked, signal)
        : callHttpTool(http, clock, tool, called, asked, signal),
    list: (tool) => mcp.list(tool),
    close: () => mcp.close(),
  };
}

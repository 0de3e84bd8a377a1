/** Sends tool calls to tools of each kind. */
import type { Clock } from '../../base/clock.ts';
import type { ProviderHttp } from '../client.ts';
import type { ToolInvoker } from '../tool.ts';
import { invokeHttpTool } from './http.ts';
import { McpTools } from './mcp.ts';

export function toolInvoker(http: ProviderHttp, clock: Clock): ToolInvoker {
  const mcp = new McpTools(http, clock);
  return {
    invoke: (tool, invoked, invocation, signal) =>
      tool.kind === 'mcp'
        ? mcp.invoke(tool, invoked, invocation, signal)
        : invokeHttpTool(http, clock, tool, invoked, invocation, signal),
    list: (tool) => mcp.list(tool),
    close: () => mcp.close(),
  };
}

/** Sends calls to tools of each kind. */
import type { Clock } from '../../base/clock.ts';
import type { ProviderHttp } from '../client.ts';
import type { ToolCaller } from '../tool.ts';
import { callHttpTool } from './http.ts';
import { callMcpTool, listMcpTools } from './mcp.ts';

export const toolCaller = (http: ProviderHttp, clock: Clock): ToolCaller => ({
  call: (tool, called, asked, signal) => (tool.kind === 'mcp' ? callMcpTool : callHttpTool)(http, clock, tool, called, asked, signal),
  list: (tool) => listMcpTools(http, clock, tool),
});

/** Sends calls to tools of each kind. */
import type { Clock } from '../../base/clock.ts';
import type { ProviderHttp } from '../client.ts';
import type { ToolCaller } from '../tool.ts';
import { callHttpTool } from './http.ts';

export const toolCaller = (http: ProviderHttp, clock: Clock): ToolCaller => ({
  call: (tool, name, asked, signal) => callHttpTool(http, clock, tool, name, asked, signal),
  list: async () => null,
});

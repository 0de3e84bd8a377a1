/** The MCP server (contract 15). */
import { mcp, onlyPost, refuseForeign } from '../handlers/mcp.ts';
import { mcpPath } from '../paths.ts';
import type { Route } from '../request.ts';
import * as wire from '../../wire/wire.ts';
import { api, json, open } from './row.ts';

export const mcpRoute: Route = {
  ...api('POST', mcpPath, mcp, {
    summary: 'A request to the MCP server.',
    body: wire.McpBody,
    success: {
      ...json(wire.McpAnswer, 'The answer; to `tools/call` it comes as an event stream.', 200, [
        'Cache-Control',
        'X-Accel-Buffering',
      ]),
      exports: ['text/event-stream'],
    },
    errors: ['assistant_not_permitted'],
  }),
  gate: refuseForeign,
  takesBytes: true,
};

/** Any other method of the path; it stands in no document. */
export const mcpOther: Route = {
  ...open('GET', mcpPath, onlyPost, {
    summary: 'Refuses all but POST.',
    success: { status: 405, description: 'Only POST is answered.', content: null },
  }),
  gate: refuseForeign,
};

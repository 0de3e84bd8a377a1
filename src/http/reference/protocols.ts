/** The reference's texts on the APIs for clients of other protocols. */
import manifest from '../../../package.json' with { type: 'json' };
import type { Area } from './entry.ts';

export const protocols: Area = {
  name: 'Clients of other protocols',
  group: 'API',
  description:
    'Each published assistant is a tool for clients of the Model Context Protocol. An assistant with required visitor fields has no way in here.',
  entries: {
    'POST /mcp': {
      does: `A message of the Model Context Protocol (Streamable HTTP, 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26 and 2024-11-05), without sessions and with tools alone. \`tools/list\` has \`ask_\` and its alias or id for each published assistant that the key reaches. \
\`tools/call\` takes \`message\` and, to go on, \`session_id\`; it answers as an event stream once the turn is sealed, with \`session_id\`, \`turn_id\`, \`status\` and \`text\`, and tells of the code points so far where the client gives a \`progressToken\`. \
A refusal and a turn that did not complete are results with \`isError\`. A client that leaves aborts the turn. Bodies may have 1 MiB.`,
      repeat: 'A call sent again asks again.',
      surprises:
        '403 `assistant_not_permitted` comes before authentication for an `Origin` of another site, and within this machine for a `Host` that is not its own. Any other method is 405. Failures behind the budgets are errors of JSON-RPC.',
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'client', version: '1.0.0' } },
      },
      answer: {
        jsonrpc: '2.0',
        id: 1,
        result: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'parley', version: manifest.version },
        },
      },
    },
  },
};

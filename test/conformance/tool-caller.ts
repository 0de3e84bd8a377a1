/**
 * The program that the conformance suite tries as a client: the tools of a server, listed and called as a turn does it.
 * The last argument is the server's address.
 */
import { WheelClock } from '../../src/base/clock.ts';
import { providerHttp } from '../../src/providers/client.ts';
import type { ListedTool, ToolAccess } from '../../src/providers/tool.ts';
import { toolInvoker } from '../../src/providers/tool/invoker.ts';

interface Wanted {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
}

const clock = new WheelClock();
const http = providerHttp({ clock, allowPrivate: true });
const caller = toolInvoker(http, clock);
const tool: ToolAccess = {
  workspaceId: 'ws_1',
  kind: 'mcp',
  url: process.argv.at(-1)!,
  timeoutSeconds: 20,
  repeatable: false,
  secrets: [],
  headers: {},
};
const context = {
  workspaceId: 'ws_1',
  assistantId: 'asst_1',
  sessionId: 'ses_1',
  turnId: 'turn_1',
  channel: 'api',
  signedVisitorId: null,
  visitor: {},
  metadata: {},
};

/** Arguments that fit a schema; an object is the schema of the first tool, which the suite wants to see again. */
function fitting({ parameters }: ListedTool): Record<string, unknown> {
  const { properties = {} } = parameters as { properties?: Record<string, { type?: string }> };
  const values: Readonly<Record<string, unknown>> = {
    number: 1,
    integer: 1,
    boolean: true,
    object: listed[0]!.parameters,
  };
  return Object.fromEntries(
    Object.entries(properties).map(([name, { type = 'string' }]) => [name, values[type] ?? 'x']),
  );
}

const listing = await caller.list(tool);
const listed = 'tools' in listing ? listing.tools.filter(({ parameters }) => parameters !== null) : [];
const { toolCalls } = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as { toolCalls?: readonly Wanted[] };
const wanted = toolCalls ?? listed.map((one): Wanted => ({ name: one.name, arguments: fitting(one) }));
for (const [index, { name, arguments: given = {} }] of wanted.entries()) {
  const found = listed.find((one) => one.name === name);
  if (found === undefined) continue;
  const called = { name, parameters: found.parameters ?? {} };
  const result = await caller.invoke(
    tool,
    called,
    { callId: `call_${index}`, arguments: given, context },
    new AbortController().signal,
  );
  process.stdout.write(`${name}: ${JSON.stringify(result)}\n`);
}
await caller.close();
await http.close();

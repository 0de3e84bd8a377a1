/** Calls the tools of MCP servers (contract 13): Streamable HTTP, in both eras of the protocol. The client of the protocol is loaded at its first use. */
import { createHash } from 'node:crypto';
import type { CallToolResult, Client, PriorDiscovery, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import manifest from '../../../package.json' with { type: 'json' };
import type { Clock } from '../../base/clock.ts';
import { keepNewest } from '../../base/newest.ts';
import { limits } from '../../base/limits.ts';
import type { ProviderHttp } from '../client.ts';
import type { AskedCall, CalledFunction, ListedTool, ToolAccess, ToolResult } from '../tool.ts';
import { mcpFetch, type McpExchange } from './mcp-fetch.ts';
import { readList } from './mcp-list.ts';
import { failed, sendWithin, type Sent } from './sending.ts';

/** The era that servers speak, so that a call need not ask; by server and credential. An older era is asked for again after a while. */
const eras = new Map<string, { readonly prior: PriorDiscovery; readonly until: number }>();

/** Sends a call, again within its time where that is allowed. Never rejects. */
export const callMcpTool = (http: ProviderHttp, clock: Clock, tool: ToolAccess, called: CalledFunction, asked: AskedCall, signal: AbortSignal): Promise<ToolResult> =>
  sendWithin(clock, tool, signal, (end) => within(http, clock, tool, end, async (client, exchange, ending) => {
    const { callId, arguments: given, context } = asked;
    const { sessionId, visitor, claimed } = context;
    const _meta = { 'parley/call_id': callId, ...(sessionId !== null && { 'parley/session_id': sessionId }), 'parley/visitor': visitor, ...(claimed && { 'parley/claimed': claimed }) };
    exchange.calling = true;
    // With the definition at hand no list is fetched.
    const toolDefinition = { name: called.name, inputSchema: { ...called.parameters, type: 'object' as const } };
    const result = await client.callTool({ name: called.name, arguments: given, _meta }, { toolDefinition, signal: ending, timeout: waitMs(tool), maxTotalTimeout: waitMs(tool) });
    end({ result: resultOf(result), again: 'never' });
  }), asked.stands);

/** The list of a server, whole; null if it cannot be read. */
export async function listMcpTools(http: ProviderHttp, clock: Clock, tool: ToolAccess): Promise<readonly ListedTool[] | null> {
  let listed: readonly ListedTool[] | null = null;
  await sendWithin(clock, tool, new AbortController().signal, (end) => within(http, clock, tool, end, async (client, _, ending) => {
    listed = await readList(client, { signal: ending, timeout: waitMs(tool) });
    end({ result: { status: 'completed', output: '' }, again: 'never' });
  }));
  return listed;
}

/** Longer than the time of the call, which ends it. */
const waitMs = ({ timeoutSeconds }: ToolAccess): number => timeoutSeconds * 1000 + 1000;

/** Runs an exchange with a server to its end. Returns how to cut it. */
function within(http: ProviderHttp, clock: Clock, tool: ToolAccess, end: (sent: Sent) => void, run: (client: Client, exchange: McpExchange, ending: AbortSignal) => Promise<void>): () => void {
  const ending = new AbortController();
  const exchange: McpExchange = { calling: false, failure: null };
  void converse(http, clock, tool, exchange, ending.signal, run).catch((error: unknown) => {
    eras.delete(nameOf(tool));
    end(exchange.failure === null ? { result: failed(errorOf(error)), again: errorOf(error) === 'unreachable' ? 'repeatable' : 'never' } : { result: failed(exchange.failure.error), again: exchange.failure.again });
  });
  return () => ending.abort();
}

async function converse(http: ProviderHttp, clock: Clock, tool: ToolAccess, exchange: McpExchange, ending: AbortSignal, run: (client: Client, exchange: McpExchange, ending: AbortSignal) => Promise<void>): Promise<void> {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  // An answer is not checked against the server's own schema: it is text for a model.
  const client = new Client({ name: 'parley', version: manifest.version }, { capabilities: {}, versionNegotiation: { mode: 'auto' }, inputRequired: { autoFulfill: false }, listMaxPages: limits.toolListPagesMax });
  const reconnectionOptions = { maxRetries: 0, initialReconnectionDelay: 1000, maxReconnectionDelay: 1000, reconnectionDelayGrowFactor: 1 };
  const transport = new StreamableHTTPClientTransport(new URL(tool.url), { fetch: mcpFetch(http, tool, exchange), reconnectionOptions, onInsufficientScope: 'throw' });
  const lost = lossOf(transport, exchange, clock);
  const name = nameOf(tool);
  const known = eras.get(name);
  const prior = known !== undefined && known.until > clock.monotonic() ? known.prior : undefined;
  try {
    await client.connect(transport, { signal: ending, timeout: waitMs(tool), ...(prior && { prior }) });
    if (prior === undefined) {
      const discover = client.getDiscoverResult();
      eras.set(name, { prior: discover === undefined ? { kind: 'legacy' } : { kind: 'modern', discover }, until: clock.monotonic() + limits.toolEraMs });
      keepNewest(eras, limits.providerOriginsMax);
    }
    await Promise.race([run(client, exchange, ending), lost]);
  } finally {
    await client.close().catch(() => {});
  }
}

/** Rejects once the stream of a call has ended without its answer, which the client of the protocol waits for until its timeout. */
function lossOf(transport: StreamableHTTPClientTransport, exchange: McpExchange, clock: Clock): Promise<never> {
  const send = transport.send.bind(transport);
  const lost = new Promise<never>((_, reject) => {
    const gone = (): void => reject(Object.assign(new Error('the stream has ended'), { code: 'CONNECTION_CLOSED' }));
    // An answer is dealt with in microtasks: an answered call is over before.
    transport.send = (message, options) => send(message, exchange.calling ? { ...options, onRequestStreamEnd: () => void clock.after(0, gone) } : options);
  });
  lost.catch(() => {});
  return lost;
}

const nameOf = ({ url, headers }: ToolAccess): string => createHash('sha256').update(JSON.stringify([url, headers])).digest('base64');

/** A failure that no request had: the server has answered with an error of the protocol, or with what is no answer. */
function errorOf(error: unknown): 'refused' | 'unreachable' | 'malformed' {
  const { name, code } = error as { name?: unknown; code?: unknown };
  if (typeof code === 'number' || name === 'ProtocolError') return 'refused';
  if (code === 'CONNECTION_CLOSED' || code === 'SEND_FAILED' || code === 'REQUEST_TIMEOUT') return 'unreachable';
  return code === 'UNSUPPORTED_RESULT_TYPE' || code === 'ERA_NEGOTIATION_FAILED' || code === 'CAPABILITY_NOT_SUPPORTED' ? 'refused' : 'malformed';
}

/** Texts are joined by line breaks; without one it is the structured content; other parts are named. */
function resultOf({ content, structuredContent, isError }: CallToolResult): ToolResult {
  if (isError === true) return failed('refused');
  const hasText = content.some(({ type }) => type === 'text');
  const parts = content.map((part) => (part.type === 'text' ? part.text : part.type === 'image' ? '[image]' : part.type === 'audio' ? '[audio]' : '[resource]'));
  const structured = hasText || structuredContent === undefined ? [] : [JSON.stringify(structuredContent)];
  return { status: 'completed', output: [...structured, ...parts].join('\n') };
}

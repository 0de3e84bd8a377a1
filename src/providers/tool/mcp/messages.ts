/** Builds the messages to an MCP server: JSON-RPC over Streamable HTTP, in both eras of the protocol. */
import manifest from '../../../../package.json' with { type: 'json' };
import type { Json } from '../../../base/json.ts';
import { headerValue } from './parameter-headers.ts';

/** The version of the modern era, which has neither a handshake nor sessions. */
export const modernVersion = '2026-07-28';
/** The versions of the legacy era, newest first. The first one is offered (lifecycle, "Version Negotiation"). */
export const legacyVersions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/** The agreement with a server. `session`: its `Mcp-Session-Id`, empty if it sent none. */
export type Protocol =
  | { readonly era: 'modern' }
  | { readonly era: 'legacy'; readonly version: string; readonly session: string };

export interface McpMessage {
  /** Null for a notification and for a response to the server. */
  readonly id: number | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const clientInfo = { name: 'parley', version: manifest.version };

/** `2026-07-28`, "Request metadata": each request carries version and client. */
const envelope = {
  'io.modelcontextprotocol/protocolVersion': modernVersion,
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
};

const commonHeaders = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

const rpcText = (message: object): string => JSON.stringify({ jsonrpc: '2.0', ...message });

/** A request of the modern era. `headers`: copies of arguments that the tool wants as headers. */
function modernRequest(
  id: number,
  method: string,
  params: Json,
  headers: Readonly<Record<string, string>> = {},
): McpMessage {
  const name: Record<string, string> =
    typeof params['name'] === 'string' ? { 'mcp-name': headerValue(params['name']) } : {};
  const _meta = { ...(params['_meta'] as Json | undefined), ...envelope };
  return {
    id,
    headers: { ...commonHeaders, ...headers, 'mcp-protocol-version': modernVersion, 'mcp-method': method, ...name },
    body: rpcText({ id, method, params: { ...params, _meta } }),
  };
}

export const discoverRequest = (id: number): McpMessage => modernRequest(id, 'server/discover', {});

export const initializeRequest = (id: number, protocolVersion: string): McpMessage => ({
  id,
  headers: commonHeaders,
  body: rpcText({ id, method: 'initialize', params: { protocolVersion, capabilities: {}, clientInfo } }),
});

/** Headers of the session and version for a legacy server. */
export const sessionHeaders = ({ version, session }: Protocol & { era: 'legacy' }): Record<string, string> => ({
  'mcp-protocol-version': version,
  ...(session !== '' && { 'mcp-session-id': session }),
});

/** A request under an agreed protocol. `headers` are sent in the modern era alone. */
export function requestOf(
  protocol: Protocol,
  id: number,
  method: string,
  params: Json,
  headers?: Readonly<Record<string, string>>,
): McpMessage {
  if (protocol.era === 'modern') return modernRequest(id, method, params, headers);
  return { id, headers: { ...commonHeaders, ...sessionHeaders(protocol) }, body: rpcText({ id, method, params }) };
}

/** A notification in the legacy era. */
export const notificationOf = (protocol: Protocol & { era: 'legacy' }, method: string, params?: Json): McpMessage => ({
  id: null,
  headers: { ...commonHeaders, ...sessionHeaders(protocol) },
  body: rpcText({ method, ...(params && { params }) }),
});

/** Response to a request of a legacy server: a ping is answered, any other method was not offered. */
export const replyTo = (protocol: Protocol & { era: 'legacy' }, id: string | number, method: string): McpMessage => ({
  id: null,
  headers: { ...commonHeaders, ...sessionHeaders(protocol) },
  body: rpcText({
    id,
    ...(method === 'ping' ? { result: {} } : { error: { code: -32601, message: 'Method not found' } }),
  }),
});

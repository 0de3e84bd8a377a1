/**
 * An MCP server of one era, written by hand, as strict as the protocol lets it be: Streamable HTTP of 2025-11-25
 * (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports), or 2026-07-28. `answers` makes it odd
 * where real servers are.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Owner } from '../folders.ts';

export interface Got {
  readonly method: string;
  readonly params: any;
  readonly headers: IncomingMessage['headers'];
  readonly path: string;
}

export const schema = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };
export const listed = (name: string, inputSchema: unknown = schema) => ({
  name,
  description: 'Looks an order up.',
  inputSchema,
});

export interface Answers {
  tools?: readonly unknown[];
  /** Sessions that it holds at most; it refuses the next. */
  sessionsMax?: number;
  call?: (params: any, response: ServerResponse, id: unknown) => unknown;
  /**
   * Answers a message otherwise than the protocol has it, if it returns true. `method` is `DELETE` for the end of a
   * session.
   */
  oddly?: (
    method: string,
    response: ServerResponse,
    id: unknown,
    request: IncomingMessage,
    params: any,
  ) => boolean | undefined;
}

/** Returns the violated rule of the protocol, with the status that the server answers. */
function refusalOf(
  era: 'modern' | 'legacy',
  sessions: ReadonlySet<string>,
  method: string,
  params: any,
  { headers }: IncomingMessage,
): [number, string] | null {
  // "Sending Messages": the client MUST include an Accept header, listing both types.
  if (!/application\/json/.test(headers.accept ?? '') || !/text\/event-stream/.test(headers.accept ?? ''))
    return [406, 'Not Acceptable'];
  if (headers['content-type'] !== 'application/json') return [415, 'Unsupported Media Type'];
  if (era === 'modern') {
    // 2026-07-28, "Request metadata" and "Standard headers".
    const version = params?._meta?.['io.modelcontextprotocol/protocolVersion'];
    const isRight =
      version === '2026-07-28' &&
      headers['mcp-protocol-version'] === version &&
      headers['mcp-method'] === method &&
      (method !== 'tools/call' || headers['mcp-name'] === params.name);
    return isRight || method === 'initialize' ? null : [400, 'Header mismatch'];
  }
  if (method === 'initialize' || method === 'server/discover') return null;
  const session = headers['mcp-session-id'];
  // "Session Management": without a session 400, in one that has ended 404.
  if (session === undefined) return [400, 'no session'];
  if (!sessions.has(String(session))) return [404, 'Session not found'];
  // "Protocol Version Header": all requests after the handshake have it.
  return headers['mcp-protocol-version'] === '2025-06-18' ? null : [400, 'no version'];
}

/** An answer is a result, an error of JSON-RPC, or null where it was given otherwise. */
export async function openServer(t: Owner, era: 'modern' | 'legacy', answers: Answers) {
  const got: Got[] = [];
  /** The open sessions, and how many there have been. */
  const sessions = { open: new Set<string>(), made: 0 };
  const answerTo = ({ method, params }: Got, response: ServerResponse, id: unknown): unknown => {
    const more = era === 'modern' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {};
    if (method === 'tools/list') return { result: { ...more, tools: answers.tools ?? [listed('look_up')] } };
    if (method === 'tools/call') {
      const given = answers.call?.(params, response, id) ?? { content: [{ type: 'text', text: 'shipped' }] };
      return given === 'given'
        ? null
        : typeof given === 'object' && given !== null && 'code' in given
          ? { error: given }
          : { result: { ...more, ...given } };
    }
    if (era === 'modern' && method === 'server/discover')
      return {
        result: {
          ...more,
          supportedVersions: ['2026-07-28'],
          capabilities: { tools: {} },
          serverInfo: { name: 'orders', version: '1' },
        },
      };
    if (era === 'legacy' && method === 'initialize')
      return {
        result: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'orders', version: '1' },
        },
      };
    return { error: { code: -32601, message: 'Method not found' } };
  };
  const newSession = (response: ServerResponse): boolean => {
    if (sessions.open.size >= (answers.sessionsMax ?? Infinity)) {
      response.writeHead(503).end('too many sessions');
      return false;
    }
    const session = `Session-${++sessions.made}`;
    sessions.open.add(session);
    response.setHeader('mcp-session-id', session);
    return true;
  };
  const serve = (text: string, request: IncomingMessage, response: ServerResponse): unknown => {
    const { id, method, params } =
      text === '' ? { id: null, method: request.method!, params: undefined } : JSON.parse(text);
    const one = { method, params, headers: request.headers, path: request.url! };
    got.push(one);
    if (answers.oddly?.(method, response, id, request, params) === true) return undefined;
    if (method === 'DELETE')
      return response.writeHead(sessions.open.delete(String(request.headers['mcp-session-id'])) ? 204 : 404).end();
    const refusal = refusalOf(era, sessions.open, method, params, request);
    if (refusal !== null) return response.writeHead(refusal[0]).end(refusal[1]);
    if (id === undefined || method === undefined) return response.writeHead(202).end();
    if (era === 'legacy' && method === 'initialize' && !newSession(response)) return undefined;
    const answer = answerTo(one, response, id);
    if (answer === null) return undefined;
    response.writeHead(200, { 'content-type': 'application/json' });
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(answer as object) }));
  };
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => (text += piece));
    request.on('end', () => serve(text, request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { got, sessions, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` };
}

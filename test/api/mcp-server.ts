/** An MCP server of one era, written by hand. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Owner } from '../folders.ts';

export interface Got {
  readonly method: string;
  readonly params: any;
  readonly headers: IncomingMessage['headers'];
}

export const schema = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };
export const listed = (name: string, inputSchema: unknown = schema) => ({ name, description: 'Looks an order up.', inputSchema });

export interface Answers {
  tools?: readonly unknown[];
  call?: (params: any, response: ServerResponse, id: unknown) => unknown;
}

/** An answer is a result, an error of JSON-RPC, or null where it was given otherwise. */
export async function openServer(t: Owner, era: 'modern' | 'legacy', answers: Answers) {
  const got: Got[] = [];
  const answerTo = ({ method, params }: Got, response: ServerResponse, id: unknown): unknown => {
    const more = era === 'modern' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {};
    if (method === 'tools/list') return { result: { ...more, tools: answers.tools ?? [listed('look_up')] } };
    if (method === 'tools/call') {
      const given = answers.call?.(params, response, id) ?? { content: [{ type: 'text', text: 'shipped' }] };
      return given === 'given' ? null : (given as object) !== null && 'code' in (given as object) ? { error: given } : { result: { ...more, ...(given as object) } };
    }
    if (era === 'modern' && method === 'server/discover') return { result: { ...more, supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: { name: 'orders', version: '1' } } };
    if (era === 'legacy' && method === 'initialize') return { result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'orders', version: '1' } } };
    return { error: { code: -32601, message: 'Method not found' } };
  };
  const serve = (text: string, request: IncomingMessage, response: ServerResponse): unknown => {
    const { id, method, params } = JSON.parse(text);
    const one = { method, params, headers: request.headers };
    got.push(one);
    if (id === undefined) return response.writeHead(202).end();
    if (era === 'legacy' && method !== 'initialize' && request.headers['mcp-session-id'] !== 'Session-1') return response.writeHead(400).end('no session');
    const answer = answerTo(one, response, id);
    if (answer === null) return undefined;
    response.writeHead(200, { 'content-type': 'application/json', ...(era === 'legacy' && { 'mcp-session-id': 'Session-1' }) });
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
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` };
}

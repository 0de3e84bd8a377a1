/** A tool for experiments: it records each call that reached it by its id, and answers as the test decides. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { must, type House } from '../api/house.ts';
import { listed, openServer } from '../api/mcp-server.ts';
import type { Owner } from '../folders.ts';

/** A call that reached the tool. */
export interface Reached {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId: string;
  /** Number of signatures of the request. */
  readonly signatures: number;
  /** The output that it was given; null if the connection ended before, or if it was refused. */
  answered: string | null;
  /** Whether the tool would have it again. */
  readonly repeatable: boolean;
}

export interface Tool {
  readonly url: string;
  /** The same tool, where calls may come again. */
  readonly repeatableUrl: string;
  readonly reached: Reached[];
  /** Milliseconds until it answers a call; infinite for one that it never answers. */
  delayMs: (callId: string) => number;
  /** Answer to a call of a repeatable tool: a temporary status, the end of its connection, or none (null). */
  refuses: () => 'passing' | 'cut' | null;
  /** Called when a call has come. */
  onCall: () => void;
}

/** The sign of a path under which calls may come again. */
const again = '/again';

export async function openTool(t: Owner): Promise<Tool> {
  const tool: Tool = {
    url: '',
    repeatableUrl: '',
    reached: [],
    delayMs: () => 0,
    refuses: () => null,
    onCall: () => {},
  };
  const answer = async (text: string, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { call_id: callId, session_id: sessionId, turn_id: turnId } = JSON.parse(text).data;
    const repeatable = request.url === again;
    const one: Reached = {
      callId,
      sessionId,
      turnId,
      signatures: String(request.headers['webhook-signature'] ?? '')
        .split(' ')
        .filter(Boolean).length,
      answered: null,
      repeatable,
    };
    const refusal = repeatable ? tool.refuses() : null;
    if (!(await isToAnswer(tool, one, response, refusal !== null))) return;
    if (refusal === 'cut') return void request.destroy();
    if (refusal === 'passing') return void response.writeHead(503).end();
    one.answered = `done ${callId}`;
    response.writeHead(200, { 'content-type': 'text/plain' }).end(one.answered);
  };
  const server = createServer((request: IncomingMessage, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => (text += piece));
    request.on('end', () => void answer(text, request, response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(tool, { url: `${origin}/call`, repeatableUrl: `${origin}${again}` });
}

/** Notes a call and waits, unless it is met at once; false if it is not to be answered. */
async function isToAnswer(tool: Tool, one: Reached, response: ServerResponse, atOnce = false): Promise<boolean> {
  tool.reached.push(one);
  tool.onCall();
  const delayMs = atOnce ? 0 : tool.delayMs(one.callId);
  if (delayMs === Infinity) return false;
  if (delayMs > 0) await pause(delayMs, undefined, { ref: false });
  return !response.destroyed;
}

/** An MCP server with one function, whose calls the tool remembers with its own: its address. */
export async function openMcpTool(t: Owner, name: string, tool: Tool): Promise<string> {
  const answer = async ({ _meta: meta }: any, response: ServerResponse, id: unknown): Promise<void> => {
    const one: Reached = {
      callId: meta['parley/call_id'],
      sessionId: meta['parley/session_id'],
      turnId: '',
      signatures: 0,
      answered: null,
      repeatable: false,
    };
    if (!(await isToAnswer(tool, one, response))) return;
    one.answered = `done ${one.callId}`;
    const result = { resultType: 'complete', content: [{ type: 'text', text: one.answered }] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  };
  const call = (params: unknown, response: ServerResponse, id: unknown): string => (
    void answer(params, response, id),
    'given'
  );
  return (await openServer(t, 'modern', { tools: [listed(name, { type: 'object' })], call })).url;
}

/** Requests a change of the console's API, and throws unless it is made. */
export const told = (house: House, path: string, body: object, method = 'POST'): Promise<any> =>
  must(() => house.console(`/workspaces/${house.workspaceId}${path}`, { method, body }), 200, 201);

/** A published assistant of the synthetic model with these tools. */
export const assistantWith = (
  house: House,
  name: string,
  toolIds: readonly string[],
  fields: object = {},
): Promise<any> =>
  house.assistant({ model: { provider: 'synthetic', name }, tool_ids: toolIds, greeting: null, ...fields });

/** The transcript as the console sees it: with arguments and outputs. */
export const seenByConsole = async (house: House, sessionId: string): Promise<any[]> =>
  (await house.console(`/workspaces/${house.workspaceId}/sessions/${sessionId}/transcript?limit=100`)).json.data;

/** A tool for experiments: it remembers each call that reached it, by its id, and answers as it is told. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { House } from '../api/house.ts';
import type { Owner } from '../folders.ts';

/** A call that reached the tool. */
export interface Reached {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId: string;
  /** How many signatures it came with. */
  readonly signatures: number;
  /** The output that it was given; null if the connection ended before. */
  answered: string | null;
}

export interface Tool {
  readonly url: string;
  readonly reached: Reached[];
  /** Milliseconds until it answers a call; infinite for one that it never answers. */
  delayMs: (callId: string) => number;
  /** Called when a call has come. */
  onCall: () => void;
}

export async function openTool(t: Owner): Promise<Tool> {
  const tool: Tool = { url: '', reached: [], delayMs: () => 0, onCall: () => {} };
  const answer = async (text: string, request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { call_id: callId, session_id: sessionId, turn_id: turnId } = JSON.parse(text).data;
    const one: Reached = { callId, sessionId, turnId, signatures: String(request.headers['webhook-signature'] ?? '').split(' ').filter(Boolean).length, answered: null };
    tool.reached.push(one);
    tool.onCall();
    const delayMs = tool.delayMs(callId);
    if (delayMs === Infinity) return;
    if (delayMs > 0) await pause(delayMs, undefined, { ref: false });
    if (response.destroyed) return;
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
  return Object.assign(tool, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/call` });
}

/** Asks the console, and throws unless it does as it is told. */
export async function told(house: House, path: string, body: object, method = 'POST'): Promise<any> {
  const { status, json, text } = await house.console(`/workspaces/${house.workspaceId}${path}`, { method, body });
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
  return json;
}

/** A published assistant of the synthetic model with these tools. */
export const assistantWith = (house: House, name: string, toolIds: readonly string[], fields: object = {}): Promise<any> =>
  house.assistant({ model: { provider: 'synthetic', name }, tool_ids: toolIds, greeting: null, ...fields });

/** The transcript as the console sees it: with arguments and outputs. */
export const seenByConsole = async (house: House, sessionId: string): Promise<any[]> => (await house.console(`/workspaces/${house.workspaceId}/sessions/${sessionId}/transcript?limit=100`)).json.data;

/**
 * A gate before a provider mock that was written elsewhere: like the provider, it refuses a request with an incomplete
 * history with 400. The rules come from OpenAI's and Anthropic's documentation of tool calls.
 */
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Owner } from '../folders.ts';

export interface Gate {
  readonly url: string;
  /** Reasons for which requests were refused. */
  readonly refused: string[];
  /**
   * Asked for each request that is whole: after how many bytes of its answer the connection is cut; null: it is not.
   */
  cutAfter: (body: any) => number | null;
}

export async function openGate(t: Owner, upstream: string): Promise<Gate> {
  const gate: Gate = { url: '', refused: [], cutAfter: () => null };
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const text = Buffer.concat(pieces).toString();
      const problem = problemOf(request.url ?? '', JSON.parse(text));
      if (problem === null) return pass(request, response, text, upstream, gate.cutAfter(JSON.parse(text)));
      gate.refused.push(`${problem}: ${text}`);
      response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: problem } }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(gate, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` });
}

function pass(
  request: IncomingMessage,
  response: ServerResponse,
  text: string,
  upstream: string,
  cutAfter: number | null,
): void {
  const { host: _, 'content-length': __, ...headers } = request.headers;
  const sent = send(
    upstream + request.url,
    { method: 'POST', headers: { ...headers, 'content-length': Buffer.byteLength(text) } },
    (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      let bytes = 0;
      answer.on('data', (piece: Buffer) => {
        const left = cutAfter === null ? piece.length : Math.max(0, cutAfter - bytes);
        bytes += piece.length;
        response.write(piece.subarray(0, left));
        if (left < piece.length) response.destroy();
      });
      answer.on('end', () => response.end());
    },
  );
  sent.on('error', () => response.destroy());
  response.on('close', () => sent.destroy());
  sent.end(text);
}

/** Returns the reason for which a provider refuses the request; null if it accepts it. */
export const problemOf = (path: string, body: any): string | null =>
  path.endsWith('/messages') ? anthropicProblem(body) : openaiProblem(body);

function openaiProblem({ messages }: any): string | null {
  let open: string[] = [];
  for (const { role, content, tool_calls: calls, tool_call_id: answers } of messages) {
    if (role === 'tool') {
      if (!open.includes(answers))
        return `a result for ${answers}, which is not called in the message before, or is answered already`;
      open = open.filter((id) => id !== answers);
      continue;
    }
    if (open.length > 0) return `tool_call_ids without a result: ${open.join(', ')}`;
    if (calls === undefined && (typeof content !== 'string' || content === '')) return 'a message without content';
    open = (calls ?? []).map(({ id }: any) => id);
    if (new Set(open).size < open.length) return 'an id twice';
    if (calls?.length === 0) return 'tool_calls is empty';
    for (const { function: called } of calls ?? [])
      if (!/^[A-Za-z0-9_-]{1,64}$/.test(called.name) || typeof JSON.parse(called.arguments) !== 'object')
        return `a call of ${JSON.stringify(called)}`;
  }
  return open.length > 0 ? `tool_call_ids without a result: ${open.join(', ')}` : null;
}

const blocksOf = (content: any): any[] => (typeof content === 'string' ? [{ type: 'text', text: content }] : content);

function anthropicProblem({ messages, tools, tool_choice: choice }: any): string | null {
  if (messages[0]?.role !== 'user') return "the first message is not the user's";
  let open: string[] = [];
  let last = '';
  for (const { role, content } of messages) {
    if (role === last) return `two messages of ${role}`;
    last = role;
    const blocks = blocksOf(content);
    if (blocks.length === 0 || blocks.some(({ type, text }) => type === 'text' && text.trim() === ''))
      return 'text content blocks must be non-empty';
    const results = blocks.filter(({ type }) => type === 'tool_result').map(({ tool_use_id: id }) => id as string);
    const first = blocks.slice(0, open.length).map(({ type, tool_use_id: id }) => (type === 'tool_result' ? id : ''));
    if (role === 'user' && (open.some((id) => !first.includes(id)) || results.length !== open.length))
      return `tool_use without tool_result, or the reverse: ${open.join(', ')} and ${results.join(', ')}`;
    open = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id as string);
    if (new Set(open).size < open.length) return 'tool_use ids must be unique';
    for (const { type, name, input } of blocks)
      if (type === 'tool_use' && (!/^[a-zA-Z0-9_-]{1,128}$/.test(name) || typeof input !== 'object' || input === null))
        return `tool_use of ${name}`;
    if ((open.length > 0 || results.length > 0) && !(tools?.length > 0))
      return 'Requests which have tool_use or tool_result blocks must define tools';
  }
  if (choice !== undefined && !(tools?.length > 0)) return 'tool_choice without tools';
  return open.length > 0 ? `tool_use without tool_result: ${open.join(', ')}` : null;
}

/**
 * The server that clients read from in the benchmarks: an answer of so many events, one write each, as parley frames
 * them or as OpenAI-compatible endpoints do.
 */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tokenAt } from './text.ts';

/** Events a second of one answer. */
export const eventRate = 200;

export interface EventServer {
  readonly port: number;
  stop(): Promise<void>;
}

/**
 * Answers `POST /sessions/{count}/chat` and `POST /v1/chat/completions` with the model `{count}` with so many events.
 */
export async function startEventServer(): Promise<EventServer> {
  const server: Server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      const own = /^\/sessions\/(\d+)\/chat$/.exec(request.url!);
      const count = Number(own?.[1] ?? (JSON.parse(body) as { model: string }).model);
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-turn-id': 'turn_1' });
      send(response, own === null ? openaiFrame : parleyFrame, count);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Sends one event a beat, so that each is a separate chunk, as from a model. */
function send(response: ServerResponse, frame: (index: number, count: number) => string, count: number): void {
  let index = 0;
  const timer = setInterval(() => {
    response.write(frame(index, count));
    if (index++ < count) return;
    clearInterval(timer);
    response.end();
  }, 1000 / eventRate);
  response.on('close', () => clearInterval(timer));
}

const parleyFrame = (index: number, count: number): string =>
  index < count
    ? `event: message.delta\nid: ${index + 1}\ndata: ${JSON.stringify({ text: tokenAt(index) })}\n\n`
    : `event: turn.completed\nid: ${count}\ndata: {"turn_id":"turn_1","message_id":"msg_1","stop_reason":"end","usage":{"input_tokens":1,"output_tokens":1}}\n\n`;

const openaiFrame = (index: number, count: number): string =>
  index < count
    ? `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { content: tokenAt(index) }, finish_reason: null }] })}\n\n`
    : 'data: [DONE]\n\n';

/** The plainest relay: `node:http`, `fetch`, and an event for each of the provider's. Stores nothing, checks no key. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const upstream = `http://127.0.0.1:${process.argv[2]}/v1/chat/completions`;

async function chat(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const { model, message } = JSON.parse(Buffer.concat(pieces).toString()) as { model: string; message: string };
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: message }], stream: true });
  const answer = await fetch(upstream, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  let [rest, position] = ['', 0];
  for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) {
    const events = (rest + text).split('\n\n');
    rest = events.pop()!;
    for (const event of events) {
      const data = event.slice('data: '.length);
      if (data === '[DONE]') {
        response.write(`event: turn.completed\nid: ${position}\ndata: {"stop_reason":"end"}\n\n`);
        continue;
      }
      const content = (JSON.parse(data) as { choices: { delta: { content?: string } }[] }).choices[0]?.delta.content;
      if (!content) continue;
      position += [...content].length;
      response.write(`event: message.delta\nid: ${position}\ndata: ${JSON.stringify({ text: content })}\n\n`);
    }
  }
  response.end();
}

const server = createServer((request, response) => void chat(request, response));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));

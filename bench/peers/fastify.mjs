// Fastify and OpenAI's own client, as their documentation sets them up.
import Fastify from 'fastify';
import OpenAI from 'openai';

const openai = new OpenAI({ apiKey: 'sk-bench', baseURL: `http://127.0.0.1:${process.argv[2]}/v1` });
const app = Fastify();

app.post('/chat', async (request, reply) => {
  const { model, message } = request.body;
  const stream = await openai.chat.completions.create({
    model,
    messages: [{ role: 'user', content: message }],
    stream: true,
  });
  reply.hijack();
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  for await (const chunk of stream) {
    const text = chunk.choices[0]?.delta?.content;
    if (text) reply.raw.write(`event: message.delta\ndata: ${JSON.stringify({ text })}\n\n`);
  }
  reply.raw.end('event: turn.completed\ndata: {}\n\n');
});

await app.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ port: app.server.address().port });

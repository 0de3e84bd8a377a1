// Hono and the AI SDK: `streamText` and its own stream of UI messages.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { serve } from '@hono/node-server';
import { streamText } from 'ai';
import { Hono } from 'hono';

const provider = createOpenAICompatible({
  name: 'bench',
  apiKey: 'sk-bench',
  baseURL: `http://127.0.0.1:${process.argv[2]}/v1`,
});
const app = new Hono();

app.post('/chat', async (context) => {
  const { model, message } = await context.req.json();
  return streamText({
    model: provider(model),
    messages: [{ role: 'user', content: message }],
  }).toUIMessageStreamResponse();
});

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => process.send?.({ port }));

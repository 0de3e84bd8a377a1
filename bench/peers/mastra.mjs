// An agent of Mastra behind Hono, without memory, its text as events.
import { serve } from '@hono/node-server';
import { Agent } from '@mastra/core/agent';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';

const url = `http://127.0.0.1:${process.argv[2]}/v1`;
const agents = new Map();
const app = new Hono();

function agentFor(model) {
  let agent = agents.get(model);
  if (agent === undefined) {
    agent = new Agent({
      name: model,
      instructions: 'Be brief.',
      model: { id: `bench/${model}`, url, apiKey: 'sk-bench' },
    });
    agents.set(model, agent);
  }
  return agent;
}

app.post('/chat', async (context) => {
  const { model, message } = await context.req.json();
  const { textStream } = await agentFor(model).stream(message);
  return streamSSE(context, async (stream) => {
    for await (const text of textStream)
      await stream.writeSSE({ event: 'message.delta', data: JSON.stringify({ text }) });
    await stream.writeSSE({ event: 'turn.completed', data: '{}' });
  });
});

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => process.send?.({ port }));

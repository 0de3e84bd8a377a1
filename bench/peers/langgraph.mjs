// A graph of LangGraph with one node, which keeps its threads in memory by its own checkpoints, behind Fastify.
import { randomUUID } from 'node:crypto';
import { MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';
import Fastify from 'fastify';

const baseURL = `http://127.0.0.1:${process.argv[2]}/v1`;
const graphs = new Map();
const app = Fastify();

function graphFor(model) {
  let graph = graphs.get(model);
  if (graph === undefined) {
    const chat = new ChatOpenAI({ model, apiKey: 'sk-bench', configuration: { baseURL }, streaming: true });
    const answer = async ({ messages }) => ({ messages: [await chat.invoke(messages)] });
    graph = new StateGraph(MessagesAnnotation)
      .addNode('answer', answer)
      .addEdge(START, 'answer')
      .compile({ checkpointer: new MemorySaver() });
    graphs.set(model, graph);
  }
  return graph;
}

app.post('/chat', async (request, reply) => {
  const { model, message } = request.body;
  const stream = await graphFor(model).stream(
    { messages: [{ role: 'user', content: message }] },
    { configurable: { thread_id: randomUUID() }, streamMode: 'messages' },
  );
  reply.hijack();
  reply.raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  for await (const [piece] of stream) {
    if (piece.getType() === 'ai' && piece.content !== '')
      reply.raw.write(`event: message.delta\ndata: ${JSON.stringify({ text: piece.content })}\n\n`);
  }
  reply.raw.end('event: turn.completed\ndata: {}\n\n');
});

await app.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ port: app.server.address().port });

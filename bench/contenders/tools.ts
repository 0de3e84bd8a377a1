/** parley with a tool over HTTP, and a provider whose model calls it. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Contender, Instance } from '../harness/contender.ts';
import { tokenAt } from '../text.ts';
import { startHouse, storeFolder, type House } from './parley.ts';

/** The provider's models: one answers at once, the other calls the function first. */
export type Model = 'answers' | 'calls';

export interface ToolHouse extends Instance {
  /** The requests of so many conversations with the assistant of the model, in turns of one token. */
  talks(model: Model, count: number): Promise<string[]>;
}

const functionName = 'look_up';
const output = '{"state":"shipped","parcels":2}';
const usage = { choices: [], usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 } };
const stream = (delta: object, finish: string): string =>
  `${[{ choices: [{ index: 0, delta, finish_reason: null }] }, { choices: [{ index: 0, delta: {}, finish_reason: finish }] }, usage].map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`;
const answered = stream({ content: tokenAt(0) }, 'stop');
const called = stream(
  {
    tool_calls: [
      { index: 0, id: 'call_1', type: 'function', function: { name: functionName, arguments: '{"order":"7"}' } },
    ],
  },
  'tool_calls',
);

/** A server of this process, which is the load: its port. */
async function serve(
  answer: (body: any) => readonly [type: string, text: string],
): Promise<{ port: number; stop: () => void }> {
  const listener: RequestListener = (request, response) => {
    void text(request).then((body) => {
      const [type, answer_] = answer(JSON.parse(body));
      response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(answer_) }).end(answer_);
    });
  };
  const server = createServer({ keepAlive: true, noDelay: true }, listener);
  server.keepAliveTimeout = 60_000;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { port: (server.address() as AddressInfo).port, stop };
}

async function withTool(house: House, port: number): Promise<Pick<ToolHouse, 'talks'>> {
  const schema = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };
  const fields = {
    kind: 'http',
    name: 'Orders',
    url: `http://127.0.0.1:${port}/call`,
    show: 'none',
    functions: [{ name: functionName, description: 'Looks an order up.', parameters: schema }],
  };
  const { id } = await house.console('POST', `/workspaces/${house.workspace}/tools`, fields);
  const assistants: Record<Model, string> = {
    answers: await house.publish('answers'),
    calls: await house.publish('calls', { tool_ids: [id] }),
  };
  return { talks: (model, count) => house.talks(assistants[model], count) };
}

export const parleyTools: Contender = {
  name: 'parley',
  note: 'The whole product on the embedded store. The provider and the tool are in Node, with the load.',
  standing: 'always',
  async start(surroundings) {
    const { folder, remove } = await storeFolder();
    const provider = await serve(({ model, messages }) => [
      'text/event-stream',
      model === 'answers' || messages.at(-1).content.includes(output) ? answered : called,
    ]);
    const tool = await serve(() => ['application/json', output]);
    const house = await startHouse({
      store: `lmdb:${folder}`,
      surroundings: { ...surroundings, upstream: provider.port },
    });
    const stop = async (): Promise<void> => {
      await house.stop();
      provider.stop();
      tool.stop();
      await remove();
    };
    return { ...house, ...(await withTool(house, tool.port)), stop };
  },
};

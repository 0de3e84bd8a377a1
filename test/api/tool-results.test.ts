/**
 * Results of calls as a model is sent them (contract 13 and 14): whole in the turn that gets them, cut in later ones.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { data, delta, done, eventStream } from '../providers/model/provider.ts';
import { openWorkspace, type House } from './house.ts';
import { onProvider } from './talk.ts';

const long = 'y'.repeat(5000);
const call = (name: string, index: number): string =>
  data({ choices: [{ delta: { tool_calls: [{ index, id: `c${index}`, function: { name, arguments: '{}' } }] } }] });

/** An assistant whose model calls each of the names, and then says that it is done. */
async function calling(t: Test, house: House, names: readonly string[], fields: object = {}) {
  const { provider, assistant } = await onProvider(
    t,
    house,
    (response, { body }) => {
      response.writeHead(200, eventStream);
      const isDone = body.messages.at(-1).role !== 'user' || body.messages.at(-1).content === 'thanks';
      response.end(
        (isDone ? delta('done') : names.map(call).join('')) + delta('', isDone ? 'stop' : 'tool_calls') + done,
      );
    },
    { ...fields },
  );
  const lengths = (): number[] =>
    provider.requests
      .at(-1)!
      .body.messages.filter(({ role }: any) => role === 'tool')
      .map(({ content }: any) => content.length);
  return { assistant, lengths };
}

async function newTool(house: House, fields: object): Promise<string> {
  const { status, json } = await house.console(`/workspaces/${house.workspaceId}/tools`, {
    body: { name: 'Orders', ...fields },
  });
  if (status !== 201) throw new Error(JSON.stringify(json));
  return json.id;
}

t.test('what the caller has run, and what was approved, is not cut in the turn that answers', async (t) => {
  const house = await openWorkspace();
  const server = createServer(
    (_, response) => void response.writeHead(200, { 'content-type': 'text/plain' }).end(long),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/call`;
  const ids = [
    await newTool(house, { kind: 'client', functions: [{ name: 'mine' }] }),
    await newTool(house, { kind: 'http', url, functions: [{ name: 'asks', approval: 'always' }, { name: 'plain' }] }),
  ];
  const { assistant, lengths } = await calling(t, house, ['plain', 'mine', 'asks'], { tool_ids: ids });
  const session = await house.session(assistant.id);
  const chat = (body: object) => house.ask(`/sessions/${session.id}/chat`, { key: house.key, body });
  await chat({ message: 'Go' });
  const pending = (await house.ask(`/sessions/${session.id}`, { key: house.key })).json.pending_tool_calls;
  const { text } = await chat({
    tool_results: pending.map(({ call_id, wants }: any) => ({
      call_id,
      ...(wants === 'result' ? { output: long } : { approved: true }),
    })),
  });
  t.match(text, /event: turn\.completed/);
  t.same(lengths(), [2000, 5000, 5000], 'that of the earlier turn is');
  await chat({ message: 'thanks' });
  t.same(lengths(), [2000, 2000, 2000]);
});

t.test('what the caller has run is not cut after its visitor asked for a person', async (t) => {
  const house = await openWorkspace();
  const ids = [await newTool(house, { kind: 'client', functions: [{ name: 'mine' }] })];
  const { assistant, lengths } = await calling(t, house, ['mine'], { tool_ids: ids, desk: { enabled: true } });
  const { id } = await house.session(assistant.id);
  const chat = (body: object) => house.ask(`/sessions/${id}/chat`, { key: house.key, body });
  await chat({ message: 'Go' });
  const waiting = await house.ask(`/sessions/${id}/ask`, { key: house.key, body: {} });
  t.equal(waiting.json.attendance.state, 'waiting');
  await chat({ tool_results: [{ call_id: waiting.json.pending_tool_calls[0].call_id, output: long }] });
  t.same(lengths(), [5000]);
});

const functionOf = (name: string) => ({ name, parameters: { type: 'object', properties: {} } });

t.test('in a conversation of chat completions the results alone are enough', async (t) => {
  const house = await openWorkspace();
  const { assistant, lengths } = await calling(t, house, ['one', 'two']);
  const complete = (messages: readonly object[]) =>
    house.ask('/v1/chat/completions', {
      key: house.key,
      headers: { 'x-conversation-id': 'thread' },
      body: {
        model: assistant.id,
        messages,
        tools: ['one', 'two'].map((name) => ({ type: 'function', function: functionOf(name) })),
      },
    });
  const { message } = (await complete([{ role: 'user', content: 'Go' }])).json.choices[0];
  const results = message.tool_calls.map(({ id }: any) => ({ role: 'tool', tool_call_id: id, content: long }));
  for (const bad of [
    [results[0]],
    [...results, results[0]],
    [{ ...results[0], tool_call_id: 'call_other' }, results[1]],
  ])
    t.match(await complete(bad), { status: 400, json: { error: { param: 'messages' } } });
  t.match(await complete(results), {
    status: 200,
    json: { choices: [{ finish_reason: 'stop', message: { content: 'done' } }] },
  });
  t.same(lengths(), [5000, 5000]);
  await complete([{ role: 'user', content: 'Go' }]);
  t.match(
    await complete([{ role: 'user', content: 'Go' }, message, { role: 'user', content: 'thanks' }]),
    { status: 200 },
    'what comes before the last message does not count',
  );
});

t.test('a response that goes on has the whole output', async (t) => {
  const house = await openWorkspace();
  const { assistant, lengths } = await calling(t, house, ['one']);
  const respond = (body: object) =>
    house.ask('/v1/responses', {
      key: house.key,
      body: { model: assistant.id, tools: [{ type: 'function', ...functionOf('one') }], ...body },
    });
  const asked = (await respond({ input: 'Go' })).json;
  const callId = asked.output.at(-1).call_id;
  t.match(
    await respond({
      previous_response_id: asked.id,
      input: [{ type: 'function_call_output', call_id: callId, output: long }],
    }),
    { status: 200, json: { status: 'completed' } },
  );
  t.same(lengths(), [5000]);
});

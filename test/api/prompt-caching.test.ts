/** Prompt caching: the bytes that a provider can cache, and the tokens that it read from its cache (contract 19). */
import t, { type Test } from 'tap';
import { data, delta, done, eventStream, type Provider } from '../providers/model/provider.ts';
import { type House, openWorkspace } from './house.ts';
import { onProvider, say } from './talk.ts';

const counted = { prompt_tokens: 100, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 64 } };
const block = (index: number, content: object, piece: object): string =>
  data({ type: 'content_block_start', index, content_block: content }) +
  data({ type: 'content_block_delta', index, delta: piece });

/** Answers of each provider: a text, and a tool call; 64 of 100 input tokens were cached. */
const dialects = {
  openai: {
    text: delta('ok', 'stop') + data({ choices: [], usage: counted }) + done,
    call:
      data({
        choices: [
          {
            delta: { tool_calls: [{ index: 0, id: 'a', function: { name: 'look_up', arguments: '{"order":"1"}' } }] },
            finish_reason: 'tool_calls',
          },
        ],
      }) +
      data({ choices: [], usage: counted }) +
      done,
  },
  anthropic: {
    text:
      data({ type: 'message_start', message: { usage: { input_tokens: 30, cache_read_input_tokens: 64 } } }) +
      block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'ok' }) +
      data({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn' },
        usage: { output_tokens: 5, cache_creation_input_tokens: 6 },
      }) +
      data({ type: 'message_stop' }),
    call:
      data({ type: 'message_start', message: { usage: { input_tokens: 36, cache_read_input_tokens: 64 } } }) +
      block(
        0,
        { type: 'tool_use', id: 'a', name: 'look_up', input: {} },
        { type: 'input_json_delta', partial_json: '{"order":"1"}' },
      ) +
      data({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 5 } }) +
      data({ type: 'message_stop' }),
  },
} as const;

const mark = ',"cache_control":{"type":"ephemeral"}';

/** A request up to the end of its newest message: without marks, and the brackets that close it. */
const cacheable = (text: string): string => text.replaceAll(mark, '').replace(/[\]}]+$/, '');

t.test('the next request begins with the bytes of the one before', async (t) => {
  const house = await openWorkspace();
  for (const kind of ['openai', 'anthropic'] as const) {
    await t.test(`${kind}: a request begins with the bytes of the one before it`, (t) => prefixes(t, house, kind));
    await t.test(`${kind}: cached tokens are in the usage of turn and workspace`, (t) => usage(t, house, kind));
  }
});

const answering =
  (text: string): Provider['answer'] =>
  (response) =>
    void response.writeHead(200, eventStream).end(text);

const inside = (house: House): string => `/workspaces/${house.workspaceId}`;

async function withTool(t: Test, house: House, kind: 'openai' | 'anthropic') {
  const parameters = { type: 'object', properties: { order: { type: 'string' } } };
  const functions = ['look_up', 'cancel'].map((name) => ({ name, description: name, parameters }));
  const { json: tool } = await house.console(`${inside(house)}/tools`, {
    body: { kind: 'client', name: 'orders', functions },
  });
  return onProvider(t, house, answering(dialects[kind].text), {
    kind,
    tool_ids: [tool.id],
    greeting: 'Welcome.',
    model: { system_prompt: 'Be kind to {{visitor.name|them}}.', temperature: 0.5 },
  });
}

async function prefixes(t: Test, house: House, kind: 'openai' | 'anthropic'): Promise<void> {
  const { provider, assistant } = await withTool(t, house, kind);
  const { id } = await house.session(assistant.id);
  const turn = async (body: object) => (await house.stream(`/sessions/${id}/chat`, { body })).rest();
  await turn({ message: 'one' });
  provider.answer = answering(dialects[kind].call);
  const { tool_calls: calls } = (await turn({ message: 'two' })).at(-1)!.data;
  provider.answer = answering(dialects[kind].text);
  await turn({ tool_results: [{ call_id: calls[0].call_id, output: 'It is on its way.' }] });
  await turn({ message: 'three' });
  await turn({ message: 'four' });
  const texts = provider.requests.map(({ text }) => text);
  t.equal(texts.length, 5);
  for (const [index, text] of texts.entries()) {
    if (index > 0) t.ok(text.replaceAll(mark, '').startsWith(cacheable(texts[index - 1]!)), `request ${index + 1}`);
    t.equal(text.split(mark).length - 1, kind === 'anthropic' ? 3 : 0, 'marks');
  }
  if (kind === 'openai') return;
  const { system, tools, messages } = provider.requests.at(-1)!.body;
  const ephemeral = { type: 'ephemeral' };
  t.same(
    [system, tools, messages.at(-1).content].map((list) => list.at(-1).cache_control),
    [ephemeral, ephemeral, ephemeral],
    'the end of the prompt, of the tools and of the newest message',
  );
}

async function usage(t: Test, house: House, kind: 'openai' | 'anthropic'): Promise<void> {
  const { assistant } = await onProvider(t, house, answering(dialects[kind].text), { kind });
  const { id } = await house.session(assistant.id);
  const told = (await (await say(house, id)).rest()).at(-1)!.data.usage;
  t.same(told, { input_tokens: 100, output_tokens: 5, cached_input_tokens: 64 });
  const read = async () => (await house.ask(`/usage?assistant_id=${assistant.id}`)).json;
  t.match((await read()).totals, { input_tokens: 100, cached_input_tokens: 64 });
  t.match((await read()).data.at(-1), { input_tokens: 100, cached_input_tokens: 64 });
  const { json } = await house.ask('/v1/chat/completions', {
    body: { model: assistant.id, messages: [{ role: 'user', content: 'Hi' }] },
  });
  t.same(json.usage.prompt_tokens_details, { cached_tokens: 64 });
  const response = await house.ask('/v1/responses', { body: { model: assistant.id, input: 'Hi' } });
  t.same(response.json.usage.input_tokens_details, { cached_tokens: 64 });
  t.equal((await read()).totals.cached_input_tokens, 3 * 64);
  const [, reply] = (await house.ask(`/sessions/${id}/transcript`)).json.data;
  const replay = await house.stream(`/sessions/${id}/turns/${reply.turn_id}/events`);
  t.same((await replay.rest()).at(-1)!.data.usage, told, 'also when the stream is read again');
}

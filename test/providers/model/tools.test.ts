/**
 * Calls of tools in the dialects of providers (contract 13): offered, joined from their parts, and given back with
 * their results.
 */
import t from 'tap';
import { limits } from '../../../src/base/limits.ts';
import { anthropicModel } from '../../../src/providers/model/anthropic.ts';
import { openaiModel } from '../../../src/providers/model/openai.ts';
import type { Model, ModelMessage, ToolOffer } from '../../../src/providers/model.ts';
import type { ProviderHttp } from '../../../src/providers/client.ts';
import { ask, client, eventStream, provider, type Hooks } from './provider.ts';

const parameters = { type: 'object', properties: { order: { type: 'string' } } };
const tools: readonly ToolOffer[] = [{ name: 'look_up', description: 'Looks an order up.', parameters }];

const serving = async (t: Hooks, open: (http: ProviderHttp) => Model, body: string) => {
  const server = await provider((response) =>
    response.writeHead(200, body.startsWith('{') ? { 'content-type': 'application/json' } : eventStream).end(body),
  );
  t.teardown(server.close);
  return { server, baseUrl: server.baseUrl, model: open(client(t)) };
};

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const part = (index: number | undefined, id: string | undefined, name: string | undefined, text: unknown): object => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: text } }],
});
const event = (value: { type: string; [key: string]: unknown }): string =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;

/** A conversation with a round of two calls. */
const rounds: readonly ModelMessage[] = [
  { role: 'user', content: 'Where is it?' },
  {
    role: 'assistant',
    content: 'Let me see.',
    calls: [
      { id: 'call_1', name: 'look_up', arguments: '{"order":"1"}' },
      { id: 'call_2', name: 'look_up', arguments: '{}' },
    ],
    kept: [{ type: 'thinking', thinking: 'hm', signature: 's' }],
  },
  { role: 'tool', callId: 'call_1', content: 'here' },
  { role: 'tool', callId: 'call_2', content: 'there' },
  { role: 'user', content: 'Thanks' },
];

t.test("tools are sent in OpenAI's shape", async (t) => {
  const done = `${chunk({}, 'tool_calls')}data: [DONE]\n\n`;
  const cases: Readonly<
    Record<string, readonly [body: string, calls: readonly (readonly [name: string, given: string])[], said?: string]>
  > = {
    'in fragments, beside text': [
      chunk({ content: 'Hm. ' }) +
        chunk(part(0, 'a', 'look_up', '')) +
        chunk(part(0, undefined, undefined, '{"order"')) +
        chunk(part(0, undefined, undefined, ':"1"}')) +
        done,
      [['look_up', '{"order":"1"}']],
      'Hm. ',
    ],
    'side by side, their fragments mixed': [
      chunk(part(0, 'a', 'one', '{"a":')) +
        chunk(part(1, 'b', 'two', '{"b":')) +
        chunk(part(0, undefined, undefined, '1}')) +
        chunk(part(1, undefined, undefined, '2}')) +
        done,
      [
        ['one', '{"a":1}'],
        ['two', '{"b":2}'],
      ],
    ],
    'without ids': [
      chunk(part(0, undefined, 'one', '{}')) + chunk(part(1, undefined, 'two', '{}')) + done,
      [
        ['one', '{}'],
        ['two', '{}'],
      ],
    ],
    'without indexes': [
      chunk(part(undefined, 'a', 'one', '{}')) + chunk(part(undefined, 'b', 'two', '{}')) + done,
      [
        ['one', '{}'],
        ['two', '{}'],
      ],
    ],
    'all with one index': [
      chunk(part(0, 'a', 'one', '{}')) + chunk(part(0, 'b', 'two', '{}')) + done,
      [
        ['one', '{}'],
        ['two', '{}'],
      ],
    ],
    'with one id': [
      chunk(part(0, 'a', 'one', '{}')) + chunk(part(1, 'a', 'two', '{}')) + done,
      [
        ['one', '{}'],
        ['two', '{}'],
      ],
    ],
    'arguments as an object': [chunk(part(0, 'a', 'one', { a: 1 })) + done, [['one', '{"a":1}']]],
    'and once more in a whole message': [
      chunk(part(0, 'a', 'one', '{}')) +
        chunk(part(1, 'b', 'two', '{}')) +
        `data: ${JSON.stringify({
          choices: [
            {
              message: {
                content: null,
                tool_calls: [
                  { id: 'a', function: { name: 'one', arguments: '{}' } },
                  { id: 'b', function: { name: 'two', arguments: '{}' } },
                ],
              },
              finish_reason: 'tool_calls',
            },
          ],
        })}\n\n` +
        done,
      [
        ['one', '{}'],
        ['two', '{}'],
      ],
    ],
    'not streamed': [
      JSON.stringify({
        choices: [
          { message: { content: null, ...part(undefined, 'a', 'one', '{"a":1}') }, finish_reason: 'tool_calls' },
        ],
      }),
      [['one', '{"a":1}']],
    ],
  };
  for (const [name, [body, calls, said = '']] of Object.entries(cases)) {
    const { baseUrl, model } = await serving(t, openaiModel, body);
    const heard = ask(model, { baseUrl, tools });
    t.equal(await heard.settled, 'end', name);
    t.same(
      heard.calls.map((call) => [call.name, call.arguments]),
      calls,
      name,
    );
    t.equal(heard.said, said, name);
  }
  const thoughts =
    chunk({ reasoning_content: 'Let me ' }) +
    chunk({ reasoning_content: 'think' }) +
    chunk(part(0, 'a', 'look_up', '{}')) +
    done;
  const thinking = await serving(t, openaiModel, thoughts);
  const thought = ask(thinking.model, { baseUrl: thinking.baseUrl, tools });
  await thought.settled;
  t.same(thought.kept, [{ reasoning_content: 'Let me think' }]);
  await ask(thinking.model, {
    baseUrl: thinking.baseUrl,
    tools,
    messages: [
      rounds[0]!,
      {
        ...(rounds[1] as { role: 'assistant'; content: string }),
        calls: [{ id: 'call_1', name: 'look_up', arguments: '{}' }],
        kept: thought.kept,
      },
      rounds[2]!,
    ],
  }).settled;
  t.match(
    thinking.server.requests[1]!.body.messages[1],
    { role: 'assistant', reasoning_content: 'Let me think', tool_calls: [{ id: 'call_1' }] },
    'what it thought goes back with its calls',
  );
  const { server, baseUrl, model } = await serving(t, openaiModel, done);
  await ask(model, {
    baseUrl,
    tools,
    messages: rounds.map((message) => ('kept' in message ? { ...message, kept: undefined } : message)),
  }).settled;
  const { body } = server.requests[0]!;
  t.same(body.tools, [
    { type: 'function', function: { name: 'look_up', description: 'Looks an order up.', parameters } },
  ]);
  t.same(body.messages.slice(1), [
    {
      role: 'assistant',
      content: 'Let me see.',
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"order":"1"}' } },
        { id: 'call_2', type: 'function', function: { name: 'look_up', arguments: '{}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: 'here' },
    { role: 'tool', tool_call_id: 'call_2', content: 'there' },
    { role: 'user', content: 'Thanks' },
  ]);
});

t.test('a gateway that wants the tools of a history declared', async (t) => {
  const done = `${chunk({ content: 'ok' }, 'stop')}data: [DONE]\n\n`;
  const words = [
    'litellm.UnsupportedParamsError: Anthropic expects the `tools=` param to be passed in.',
    'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
    'Requests which include tool_use or tool_result blocks must define tools',
  ];
  for (const message of words) {
    const server = await provider((response, { body }) => {
      if (body.tools === undefined)
        response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }));
      else response.writeHead(200, eventStream).end(done);
    });
    t.teardown(server.close);
    const model = openaiModel(client(t));
    const messages = rounds.map((each) => ('kept' in each ? { ...each, kept: undefined } : each));
    for (const given of [{ closedTools: tools }, {}])
      t.equal(await ask(model, { baseUrl: server.baseUrl, messages, ...given }).settled, 'end', message);
    t.same(
      server.requests.map(({ body }) => [body.tools?.[0].function.name, body.tool_choice]),
      [
        [undefined, undefined],
        ['look_up', 'none'],
        ['look_up', 'none'],
      ],
      'and it is remembered',
    );
  }
});

const mark = { cache_control: { type: 'ephemeral' } };

t.test("tools are sent in Anthropic's shape", async (t) => {
  const block = (index: number, start: object, deltas: readonly object[]): string =>
    event({ type: 'content_block_start', index, content_block: start }) +
    deltas.map((delta) => event({ type: 'content_block_delta', index, delta })).join('') +
    event({ type: 'content_block_stop', index });
  const begun = event({ type: 'message_start', message: { usage: { input_tokens: 2, output_tokens: 1 } } });
  const over =
    event({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 3 } }) +
    event({ type: 'message_stop' });
  const thinking = block(0, { type: 'thinking', thinking: '' }, [
    { type: 'thinking_delta', thinking: 'Let me ' },
    { type: 'thinking_delta', thinking: 'think' },
    { type: 'signature_delta', signature: 'sig' },
  ]);
  const calls =
    block(1, { type: 'text', text: '' }, [{ type: 'text_delta', text: 'Hm. ' }]) +
    block(2, { type: 'tool_use', id: 'a', name: 'look_up', input: {} }, [
      { type: 'input_json_delta', partial_json: '{"order"' },
      { type: 'input_json_delta', partial_json: ':"1"}' },
    ]) +
    block(3, { type: 'tool_use', id: 'b', name: 'look_up', input: {} }, []);
  const { server, baseUrl, model } = await serving(t, anthropicModel, begun + thinking + calls + over);
  const heard = ask(model, { baseUrl, tools, messages: rounds });
  t.equal(await heard.settled, 'end');
  t.same(heard.calls, [
    { name: 'look_up', arguments: '{"order":"1"}' },
    { name: 'look_up', arguments: '' },
  ]);
  t.equal(heard.said, 'Hm. ');
  t.same(heard.kept, [{ type: 'thinking', thinking: 'Let me think', signature: 'sig' }], 'as it was');
  const { body } = server.requests[0]!;
  t.same(body.tools, [{ name: 'look_up', description: 'Looks an order up.', input_schema: parameters, ...mark }]);
  t.same(body.messages.slice(1), [
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 's' },
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_use', id: 'call_1', name: 'look_up', input: { order: '1' } },
        { type: 'tool_use', id: 'call_2', name: 'look_up', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'call_1', content: 'here' },
        { type: 'tool_result', tool_use_id: 'call_2', content: 'there' },
        { type: 'text', text: 'Thanks', ...mark },
      ],
    },
  ]);
  t.equal(body.tool_choice, undefined);
  const asked = async (given: {
    tools?: typeof tools;
    closedTools?: typeof tools;
    messages?: readonly ModelMessage[];
  }): Promise<any> => {
    await ask(model, { baseUrl, messages: rounds, ...given }).settled;
    return server.requests.at(-1)!.body;
  };
  t.match(
    await asked({ closedTools: tools }),
    { tools: [{ name: 'look_up', input_schema: parameters }], tool_choice: { type: 'none' } },
    'behind the last round',
  );
  t.match(
    await asked({}),
    { tools: [{ name: 'look_up', input_schema: { type: 'object' } }], tool_choice: { type: 'none' } },
    'of an assistant whose tools were taken away',
  );
  t.match(
    await asked({ closedTools: tools, messages: [rounds[0]!] }),
    { tools: undefined, tool_choice: undefined },
    'nothing was called',
  );
  const long = 'x'.repeat(limits.providerEventCharactersMax / 7);
  const cut = await serving(
    t,
    anthropicModel,
    begun +
      block(0, { type: 'thinking', thinking: '' }, [
        ...Array.from({ length: 8 }, () => ({ type: 'thinking_delta', thinking: long })),
        { type: 'signature_delta', signature: 'sig' },
      ]) +
      calls +
      over,
  );
  const much = ask(cut.model, { baseUrl: cut.baseUrl, tools });
  t.equal(await much.settled, 'end');
  t.ok(much.calls.length === 2 && much.kept === null, 'thoughts that are too long are left out whole');
  const blank = await serving(t, anthropicModel, begun + calls + over);
  await ask(blank.model, {
    baseUrl: blank.baseUrl,
    tools,
    messages: rounds.map((message) =>
      'calls' in message ? { ...message, content: '\n\n', kept: undefined } : message,
    ),
  }).settled;
  t.same(
    blank.server.requests[0]!.body.messages[1].content.map(({ type }: { type: string }) => type),
    ['tool_use', 'tool_use'],
    'no text of white space',
  );
  const whole = await serving(
    t,
    anthropicModel,
    JSON.stringify({
      type: 'message',
      content: [{ type: 'tool_use', id: 'a', name: 'look_up', input: { order: '1' } }],
      stop_reason: 'tool_use',
      usage: { input_tokens: 1, output_tokens: 1 },
    }),
  );
  const other = ask(whole.model, { baseUrl: whole.baseUrl, tools });
  t.equal(await other.settled, 'end');
  t.same(other.calls, [{ name: 'look_up', arguments: '{"order":"1"}' }]);
});

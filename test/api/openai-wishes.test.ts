/**
 * Forms of the answer, calls that must be made, voices and addresses, as clients of OpenAI's API ask for them (contract
 * 14).
 */
import t from 'tap';
import { refuse, unless } from '../providers/model/strict.ts';
import { eventStream, type Provider } from '../providers/model/provider.ts';
import { openWorkspace, type Answer, type House } from './house.ts';
import { onProvider } from './talk.ts';

const messages = [{ role: 'user', content: 'Hi' }];
const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const look = { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } };
const tools = [{ type: 'function', function: look }];
const responseTools = [{ type: 'function', ...look }];

const complete = (house: House, model: string, body: object): Promise<Answer> =>
  house.ask('/v1/chat/completions', { body: { model, messages, ...body } });
const respond = (house: House, model: string, body: object): Promise<Answer> =>
  house.ask('/v1/responses', { body: { model, input: 'Hi', ...body } });

const shape = { name: 'place', description: 'A place.', schema, strict: true };
const wireShape = { type: 'json_schema', json_schema: shape };

t.test('a form of the answer reaches a provider that has it, on both ways to ask', async (t) => {
  const house = await openWorkspace();
  const { provider, assistant } = await onProvider(t, house, unless());
  const sent = (): any => provider.requests.at(-1)!.body;
  for (const response_format of [
    { type: 'json_object' },
    wireShape,
    { type: 'json_schema', json_schema: { name: 'place', schema } },
  ]) {
    t.equal((await complete(house, assistant.id, { response_format })).status, 200);
    t.same(sent().response_format, response_format);
  }
  const whole = await respond(house, assistant.id, {
    text: { format: { type: 'json_schema', ...shape }, verbosity: 'low' },
  });
  t.match([whole.status, whole.json.text], [200, { format: { type: 'json_schema', ...shape } }]);
  t.same(sent().response_format, wireShape);
  t.equal((await respond(house, assistant.id, { text: { format: { type: 'json_object' } } })).status, 200);
  t.same(sent().response_format, { type: 'json_object' });
  for (const text of [{ type: 'text' }, null]) {
    t.equal((await complete(house, assistant.id, { response_format: text })).status, 200);
    t.equal((await respond(house, assistant.id, { text: { format: text } })).status, 200);
    t.notOk('response_format' in sent());
  }
});

t.test('a call that must be made reaches the provider, on both ways to ask', async (t) => {
  const house = await openWorkspace();
  const { provider, assistant } = await onProvider(t, house, unless());
  const sent = (): any => provider.requests.at(-1)!.body.tool_choice;
  const named = { type: 'function', function: { name: 'look' } };
  for (const choice of ['required', named]) {
    t.equal((await complete(house, assistant.id, { tools, tool_choice: choice })).status, 200);
    t.same(sent(), choice);
  }
  for (const [choice, reaches] of [
    ['required', 'required'],
    [{ type: 'function', name: 'look' }, named],
  ] as const) {
    const answer = await respond(house, assistant.id, { tools: responseTools, tool_choice: choice });
    t.same([answer.status, answer.json.tool_choice], [200, choice]);
    t.same(sent(), reaches);
  }
  await complete(house, assistant.id, { tools, tool_choice: 'auto' });
  t.equal(sent(), undefined);
  await complete(house, assistant.id, { tools, tool_choice: 'none' });
  t.notOk('tools' in provider.requests.at(-1)!.body);
});

t.test("Anthropic's API has both in words of its own", async (t) => {
  const house = await openWorkspace();
  const answer = ['message_start', 'message_stop']
    .map((type) => `event: ${type}\ndata: ${JSON.stringify({ type, message: { usage: {} } })}\n\n`)
    .join('');
  const { provider, assistant } = await onProvider(
    t,
    house,
    (response) => void response.writeHead(200, eventStream).end(answer),
    { kind: 'anthropic' },
  );
  const sent = (): any => provider.requests.at(-1)!.body;
  await complete(house, assistant.id, { tools, tool_choice: 'required', response_format: wireShape });
  t.same([sent().tool_choice, sent().output_config], [{ type: 'any' }, { format: { type: 'json_schema', schema } }]);
  await complete(house, assistant.id, { tools, tool_choice: { type: 'function', function: { name: 'look' } } });
  t.same([sent().tool_choice, sent().output_config], [{ type: 'tool', name: 'look' }, undefined]);
  const { status, json } = await complete(house, assistant.id, { response_format: { type: 'json_object' } });
  t.same([status, json.error.param], [400, 'response_format'], 'it has no other form than that of a schema');
});

t.test(
  'what the provider does not have, or tools of the assistant are in the way of, is refused by its field',
  async (t) => {
    const house = await openWorkspace();
    const plain = await house.assistant({ model: { provider: 'synthetic', name: 'tokens=1' } });
    const tool = (
      await house.console(`/workspaces/${house.workspaceId}/tools`, {
        body: { kind: 'client', name: 'Own', functions: [{ ...look, name: 'own' }] },
      })
    ).json;
    const { assistant: tooled } = await onProvider(t, house, unless(), { tool_ids: [tool.id] });
    for (const { id } of [plain, tooled]) {
      const asked: readonly (readonly [Answer, string])[] = [
        [await complete(house, id, { response_format: { type: 'json_object' } }), 'response_format'],
        [await complete(house, id, { response_format: wireShape }), 'response_format'],
        [await complete(house, id, { tools, tool_choice: 'required' }), 'tool_choice'],
        [await respond(house, id, { text: { format: { type: 'json_schema', ...shape } } }), 'text.format'],
        [
          await respond(house, id, { tools: responseTools, tool_choice: { type: 'function', name: 'look' } }),
          'tool_choice',
        ],
      ];
      for (const [{ status, json }, param] of asked) {
        t.same([status, json.error.param, json.error.code], [400, param, 'invalid_request']);
        t.match(json.error.message, /is not taken: .*model.*tools/);
      }
      t.equal((await complete(house, id, { tools })).status, 200, 'without the wish');
    }
  },
);

/** Refusals of a form or a forced call, in the words of providers. */
const refusals: readonly (readonly [body: object, param: string, status: number, said: object])[] = [
  ...(
    [
      // llm-exe/llm-exe#662, BerriAI/litellm#31466
      [400, { error: { message: 'This response_format type is unavailable now', type: 'invalid_request_error' } }],
      [422, { detail: 'response_format.type `json_schema` is unavailable now' }],
      // dzhng/deep-research#127
      [
        400,
        {
          error: { message: "'response_format.type' : value is not one of the allowed values ['text','json_object']" },
        },
      ],
      // langgenius/dify#8994
      [
        400,
        {
          error: {
            message: 'response_format value as json_schema is enabled only for api versions 2024-08-01-preview',
          },
        },
      ],
      [
        400,
        {
          error: {
            message:
              "Invalid schema for response_format 'place': In context=(), 'additionalProperties' is required to be supplied and to be false.",
            param: 'response_format',
          },
        },
      ],
      [
        400,
        {
          error: {
            message:
              "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            param: 'messages',
          },
        },
      ],
      [
        400,
        [
          {
            error: {
              code: 400,
              message:
                'Unknown name "additionalProperties" at \'generation_config.response_schema\': Cannot find field.',
            },
          },
        ],
      ],
      [500, { error: { message: 'response_format is not supported by this server' } }],
    ] as const
  ).map(([status, said]) => [{ response_format: wireShape }, 'response_format', status, said] as const),
  ...(
    [
      // can1357/oh-my-pi#886, can1357/oh-my-pi#8243, AstrBotDevs/AstrBot#7805
      [
        400,
        {
          error: {
            message: 'The tool_choice parameter does not support being set to required or object in thinking mode',
          },
        },
      ],
      [400, { error: { message: 'Thinking mode does not support this tool_choice', type: 'invalid_request_error' } }],
      [400, { error: { message: "tool_choice 'required' is incompatible with thinking enabled" } }],
      [404, { error: { message: "No endpoints found that support the provided 'tool_choice' value", code: 404 } }],
    ] as const
  ).map(([status, said]) => [{ tools, tool_choice: 'required' }, 'tool_choice', status, said] as const),
];

t.test('what the provider refuses in its own words is 400 by its field, and is asked once', async (t) => {
  const house = await openWorkspace();
  for (const [wish, param, status, said] of refusals) {
    const refusing: Provider['answer'] = (response, { body }) =>
      body.response_format || body.tool_choice
        ? refuse(response, { status, body: JSON.stringify(said) })
        : unless()(response, { body } as never);
    const { provider, assistant } = await onProvider(t, house, refusing, {
      model: { system_prompt: 'Be kind.', temperature: 0.5 },
    });
    const before = [...messages, { role: 'assistant', content: 'Hello' }, ...messages];
    for (const stream of [false, true]) {
      const count = provider.requests.length;
      const answer = await complete(house, assistant.id, { ...wish, messages: before, stream });
      t.same(
        [answer.status, answer.json?.error.param, answer.json?.error.code],
        [400, param, 'invalid_request'],
        JSON.stringify(said),
      );
      t.notMatch(answer.text, /canary|unavailable now|thinking/, 'none of the words of the provider');
      t.equal(provider.requests.length, count + 1);
    }
    if (param === 'response_format') {
      const { status, json } = await respond(house, assistant.id, {
        text: { format: { type: 'json_schema', ...shape } },
      });
      t.same([status, json.error.param], [400, 'text.format']);
    }
    t.equal((await complete(house, assistant.id, { messages: before })).status, 200, 'without the wish');
  }
});

t.test('a refusal that speaks of something else is none of a wish', async (t) => {
  const house = await openWorkspace();
  const echo = {
    type: 'value_error',
    loc: ['body', 'stream_options'],
    msg: 'Extra inputs are not permitted',
    input: { response_format: wireShape },
  };
  const { provider, assistant } = await onProvider(
    t,
    house,
    unless(({ stream_options }) => (stream_options ? { status: 422, body: JSON.stringify({ detail: [echo] }) } : null)),
  );
  t.equal(
    (await complete(house, assistant.id, { response_format: wireShape })).status,
    200,
    'a request that is echoed is not what is refused',
  );
  t.equal(provider.requests.length, 2);
  const { assistant: away } = await onProvider(t, house, (response) =>
    refuse(response, { status: 429, body: '{"error":{"message":"response_format"}}' }),
  );
  t.equal((await complete(house, away.id, { response_format: wireShape })).status, 503);
});

t.test("a schema of the caller's of which some cannot be checked is offered without that", async (t) => {
  const house = await openWorkspace();
  const { provider, assistant } = await onProvider(t, house, unless());
  const words = { type: 'string', description: 'x'.repeat(20_000) };
  const odd: readonly (readonly [object, object])[] = [
    [
      { type: 'object', properties: { a: { type: 'string', pattern: '[\\w-.]' } } },
      { properties: { a: { type: 'string' } } },
    ],
    [{ type: 'object', properties: {}, required: null }, { properties: {} }],
    [{ properties: { a: { type: 'string' } } }, { type: 'object', properties: { a: { type: 'string' } } }],
    [{ type: 'object', properties: { words } }, { properties: { words } }],
    [
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'object',
        properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
        additionalProperties: false,
      },
      { additionalProperties: false },
    ],
  ];
  for (const [parameters, offered] of odd) {
    const asked = [
      await complete(house, assistant.id, { tools: [{ type: 'function', function: { ...look, parameters } }] }),
      await respond(house, assistant.id, { tools: [{ type: 'function', ...look, parameters }] }),
    ];
    for (const { status } of asked) t.equal(status, 200, JSON.stringify(parameters).slice(0, 100));
    t.match(provider.requests.at(-1)!.body.tools[0].function.parameters, offered);
  }
});

t.test('a form or a choice that is none is refused by its path', async (t) => {
  const house = await openWorkspace();
  const { assistant } = await onProvider(t, house, unless());
  const deep = JSON.parse('{"a":'.repeat(2000) + '1' + '}'.repeat(2000)) as object;
  const cases: readonly (readonly [object, string])[] = [
    [{ response_format: 'json' }, 'response_format'],
    [{ response_format: { type: 'xml' } }, 'response_format'],
    [{ response_format: { type: 'json_schema' } }, 'response_format.schema'],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a b', schema } } },
      'response_format.json_schema.name',
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: [] } } },
      'response_format.json_schema.schema',
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: deep } } },
      'response_format.json_schema.schema',
    ],
    [
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'a', schema: { description: 'x'.repeat(70_000) } },
        },
      },
      'response_format.json_schema.schema',
    ],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ tools, tool_choice: 'any' }, 'tool_choice'],
    [{ tools, tool_choice: { type: 'function', function: { name: 'other' } } }, 'tool_choice'],
    [{ tools, tool_choice: { type: 'function' } }, 'tool_choice'],
    [{ tools, tool_choice: 7 }, 'tool_choice'],
  ];
  for (const [body, param] of cases) {
    const { status, json } = await complete(house, assistant.id, body);
    t.same([status, json.error.param], [400, param], JSON.stringify(body).slice(0, 100));
  }
  const { status, json } = await respond(house, assistant.id, { text: { format: { type: 'json_schema', name: 'a' } } });
  t.same([status, json.error.param], [400, 'text.format.schema']);
});

t.test("OpenAI's names of voices are the assistant's voice where its provider does not know them", async (t) => {
  const house = await openWorkspace();
  const { id } = await house.assistant({ channels: { voice: true }, voice: { provider: 'synthetic' } });
  const speak = (voice: string): Promise<Answer> =>
    house.ask('/v1/audio/speech', { body: { model: id, input: 'Hello.', voice } });
  for (const voice of [
    'alloy',
    'ash',
    'ballad',
    'cedar',
    'coral',
    'echo',
    'fable',
    'marin',
    'nova',
    'onyx',
    'sage',
    'shimmer',
    'verse',
  ]) {
    t.equal((await speak(voice)).status, 200, voice);
  }
  const { status, json } = await speak('nobody');
  t.same([status, json.error.param], [400, 'voice']);
  const own = await house.ask('/speech', { body: { assistant_id: id, text: 'Hello.', voice: 'alloy' } });
  t.equal(own.status, 422, 'the other API knows its own names alone');
});

t.test('slashes too many in an address of the fronts change nothing', async (t) => {
  const house = await openWorkspace();
  const { id } = await house.assistant({ model: { provider: 'synthetic', name: 'tokens=1' } });
  const list = {
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    headers: { 'content-type': 'application/json', 'mcp-protocol-version': '2025-06-18' },
  };
  for (const end of ['/', '//']) {
    t.equal((await house.ask(`/v1/models${end}`)).status, 200);
    t.equal((await house.ask(`/v1/models/${id}${end}`)).json.id, id);
    t.equal((await house.ask(`/v1${end}chat/completions${end}`, { body: { model: id, messages } })).status, 200);
    const response = await house.ask(`/v1/responses${end}`, { body: { model: id, input: 'Hi' } });
    t.equal((await house.ask(`/v1/responses/${response.json.id}${end}`)).json.id, response.json.id);
    t.equal((await house.ask(`/mcp${end}`, list)).json.result.tools.length > 0, true);
    t.equal((await fetch(`${house.url}/mcp${end}`)).status, 405);
    t.equal((await house.ask(`/sessions${end}`)).status, 404, 'our own paths are what they are');
  }
  const unknown = await house.ask('/v1/nothing/');
  t.same([unknown.status, unknown.json.error.type], [404, 'invalid_request_error']);
  const large = await house.ask('/mcp/', {
    ...list,
    body: { ...list.body, params: { _meta: { note: 'x'.repeat(300_000) } } },
  });
  t.equal(large.status, 200, 'the bound of a body is that of the path without them');
});

/**
 * The request that a model takes: which repairs a refusal asks for, what is learnt of it and for how long (contract
 * 13).
 */
import t from 'tap';
import { anthropicModel } from '../../../src/providers/model/anthropic.ts';
import { learntFrom, modelLearntMs } from '../../../src/providers/model/learnt.ts';
import { openaiModel } from '../../../src/providers/model/openai.ts';
import { isOutputFault, isUnrelated, repairs, repairsNamed } from '../../../src/providers/model/repairs.ts';
import { functionsNamed } from '../../../src/providers/model/refused-tools.ts';
import { withWireIds } from '../../../src/providers/model/wire.ts';
import type { Model, ModelMessage, ModelRequest, SaidMessage, ToolOffer } from '../../../src/providers/model.ts';
import { strictNames } from '../strict/names.mjs';
import { strictProvider } from '../strict/provider.ts';
import { ask, client, delta, done, eventStream, ManualClock, provider, type Hooks, type Provider } from './provider.ts';
import { refuse } from './strict.ts';
import { providerAttemptsMax } from '../../../src/providers/model/attempts.ts';

/** Refusals in the words of providers, and the repairs that they ask for. */
const sayings: readonly (readonly [said: string, asked: number])[] = [
  [
    '{"type":"error","error":{"type":"invalid_request_error","message":"system.0.cache_control: Extra inputs are not permitted"}}',
    repairs.noCache,
  ],
  ['{"error":{"message":"Unknown field \'cache_control\' in messages[0].content[0]"}}', repairs.noCache],
  ['{"detail":[{"loc":["body","system"],"msg":"system: Input should be a valid string"}]}', repairs.noCache],
  [
    '{"object":"error","message":"Tool call id was call_1h4 but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_function_call","param":null,"code":"3280"}',
    repairs.ids,
  ],
  [
    '{"error":{"message":"Tool call IDs should be alphanumeric strings with length 9!","type":"BadRequestError","param":null,"code":400}}',
    repairs.ids,
  ],
  [
    '{"error":{"message":"Invalid \'messages[2].tool_calls[0].id\': string too long. Expected a string with maximum length 40","param":"messages[2].tool_calls[0].id","code":"string_above_max_length"}}',
    repairs.ids,
  ],
  [
    '{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.1.tool_use.id: String should match pattern \'^[a-zA-Z0-9_-]+$\'"}}',
    repairs.ids,
  ],
  ['{"error":{"message":"messages: `tool_use` ids must be unique"}}', repairs.ids],
  [
    '{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"}}',
    repairs.thoughtStub,
  ],
  [
    '{"error":{"message":"The `reasoning_content` in the thinking mode must be passed back to the API."}}',
    repairs.thoughtStub,
  ],
  [
    '{"error":{"message":"The `content[].thinking` in the thinking mode must be passed back to the API."}}',
    repairs.thoughtStub,
  ],
  [
    "{\"error\":{\"message\":\"'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning' is unsupported, did you mean 'role'?)]\"}}",
    repairs.noThoughts,
  ],
  [
    '{"message":"messages.2.assistant.reasoning_content: property \'messages.2.assistant.reasoning_content\' is unsupported","code":"wrong_api_format"}',
    repairs.noThoughts,
  ],
  [
    '{"detail":[{"type":"extra_forbidden","loc":["body","messages",31,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted","input":"\\n"}]}',
    repairs.noThoughts,
  ],
  ['{"error":{"message":"messages[3].reasoning: reasoning is not supported with this model"}}', repairs.noThoughts],
  [
    '{"error":{"message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}',
    repairs.noThoughts | repairs.noOpaque,
  ],
  [
    '[{"error":{"message":"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly."}}]',
    repairs.signatureStub,
  ],
  [
    '{"error":{"message":"Unable to submit request because function call `f` in the 2. content block is missing a `thought_signature`."}}',
    repairs.signatureStub,
  ],
  [
    '{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"Gemini models require OpenRouter reasoning details to be preserved in each request. Upstream error: {\\n \\"error\\": { \\"message\\": \\"Function call is missing a thought_signature in functionCall parts.\\"}}"}}}',
    repairs.detailsStub,
  ],
  ['[{"error":{"message":"Corrupted thought signature."}}]', repairs.signatureStub | repairs.noOpaque],
  [
    '{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","tool_calls",0,"extra_content"],"msg":"Extra inputs are not permitted"}]}',
    repairs.noOpaque,
  ],
  ['{"error":{"message":"invalid message content type: <nil>"}}', repairs.emptyContent],
  [
    '{"error":{"message":"messages.1.content: Input should be a valid string [type=string_type, input_value=None, input_type=NoneType]"}}',
    repairs.emptyContent,
  ],
  ['{"error":{"message":"Expected string, received null","path":"messages.1.content"}}', repairs.emptyContent],
  [
    '{"code":"Client specified an invalid argument","error":"Invalid request content: Each message must have at least one content element."}',
    repairs.wordContent,
  ],
  ['{"error":{"message":"messages: text content blocks must be non-empty"}}', repairs.wordContent],
  [
    '{"error":{"message":"The content field in the Message object at messages.1 is empty. Add a ContentBlock object to the content field and try again."}}',
    repairs.wordContent,
  ],
  [
    '{"error":{"message":"Invalid \'tools[13].function.description\': string too long. Expected a string with maximum length 1024","param":"tools[13].function.description"}}',
    repairs.shortDescriptions,
  ],
  [
    '{"error":{"message":"Unsupported parameter: \'max_tokens\' is not supported with this model.","param":"max_tokens"}}',
    repairs.bound | repairs.otherBound,
  ],
  [
    '{"error":{"message":"An assistant message with \'tool_calls\' must be followed by tool messages responding to each \'tool_call_id\'. The following tool_call_ids did not have response messages: call_1"}}',
    0,
  ],
  ['{"error":{"message":"Internal error"}}', 0],
  ['{}', 0],
];

for (const [said, asked] of sayings)
  t.test(`a refusal asks for ${asked}: ${said.slice(0, 90)}`, async (t) => t.equal(repairsNamed(said), asked));

t.test('refusals of definitions name their functions', async (t) => {
  const properties = {
    order: { type: 'string' },
    source: { description: 'Any.' },
    filter: { $ref: '#/$defs/filter' },
    sort: { type: 'string', anyOf: [{ const: 'a' }, { const: 'b' }] },
  };
  const offered: readonly ToolOffer[] = [
    {
      name: 'look_up',
      description: null,
      parameters: { type: 'object', properties: { order: properties.order, source: { type: 'string' } } },
    },
    { name: 'book', description: null, parameters: { type: 'object', properties, anyOf: [{ required: ['order'] }] } },
    { name: 'list-all', description: null, parameters: { type: 'object', properties: { sort: { type: 'string' } } } },
  ];
  const rows: readonly (readonly [said: string, names: readonly string[]])[] = [
    [
      "Invalid schema for function 'book': In context=('properties', 'temperature'), array schema missing items.",
      ['book'],
    ],
    ['{"param":"tools[2].function.parameters","message":"Invalid schema"}', ['list-all']],
    ['tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level', ['look_up']],
    [
      '* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[ids].items: missing field.',
      ['book'],
    ],
    [
      'Invalid JSON payload received. Unknown name "const" at \'tools[0].function_declarations[2].parameters\': Cannot find field.',
      ['list-all'],
    ],
    [
      '{"loc":["body","tools",1,"function","parameters"],"msg":"bad"}, {"loc":["body","tools",2,"function"]}',
      ['book', 'list-all'],
    ],
    ['invalid JSON schema for tool look_up, `parameters` must be an object', ['look_up']],
    ['{"error":{"message":"Invalid schema for function \\"book\\": bad"}}', ['book']],
    ["Invalid tool definition: function name: 'book' has an input_schema that cannot be read", ['book']],
    [
      'Unable to submit request because `list-all` functionDeclaration parameters schema should be of type OBJECT.',
      ['list-all'],
    ],
    [
      'Unable to submit request because look_up functionDeclaration `parameters.order` schema specified other fields alongside any_of.',
      ['look_up'],
    ],
    ['The value at toolConfig.tools.1.toolSpec.inputSchema.json.type must be one of the following: object.', ['book']],
    [
      "1 validation error detected: Value at 'toolConfig.tools.1.member.toolSpec.inputSchema' failed to satisfy constraint",
      ['look_up'],
    ],
    [
      "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'root': when using anyOf, type should be defined in anyOf items instead of the parent schema>",
      ['book'],
    ],
    [
      "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.source': type is not defined>",
      ['book'],
    ],
    [
      "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.sort': when using anyOf, type should be defined in anyOf items>",
      ['book'],
    ],
    [
      "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.filter.$ref': references must start with #/$defs>",
      ['book'],
    ],
    [
      "tools.function.parameters is not a valid moonshot flavored json schema, details: <At path 'properties.none': bad>",
      [],
    ],
    ['messages[2].tool_calls[0].function.arguments: must be JSON', []],
    [
      'Function call is missing a thought_signature in functionCall parts. Additional data, function call `default_api:book` , position 2',
      [],
    ],
    ["Invalid schema for function 'other': bad", []],
    ['tools[9].function: bad schema', []],
  ];
  for (const [said, names] of rows) t.same(functionsNamed(said, offered), names, said);
});

t.test('refusals that have nothing to do with the request are known', async (t) => {
  for (const said of [
    '{"code":"insufficient_quota"}',
    'Your credit balance is too low',
    'Incorrect API key provided',
    'The response was filtered due to content management policy',
    'Overloaded',
    'Rate limit reached',
  ])
    t.ok(isUnrelated(said), said);
  for (const [said] of sayings) t.notOk(isUnrelated(said), said);
  t.ok(isOutputFault('{"error":{"code":"tool_use_failed","failed_generation":""}}'));
});

t.test(
  'a repair is learnt if it was named, or if it has worked twice where the plain request failed twice',
  async (t) => {
    const open = repairs.usage | repairs.temperature | repairs.ids;
    const plain = { shape: 0, trial: null };
    t.same(
      learntFrom(plain, { open, named: repairs.ids, accepted: repairs.ids }),
      { shape: repairs.ids, trial: null },
      'named',
    );
    const once = learntFrom(plain, { open, named: 0, accepted: repairs.usage });
    t.same(once, { shape: 0, trial: repairs.usage }, 'once');
    t.same(
      learntFrom(once, { open, named: 0, accepted: repairs.usage }),
      { shape: repairs.usage, trial: null },
      'twice',
    );
    t.same(learntFrom(once, { open, named: 0, accepted: 0 }), plain, 'the plain request was taken meanwhile');
    t.same(learntFrom(once, { open: repairs.temperature, named: 0, accepted: 0 }), once, 'one that could not show it');
    t.same(
      learntFrom(once, { open, named: 0, accepted: repairs.temperature }),
      { shape: 0, trial: repairs.temperature },
      'another guess',
    );
    t.same(
      learntFrom(plain, { open, named: repairs.ids, accepted: repairs.ids | repairs.usage }),
      { shape: repairs.ids, trial: repairs.ids | repairs.usage },
      'one of both',
    );
    t.same(
      learntFrom({ shape: repairs.greeting, trial: null }, { open, named: 0, accepted: 0 }),
      { shape: repairs.greeting, trial: null },
      'what there was no use for stays',
    );
  },
);

const serving = async (t: Hooks, answer: Provider['answer'], clock?: ManualClock) => {
  const server = await provider(answer);
  t.teardown(server.close);
  const model = openaiModel(client(t, {}, clock === undefined ? {} : { clock }));
  const turn = async (over: Partial<ModelRequest> = {}): Promise<[string, number]> => {
    const before = server.requests.length;
    return [await ask(model, { baseUrl: server.baseUrl, ...over }).settled, server.requests.length - before];
  };
  return { server, turn, sent: () => server.requests.at(-1)!.body };
};
const ok: Provider['answer'] = (response) => void response.writeHead(200, eventStream).end(delta('ok', 'stop') + done);

t.test('one passing 400 teaches nothing', async (t) => {
  const over = {
    systemPrompt: 'Be kind.',
    temperature: 0.5,
    outputTokensMax: 9,
    messages: [{ role: 'user', content: 'hello' }] as const,
  };
  for (const body of [
    '{}',
    '{"error":{"message":"Internal error"}}',
    '',
    '<html>Bad Request</html>',
    '{"error":{"message":"upstream connect error"}}',
  ]) {
    let left = 1;
    const { turn, sent } = await serving(t, (response, seen) =>
      left-- > 0 ? refuse(response, { status: 400, body }) : ok(response, seen),
    );
    t.equal((await turn(over))[0], 'end', body);
    t.same(await turn(over), ['end', 1], `${body}: the next turn`);
    t.match(sent(), {
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'hello' },
      ],
      temperature: 0.5,
      max_tokens: 9,
      stream_options: {},
    });
  }
});

t.test(
  'what is learnt of a model is tried plain again after an hour, and not later for what is learnt meanwhile',
  async (t) => {
    const clock = new ManualClock();
    const { server, turn, sent } = await serving(
      t,
      (response, seen) => {
        const refused = ['temperature', 'stream_options'].find((field) => seen.body[field] !== undefined);
        if (refused === undefined) ok(response, seen);
        else refuse(response, { status: 400, body: `{"error":{"param":"${refused}"}}` });
      },
      clock,
    );
    t.same(await turn({ temperature: 0.5 }), ['end', 3]);
    clock.advance(modelLearntMs / 2);
    server.answer = (response, seen) =>
      seen.body.max_tokens === undefined
        ? ok(response, seen)
        : refuse(response, { status: 400, body: '{"error":{"param":"max_tokens"}}' });
    t.same(await turn({ temperature: 0.5, outputTokensMax: 9 }), ['end', 2]);
    clock.advance(modelLearntMs / 2);
    server.answer = ok;
    t.same(await turn({ temperature: 0.5, outputTokensMax: 9 }), ['end', 1]);
    t.match(sent(), { temperature: 0.5, max_tokens: 9, stream_options: {} });
  },
);

t.test('a round of another model has details where its calls may not have signatures', async (t) => {
  const body = JSON.stringify({
    error: { message: 'Function call is missing a thought_signature in functionCall parts.' },
  });
  const { turn, sent } = await serving(t, (response, seen) =>
    seen.body.messages.every(
      ({ tool_calls: calls, reasoning_details: details }: any) => calls === undefined || details !== undefined,
    )
      ? ok(response, seen)
      : refuse(response, { status: 400, body }),
  );
  const messages: readonly ModelMessage[] = [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: '', calls: [{ id: 'call_1', name: 'f', arguments: '{}' }] },
    { role: 'tool', callId: 'call_1', content: 'done' },
  ];
  t.same(await turn({ messages }), ['end', 3]);
  t.match(sent().messages[1], {
    reasoning_details: [{ type: 'reasoning.encrypted', id: 'call_1' }],
    tool_calls: [{ extra_content: undefined }],
  });
  t.same(await turn({ messages }), ['end', 1], 'and it is learnt');
});

t.test('fields of a call and of its function go back where they stood', async (t) => {
  const fields = [
    { extra_content: { google: { thought_signature: 'sig' } } },
    { function: { provider_specific_fields: { thought_signature: 'sig' } } },
    { a: 1, function: { b: [2] } },
  ];
  for (const { function: ofFunction, ...ofCall } of fields as any[]) {
    const call = {
      index: 0,
      id: 'given',
      type: 'function',
      ...ofCall,
      function: { name: 'f', arguments: '{}', ...ofFunction },
    };
    const { server, sent } = await serving(
      t,
      (response) =>
        void response
          .writeHead(200, eventStream)
          .end(
            `data: ${JSON.stringify({ choices: [{ delta: { tool_calls: [call] }, finish_reason: 'tool_calls' }] })}\n\n${done}`,
          ),
    );
    const model = openaiModel(client(t));
    const tools = [{ name: 'f', description: null, parameters: { type: 'object' } }];
    const heard = ask(model, { baseUrl: server.baseUrl, tools });
    t.equal(await heard.settled, 'end');
    const messages: readonly ModelMessage[] = [
      { role: 'user', content: 'one' },
      {
        role: 'assistant',
        content: '',
        calls: [{ id: 'call_1', name: 'f', arguments: '{}', opaque: heard.opaques[0]! }],
      },
      { role: 'tool', callId: 'call_1', content: 'done' },
    ];
    await ask(model, { baseUrl: server.baseUrl, tools, messages }).settled;
    const { index: _, ...expected } = call;
    t.strictSame(sent().messages[1].tool_calls, [expected]);
  }
});

t.test('a function is offered again after an hour, and at once if it was changed', async (t) => {
  const clock = new ManualClock();
  const bad: ToolOffer = {
    name: 'bad',
    description: null,
    parameters: { type: 'object', properties: { ids: { type: 'array' } } },
  };
  const good: ToolOffer = { name: 'good', description: null, parameters: { type: 'object' } };
  const { turn, sent } = await serving(
    t,
    (response, seen) => {
      const at = (seen.body.tools ?? []).findIndex(
        (tool: any) =>
          tool.function.parameters.properties.ids?.items === undefined &&
          tool.function.parameters.properties.ids !== undefined,
      );
      if (at < 0) ok(response, seen);
      else
        refuse(response, {
          status: 400,
          body: `{"error":{"message":"Invalid schema for function 'bad': array schema missing items.","param":"tools[${at}].function.parameters"}}`,
        });
    },
    clock,
  );
  const names = (): string[] => sent().tools.map((tool: any) => tool.function.name);
  t.same(await turn({ tools: [bad, good] }), ['end', 2]);
  t.same(names(), ['good']);
  t.same(await turn({ tools: [bad, good] }), ['end', 1]);
  t.same(await turn({ tools: [bad] }), ['end', 1], 'no tool is left');
  t.equal(sent().tools, undefined);
  t.same(
    await turn({
      tools: [{ ...bad, parameters: { type: 'object', properties: { ids: { type: 'array', items: {} } } } }, good],
    }),
    ['end', 1],
  );
  t.same(names(), ['bad', 'good']);
  clock.advance(modelLearntMs);
  t.same(await turn({ tools: [bad, good] }), ['end', 2]);
});

t.test('a model whose call its provider could not read is asked once more, and nothing is learnt', async (t) => {
  const fault =
    '{"error":{"message":"Failed to call a function. Please adjust your prompt. See \'failed_generation\' for more details.","code":"tool_use_failed"}}';
  let left = 1;
  const { server, turn } = await serving(t, (response, seen) =>
    left-- > 0 ? refuse(response, { status: 400, body: fault }) : ok(response, seen),
  );
  t.same(await turn(), ['end', 2]);
  t.same(server.requests[1]!.body, server.requests[0]!.body);
  left = 100;
  t.same(await turn(), ['status', 2]);
});

t.test('descriptions are whole where they are taken, and cut where they are too long', async (t) => {
  const tools: ToolOffer[] = [{ name: 'f', description: 'é'.repeat(2000), parameters: { type: 'object' } }];
  const { server, turn, sent } = await serving(t, ok);
  await turn({ tools });
  t.equal(sent().tools[0].function.description.length, 2000);
  server.answer = (response, seen) =>
    seen.body.tools[0].function.description.length <= 1024
      ? ok(response, seen)
      : refuse(response, {
          status: 400,
          body: '{"error":{"message":"Invalid \'tools[0].function.description\': string too long. Expected a string with maximum length 1024, but got a string with length 2000 instead.","param":"tools[0].function.description","code":"string_above_max_length"}}',
        });
  t.same(await turn({ tools }), ['end', 2]);
  t.equal(sent().tools[0].function.description, 'é'.repeat(1024));
});

const calls = (given: readonly string[], opaque?: { origin: string; id: string }): SaidMessage => ({
  role: 'assistant',
  content: '',
  calls: given.map((id) => ({ id, name: 'f', arguments: '{}', ...(opaque && { opaque }) })),
});
const results = (given: readonly string[]): ModelMessage[] =>
  given.map((callId) => ({ role: 'tool', callId, content: 'done' }));
const idsIn = (messages: readonly ModelMessage[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'tool' ? [`= ${message.callId}`] : (message.calls ?? []).map(({ id }) => id),
  );

t.test('each call has an id on the wire that its provider takes, once in the request', async (t) => {
  const plain = [calls(['call_1', 'call_2']), ...results(['call_1', 'call_2'])];
  t.same(idsIn(withWireIds(plain, 'here', false)), ['call_1', 'call_2', '= call_1', '= call_2'], 'ours');
  const own = [calls(['call_1'], { origin: 'here', id: 'functions.f:0' }), ...results(['call_1'])];
  t.same(idsIn(withWireIds(own, 'here', false)), ['functions.f:0', '= functions.f:0'], "the provider's own");
  t.same(idsIn(withWireIds(own, 'there', false)), ['call_1', '= call_1'], 'not that of another');
  const strictly = idsIn(withWireIds(plain, 'here', true));
  t.ok(strictly.every((id) => /^(?:= )?[A-Za-z0-9]{9}$/.test(id)) && new Set(strictly).size === 4, strictly.join());
  t.same(idsIn(withWireIds(plain, 'here', true)), strictly, 'the same in each request');
  const odd = [
    calls(['functions.f:0', 'functions.f:0']),
    ...results(['functions.f:0', 'functions.f:0']),
    calls(['functions.f:0']),
    ...results(['functions.f:0']),
  ];
  const mapped = idsIn(withWireIds(odd, 'here', false));
  t.ok(new Set(mapped).size === 6 && mapped.every((id) => /^(?:= )?[A-Za-z0-9_-]{1,40}$/.test(id)), mapped.join());
  t.same(
    mapped.filter((id) => !id.startsWith('=')),
    mapped.filter((id) => id.startsWith('=')).map((id) => id.slice(2)),
    'and each result is its',
  );
});

/** Histories that another model, another client or an earlier version has left. */
const histories: Readonly<Record<string, readonly ModelMessage[]>> = {
  "ids of Kimi's": [
    { role: 'user', content: 'one' },
    calls(['functions.f:0']),
    ...results(['functions.f:0']),
    { role: 'assistant', content: 'done' },
    { role: 'user', content: 'two' },
  ],
  'one id in two rounds': [
    { role: 'user', content: 'one' },
    calls(['a']),
    ...results(['a']),
    calls(['a']),
    ...results(['a']),
    { role: 'assistant', content: 'done' },
    { role: 'user', content: 'two' },
  ],
  'one id twice in a round': [
    { role: 'user', content: 'one' },
    calls(['a', 'a']),
    ...results(['a', 'a']),
    { role: 'assistant', content: 'done' },
    { role: 'user', content: 'two' },
  ],
  'a long id': [
    { role: 'user', content: 'one' },
    calls([`chatcmpl-tool-${'0'.repeat(64)}`]),
    ...results([`chatcmpl-tool-${'0'.repeat(64)}`]),
    { role: 'assistant', content: 'done' },
    { role: 'user', content: 'two' },
  ],
  'an empty result': [{ role: 'user', content: 'one' }, calls(['a']), { role: 'tool', callId: 'a', content: '' }],
  'a result of white space': [
    { role: 'user', content: 'one' },
    calls(['a']),
    { role: 'tool', callId: 'a', content: ' \n' },
  ],
  'text before calls, in a message of its own': [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'Let me see.' },
    calls(['a']),
    ...results(['a']),
  ],
  'fields of another provider': [
    { role: 'user', content: 'one' },
    {
      role: 'assistant',
      content: '',
      calls: [
        {
          id: 'call_1',
          name: 'f',
          arguments: '{}',
          opaque: {
            origin: 'other',
            id: 'x',
            call: { extra_content: { google: { thought_signature: 'foreign' } } },
            round: {
              reasoning_details: [{ text: 'foreign' }],
              blocks: [{ type: 'thinking', thinking: '', signature: 'foreign' }],
            },
          },
        },
      ],
    },
    ...results(['call_1']),
    { role: 'assistant', content: 'done' },
    { role: 'user', content: 'two' },
  ],
};

for (const name of strictNames) {
  t.test(`${name} takes histories that others have left`, async (t) => {
    const strict = await strictProvider(t, name);
    const model: Model = (strict.kind === 'openai' ? openaiModel : anthropicModel)(client(t));
    for (const [about, messages] of Object.entries(histories)) {
      const tools = [{ name: 'f', description: null, parameters: { type: 'object' } }];
      t.equal(
        await ask(model, { baseUrl: strict.baseUrl, messages, tools }).settled,
        'end',
        `${about}; refused: ${strict.refused.at(-1)}`,
      );
    }
    t.notMatch(JSON.stringify(strict.requests), /foreign/);
  });
}

for (const name of strictNames) {
  t.test(`${name} takes histories that others have left, though it gives no reason for a refusal`, async (t) => {
    const strict = await strictProvider(t, name, { isSilent: true });
    for (const [about, messages] of Object.entries(histories)) {
      // Each time without a lesson.
      const model: Model = (strict.kind === 'openai' ? openaiModel : anthropicModel)(client(t));
      const tools = [{ name: 'f', description: null, parameters: { type: 'object' } }];
      const over = {
        baseUrl: strict.baseUrl,
        messages,
        tools,
        systemPrompt: 'Be kind.',
        temperature: 0.5,
        outputTokensMax: 9,
      };
      const before = strict.requests.length;
      t.equal(await ask(model, over).settled, 'end', about);
      t.ok(strict.requests.length - before <= providerAttemptsMax, `${strict.requests.length - before} requests`);
    }
    t.notMatch(JSON.stringify(strict.requests), /foreign/);
  });
}

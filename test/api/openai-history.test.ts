/** Histories as clients of OpenAI's API send them (contract 14): what an old message holds stops no conversation. */
import t from 'tap';
import { unless } from '../providers/model/strict.ts';
import { strictNames } from '../providers/strict/names.mjs';
import { strictProvider } from '../providers/strict/provider.ts';
import { openWorkspace, type Answer, type House } from './house.ts';
import { credentialOf, onProvider } from './talk.ts';

const hi = { role: 'user', content: 'Hi' };
const call = (id: string | undefined, more: object = {}) => ({
  ...(id && { id }),
  type: 'function',
  function: { name: 'look', arguments: '{"order":"7"}' },
  ...more,
});
const calling = (...calls: object[]) => ({ role: 'assistant', content: null, tool_calls: calls });
const result = (id: string, content: unknown = 'seen') => ({ role: 'tool', tool_call_id: id, content });
const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } };
const text = (content: string) => ({ type: 'text', text: content });
const look = {
  type: 'function',
  function: {
    name: 'look',
    description: 'Looks.',
    parameters: { type: 'object', properties: { order: { type: 'string' } } },
  },
};

const complete = (house: House, model: string, messages: readonly object[], more: object = {}): Promise<Answer> =>
  house.ask('/v1/chat/completions', { body: { model, messages, ...more } });

interface Odd {
  readonly messages: readonly object[];
  /** Roles and texts of the messages that the model is sent, before the question. */
  readonly reaches: readonly (readonly [string, unknown])[];
}

const unknown = 'The result of the call is not known. Whether the tool has acted is not known.';
const cut = '[This reply was cut off.]';
const long = 'x'.repeat(20_000);

/** Histories, each before a question of the user. */
const odd: Readonly<Record<string, Odd>> = {
  'a picture in an old question': {
    messages: [
      { role: 'user', content: [text('Look.'), picture] },
      { role: 'assistant', content: 'A cat.' },
    ],
    reaches: [
      ['user', 'Look.\n[image]'],
      ['assistant', 'A cat.'],
    ],
  },
  'files and sounds in old messages': {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'file', file: { file_id: 'f' } },
          { type: 'input_audio', input_audio: {} },
          text('Read.'),
          { type: 'hologram' },
        ],
      },
      { role: 'assistant', content: 'Done.' },
    ],
    reaches: [
      ['user', '[file]\n[audio]\nRead.\n[file]'],
      ['assistant', 'Done.'],
    ],
  },
  'a call that was cancelled': {
    messages: [hi, calling(call('c1'))],
    reaches: [
      ['user', 'Hi'],
      ['assistant', null],
      ['tool', unknown],
      ['assistant', cut],
    ],
  },
  'one call of two that was cancelled': {
    messages: [hi, calling(call('c1'), call('c2')), result('c2', 'two')],
    reaches: [
      ['user', 'Hi'],
      ['assistant', null],
      ['tool', unknown],
      ['tool', 'two'],
      ['assistant', cut],
    ],
  },
  'a result whose call was left out': {
    messages: [hi, result('c1'), { role: 'assistant', content: 'Yes.' }],
    reaches: [
      ['user', 'Hi'],
      ['assistant', 'Yes.'],
    ],
  },
  'a result that comes late': {
    messages: [hi, calling(call('c1')), { role: 'assistant', content: 'Wait.' }, result('c1', 'late')],
    reaches: [
      ['user', 'Hi'],
      ['assistant', null],
      ['tool', 'late'],
      ['assistant', 'Wait.'],
    ],
  },
  'a result that comes twice': {
    messages: [
      hi,
      calling(call('c1')),
      result('c1', 'one'),
      result('c1', 'again'),
      { role: 'assistant', content: 'Yes.' },
    ],
    reaches: [
      ['user', 'Hi'],
      ['assistant', null],
      ['tool', 'one'],
      ['assistant', 'Yes.'],
    ],
  },
  'one id for calls of two rounds': {
    messages: [
      hi,
      calling(call('c1')),
      result('c1', 'one'),
      calling(call('c1')),
      result('c1', 'two'),
      { role: 'assistant', content: 'Yes.' },
    ],
    reaches: [
      ['user', 'Hi'],
      ['assistant', null],
      ['tool', 'one'],
      ['assistant', null],
      ['tool', 'two'],
      ['assistant', 'Yes.'],
    ],
  },
  'one id for two calls side by side': {
    messages: [
      hi,
      calling(call('c1'), call('c1')),
      result('c1', 'one'),
      result('c1', 'two'),
      { role: 'assistant', content: 'Yes.' },
    ],
    reaches: [
      ['user', 'Hi'],
      ['assistant', null],
      ['tool', 'one'],
      ['tool', 'two'],
      ['assistant', 'Yes.'],
    ],
  },
  'calls and results without ids': {
    messages: [
      hi,
      calling(call(undefined), call('')),
      { role: 'tool', content: 'one' },
      { role: 'tool', content: 'two' },
      { role: 'assistant', content: 'Yes.' },
    ],
    reaches: [
      ['user', 'Hi'],
      ['assistant', null],
      ['tool', 'one'],
      ['tool', 'two'],
      ['assistant', 'Yes.'],
    ],
  },
  'the roles and fields of older clients': {
    messages: [
      hi,
      { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
      { role: 'function', name: 'look', content: 'seen' },
      { role: 'assistant', content: 'Yes.' },
    ],
    reaches: [
      ['user', 'Hi'],
      ['assistant', null],
      ['tool', 'seen'],
      ['assistant', 'Yes.'],
    ],
  },
  'a result over the bound, with a picture': {
    messages: [hi, calling(call('c1')), result('c1', [text(long), picture]), { role: 'assistant', content: 'Yes.' }],
    reaches: [
      ['user', 'Hi'],
      ['assistant', null],
      ['tool', `${'x'.repeat(16_000 - 35)}\n[The rest of this output was cut.]`],
      ['assistant', 'Yes.'],
    ],
  },
  'a refusal, thoughts and the parts of responses': {
    messages: [
      { role: 'user', content: [{ type: 'input_text', text: 'one' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm' },
          { type: 'redacted_thinking', data: 'x' },
          { type: 'reasoning', text: 'hm' },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
      { role: 'user', content: ['two'] },
      { role: 'assistant', content: null, refusal: 'Never.' },
      { role: 'user', content: 'three' },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Yes.', annotations: [] }] },
    ],
    reaches: [
      ['user', 'one'],
      ['assistant', 'No.'],
      ['user', 'two'],
      ['assistant', 'Never.'],
      ['user', 'three'],
      ['assistant', 'Yes.'],
    ],
  },
};

t.test('an odd history reaches the model mended, and the question is answered', async (t) => {
  const house = await openWorkspace();
  const { provider, assistant } = await onProvider(t, house, unless());
  for (const [name, { messages, reaches }] of Object.entries(odd)) {
    const { status, text: said } = await complete(house, assistant.id, [
      ...messages,
      { role: 'user', content: 'Go on.' },
    ]);
    t.equal(status, 200, `${name}: ${said}`);
    const sent = provider.requests.at(-1)!.body.messages;
    t.same(
      sent.map(({ role, content }: any) => [role, content]),
      [...reaches, ['user', 'Go on.']],
      name,
    );
    const ids = sent.flatMap(({ tool_calls: calls = [] }: any) => calls.map(({ id }: any) => id));
    t.equal(new Set(ids).size, ids.length, `${name}: each id once`);
    t.same(
      sent.filter(({ role }: any) => role === 'tool').map(({ tool_call_id: id }: any) => id),
      ids,
      `${name}: each call with its result`,
    );
  }
});

t.test('the arguments of old calls are passed on, also as an object, and replaced where they are none', async (t) => {
  const house = await openWorkspace();
  const { provider, assistant } = await onProvider(t, house, unless(), { model: { history_tokens_max: 50_000 } });
  const deep = JSON.parse('['.repeat(500) + ']'.repeat(500)) as unknown;
  // Over the bound of calls that are made here.
  const content = 'x'.repeat(40_000);
  const given: readonly (readonly [unknown, unknown])[] = [
    [{ order: 7 }, { order: 7 }],
    ['{"order":7}', { order: 7 }],
    [JSON.stringify({ content }), { content }],
    ['', {}],
    [null, {}],
    ['{"order":', {}],
    ['[1]', {}],
    [7, {}],
    [[1], {}],
    [{ deep }, {}],
  ];
  for (const [one, expected] of given) {
    const history = [
      hi,
      calling({ id: 'c1', function: { name: 'write file', arguments: one } }),
      result('c1'),
      { role: 'assistant', content: 'Yes.' },
      hi,
    ];
    t.equal((await complete(house, assistant.id, history)).status, 200);
    const { function: made } = provider.requests.at(-1)!.body.messages[1].tool_calls[0];
    t.same([made.name, JSON.parse(made.arguments)], ['write_file', expected], JSON.stringify(one)?.slice(0, 40));
  }
});

/** OpenRouter wants back what it put on each call, which clients of this API do not keep. */
for (const name of strictNames.filter((name) => name !== 'OpenRouter')) {
  t.test(`an odd history is answered at ${name}`, async (t) => {
    const house = await openWorkspace();
    const provider = await strictProvider(t, name);
    const credential = await credentialOf(house, provider.kind, provider.baseUrl);
    const { id } = await house.assistant({
      model: { provider: provider.kind, name: 'strict', credential_id: credential.id },
    });
    for (const tools of [undefined, [look]]) {
      for (const [what, { messages }] of Object.entries(odd)) {
        const answer = await complete(
          house,
          id,
          [...messages, { role: 'user', content: 'Go on.' }],
          tools && { tools },
        );
        t.equal(answer.status, 200, `${what}${tools ? ', with tools' : ''}: ${provider.refused.at(-1) ?? ''}`);
      }
    }
  });
}

t.test('results at the end of a conversation are cut, and may have pictures', async (t) => {
  const house = await openWorkspace();
  const { provider, assistant } = await onProvider(t, house, unless());
  for (const [content, reaches] of [
    [long, /^x{15965}\n\[The rest of this output was cut\.\]$/],
    [[text('A page.'), picture], /^A page\.\n\[image\]$/],
  ] as const) {
    t.equal((await complete(house, assistant.id, [hi, calling(call('c1')), result('c1', content)])).status, 200);
    t.match(provider.requests.at(-1)!.body.messages.at(-1).content, reaches);
  }
});

t.test('the last message may be as long as the body, and is stored whole', async (t) => {
  const house = await openWorkspace();
  const { provider, assistant } = await onProvider(t, house, unless());
  const content = `${'A document. '.repeat(80_000)}\nWhat does it say?`;
  const ask = (headers: Record<string, string>, path: string, body: object): Promise<Answer> =>
    house.ask(path, { headers, body: { model: assistant.id, ...body } });
  const asked = [
    await ask({}, '/v1/chat/completions', { messages: [{ role: 'user', content }] }),
    await ask({ 'x-conversation-id': 'long' }, '/v1/chat/completions', {
      messages: [{ role: 'user', content: [text(content)] }],
    }),
    await ask({}, '/v1/responses', { input: content }),
    await ask({}, '/v1/responses', { input: [{ role: 'user', content: [{ type: 'input_text', text: content }] }] }),
  ];
  for (const { status, headers, text: said } of asked) {
    t.equal(status, 200, said.slice(0, 300));
    t.equal(provider.requests.at(-1)!.body.messages.at(-1).content, content);
    const [first] = (await house.ask(`/sessions/${headers.get('x-session-id')}/transcript`)).json.data;
    t.equal(first.content, content);
  }
  const next = await ask({ 'x-conversation-id': 'long' }, '/v1/chat/completions', { messages: [hi] });
  t.equal(next.status, 200, 'the next turn of the session works');
  const over = await ask({}, '/v1/chat/completions', {
    messages: [{ role: 'user', content: 'x'.repeat(1024 * 1024) }],
  });
  t.same([over.status, over.json.error.message], [400, 'The body is larger than 1048576 bytes.']);
});

t.test('instructions behind the last message count, and fields that mean nothing are passed over', async (t) => {
  const house = await openWorkspace();
  const { provider, assistant } = await onProvider(t, house, unless(), { model: { output_tokens_max: 50 } });
  const answer = await complete(house, assistant.id, [
    { role: 'system', content: 'Be brief.' },
    hi,
    { role: 'system', content: [{ type: 'input_text', text: 'In verse.' }] },
    { role: 'developer', content: '' },
  ]);
  t.equal(answer.status, 200);
  t.same(provider.requests.at(-1)!.body.messages, [{ role: 'system', content: 'Be brief.\n\nIn verse.' }, hi]);
  for (const bounds of [{ max_tokens: -1 }, { max_tokens: 0 }, { max_completion_tokens: 0, max_tokens: -1 }]) {
    t.equal((await complete(house, assistant.id, [hi], bounds)).status, 200, JSON.stringify(bounds));
    const { max_tokens: one, max_completion_tokens: other } = provider.requests.at(-1)!.body;
    t.equal(one ?? other, 50, "the assistant's own bound");
  }
  const response = await house.ask('/v1/responses', {
    body: { model: assistant.id, input: 'Hi', max_output_tokens: -1 },
  });
  t.same([response.status, response.json.max_output_tokens], [200, null]);
});

/** Bodies that are refused: the part, and the words. */
const refusals: readonly (readonly [string, string, object, string, RegExp])[] = [
  [
    'a picture in the last message',
    'chat/completions',
    { messages: [hi, { role: 'assistant', content: 'Yes.' }, hi, { role: 'user', content: [text('Look.'), picture] }] },
    'messages[3].content[1]',
    /pictures/,
  ],
  [
    'a picture alone',
    'chat/completions',
    { messages: [{ role: 'user', content: [picture] }] },
    'messages[0].content[0]',
    /pictures/,
  ],
  [
    'a file in the last message',
    'chat/completions',
    { messages: [{ role: 'user', content: [text('a'), text('b'), { type: 'file', file: {} }] }] },
    'messages[0].content[2]',
    /files/,
  ],
  [
    'a sound in the last message',
    'chat/completions',
    { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] },
    'messages[0].content[0]',
    /text/,
  ],
  [
    'a part that is none',
    'chat/completions',
    { messages: [{ role: 'user', content: [text('a'), 7] }] },
    'messages[0].content[1]',
    /`messages\[0\]\.content\[1\]`/,
  ],
  [
    'a part without its text',
    'chat/completions',
    { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
    'messages[0].content[0]',
    /`messages\[0\]\.content\[0\]`/,
  ],
  [
    'content that is none',
    'chat/completions',
    { messages: [{ role: 'assistant', content: { a: 1 } }, hi] },
    'messages[0].content',
    /`messages\[0\]\.content`/,
  ],
  [
    'a picture in the last message, before instructions',
    'chat/completions',
    {
      messages: [
        { role: 'user', content: [picture] },
        { role: 'system', content: 'Be brief.' },
      ],
    },
    'messages[0].content[0]',
    /pictures/,
  ],
  [
    'a call without a function',
    'chat/completions',
    { messages: [hi, calling(call('c1'), { id: 'c2' }), result('c1'), hi] },
    'messages[1].tool_calls[1]',
    /tool_calls/,
  ],
  [
    'a call without a name',
    'chat/completions',
    { messages: [hi, calling({ id: 'c2', function: {} }), hi] },
    'messages[1].tool_calls[0].function.name',
    /required/,
  ],
  [
    'a picture in the last item',
    'responses',
    {
      input: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'c' },
            { type: 'input_image', image_url: 'x' },
          ],
        },
      ],
    },
    'input[2].content[1]',
    /pictures/,
  ],
  [
    'an item that is none',
    'responses',
    {
      input: [
        { role: 'user', content: 'a' },
        { type: 'function_call', name: 'look' },
        { role: 'user', content: 'c' },
      ],
    },
    'input[1]',
    /`input\[1\]`/,
  ],
];

t.test('a refusal names the message and the part, and says what is not taken', async (t) => {
  const house = await openWorkspace();
  const { id } = await house.assistant({ model: { provider: 'synthetic', name: 'tokens=1' } });
  for (const [what, path, body, param, message] of refusals) {
    const { status, json } = await house.ask(`/v1/${path}`, { body: { model: id, ...body } });
    t.same(
      [status, json.error.param, json.error.code, json.error.type],
      [400, param, 'invalid_request', 'invalid_request_error'],
      what,
    );
    t.match(json.error.message, message, what);
  }
});

t.test('results that answer no call, or not every call, are refused with 400', async (t) => {
  const house = await openWorkspace();
  const { id } = await house.assistant({ model: { provider: 'synthetic', name: 'tokens=1' } });
  const cases: readonly (readonly object[])[] = [
    [result('c1')],
    [hi, result('c1')],
    [hi, calling(call('c1')), result('c2')],
    [hi, calling(call('c1'), call('c2')), result('c1')],
    [hi, calling(call('c1')), result('c1'), result('c2')],
  ];
  for (const messages of cases) {
    const { status, json } = await complete(house, id, messages);
    t.same([status, json.error.param], [400, 'messages'], JSON.stringify(messages));
  }
});

/** The input of a conversation of some turns, whose replies are references. */
async function conversation(house: House, model: string, turns: number): Promise<object[]> {
  const input: object[] = [];
  for (let turn = 0; turn < turns; turn++) {
    const {
      status,
      json,
      text: said,
    } = await house.ask('/v1/responses', {
      body: { model, input: [...input, { role: 'user', content: `question ${turn}` }] },
    });
    if (status !== 200) throw new Error(said);
    input.push({ role: 'user', content: `question ${turn}` }, { type: 'item_reference', id: json.output[0].id });
  }
  return input;
}

t.test('an item that a client refers to reaches the model as the item itself', async (t) => {
  const house = await openWorkspace();
  const { provider, assistant } = await onProvider(t, house, unless());
  const input = await conversation(house, assistant.id, 4);
  const sent = provider.requests.at(-1)!.body.messages.map(({ role, content }: any) => [role, content]);
  t.same(
    sent,
    [0, 1, 2]
      .flatMap((turn) => [
        ['user', `question ${turn}`],
        ['assistant', 'ok'],
      ])
      .concat([['user', 'question 3']]),
  );
  const ask = (more: object, key = house.key): Promise<Answer> =>
    house.ask('/v1/responses', {
      key,
      body: { model: assistant.id, input: [...input, { role: 'user', content: 'More.' }], ...more },
    });
  t.equal((await ask({ store: false })).status, 200);
  const { key } = await house.newKey();
  t.equal((await ask({}, key)).status, 200, 'another key of the workspace reaches the sessions too');
  const unknown = [
    { type: 'item_reference', id: `msg_${'0'.repeat(26)}` },
    { type: 'item_reference', id: 'rs_1' },
    { type: 'item_reference' },
    { type: 'item_reference', id: `fc_${(input[1] as any).id.slice(4)}_0` },
  ];
  for (const item of unknown) {
    const { status, json } = await house.ask('/v1/responses', { body: { model: assistant.id, input: [hi, item, hi] } });
    t.same([status, json.error.param], [400, 'input[1]'], JSON.stringify(item));
  }
});

t.test('a call that a client refers to is followed by its result', async (t) => {
  const house = await openWorkspace();
  const { id } = await house.assistant({ model: { provider: 'synthetic', name: 'call=look,calls=2,tokens=2' } });
  const tools = [{ type: 'function', name: 'look', parameters: look.function.parameters }];
  const ask = (input: readonly object[], more: object = {}): Promise<Answer> =>
    house.ask('/v1/responses', { body: { model: id, tools, input, ...more } });
  const first = (await ask([hi])).json;
  t.equal(first.output.length, 2);
  const references = first.output.map((item: any) => ({ type: 'item_reference', id: item.id }));
  const results = first.output.map((item: any) => ({
    type: 'function_call_output',
    call_id: item.call_id,
    output: 'seen',
  }));
  const second = await ask([hi, ...references, ...results]);
  t.match([second.status, second.json.output], [200, [{ type: 'message', content: [{ text: 'word word ' }] }]]);
  const third = await ask([
    hi,
    ...references,
    ...results,
    { type: 'item_reference', id: second.json.output[0].id },
    { role: 'user', content: 'More.' },
  ]);
  t.equal(third.status, 200);
  const goesOn = await ask([hi, ...references, ...results], { previous_response_id: first.id });
  t.match([goesOn.status, goesOn.json.conversation], [200, first.conversation], 'also where the response goes on');
});

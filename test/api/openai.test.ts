/** OpenAI's API in front of assistants (contract 14): what its clients send, and what they read. */
import t, { type Test } from 'tap';
import { unless } from '../providers/model/strict.ts';
import { type Answer, edge, type House, openHouse, openWorkspace } from './house.ts';
import { onProvider, until } from './talk.ts';

const synthetic = (name: string) => ({ model: { provider: 'synthetic', name } });

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('models of a key are listed and read', (t) => models(t, house));
  await t.test('an answer, whole and streamed', (t) => answers(t, house));
  await t.test('a session of one turn ends before its answer does', ends);
  await t.test('failures have the shape of that API', (t) => failures(t, house));
  await t.test("requests that /v1 refuses get OpenAI's error shape", (t) => refused(t, house));
  await t.test('the history is what the client sends', (t) => stateless(t, house));
  await t.test('a conversation is continued under its x-conversation-id', (t) => conversations(t, house));
  await t.test('a request under an Idempotency-Key', (t) => repeats(t, house));
  await t.test("the caller's own functions", (t) => functions(t, house));
  await t.test('a client that leaves aborts the turn', (t) => leaving(t, house));
  await t.test('speech is synthesized on /v1/audio/speech', (t) => speech(t, house));
});

const hi = [{ role: 'user', content: 'Hi' }];
const complete = (house: House, model: string, body: object = {}, headers: Record<string, string> = {}) =>
  house.ask('/v1/chat/completions', { headers, body: { model, messages: hi, ...body } });
const transcriptOf = async (house: House, answer: Answer) =>
  (await house.ask(`/sessions/${answer.headers.get('x-session-id')}/transcript`)).json.data.map(
    ({ role, content, turn_id }: any) => [role, content, turn_id !== null],
  );
const sessionOf = async (house: House, answer: Answer) =>
  (await house.ask(`/sessions/${answer.headers.get('x-session-id')}`)).json;

/** The data of a stream, and whether its last line is `[DONE]`. */
function chunksOf({ text, headers }: Answer): { chunks: any[]; done: boolean } {
  if (headers.get('content-type') !== 'text/event-stream') throw new Error(text);
  const lines = text
    .split('\n\n')
    .filter((line) => line !== '' && !line.startsWith(':'))
    .map((line) => line.slice('data: '.length));
  const isDone = lines.at(-1) === '[DONE]';
  return { chunks: lines.slice(0, isDone ? -1 : undefined).map((line) => JSON.parse(line)), done: isDone };
}

async function models(t: Test, house: House): Promise<void> {
  const named = await house.assistant({ name: 'Named', alias: 'support.v1' });
  const plain = await house.assistant({ name: 'Plain' });
  await house.assistant({ name: 'Asks', visitor_fields: [{ name: 'email', required: true }] });
  const draft = (
    await house.console(`/workspaces/${house.workspaceId}/assistants`, { body: { name: 'Draft', alias: 'draft' } })
  ).json;
  const { json } = await house.ask('/v1/models');
  t.same(
    json.data.filter(({ name }: any) => ['Named', 'Plain', 'Asks', 'Draft'].includes(name)),
    [
      { id: plain.id, object: 'model', created: plain.created_at, owned_by: 'parley', name: 'Plain' },
      { id: 'support.v1', object: 'model', created: named.created_at, owned_by: 'parley', name: 'Named' },
    ],
  );
  for (const id of ['support.v1', named.id]) t.equal((await house.ask(`/v1/models/${id}`)).json.id, 'support.v1');
  t.equal((await house.ask('/v1/models/support_v1')).status, 404, 'a full stop is one here');
  t.equal((await house.ask('/v1/models/draft')).json.error.code, 'assistant_not_published');
  t.equal((await complete(house, 'draft')).status, 409);
  const patch = (id: string, alias: string | null) =>
    house.console(`/workspaces/${house.workspaceId}/assistants/${id}`, { method: 'PATCH', body: { alias } });
  for (const alias of ['support.v1', 'support_v1', 'Support', '', 'x'.repeat(61)])
    t.match((await patch(draft.id, alias)).json.error.message, /`alias`/, alias);
  t.equal((await patch(named.id, 'support.v1')).json.alias, 'support.v1', 'its own it may have');
  t.equal((await patch(named.id, null)).json.alias, null);
  t.equal((await patch(draft.id, 'support_v1')).json.alias, 'support_v1', 'which is free then');
  t.equal((await house.ask('/v1/models/support.v1')).status, 404);
  const { key } = await house.newKey({ assistant_ids: [named.id] });
  t.same(
    (await house.ask('/v1/models', { key })).json.data.map(({ id }: any) => id),
    [named.id],
  );
  t.same((await house.ask(`/v1/models/${plain.id}`, { key })).json.error, {
    message: 'No such model.',
    type: 'invalid_request_error',
    param: 'model',
    code: 'model_not_found',
  });
}

async function answers(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant({ greeting: 'Welcome.', ...synthetic('tokens=3,text=word') });
  const whole = await complete(house, id);
  t.equal(whole.status, 200);
  const { created, ...said } = whole.json;
  t.ok(Number.isInteger(created));
  t.match(said, {
    object: 'chat.completion',
    model: id,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'word word word ', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
  });
  t.equal(said.id, `chatcmpl-${whole.headers.get('x-turn-id')!.slice('turn_'.length)}`);
  t.equal(said.usage.total_tokens, said.usage.prompt_tokens + said.usage.completion_tokens);
  t.equal(said.usage.completion_tokens, 3);
  t.same(
    await transcriptOf(house, whole),
    [
      ['user', 'Hi', true],
      ['assistant', 'word word word ', true],
    ],
    'without the greeting',
  );
  t.equal(whole.headers.get('x-ratelimit-limit-requests'), whole.headers.get('x-ratelimit-limit'));
  t.equal(whole.headers.get('x-ratelimit-remaining-requests'), whole.headers.get('x-ratelimit-remaining'));
  t.match(whole.headers.get('x-ratelimit-reset-requests'), /^\d+s$/);

  const { chunks, done } = chunksOf(
    await complete(house, id, { stream: true, stream_options: { include_usage: true } }),
  );
  t.ok(done);
  t.same(chunks[0].choices, [
    { index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null },
  ]);
  t.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'word word word ');
  t.same(chunks.at(-2).choices, [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }]);
  t.same([chunks.at(-1).choices, chunks.at(-1).usage.completion_tokens, chunks[0].usage], [[], 3, null]);
  t.notOk('usage' in chunksOf(await complete(house, id, { stream: true })).chunks.at(-1), 'where it is not asked for');
  const all = chunksOf(
    await complete(house, (await house.assistant(synthetic('tokens=400,unicode=1'))).id, { stream: true }),
  );
  t.equal(new Set(all.chunks.map((chunk) => chunk.id)).size, 1);
}

/** A client that has its answer finds the session ended, on a store that takes its time. */
async function ends(t: Test): Promise<void> {
  const house = await openHouse(t, { env: { PARLEY_STORE: 'lmdb:./data' } });
  const { id } = await house.assistant(synthetic('tokens=1'));
  const respond = (stream: boolean) =>
    house.ask('/v1/responses', { body: { model: id, input: 'Hi', store: false, stream } });
  for (let times = 0; times < 8; times++) {
    for (const stream of [false, true]) {
      t.equal((await sessionOf(house, await complete(house, id, { stream }))).status, 'ended', `streamed: ${stream}`);
      t.equal((await sessionOf(house, await respond(stream))).status, 'ended', `a response, streamed: ${stream}`);
    }
  }
}

async function failures(t: Test, house: House): Promise<void> {
  const unavailable = await complete(house, (await house.assistant(synthetic('fail_at=0'))).id);
  t.equal(unavailable.status, 503);
  t.match(unavailable.json, {
    error: {
      message: 'The assistant cannot answer at the moment.',
      type: 'service_unavailable',
      param: null,
      code: 'assistant_unavailable',
    },
    request_id: /^req_/,
  });
  t.equal(unavailable.headers.get('x-should-retry'), 'false');
  const { id } = await house.assistant(synthetic('tokens=5,fail_at=2'));
  const half = await complete(house, id);
  t.same(
    [half.status, half.json.error.code, half.headers.get('x-should-retry')],
    [503, 'assistant_unavailable', 'false'],
  );
  t.same(
    await transcriptOf(house, half),
    [
      ['user', 'Hi', true],
      ['assistant', 'word word ', true],
    ],
    'what there is of it stays',
  );
  const { chunks, done } = chunksOf(await complete(house, id, { stream: true }));
  t.notOk(done);
  t.same(chunks.at(-1), {
    error: {
      message: 'The assistant cannot answer at the moment.',
      type: 'service_unavailable',
      param: null,
      code: 'assistant_unavailable',
    },
  });
  const unknown = await house.ask('/v1/files');
  t.same(
    [unknown.status, unknown.json.error],
    [
      404,
      {
        message: 'No such path, or the path does not have this method.',
        type: 'invalid_request_error',
        param: null,
        code: 'route_not_found',
      },
    ],
  );
  const nobody = await house.ask('/v1/models', { key: null });
  t.same(
    [nobody.status, nobody.json.error.type, nobody.headers.get('x-should-retry')],
    [401, 'authentication_error', null],
  );
  const asks = await house.assistant({ visitor_fields: [{ name: 'email', required: true }] });
  const missing = await complete(house, asks.id);
  t.same(
    [missing.status, missing.json.error.code, missing.json.error.type, missing.json.error.param],
    [400, 'missing_visitor_fields', 'invalid_request_error', null],
  );
  const { key } = await house.newKey({ limits: { requests: 1 } });
  await house.ask('/v1/models', { key });
  const limited = await house.ask('/v1/models', { key });
  t.same(
    [
      limited.status,
      limited.json.error.type,
      limited.headers.get('x-ratelimit-remaining-requests'),
      limited.headers.has('retry-after'),
    ],
    [429, 'rate_limit_error', '0', true],
  );
}

async function refused(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant(synthetic('tokens=1'));
  const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
  const call = {
    role: 'assistant',
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
  };
  const look = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } };
  const cases: [object, string][] = [
    [user([{ type: 'image_url', image_url: { url: 'x' } }]), 'messages[0].content[0]'],
    [user(''), 'messages[0].content'],
    [user(7), 'messages[0].content'],
    [{ messages: [] }, 'messages'],
    [{ messages: 'Hi' }, 'messages'],
    [{ messages: [...hi, { role: 'assistant', content: 'Hello' }] }, 'messages'],
    [{ messages: [{ role: 'system', content: 'Be brief.' }] }, 'messages'],
    [{ messages: [{ role: 'tool', tool_call_id: 'c1', content: '' }] }, 'messages'],
    [{ messages: [...hi, call] }, 'messages'],
    [{ messages: [...hi, { role: 'assistant', tool_calls: [{ id: 'c1' }] }, ...hi] }, 'messages[1].tool_calls[0]'],
    [{ messages: [...hi, call, { role: 'tool', tool_call_id: 'c2', content: '' }] }, 'messages'],
    [{ messages: [{ role: 'robot', content: 'Hi' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user', content: 'a\ud800' }] }, 'messages[0].content'],
    [{ n: 2 }, 'n'],
    [{ response_format: { type: 'json_object' } }, 'response_format'],
    [{ logprobs: true }, 'logprobs'],
    [{ audio: { voice: 'a' } }, 'audio'],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
    [{ functions: [] }, 'functions'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ tool_choice: { type: 'function', function: { name: 'look' } } }, 'tool_choice'],
    [{ tools: [{ type: 'web_search' }] }, 'tools'],
    [{ tools: [look, look] }, 'tools'],
    [
      { tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'string' } } }] },
      'tools[0].function.parameters',
    ],
    [{ max_tokens: 'many' }, 'max_tokens'],
    [{ model: 7 }, 'model'],
  ];
  for (const [body, param] of cases) {
    const { status, json } = await complete(house, id, body);
    t.same(
      [status, json.error.param, json.error.code, json.error.type],
      [400, param, 'invalid_request', 'invalid_request_error'],
      JSON.stringify(body),
    );
  }
  t.equal(
    (
      await complete(house, id, {
        n: 1,
        logprobs: false,
        response_format: { type: 'text' },
        stop: null,
        temperature: 0.1,
        user: 'x',
        tool_choice: 'none',
        seed: 4,
      })
    ).status,
    200,
    'the rest is ignored',
  );
  t.equal(
    (await complete(house, id, { messages: [...user('a\ud800').messages, { role: 'assistant', content: 'y' }, ...hi] }))
      .status,
    200,
    'what was said before is mended',
  );
  t.equal(
    (
      await complete(house, id, {
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'x'.repeat(300_000) }] },
          { role: 'assistant', content: 'y' },
          ...hi,
        ],
      })
    ).status,
    200,
    'over the bound of other bodies',
  );
  t.same(
    (await house.ask('/v1/chat/completions', { body: 'x'.repeat(1024 * 1024 + 1) })).json.error.message,
    'The body is larger than 1048576 bytes.',
  );
  for (const name of ['', 'x'.repeat(129), 'ü'])
    t.equal(
      (await complete(house, id, {}, { 'x-conversation-id': name })).status,
      400,
      `X-Conversation-Id: ${name.length}`,
    );
}

async function stateless(t: Test, house: House): Promise<void> {
  const { provider, assistant } = await onProvider(t, house, unless(), {
    model: { system_prompt: 'Be kind.', output_tokens_max: 50 },
  });
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'one' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 't' },
        { type: 'text', text: 'wo' },
      ],
    },
    { role: 'developer', content: 'In verse.' },
    { role: 'user', content: 'three' },
  ];
  const answer = await complete(house, assistant.id, { messages, max_completion_tokens: 40, max_tokens: 60 });
  t.equal(answer.status, 200);
  const sent = provider.requests.at(-1)!.body;
  t.same(sent.messages, [
    { role: 'system', content: 'Be kind.\n\nBe brief.\n\nIn verse.' },
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two' },
    { role: 'user', content: 'three' },
  ]);
  t.equal(sent.max_tokens ?? sent.max_completion_tokens, 40);
  t.same(
    await transcriptOf(house, answer),
    [
      ['user', 'three', true],
      ['assistant', 'ok', true],
    ],
    'what came before is not stored',
  );
}

async function conversations(t: Test, house: House): Promise<void> {
  const { provider, assistant } = await onProvider(t, house, unless(), {});
  const headers = { 'x-conversation-id': 'thread 7' };
  const earlier = [
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two' },
  ];
  const first = await complete(
    house,
    assistant.id,
    { messages: [{ role: 'system', content: 'Be brief.' }, ...earlier, { role: 'user', content: 'three' }] },
    headers,
  );
  const second = await complete(
    house,
    assistant.id,
    {
      messages: [
        { role: 'user', content: 'other' },
        { role: 'assistant', content: 'other' },
        { role: 'user', content: 'four' },
      ],
    },
    headers,
  );
  t.equal(second.headers.get('x-session-id'), first.headers.get('x-session-id'));
  t.same(await transcriptOf(house, second), [
    ['user', 'one', false],
    ['assistant', 'two', false],
    ['user', 'three', true],
    ['assistant', 'ok', true],
    ['user', 'four', true],
    ['assistant', 'ok', true],
  ]);
  t.same(
    provider.requests.at(-1)!.body.messages.map(({ content }: any) => content),
    ['one', 'two', 'three', 'ok', 'four'],
    'and the system message was of the first alone',
  );
  const { key } = await house.newKey();
  const other = await house.ask('/v1/chat/completions', { key, headers, body: { model: assistant.id, messages: hi } });
  t.not(other.headers.get('x-session-id'), first.headers.get('x-session-id'), "another key's name is another's");
  const id = first.headers.get('x-session-id')!;
  await house.ask(`/sessions/${id}/end`, { method: 'POST' });
  const anew = await Promise.all([0, 1].map(() => complete(house, assistant.id, {}, headers)));
  t.ok(anew.some(({ status }) => status === 200));
  t.ok(anew.every(({ status }) => [200, 409].includes(status)));
  t.not(
    (await complete(house, assistant.id, {}, headers)).headers.get('x-session-id'),
    id,
    'a session that is over is replaced',
  );
  provider.answer = (response) => void response.writeHead(500).end();
  const sessions = async () => (await house.ask('/sessions?limit=1')).json.data[0].id;
  const newest = await sessions();
  for (const bad of [{}, { 'x-conversation-id': 'bad' }])
    t.equal((await complete(house, assistant.id, {}, bad as Record<string, string>)).status, 503);
  t.equal(await sessions(), newest, 'a first request that failed has left no session');
  provider.answer = unless();
  const good = await complete(house, assistant.id, { messages: [...earlier, ...hi] }, { 'x-conversation-id': 'bad' });
  t.equal((await transcriptOf(house, good)).length, 4, 'and the name is free');
}

async function repeats(t: Test, house: House): Promise<void> {
  const { provider, assistant } = await onProvider(t, house, unless(), {});
  for (const conversation of [{}, { 'x-conversation-id': 'repeated' }] as Record<string, string>[]) {
    const headers = { ...conversation, 'idempotency-key': `k${Object.keys(conversation).length}` };
    const before = provider.requests.length;
    const [one, two] = (await Promise.all([0, 1].map(() => complete(house, assistant.id, {}, headers)))) as [
      Answer,
      Answer,
    ];
    const three = await complete(house, assistant.id, { stream: true }, headers);
    t.equal(three.json.error.code, 'invalid_request', 'another body');
    const four = await complete(house, assistant.id, {}, headers);
    t.same(
      [one, two, four].map(({ headers: { get: _ }, status, json }) => [status, json.choices[0].message.content]),
      Array(3).fill([200, 'ok']),
    );
    t.equal(new Set([one, two, four].map((answer) => answer.headers.get('x-turn-id'))).size, 1, 'one turn');
    t.equal(four.headers.get('idempotent-replayed'), 'true');
    t.equal(provider.requests.length - before, 1);
  }
  const headers = { 'idempotency-key': 'after a failure' };
  provider.answer = (response) => void response.writeHead(500).end();
  t.equal((await complete(house, assistant.id, {}, headers)).status, 503);
  provider.answer = unless();
  t.equal((await complete(house, assistant.id, {}, headers)).status, 200, 'a refused request leaves nothing behind');
}

async function functions(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant(synthetic('call=look,tokens=2'));
  const tools = [
    {
      type: 'function',
      function: { name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } },
    },
  ];
  const asked = await complete(house, id, { tools });
  const { message, finish_reason } = asked.json.choices[0];
  t.equal(finish_reason, 'tool_calls');
  t.match(message, {
    content: null,
    tool_calls: [{ id: /^call_/, type: 'function', function: { name: 'look', arguments: '{}' } }],
  });
  const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'seen' };
  const then = await complete(house, id, { tools, messages: [...hi, message, result] });
  t.equal(then.status, 200);
  t.same(
    (await transcriptOf(house, then)).map(([role]: any) => role),
    ['assistant'],
    'no message of the user is stored',
  );
  const { chunks } = chunksOf(await complete(house, id, { tools, stream: true }));
  t.match(chunks.at(-2).choices[0].delta, {
    tool_calls: [{ index: 0, type: 'function', function: { name: 'look', arguments: '{}' } }],
  });
  t.equal(chunks.at(-1).choices[0].finish_reason, 'tool_calls');
  t.equal((await complete(house, id, { tools, tool_choice: 'none' })).json.choices[0].finish_reason, 'stop');

  const headers = { 'x-conversation-id': 'with calls' };
  const named = await complete(house, id, { tools }, headers);
  const callId = named.json.choices[0].message.tool_calls[0].id;
  const answer = (tool_call_id: string) =>
    complete(
      house,
      id,
      {
        tools,
        messages: [
          ...hi,
          { role: 'assistant', tool_calls: [{ id: tool_call_id, function: { name: 'look', arguments: '{}' } }] },
          { role: 'tool', tool_call_id, content: 'seen' },
        ],
      },
      headers,
    );
  const wrong = await answer('call_of_nobody');
  t.same([wrong.status, wrong.json.error.param], [400, 'messages']);
  const right = await answer(callId);
  t.equal(right.headers.get('x-session-id'), named.headers.get('x-session-id'));
  t.match((await house.ask(`/sessions/${right.headers.get('x-session-id')}/transcript`)).json.data[1].tool_calls, [
    { id: callId, status: 'completed' },
  ]);
  const unknown = await complete(
    house,
    id,
    { tools, messages: [...hi, message, result] },
    { 'x-conversation-id': 'unknown' },
  );
  t.same([unknown.status, unknown.json.error.param], [400, 'messages'], 'in a new conversation no call waits');

  const tool = (
    await house.console(`/workspaces/${house.workspaceId}/tools`, {
      body: {
        kind: 'client',
        name: 'Own',
        functions: [{ name: 'look', description: null, parameters: { type: 'object' } }],
      },
    })
  ).json;
  const own = await house.assistant({ ...synthetic('call=look,tokens=2'), tool_ids: [tool.id] });
  t.equal((await complete(house, own.id, { tools })).json.error.param, 'tools', "a name of the assistant's");
  t.equal(
    (await complete(house, own.id)).json.choices[0].finish_reason,
    'stop',
    "and the assistant's own that wait for the caller are not offered",
  );
}

async function leaving(t: Test, house: House): Promise<void> {
  const { id: begun } = await house.assistant(synthetic('tokens=2,hang_at=2'));
  const { id: silent } = await house.assistant(synthetic('hang_at=0'));
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
  const cases: [path: string, model: string, body: object][] = [];
  for (const model of [begun, silent]) {
    for (const stream of [true, false]) {
      cases.push(['/v1/chat/completions', model, { model, messages: hi, stream }]);
      cases.push(['/v1/responses', model, { model, input: 'Hi', stream, store: false }]);
    }
    cases.push(['/mcp', model, { ...call, params: { name: `ask_${model}`, arguments: { message: 'Hi' } } }]);
  }
  for (const [path, model, body] of cases) {
    const leave = new AbortController();
    const before = (await house.ask('/sessions?limit=1')).json.data[0]?.id;
    const asked = fetch(house.url + path, {
      method: 'POST',
      signal: leave.signal,
      headers: {
        authorization: `Bearer ${house.key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify(body),
    }).catch(() => null);
    let session: any;
    t.ok(
      await until(
        async () =>
          (session = (await house.ask('/sessions?limit=1')).json.data[0])?.id !== before &&
          session.active_turn_id !== null,
      ),
    );
    if (model === begun && 'stream' in body && body.stream) await asked;
    leave.abort();
    await asked;
    const last = async () => (await house.ask(`/sessions/${session.id}/transcript`)).json.data.at(-1);
    const about = `${path} ${JSON.stringify(body)}`;
    t.ok(await until(async () => (await last())?.stop_reason === 'aborted'), about);
    if (path !== '/mcp')
      t.ok(await until(async () => (await house.ask(`/sessions/${session.id}`)).json.status === 'ended'), about);
  }
}

async function speech(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant({ channels: { voice: true }, voice: { provider: 'synthetic' } });
  const speak = (body: object, key = house.key) =>
    house.ask('/v1/audio/speech', { key, body: { model: id, input: 'Hello there.', ...body } });
  t.equal((await speak({})).headers.get('content-type'), 'audio/mpeg');
  t.equal((await speak({ response_format: 'wav', speed: 1.5 })).headers.get('content-type'), 'audio/wav');
  const { key } = await house.newKey({ limits: { speech: 7 } });
  t.equal((await speak({}, key)).headers.get('x-ratelimit-limit-requests'), '7', 'the budget of speech');
  const cases: [object, string][] = [
    [{ input: '' }, 'input'],
    [{ input: '...' }, 'input'],
    [{ input: 'x'.repeat(1001) }, 'input'],
    [{ response_format: 'flac' }, 'response_format'],
    [{ voice: 'nobody' }, 'voice'],
    [{ speed: 9 }, 'speed'],
    [{ model: 'nobody' }, 'model'],
  ];
  for (const [body, param] of cases) t.equal((await speak(body)).json.error.param, param, JSON.stringify(body));
}

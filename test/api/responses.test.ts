/** Responses of OpenAI's API (contract 14), in the shapes of Open Responses of 2026-04-24. */
import { Ajv } from 'ajv';
import t, { type Test } from 'tap';
import { delta, done, eventStream } from '../providers/model/provider.ts';
import { unless } from '../providers/model/strict.ts';
import { type Answer, edge, type House, openWorkspace } from './house.ts';
import { responseSchema } from './open-responses.ts';
import { onProvider, until } from './talk.ts';

const synthetic = (name: string) => ({ model: { provider: 'synthetic', name } });
const fits = new Ajv({ strict: false }).compile(responseSchema);

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('an answer, whole and streamed', (t) => answers(t, house));
  await t.test('a response continues the session of an earlier one', (t) => going(t, house));
  await t.test('a response that is not stored has a session of its own', (t) => alone(t, house));
  await t.test("the caller's own functions", (t) => functions(t, house));
  await t.test('a request under an Idempotency-Key', (t) => repeats(t, house));
  await t.test("responses that /v1 refuses get OpenAI's error shape", (t) => refused(t, house));
  await t.test('a response that is cut, and one that fails', (t) => ended(t, house));
  await t.test('a session is found by its id alone', (t) => found(t, house));
});

const respond = (house: House, model: string, body: object = {}, key = house.key) =>
  house.ask('/v1/responses', { key, body: { model, input: 'Hi', ...body } });
const get = (house: House, id: string, key = house.key) => house.ask(`/v1/responses/${id}`, { key });

function eventsOf({ text, headers }: Answer): any[] {
  if (headers.get('content-type') !== 'text/event-stream') throw new Error(text);
  const frames = text.split('\n\n').filter((frame) => frame !== '' && !frame.startsWith(':'));
  if (frames.pop() !== 'data: [DONE]') throw new Error('no [DONE]');
  return frames.map((frame, index) => {
    const [first, second, ...more] = frame.split('\n') as [string, string];
    const data = JSON.parse(second.slice('data: '.length));
    if (first !== `event: ${data.type}` || data.sequence_number !== index || more.length > 0) throw new Error(frame);
    return data;
  });
}

function isResponse(t: Test, response: unknown, about: string): void {
  t.ok(fits(response), `${about}: ${JSON.stringify(fits.errors)}`);
}

async function answers(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant({
    greeting: 'Welcome.',
    model: { provider: 'synthetic', name: 'tokens=3', temperature: 0.4 },
  });
  const { status, headers, json } = await respond(house, id, {
    max_output_tokens: 50,
    instructions: 'Be brief.',
    metadata: { a: 'b' },
    include: ['reasoning.encrypted_content'],
    text: { format: { type: 'text' } },
  });
  t.equal(status, 200);
  isResponse(t, json, 'whole');
  const message = {
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'word word word ', annotations: [] }],
  };
  t.match(json, {
    id: `resp_${headers.get('x-turn-id')!.slice('turn_'.length)}`,
    object: 'response',
    status: 'completed',
    model: id,
    instructions: 'Be brief.',
    output: [message],
    error: null,
    temperature: 0.4,
    store: true,
    max_output_tokens: 50,
  });
  t.same(json.conversation, { id: headers.get('x-session-id') });
  t.equal(json.usage.total_tokens, json.usage.input_tokens + json.usage.output_tokens);
  t.equal((await house.ask(`/sessions/${json.conversation.id}`)).json.status, 'open');
  const again = await get(house, json.id);
  isResponse(t, again.json, 'fetched');
  t.match(again.json, { id: json.id, status: 'completed', model: id, output: json.output, usage: json.usage });
  t.ok(again.json.created_at <= json.created_at, 'created before it is answered');

  const echoed = { metadata: { order: 'A7 👋' }, safety_identifier: 'person-1', prompt_cache_key: 'p', user: 'u' };
  const named = (await respond(house, id, echoed)).json;
  isResponse(t, named, 'with fields that it tells again');
  t.match(named, echoed);
  t.match((await get(house, named.id)).json, echoed, 'fetched too');
  const followed = eventsOf(await respond(house, id, { ...echoed, stream: true }));
  t.match([followed[0].response, followed.at(-1).response], [echoed, echoed], 'streamed too');
  const without = { metadata: {}, safety_identifier: null, prompt_cache_key: null, user: null };
  t.match((await respond(house, id, { metadata: null, safety_identifier: null, user: null })).json, without);
  t.match((await respond(house, id, { metadata: { order: 7 } })).json.error, { param: 'metadata.order' });

  const events = eventsOf(
    await respond(house, id, {
      stream: true,
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
    }),
  );
  const deltas = events.filter(({ type }) => type === 'response.output_text.delta');
  t.same(
    events.map(({ type }) => type).filter((type) => type !== 'response.output_text.delta'),
    [
      ...['response.created', 'response.in_progress', 'response.output_item.added', 'response.content_part.added'],
      ...['response.output_text.done', 'response.content_part.done', 'response.output_item.done', 'response.completed'],
    ],
  );
  t.equal(deltas.map(({ delta }) => delta).join(''), 'word word word ');
  for (const { type, response } of events) if (response !== undefined) isResponse(t, response, type);
  t.same([events[0].response.status, events[0].response.output], ['in_progress', []]);
  const { response } = events.at(-1);
  t.same(events.find(({ type }) => type === 'response.output_item.done').item, response.output[0]);
  t.equal(new Set([...deltas.map(({ item_id: item }) => item), response.output[0].id]).size, 1);
  t.same((await get(house, response.id)).json.output, response.output);
}

async function going(t: Test, house: House): Promise<void> {
  const { provider, assistant } = await onProvider(t, house, unless(), { model: { system_prompt: 'Be kind.' } });
  const history = [
    { role: 'developer', content: 'In verse.' },
    { role: 'user', content: 'one' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'two' }] },
  ];
  const first = (
    await respond(house, assistant.id, {
      instructions: 'Be brief.',
      input: [...history, { role: 'user', content: 'three' }],
    })
  ).json;
  const sent = () => provider.requests.at(-1)!.body.messages.map(({ content }: any) => content);
  t.same(sent(), ['Be kind.\n\nBe brief.\n\nIn verse.', 'one', 'two', 'three']);
  const second = (await respond(house, assistant.id, { previous_response_id: first.id, input: 'four' })).json;
  t.same(sent(), ['Be kind.', 'one', 'two', 'three', 'ok', 'four'], 'what came before is stored, instructions are not');
  t.same([second.previous_response_id, second.conversation], [first.id, first.conversation]);
  t.equal((await get(house, second.id)).json.previous_response_id, first.id);
  const branched = await respond(house, assistant.id, { previous_response_id: first.id });
  t.same([branched.status, branched.json.error.param], [400, 'previous_response_id'], 'only the latest goes on');
  const third = (
    await respond(house, assistant.id, {
      conversation: first.conversation,
      input: [
        { role: 'assistant', content: 'ignored' },
        { role: 'user', content: 'five' },
        { role: 'user', content: 'six' },
      ],
    })
  ).json;
  t.equal(sent().at(-1), 'five\n\nsix', 'all that the user says anew');
  t.same(third.conversation, first.conversation);
  t.equal((await respond(house, assistant.id, { conversation: first.conversation.id })).status, 200);
  const other = await house.assistant({});
  t.equal(
    (await respond(house, other.id, { conversation: first.conversation })).json.error.param,
    'model',
    "another assistant's session",
  );
  t.same((await house.ask(`/v1/responses/${third.id}`, { method: 'DELETE' })).json, {
    id: third.id,
    object: 'response',
    deleted: true,
  });
  t.equal((await get(house, third.id)).status, 200, 'it can still be read');
  t.equal((await respond(house, assistant.id, { conversation: first.conversation })).json.error.code, 'session_ended');
}

async function alone(t: Test, house: House): Promise<void> {
  const { provider, assistant } = await onProvider(t, house, unless(), {});
  const { json } = await respond(house, assistant.id, {
    store: false,
    input: [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'three' },
    ],
  });
  t.same(
    provider.requests.at(-1)!.body.messages.map(({ content }: any) => content),
    ['one', 'two', 'three'],
  );
  t.equal(json.store, false);
  t.equal((await house.ask(`/sessions/${json.conversation.id}`)).json.status, 'ended');
  t.equal(
    (await house.ask(`/sessions/${json.conversation.id}/transcript`)).json.data.length,
    2,
    'what came before is not stored',
  );
  t.same([(await get(house, json.id)).json.status, (await get(house, json.id)).json.store], ['completed', false]);
  const after = await respond(house, assistant.id, { previous_response_id: json.id });
  t.same([after.status, after.json.error.code], [409, 'session_ended']);
  t.equal(
    (await respond(house, assistant.id, { store: false, conversation: json.conversation })).json.error.param,
    'store',
  );
}

async function functions(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant(synthetic('call=look,tokens=2'));
  const tools = [
    {
      type: 'function',
      name: 'look',
      description: 'Looks.',
      parameters: { type: 'object', properties: {} },
      strict: true,
    },
  ];
  const asked = (await respond(house, id, { tools })).json;
  isResponse(t, asked, 'with a call');
  const [call] = asked.output;
  t.match(call, { type: 'function_call', call_id: /^call_/, name: 'look', arguments: '{}', status: 'completed' });
  const result = { type: 'function_call_output', call_id: call.call_id, output: 'seen' };
  const wrong = await respond(house, id, {
    tools,
    previous_response_id: asked.id,
    input: [{ ...result, call_id: 'call_of_nobody' }],
  });
  t.same([wrong.status, wrong.json.error.param], [400, 'input']);
  const then = (
    await respond(house, id, {
      tools,
      previous_response_id: asked.id,
      input: [{ ...result, output: 'x'.repeat(16_001) }],
    })
  ).json;
  t.same(
    [then.status, then.conversation],
    ['completed', asked.conversation],
    'an output over the bound of a chat is cut',
  );
  const whole = (await respond(house, id, { tools, input: [{ role: 'user', content: 'Hi' }, call, result] })).json;
  t.equal(whole.status, 'completed', 'with the whole history');
  t.not(whole.conversation.id, asked.conversation.id);
  const events = eventsOf(await respond(house, id, { tools, stream: true }));
  t.same(
    events.map(({ type }) => type).slice(2),
    [
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ].map((type) => `response.${type}`),
  );
  t.equal((await respond(house, id, { tools, tool_choice: 'none' })).json.tool_choice, 'none');
  const { provider, assistant } = await onProvider(t, house, unless(), {});
  provider.answer = (response) => {
    const called = { tool_calls: [{ index: 0, id: 'c', function: { name: 'look', arguments: '{}' } }] };
    response
      .writeHead(200, eventStream)
      .end(
        `${delta('Let me look.')}data: ${JSON.stringify({ choices: [{ delta: called, finish_reason: 'tool_calls' }] })}\n\n${done}`,
      );
  };
  const both = eventsOf(await respond(house, assistant.id, { tools, stream: true })).at(-1).response;
  t.match(
    both.output,
    [
      { type: 'message', content: [{ text: 'Let me look.' }] },
      { type: 'function_call', name: 'look' },
    ],
    'words before a call, numbered in the order in which they are sent',
  );
}

async function repeats(t: Test, house: House): Promise<void> {
  const { provider, assistant } = await onProvider(t, house, unless(), {});
  const under = (key: string, body: object = {}) =>
    house.ask('/v1/responses', {
      headers: { 'idempotency-key': key },
      body: { model: assistant.id, input: 'Hi', ...body },
    });
  const same = async (key: string, body: object): Promise<Answer> => {
    const before = provider.requests.length;
    const [one, two] = (await Promise.all([0, 1].map(() => under(key, body)))) as [Answer, Answer];
    const again = await under(key, body);
    t.same(
      [one, two, again].map(({ status, json }) => [status, json.output[0].content[0].text]),
      Array(3).fill([200, 'ok']),
      key,
    );
    t.equal(new Set([one, two, again].map(({ json }) => json.id)).size, 1, 'one response');
    t.equal(again.headers.get('idempotent-replayed'), 'true');
    const kept = (await get(house, again.json.id)).json;
    t.same(
      [again.json.created_at, again.json.completed_at],
      [kept.created_at, kept.completed_at],
      'the times of the turn',
    );
    t.equal(provider.requests.length - before, 1);
    return again;
  };
  const first = (await same('new', {})).json;
  const [previous, conversation] = [
    { previous_response_id: first.id, input: 'more' },
    { conversation: first.conversation.id, input: 'and more' },
  ];
  const second = (await same('previous', previous)).json;
  const third = (await same('conversation', conversation)).json;
  t.same([second.conversation, third.conversation], [first.conversation, first.conversation]);
  t.same(
    [(await under('new')).json.id, (await under('previous', previous)).json.id],
    [first.id, second.id],
    'also once the session has gone on',
  );
  t.equal((await get(house, second.id)).json.previous_response_id, first.id);
  const alone = (await same('not stored', { store: false })).json;
  t.equal((await get(house, alone.id)).json.store, false);
  for (const [key, body] of [
    ['new', { input: 'other' }],
    ['new', conversation],
    ['previous', {}],
  ] as const) {
    const other = await under(key, body);
    t.match([other.status, other.json.error.message], [400, /Idempotency-Key/], `${key} with another body`);
  }
  const streamed = [await under('streamed', { stream: true }), await under('streamed', { stream: true })].map(
    (answer) => eventsOf(answer).at(-1).response.id,
  );
  t.equal(streamed[0], streamed[1]);
  provider.answer = (response) => void response.writeHead(500).end();
  for (const body of [{}, { conversation: first.conversation.id }])
    t.equal((await under('after a failure', body)).status, 503);
  provider.answer = unless();
  t.equal(
    (await under('after a failure', { conversation: first.conversation.id })).status,
    200,
    'a refused request leaves nothing behind',
  );
}

async function refused(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant(synthetic('tokens=1'));
  const call = { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' };
  const cases: [object, string][] = [
    [{ input: [] }, 'input'],
    [{ input: '' }, 'input'],
    [{ input: 'a\ud800' }, 'input'],
    [{ input: [{ role: 'user', content: [{ type: 'input_text', text: '\udc00' }] }] }, 'input[0].content'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] }, 'input[0].content[0]'],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input[0]'],
    [{ input: [{ role: 'robot', content: 'Hi' }] }, 'input[0].role'],
    [{ input: [{ type: 'function_call_output', call_id: 'c', output: '' }] }, 'input'],
    [{ input: [{ role: 'user', content: 'Hi' }, call] }, 'input'],
    [{ background: true }, 'background'],
    [{ text: { format: { type: 'json_schema' } } }, 'text.format.schema'],
    [{ top_logprobs: 3 }, 'top_logprobs'],
    [{ tools: [{ type: 'web_search' }] }, 'tools'],
    [{ tool_choice: 'required' }, 'tool_choice'],
    [{ previous_response_id: 'resp_nobody' }, 'previous_response_id'],
    [{ previous_response_id: 'resp_nobody', conversation: 'ses_nobody' }, 'previous_response_id'],
    [{ max_output_tokens: 'many' }, 'max_output_tokens'],
  ];
  for (const [body, param] of cases) {
    const { status, json } = await respond(house, id, body);
    t.same([status, json.error.param, json.error.code], [400, param, 'invalid_request'], JSON.stringify(body));
  }
  t.equal((await respond(house, id, { conversation: 'ses_nobody' })).json.error.code, 'session_not_found');
  t.equal((await respond(house, 'nobody')).json.error.code, 'model_not_found');
}

async function ended(t: Test, house: House): Promise<void> {
  const { id: hangs } = await house.assistant(synthetic('tokens=3,hang_at=2'));
  const streaming = respond(house, hangs, { stream: true });
  let session: any;
  t.ok(
    await until(
      async () => (session = (await house.ask(`/sessions?limit=1&assistant_id=${hangs}`)).json.data[0])?.active_turn_id,
    ),
  );
  const streamed = async () => (await get(house, session.active_turn_id.replace('turn_', 'resp_'))).json;
  t.ok(await until(async () => (await streamed()).output.length > 0));
  t.equal((await streamed()).status, 'in_progress');
  await house.ask(`/sessions/${session.id}/turns/${session.active_turn_id}/abort`, { method: 'POST' });
  const events = eventsOf(await streaming);
  t.equal(events.at(-1).type, 'response.incomplete');
  isResponse(t, events.at(-1).response, 'cancelled');
  t.match(events.at(-1).response, { status: 'cancelled', output: [{ status: 'incomplete' }], usage: null });
  const { id } = await house.assistant(synthetic('tokens=5,fail_at=2'));
  const whole = await respond(house, id);
  t.same(
    [whole.status, whole.json.error.code, whole.headers.has('x-session-id')],
    [503, 'assistant_unavailable', true],
  );
  const failed = eventsOf(await respond(house, id, { stream: true })).at(-1);
  t.equal(failed.type, 'response.failed');
  isResponse(t, failed.response, 'failed');
  t.match(failed.response, {
    status: 'failed',
    error: { code: 'assistant_unavailable', message: 'The assistant cannot answer at the moment.' },
  });
  t.equal((await get(house, failed.response.id)).json.status, 'failed');
}

async function found(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant({});
  const { json } = await respond(house, id);
  const chat = await house.ask('/v1/chat/completions', {
    body: { model: id, messages: [{ role: 'user', content: 'Hi' }] },
  });
  const { key } = await house.newKey({ assistant_ids: [] });
  for (const method of ['GET', 'DELETE']) {
    for (const unknown of [
      'resp_nobody',
      json.id.slice(0, -1),
      `resp_${chat.headers.get('x-turn-id')!.slice('turn_'.length)}`,
      chat.headers.get('x-turn-id')!,
    ]) {
      const answer = await house.ask(`/v1/responses/${unknown}`, { method });
      t.same([answer.status, answer.json.error.code], [404, 'turn_not_found'], `${method} ${unknown}`);
    }
    t.equal((await house.ask(`/v1/responses/${json.id}`, { method, key })).json.error.code, 'assistant_not_permitted');
  }
}

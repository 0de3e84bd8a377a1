/** `openai`, with nothing changed but URL, key and model (contract 14). */
import OpenAI, { APIError, APIUserAbortError, type ClientOptions } from 'openai';
import type { Test } from 'tap';
import { houseAt, type House } from '../api/house.ts';
import { abort, activeTurn, sessionOf, synthetic, transcriptOf, until } from '../api/talk.ts';

export const openaiAt = (house: House, options: ClientOptions = {}): OpenAI =>
  new OpenAI({ baseURL: `${house.url}/v1`, apiKey: house.key, ...options });

export const hi = [{ role: 'user' as const, content: 'Hi' }];
export const look = {
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
};

/** The last session of the assistant. */
export async function lastSession(house: House, assistantId: string): Promise<any> {
  return until(async () => (await house.ask(`/sessions?limit=1&assistant_id=${assistantId}`)).json.data[0]);
}
const lastMessage = async (house: House, assistantId: string): Promise<any> =>
  (await transcriptOf(house, (await lastSession(house, assistantId)).id)).at(-1);

export async function chats(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'tokens=400,unicode=1', { alias: 'openai.chat' });
  const client = openaiAt(house);
  const { data: whole, response } = await client.chat.completions
    .create({ model: 'openai.chat', messages: hi })
    .withResponse();
  const stored = (await transcriptOf(house, response.headers.get('x-session-id')!)).at(-1);
  t.equal(whole.choices[0]!.message.content, stored.content);
  t.equal(whole.choices[0]!.finish_reason, 'stop');
  t.equal(whole.usage!.completion_tokens, 400);

  let [text, usage, chunks] = ['', null as unknown, 0];
  for await (const chunk of await client.chat.completions.create({
    model: id,
    messages: hi,
    stream: true,
    stream_options: { include_usage: true },
  })) {
    chunks++;
    text += chunk.choices[0]?.delta.content ?? '';
    usage = chunk.usage ?? usage;
  }
  t.ok(chunks > 3);
  t.equal(text, (await lastMessage(house, id)).content);
  t.match(usage, { completion_tokens: 400 });
  const helper = client.chat.completions.stream({ model: id, messages: hi });
  t.equal(
    (await helper.finalChatCompletion()).choices[0]!.message.content,
    (await lastMessage(house, id)).content,
    'through its own helper',
  );

  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  t.ok(models.includes('openai.chat'));
  t.match(await client.models.retrieve(id), { id: 'openai.chat', owned_by: 'parley' });
}

export async function tools(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'call=look,calls=2,tokens=3');
  const client = openaiAt(house);
  for (const stream of [false, true]) {
    const asked: string[] = [];
    const run = {
      type: 'function' as const,
      function: {
        ...look,
        parse: (given: string) => JSON.parse(given),
        function: ({ order }: { order: string }) => (asked.push(order), 'seen'),
      },
    };
    const runner = stream
      ? client.chat.completions.runTools({ model: id, messages: hi, tools: [run], stream: true })
      : client.chat.completions.runTools({ model: id, messages: hi, tools: [run] });
    t.equal(await runner.finalContent(), 'word word word ', `streamed: ${stream}`);
    t.same(asked, ['word', 'word'], 'each call once');
    t.same(
      runner.messages.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'tool', 'assistant'],
    );
  }
}

export async function conversations(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'tokens=3');
  const client = openaiAt(house, { defaultHeaders: { 'X-Conversation-Id': 'openai 1' } });
  const first = await client.chat.completions.create({ model: id, messages: hi }).withResponse();
  const second = await client.chat.completions
    .create({ model: id, messages: [...hi, first.data.choices[0]!.message, { role: 'user', content: 'More' }] })
    .withResponse();
  const session = second.response.headers.get('x-session-id')!;
  t.equal(session, first.response.headers.get('x-session-id'));
  t.same(
    (await transcriptOf(house, session)).map(({ content }) => content),
    ['Hi', 'word word word ', 'More', 'word word word '],
  );

  const idempotencyKey = 'openai once';
  const create = () =>
    openaiAt(house).chat.completions.create(
      { model: id, messages: hi },
      { headers: { 'Idempotency-Key': idempotencyKey } },
    );
  t.equal((await create()).id, (await create()).id, 'a repeat under its key is the same turn');
}

export async function speech(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant({ channels: { voice: true }, voice: { provider: 'synthetic' } });
  const [{ id: voice }] = (await house.ask(`/voices?assistant_id=${id}`)).json.data;
  const answer = await openaiAt(house).audio.speech.create({
    model: id,
    voice,
    input: 'Hello there.',
    response_format: 'wav',
  });
  t.equal(
    Buffer.from(await answer.arrayBuffer())
      .subarray(0, 4)
      .toString(),
    'RIFF',
  );
}

/** A reply that is cut in the middle, each way: what was read is what is stored. */
export async function cuts(t: Test, server: House): Promise<void> {
  const house = await houseAt(server, { workspace: 'new' });
  t.equal(
    (await house.console(`/workspaces/${house.workspaceId}`, { method: 'PATCH', body: { turns_in_flight_max: 1 } }))
      .status,
    200,
  );
  const { id } = await synthetic(house, 'tokens=3,hang_at=2');
  const quick = await synthetic(house, 'tokens=1');
  const client = openaiAt(house, { maxRetries: 0 });
  const stored = async () =>
    until(async () => (await lastMessage(house, id)).stop_reason === 'aborted' && lastMessage(house, id));
  const free = () => until(() => client.chat.completions.create({ model: quick.id, messages: hi }).catch(() => null));

  const left = await client.chat.completions.create({ model: id, messages: hi, stream: true });
  let text = '';
  for await (const { choices } of left) {
    text += choices[0]?.delta.content ?? '';
    if (text !== '') break;
  }
  t.equal(left.controller.signal.aborted, true, 'to leave the loop aborts');
  t.ok((await stored()).content.startsWith(text));
  t.ok(await free(), 'the slot is free');
  t.ok(await until(async () => (await lastSession(house, id)).status === 'ended'));

  const waiting = new AbortController();
  const before = (await lastSession(house, id)).id;
  const asked = client.chat.completions.create({ model: id, messages: hi }, { signal: waiting.signal });
  const begun = await until(async () => ((found) => found.id !== before && found)(await lastSession(house, id)));
  await activeTurn(house, begun.id);
  waiting.abort();
  t.ok((await asked.catch((error: unknown) => error)) instanceof APIUserAbortError);
  t.equal((await stored()).status, 'partial', 'an answer that is waited for as well');
  t.ok(await free());

  const stream = await client.chat.completions.create({ model: id, messages: hi, stream: true });
  let [read, finish] = ['', null as string | null];
  for await (const { choices } of stream) {
    read += choices[0]?.delta.content ?? '';
    finish = choices[0]?.finish_reason ?? finish;
    if (read === 'word word ') {
      const session = await lastSession(house, id);
      if (session.active_turn_id !== null) await abort(house, session.id, session.active_turn_id);
    }
  }
  t.same([finish, read], ['stop', (await lastMessage(house, id)).content], 'aborted by somebody else');

  const fails = await synthetic(house, 'tokens=5,fail_at=2');
  read = '';
  const failed = (async () => {
    for await (const { choices } of await client.chat.completions.create({
      model: fails.id,
      messages: hi,
      stream: true,
    }))
      read += choices[0]?.delta.content ?? '';
  })();
  const error = await failed.catch((thrown: unknown) => thrown);
  t.ok(error instanceof APIError);
  t.match(error, {
    code: 'assistant_unavailable',
    type: 'service_unavailable',
    param: null,
    message: 'The assistant cannot answer at the moment.',
  });
  t.equal(read, (await lastMessage(house, fails.id)).content);
}

export async function responses(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'tokens=3');
  const client = openaiAt(house);
  const first = await client.responses.create({ model: id, input: 'Hi' });
  t.match([first.status, first.output_text, first.usage?.output_tokens], ['completed', 'word word word ', 3]);
  const stream = client.responses.stream({ model: id, input: 'More', previous_response_id: first.id });
  let text = '';
  stream.on('response.output_text.delta', ({ delta }) => void (text += delta));
  const second = await stream.finalResponse();
  t.match([second.previous_response_id, second.output_text, text], [first.id, 'word word word ', 'word word word ']);
  t.match((await client.responses.retrieve(second.id)).output, second.output);
  const third = await client.responses.create({
    model: id,
    input: [...(second.output as OpenAI.Responses.ResponseInputItem[]), { role: 'user', content: 'Again' }],
    conversation: second.conversation!.id,
  });
  t.equal((await transcriptOf(house, third.conversation!.id)).length, 6);
  await client.responses.delete(third.id);
  t.equal((await sessionOf(house, third.conversation!.id)).status, 'ended');

  const calls = await synthetic(house, 'call=look,tokens=3');
  const offered = [{ type: 'function' as const, ...look, strict: false }];
  const asked = await client.responses.create({ model: calls.id, input: 'Hi', tools: offered });
  const [call] = asked.output;
  if (call?.type !== 'function_call') throw new Error('no call');
  const answered = await client.responses.create({
    model: calls.id,
    previous_response_id: asked.id,
    tools: offered,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: 'seen' }],
  });
  t.equal(answered.output_text, 'word word word ');

  const fails = await synthetic(house, 'tokens=5,fail_at=2');
  const events = [];
  for await (const event of await client.responses.create({ model: fails.id, input: 'Hi', stream: true }))
    events.push(event);
  t.match(events.at(-1), { type: 'response.failed', response: { error: { code: 'assistant_unavailable' } } });
}

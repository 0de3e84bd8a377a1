/**
 * Replies and calls that a provider has cut (contract 7, 13 and 14): what a client learns about them, and which calls
 * are sent.
 */
import type { ServerResponse } from 'node:http';
import t, { type Test } from 'tap';
import { data, delta, done, eventStream, type Provider } from '../providers/model/provider.ts';
import { openWorkspace, type House, type StreamEvent } from './house.ts';
import { onProvider, say, transcriptOf } from './talk.ts';
import { countingTool } from './counting-tool.ts';

const event = (type: string, fields: object): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

/** A reply with this finish, in the dialect of each kind of provider. */
const replies = {
  openai: (finish: string) =>
    delta('Once upon ') +
    delta('a time', finish) +
    data({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } }) +
    done,
  anthropic: (finish: string) =>
    event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Once upon a time' } }) +
    event('message_delta', { delta: { stop_reason: finish }, usage: { input_tokens: 3, output_tokens: 4 } }) +
    event('message_stop', {}),
} as const;
type Kind = keyof typeof replies;

const answering =
  (text: string): Provider['answer'] =>
  (response: ServerResponse) =>
    void response.writeHead(200, eventStream).end(text);

/** The reason of a provider, and its form in each API. */
const reasons: readonly (readonly [
  kind: Kind,
  finish: string,
  own: string,
  completion: string,
  incomplete: string | null,
])[] = [
  ['openai', 'stop', 'end', 'stop', null],
  ['openai', 'length', 'length', 'length', 'max_output_tokens'],
  ['openai', 'model_length', 'length', 'length', 'max_output_tokens'],
  ['openai', 'MAX_TOKENS', 'length', 'length', 'max_output_tokens'],
  ['openai', 'content_filter', 'end', 'content_filter', 'content_filter'],
  ['openai', 'content_filter: RECITATION', 'end', 'content_filter', 'content_filter'],
  ['openai', 'SAFETY', 'end', 'content_filter', 'content_filter'],
  ['anthropic', 'end_turn', 'end', 'stop', null],
  ['anthropic', 'max_tokens', 'length', 'length', 'max_output_tokens'],
  ['anthropic', 'model_context_window_exceeded', 'length', 'length', 'max_output_tokens'],
  ['anthropic', 'refusal', 'end', 'content_filter', 'content_filter'],
];

for (const [kind, finish, own, completion, incomplete] of reasons) {
  t.test(`${kind}: a reply that ends by ${finish} is told as such on every API`, async (t) => {
    const house = await openWorkspace();
    const { assistant } = await onProvider(t, house, answering(replies[kind](finish)), { kind });
    await toldOnOurs(t, house, assistant.id, own);
    await toldOnCompletions(t, house, assistant.id, completion);
    await toldOnResponses(t, house, assistant.id, incomplete);
  });
}

async function toldOnOurs(t: Test, house: House, assistantId: string, reason: string): Promise<void> {
  const { id } = await house.session(assistantId);
  const stream = await say(house, id);
  const ended = (await stream.rest()).at(-1)!;
  t.match(
    [ended.event, ended.data],
    ['turn.completed', { stop_reason: reason, usage: { input_tokens: 3, output_tokens: 4 } }],
  );
  t.match((await transcriptOf(house, id)).at(-1), {
    status: 'completed',
    stop_reason: reason,
    content: 'Once upon a time',
  });
  const again = await house.stream(`/sessions/${id}/turns/${stream.turnId}/events`, { key: house.key });
  t.same((await again.rest()).at(-1), ended, 'also when it is read again');
}

async function toldOnCompletions(t: Test, house: House, model: string, reason: string): Promise<void> {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }] };
  t.match((await house.ask('/v1/chat/completions', { key: house.key, body })).json.choices[0], {
    finish_reason: reason,
    message: { content: 'Once upon a time' },
  });
  const { text } = await house.ask('/v1/chat/completions', { key: house.key, body: { ...body, stream: true } });
  t.same(
    [...text.matchAll(/"finish_reason":"(\w+)"/g)].map(([, found]) => found),
    [reason],
  );
}

async function toldOnResponses(t: Test, house: House, model: string, incomplete: string | null): Promise<void> {
  const status = incomplete === null ? 'completed' : 'incomplete';
  const expected = {
    status,
    incomplete_details: incomplete && { reason: incomplete },
    output: [{ status, content: [{ text: 'Once upon a time' }] }],
  };
  const whole = (await house.ask('/v1/responses', { key: house.key, body: { model, input: 'Hello' } })).json;
  t.match(whole, { ...expected, completed_at: incomplete === null ? Number : null });
  t.match((await house.ask(`/v1/responses/${whole.id}`, { key: house.key })).json, expected);
  const { text } = await house.ask('/v1/responses', { key: house.key, body: { model, input: 'Hello', stream: true } });
  const last = JSON.parse(/data: (.*)\n\ndata: \[DONE\]\n\n$/.exec(text)![1]!);
  t.match(last, { type: `response.${status}`, response: expected });
}

const call = (index: number, given: string): string =>
  data({
    choices: [{ delta: { tool_calls: [{ index, id: `c${index}`, function: { name: 'act', arguments: given } }] } }],
  });
const block = (index: number, given: string): string =>
  event('content_block_start', {
    index,
    content_block: { type: 'tool_use', id: `toolu_${index}`, name: 'act', input: {} },
  }) + event('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json: given } });

/** A round of calls with these arguments that ends in this way. */
const rounds: Readonly<Record<Kind, (given: readonly string[], finish: string) => string>> = {
  openai: (given, finish) => given.map((text, index) => call(index, text)).join('') + delta('', finish) + done,
  anthropic: (given, finish) =>
    given.map((text, index) => block(index, text)).join('') +
    event('message_delta', { delta: { stop_reason: finish } }) +
    event('message_stop', {}),
};

const isAnswered = (body: any): boolean =>
  body.messages.at(-1).role === 'tool' ||
  (Array.isArray(body.messages.at(-1).content) &&
    body.messages.at(-1).content.some(({ type }: any) => type === 'tool_result'));
const resultsIn = (body: any): string[] =>
  body.messages.flatMap(({ role, content }: any) =>
    role === 'tool'
      ? [content]
      : Array.isArray(content)
        ? content.filter(({ type }: any) => type === 'tool_result').map((each: any) => each.content)
        : [],
  );

/** One chat whose model calls `act` in a round that ends in this way, and what became of the calls. */
async function called(t: Test, kind: Kind, given: readonly string[], finish: string) {
  const house = await openWorkspace();
  const tool = await countingTool(t, house, {
    functions: [{ name: 'act', parameters: { type: 'object', properties: { a: { type: 'number' } } } }],
  });
  const { provider, assistant } = await onProvider(
    t,
    house,
    (response, { body }) => {
      const finished = kind === 'openai' ? 'stop' : 'end_turn';
      response
        .writeHead(200, eventStream)
        .end(isAnswered(body) ? replies[kind](finished) : rounds[kind](given, finish));
    },
    { kind, tool_ids: [tool.id] },
  );
  const { id } = await house.session(assistant.id);
  const events: StreamEvent[] = await (await say(house, id)).rest();
  const [message] = (await transcriptOf(house, id)).slice(-1);
  return {
    sent: tool.reached.map(({ body }) => body.data.arguments),
    calls: message.tool_calls.map(({ status, error }: any) => error ?? status),
    ended: events.at(-1)!,
    told: provider.requests.length === 1 ? [] : resultsIn(provider.requests.at(-1)!.body),
  };
}

for (const [kind, cuts] of [
  ['openai', ['length', 'content_filter', 'MAX_TOKENS']],
  ['anthropic', ['max_tokens', 'model_context_window_exceeded']],
] as const) {
  for (const finish of cuts) {
    t.test(
      `${kind}: a round cut by ${finish} sends the calls that are whole, and tells the model of the others`,
      async (t) => {
        const { sent, calls, ended, told } = await called(t, kind, ['{"a":1}', '{"a":', ''], finish);
        t.same(sent, [{ a: 1 }]);
        t.same(calls, ['completed', 'arguments', 'arguments']);
        t.match(told.slice(1), [/cut off before they were complete/, /cut off before they were complete/]);
        t.match([ended.event, ended.data.stop_reason], ['turn.completed', 'end'], 'the last round was whole');
      },
    );
  }
}

t.test('a call without arguments in a round that is whole is sent', async (t) => {
  for (const [kind, finish] of [
    ['openai', 'tool_calls'],
    ['anthropic', 'tool_use'],
    ['openai', 'stop'],
  ] as const) {
    t.same((await called(t, kind, [''], finish)).sent, [{}], `${kind} ${finish}`);
  }
});

t.test('a call after a refusal is dropped', async (t) => {
  t.match(await called(t, 'anthropic', ['{"a":1}'], 'refusal'), {
    sent: [],
    calls: [],
    ended: { event: 'turn.completed' },
  });
  const house = await openWorkspace();
  const tool = await countingTool(t, house, { functions: [{ name: 'act' }] });
  const refusing = call(0, '{}') + data({ choices: [{ delta: { refusal: 'I cannot.' } }] }) + delta('', 'stop') + done;
  const { assistant } = await onProvider(t, house, answering(refusing), { tool_ids: [tool.id] });
  const { id } = await house.session(assistant.id);
  t.match((await (await say(house, id)).rest()).at(-1), { event: 'turn.completed', data: { stop_reason: 'end' } });
  t.match((await transcriptOf(house, id)).at(-1), { content: 'I cannot.', tool_calls: [] });
  t.same(tool.reached, []);
});

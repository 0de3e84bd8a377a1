import t from 'tap';
import { limits } from '../../../src/base/limits.ts';
import { anthropicModel } from '../../../src/providers/model/anthropic.ts';
import { ask, client, eventStream, provider } from './provider.ts';
import type { Hooks, Provider } from './provider.ts';

const serving = async (t: Hooks, answer: Provider['answer']) => {
  const server = await provider(answer);
  t.teardown(server.close);
  return { server, baseUrl: server.baseUrl, model: anthropicModel(client(t)) };
};

const event = (value: { type: string; [key: string]: unknown }): string =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
const start = event({ type: 'message_start', message: { usage: { input_tokens: 12, output_tokens: 1 } } });
const text = (piece: string): string =>
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: piece } });
const stopping = event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 34 } });
const stop = event({ type: 'message_stop' });

const mark = { cache_control: { type: 'ephemeral' } };

t.test("the request has Anthropic's shape", async (t) => {
  const { server, baseUrl, model } = await serving(t, (response) =>
    response.writeHead(200, eventStream).end(start + text('hi') + stopping + stop),
  );
  const messages = [
    { role: 'assistant', content: 'Welcome.' },
    { role: 'user', content: 'a' },
    { role: 'user', content: 'b' },
    { role: 'assistant', content: 'c' },
    { role: 'user', content: 'd' },
  ] as const;
  t.equal(
    await ask(model, { baseUrl, systemPrompt: 'Be kind.', messages, temperature: 1.5, outputTokensMax: 9 }).settled,
    'end',
  );
  const { path, headers, body } = server.requests[0]!;
  t.equal(path, '/v1/messages');
  t.equal(headers['x-api-key'], 'secret');
  t.equal(headers['anthropic-version'], '2023-06-01');
  t.equal(headers.authorization, undefined);
  t.same(body, {
    model: 'm1',
    stream: true,
    max_tokens: 9,
    temperature: 1,
    system: [{ type: 'text', text: 'Be kind.', ...mark }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'a\n\nb' }] },
      { role: 'assistant', content: 'c' },
      { role: 'user', content: [{ type: 'text', text: 'd', ...mark }] },
    ],
  });
  await ask(model, { baseUrl }).settled;
  t.same(server.requests[1]!.body, {
    model: 'm1',
    stream: true,
    max_tokens: limits.outputTokensDefault,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'hello', ...mark }] }],
  });
});

t.test('text, usage and the events that say nothing', async (t) => {
  const { baseUrl, model } = await serving(t, (response) => {
    response.writeHead(200, eventStream);
    response.write(
      start +
        event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
        event({ type: 'ping' }),
    );
    response.write(event({ type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } }));
    response.write(
      text('Hel') + event({ type: 'invented_later' }) + text('lo') + event({ type: 'content_block_stop', index: 0 }),
    );
    response.end(stopping + stop);
  });
  const heard = ask(model, { baseUrl });
  t.equal(await heard.settled, 'end');
  t.same(heard.pieces, ['Hel', 'lo']);
  t.same(heard.usageGiven, { inputTokens: 12, outputTokens: 34 });
});

t.test('how an answer ends', async (t) => {
  const error = event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } });
  const cases: [string, string, string, string][] = [
    ['no message_stop, but a stop reason', start + text('a') + stopping, 'end', 'a'],
    ['no stop reason', start + text('a'), 'cut', 'a'],
    ['an error event', start + text('a') + error, 'provider_error', 'a'],
    ['an error without an event name', start + error.replace('event: error\n', ''), 'provider_error', ''],
    ['data that is not JSON', `${start}data: {\n\n`, 'malformed', ''],
  ];
  for (const [name, body, ending, said] of cases) {
    const { baseUrl, model } = await serving(t, (response) => response.writeHead(200, eventStream).end(body));
    const heard = ask(model, { baseUrl });
    t.equal(await heard.settled, ending, name);
    t.equal(heard.said, said, name);
    t.equal(heard.endings.length, 1, name);
  }
});

t.test('an endpoint that does not stream', async (t) => {
  const bodies: [object, string][] = [
    [
      {
        type: 'message',
        content: [{ type: 'thinking' }, { type: 'text', text: 'whole' }],
        usage: { input_tokens: 5, output_tokens: 6 },
      },
      'end',
    ],
    [{ type: 'error', error: {} }, 'provider_error'],
    [{}, 'malformed'],
  ];
  for (const [body, ending] of bodies) {
    const { baseUrl, model } = await serving(t, (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    );
    const heard = ask(model, { baseUrl });
    t.equal(await heard.settled, ending);
    t.equal(heard.said, ending === 'end' ? 'whole' : '');
    t.same(heard.usageGiven, ending === 'end' ? { inputTokens: 5, outputTokens: 6 } : null);
  }
});

t.test('a refusal is sent once', async (t) => {
  const { server, baseUrl, model } = await serving(t, (response) => response.writeHead(400).end('{}'));
  t.equal(await ask(model, { baseUrl }).settled, 'status');
  t.equal(server.requests.length, 1);
  t.equal(await ask(model, { baseUrl, apiKey: null }).settled, 'credential');
  t.equal(server.requests.length, 1);
});

t.test('tokens that were read from the cache or written to it are input tokens', async (t) => {
  const usage = { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 1 };
  const { server, baseUrl, model } = await serving(t, (response) =>
    response
      .writeHead(200, eventStream)
      .end(event({ type: 'message_start', message: { usage } }) + text('hi') + stopping + stop),
  );
  const streamed = ask(model, { baseUrl });
  await streamed.settled;
  t.same(streamed.usageGiven, { inputTokens: 125, outputTokens: 34, cachedInputTokens: 100 });
  server.answer = (response) =>
    void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(
        JSON.stringify({ type: 'message', content: [{ type: 'text', text: 'hi' }], stop_reason: 'end_turn', usage }),
      );
  const whole = ask(model, { baseUrl });
  await whole.settled;
  t.same(whole.usageGiven, { inputTokens: 125, outputTokens: 1, cachedInputTokens: 100 });
});

t.test('an endpoint that does not know the marks of the cache is asked without them', async (t) => {
  const { server, baseUrl, model } = await serving(t, (response, { body }) =>
    JSON.stringify(body).includes('cache_control')
      ? response
          .writeHead(400)
          .end('{"error":{"message":"messages.0.content.0.cache_control: Extra inputs are not permitted"}}')
      : response.writeHead(200, eventStream).end(start + text('hi') + stopping + stop),
  );
  t.equal(await ask(model, { baseUrl, systemPrompt: 'Be kind.' }).settled, 'end');
  t.same(server.requests.at(-1)!.body.system, 'Be kind.');
  t.equal(await ask(model, { baseUrl, systemPrompt: 'Be kind.' }).settled, 'end');
  t.equal(server.requests.length, 3, 'it is remembered');
});

t.test('a prompt of white space is not sent, since it cannot be marked', async (t) => {
  const { server, baseUrl, model } = await serving(t, (response) =>
    response.writeHead(200, eventStream).end(start + text('hi') + stopping + stop),
  );
  await ask(model, { baseUrl, systemPrompt: ' \n' }).settled;
  t.notOk('system' in server.requests[0]!.body);
});

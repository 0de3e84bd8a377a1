import t from 'tap';
import { limits } from '../../../src/base/limits.ts';
import { openaiModel } from '../../../src/providers/model/openai.ts';
import { ask, client, closed, data, delta, done, eventStream, provider } from './provider.ts';
import type { Hooks, Provider } from './provider.ts';

const serving = async (t: Hooks, answer: Provider['answer']) => {
  const server = await provider(answer);
  t.teardown(server.close);
  return { server, baseUrl: server.baseUrl, model: openaiModel(client(t)) };
};

t.test('the request: method, path, key and body', async (t) => {
  const { server, baseUrl, model } = await serving(t, (response) =>
    response.writeHead(200, eventStream).end(delta('hi', 'stop') + done),
  );
  const messages = [
    { role: 'assistant', content: 'Welcome.' },
    { role: 'user', content: 'hello' },
  ] as const;
  const heard = ask(model, {
    baseUrl: `${baseUrl}/`,
    systemPrompt: 'Be kind.',
    messages,
    temperature: 0,
    outputTokensMax: 9,
  });
  t.equal(await heard.settled, 'end');
  const { path, headers, body } = server.requests[0]!;
  t.equal(path, '/v1/chat/completions');
  t.equal(headers.authorization, 'Bearer secret');
  t.equal(headers['content-type'], 'application/json');
  t.same(body, {
    model: 'm1',
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0,
    max_tokens: 9,
    messages: [{ role: 'system', content: 'Be kind.' }, ...messages],
  });
  await ask(model, { baseUrl }).settled;
  t.same(server.requests[1]!.body, {
    model: 'm1',
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'user', content: 'hello' }],
  });
});

t.test(
  'role-only chunks, empty choices, comments and unknown fields are passed over; usage comes once, before the end',
  async (t) => {
    const { baseUrl, model } = await serving(t, (response) => {
      response.writeHead(200, eventStream);
      response.write(': hold on\n\n');
      response.write(data({ choices: [{ delta: { role: 'assistant' }, finish_reason: null }], usage: null }));
      response.write(data({ choices: [{ delta: { role: 'assistant', content: '' }, finish_reason: '' }] }));
      response.write(data({ choices: [{ delta: { content: null, reasoning_content: 'hm' } }] }));
      response.write(delta('Hel') + delta('lo'));
      response.write(data({ choices: [{ delta: {}, finish_reason: 'stop' }] }));
      response.write(data({ choices: [], usage: { prompt_tokens: 11, completion_tokens: 1 } }));
      response.write(data({ choices: [], usage: { prompt_tokens: 11, completion_tokens: 7 } }));
      response.end(done);
    });
    const heard = ask(model, { baseUrl });
    t.equal(await heard.settled, 'end');
    t.same(heard.pieces, ['Hel', 'lo']);
    t.same(heard.usageGiven, { inputTokens: 11, outputTokens: 7 });
  },
);

t.test('several events in one read are read like one after another', async (t) => {
  const texts = Array.from({ length: 40 }, (_, index) => `w${index} `);
  const { baseUrl, model } = await serving(t, (response) => {
    response.writeHead(200, eventStream);
    response.write(
      texts
        .slice(0, 10)
        .map((text) => delta(text))
        .join(''),
    );
    for (const text of texts.slice(10, 20)) response.write(delta(text));
    const rest =
      texts
        .slice(20)
        .map((text) => delta(text))
        .join('') +
      delta('', 'stop') +
      done;
    response.write(rest.slice(0, 700));
    response.end(rest.slice(700));
  });
  const heard = ask(model, { baseUrl });
  t.equal(await heard.settled, 'end');
  t.same(heard.pieces, texts);
});

t.test('a model that is held says nothing more until it goes on', async (t) => {
  let tell!: (text: string) => void;
  const { server, baseUrl, model } = await serving(t, (response) => {
    response.writeHead(200, eventStream);
    tell = (text) => void response.write(text);
    tell(delta('one '));
  });
  const other = await serving(t, (response) => response.writeHead(200, eventStream).end(delta('hi', 'stop') + done));
  const heard = ask(model, { baseUrl });
  heard.onText = () => heard.asked.hold!();
  await heard.hears('one ');
  heard.onText = () => {};
  tell(delta('two') + delta('', 'stop') + done);
  // After these all bytes sent before have arrived.
  for (let times = 0; times < 3; times++) await ask(other.model, { baseUrl: other.baseUrl }).settled;
  t.same([heard.pieces, heard.endings, server.requests.length], [['one '], [], 1]);
  heard.asked.resume!();
  t.equal(await heard.settled, 'end');
  t.same(heard.pieces, ['one ', 'two']);
});

t.test('CRLF, content parts, and an answer under a plain content type', async (t) => {
  const { baseUrl, model } = await serving(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.write(
      data({
        choices: [
          {
            delta: {
              content: [
                { type: 'thinking', thinking: 'x' },
                { type: 'text', text: 'ok' },
              ],
            },
          },
        ],
      }).replaceAll('\n', '\r\n'),
    );
    response.end((delta('!', 'length') + done).replaceAll('\n', '\r\n'));
  });
  const heard = ask(model, { baseUrl });
  t.equal(await heard.settled, 'end');
  t.equal(heard.said, 'ok!');
});

t.test('how an answer ends', async (t) => {
  const cases: [string, Provider['answer'], string, string][] = [
    ['no [DONE], but a finish reason', (r) => r.writeHead(200, eventStream).end(delta('a', 'stop')), 'end', 'a'],
    ['[DONE] without a finish reason', (r) => r.writeHead(200, eventStream).end(delta('a') + done), 'end', 'a'],
    ['neither', (r) => r.writeHead(200, eventStream).end(delta('a')), 'cut', 'a'],
    ['nothing at all', (r) => r.writeHead(200, eventStream).end(), 'cut', ''],
    [
      'an error member',
      (r) => r.writeHead(200, eventStream).end(delta('a') + data({ error: { message: 'no' } })),
      'provider_error',
      'a',
    ],
    [
      'an error object',
      (r) => r.writeHead(200, eventStream).end(data({ object: 'error', message: 'no' })),
      'provider_error',
      '',
    ],
    [
      'an error event',
      (r) => r.writeHead(200, eventStream).end(`${delta('a')}event: error\ndata: oops\n\n`),
      'provider_error',
      'a',
    ],
    [
      'an error as the finish reason',
      (r) => r.writeHead(200, eventStream).end(delta('a', 'error') + done),
      'provider_error',
      'a',
    ],
    [
      'data that is not JSON',
      (r) => r.writeHead(200, eventStream).end(`${delta('a')}data: {"choices\n\n${delta('b', 'stop')}`),
      'malformed',
      'a',
    ],
    ['JSON that is no object', (r) => r.writeHead(200, eventStream).end('data: 7\n\n'), 'malformed', ''],
    ['a page', (r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<p>'), 'malformed', ''],
    [
      'a coding that nobody asked for',
      (r) => r.writeHead(200, { ...eventStream, 'content-encoding': 'gzip' }).end('x'),
      'malformed',
      '',
    ],
    [
      'a flood without a line end',
      (r) => r.writeHead(200, eventStream).end(`data: ${'x'.repeat(limits.providerEventCharactersMax + 1)}`),
      'malformed',
      '',
    ],
  ];
  for (const [name, answer, ending, said] of cases) {
    const { baseUrl, model } = await serving(t, answer);
    const heard = ask(model, { baseUrl });
    t.equal(await heard.settled, ending, name);
    t.equal(heard.said, said, name);
    t.equal(heard.endings.length, 1, name);
  }
});

t.test('characters split between reads arrive whole', async (t) => {
  const text = 'naïve 日本語 👩‍🚀 😀!';
  const { baseUrl, model } = await serving(t, (response) => {
    response.writeHead(200, eventStream);
    // Each chunk of the transfer coding is handed on by itself.
    for (const byte of Buffer.from(delta(text, 'stop') + done)) response.write(Buffer.of(byte));
    response.end();
  });
  const heard = ask(model, { baseUrl });
  t.equal(await heard.settled, 'end');
  t.equal(heard.said, text);
});

t.test('an endpoint that does not stream', async (t) => {
  const json = { 'content-type': 'application/json; charset=utf-8' };
  const whole = JSON.stringify({
    choices: [{ message: { role: 'assistant', content: 'grüß dich' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 4 },
  });
  const { server, baseUrl, model } = await serving(t, (response) => {
    response.writeHead(200, json);
    for (const byte of Buffer.from(whole)) response.write(Buffer.of(byte));
    response.end();
  });
  const heard = ask(model, { baseUrl });
  t.equal(await heard.settled, 'end');
  t.equal(heard.said, 'grüß dich');
  t.same(heard.usageGiven, { inputTokens: 3, outputTokens: 4 });
  for (const [body, ending] of [
    ['{"error":{"message":"no"}}', 'provider_error'],
    ['{"choices":', 'malformed'],
    ['{}', 'malformed'],
    ['[]', 'malformed'],
  ] as const) {
    server.answer = (response) => response.writeHead(200, json).end(body);
    t.equal(await ask(model, { baseUrl }).settled, ending, body);
  }
});

t.test('cancelling at once prevents the request', async (t) => {
  const { server, baseUrl, model } = await serving(t, (response) =>
    response.writeHead(200, eventStream).end(delta('ok', 'stop') + done),
  );
  const cancelled = ask(model, { baseUrl });
  cancelled.asked.cancel();
  t.equal(await ask(model, { baseUrl }).settled, 'end');
  t.equal(server.requests.length, 1);
  t.equal(server.sockets.length, 1);
  t.same(cancelled.endings, []);
});

t.test('cancelling once the endpoint is asked again ends that call', async (t) => {
  const { server, baseUrl, model } = await serving(t, (response, { body }) => {
    if (body.stream_options !== undefined) response.writeHead(400).end();
  });
  const heard = ask(model, { baseUrl });
  await server.reached(2);
  heard.asked.cancel();
  await closed(server.sockets.at(-1)!);
  t.same(heard.endings, []);
});

t.test('without a key, or with one that no header can hold, nothing is sent', async (t) => {
  const { server, baseUrl, model } = await serving(t, (response) => response.end());
  for (const apiKey of [null, 'line\nbreak']) {
    const heard = ask(model, { baseUrl, apiKey });
    t.same(heard.endings, [], 'not before start has returned');
    t.equal(await heard.settled, 'credential');
  }
  t.equal(server.requests.length, 0);
  const cancelled = ask(model, { apiKey: null });
  cancelled.asked.cancel();
  await Promise.resolve();
  t.same(cancelled.endings, []);
});

t.test('tokens that were read from the cache are counted, whatever field has them', async (t) => {
  const counts = { prompt_tokens: 11, completion_tokens: 7 };
  const fields = [
    [{ prompt_tokens_details: { cached_tokens: 8 } }, 8],
    [{ prompt_cache_hit_tokens: 9, prompt_cache_miss_tokens: 2 }, 9],
    [{ cached_tokens: 3 }, 3],
    [{ prompt_tokens_details: { cached_tokens: 99 } }, 11],
    [{ prompt_tokens_details: null }, undefined],
    [{ prompt_tokens_details: { cached_tokens: 0 } }, undefined],
    [{ prompt_tokens_details: { cached_tokens: '8' } }, undefined],
  ] as const;
  const { server, baseUrl, model } = await serving(t, (response) => response.end());
  for (const [details, cached] of fields) {
    const usage = { ...counts, ...details };
    const answers: Provider['answer'][] = [
      (response) =>
        void response.writeHead(200, eventStream).end(delta('hi', 'stop') + data({ choices: [], usage }) + done),
      (response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }], usage })),
    ];
    for (const answer of answers) {
      server.answer = answer;
      const heard = ask(model, { baseUrl });
      t.equal(await heard.settled, 'end');
      t.equal(heard.usageGiven?.cachedInputTokens, cached, JSON.stringify(details));
    }
  }
});

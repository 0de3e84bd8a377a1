/**
 * Models that refuse parameters that others take: the request that they accept in the end, which the next turn sends at
 * once.
 */
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { limits } from '../../../src/base/limits.ts';
import { anthropicModel } from '../../../src/providers/model/anthropic.ts';
import { cutHistory } from '../../../src/providers/model/history.ts';
import { openaiModel } from '../../../src/providers/model/openai.ts';
import type { ModelMessage, ModelRequest } from '../../../src/providers/model.ts';
import { ask, client, closed, data, delta, done, eventStream, ManualClock, provider } from './provider.ts';
import type { Hooks, Provider } from './provider.ts';
import {
  alternation,
  inTheirWords,
  noEmpty,
  noSystem,
  refuse,
  sentCharacters,
  tooLong,
  unknown,
  unless,
  window,
} from './strict.ts';
import { providerAttemptsMax, providerAttemptsMs } from '../../../src/providers/model/attempts.ts';
import { modelLearntMs } from '../../../src/providers/model/learnt.ts';

const serving = async (t: Hooks, answer: Provider['answer'], of = openaiModel, clock?: ManualClock) => {
  const server = await provider(answer);
  t.teardown(server.close);
  const model = of(client(t, {}, clock === undefined ? {} : { clock }));
  /** A turn: how it ended, and how many requests it took. */
  const turn = async (over: Partial<ModelRequest> = {}): Promise<[string, number]> => {
    const before = server.requests.length;
    const heard = ask(model, { baseUrl: server.baseUrl, ...over });
    return [await heard.settled, server.requests.length - before];
  };
  return { server, model, turn, sent: () => server.requests.at(-1)!.body };
};

const anthropicAnswer =
  'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n';
const say = (role: 'user' | 'assistant', content: string): ModelMessage => ({ role, content });
const [greeting, first, reply, second] = [
  say('assistant', 'Welcome.'),
  say('user', 'hello'),
  say('assistant', 'hi'),
  say('user', 'and?'),
];

t.test('a template that wants roles to alternate gets the history without the greeting', async (t) => {
  for (const speaks of [true, false]) {
    const check = speaks ? alternation : (body: any) => alternation(body) && { status: 422, body: '{}' };
    const { turn, sent } = await serving(t, unless(check, noEmpty));
    t.equal((await turn({ systemPrompt: 'Be kind.', messages: [greeting, first] }))[0], 'end');
    t.same(sent().messages, [{ role: 'system', content: 'Be kind.' }, first]);
    t.same(
      await turn({ systemPrompt: 'Be kind.', messages: [greeting, first, reply, second] }),
      ['end', speaks ? 1 : 2],
      'the second turn knows, once a reason was given',
    );
    t.same(sent().messages, [{ role: 'system', content: 'Be kind.' }, first, reply, second]);
    t.same(await turn({ messages: [greeting, first, second] }), ['end', 1], 'also behind a turn that left no answer');
    t.same(sent().messages, [say('user', 'hello\n\nand?')]);
  }
});

t.test('no answer, however empty, makes the next request one that strict templates refuse', async (t) => {
  const { turn, sent } = await serving(t, unless(alternation, noEmpty));
  const empty = say('assistant', '');
  for (const messages of [
    [first, empty, second],
    [first, second],
    [first, say('assistant', ' \n'), first, empty, second],
    [first, say('assistant', 'cut'), reply, second],
  ]) {
    t.same(await turn({ messages: cutHistory(messages, 100).messages }), ['end', 1], JSON.stringify(messages));
    t.ok(sent().messages.at(-1).content.endsWith('and?'));
  }
});

t.test('a greeting is sent where it is taken', async (t) => {
  const { turn, sent } = await serving(t, unless());
  t.same(await turn({ messages: [greeting, first] }), ['end', 1]);
  t.same(sent().messages, [greeting, first]);
});

t.test('a model that knows no system prompt has it in the first message of the user', async (t) => {
  const { turn, sent } = await serving(t, unless(noSystem, alternation));
  t.same(await turn({ systemPrompt: 'Be kind.', messages: [greeting, first] }), ['end', 3], 'system role, then roles');
  t.same(sent().messages, [say('user', 'Be kind.\n\nhello')]);
  t.same(await turn({ systemPrompt: 'Be kind.', messages: [greeting, first, reply, second] }), ['end', 1]);
  t.same(sent().messages, [say('user', 'Be kind.\n\nhello'), reply, second]);
});

t.test('parameters that a model refuses, in any combination, are left out, and no others', async (t) => {
  const fields = ['stream_options', 'temperature', 'max_tokens', 'max_completion_tokens'];
  for (const speaks of [true, false]) {
    for (let set = 0; set < 16; set++) {
      const refused = fields.filter((_, index) => set & (1 << index));
      const { turn, sent, server } = await serving(t, unless(unknown(refused, speaks)));
      const about = `${refused.join(', ') || 'none'} ${speaks ? 'named' : 'unnamed'}`;
      const over = { temperature: 0.5, outputTokensMax: 9 };
      t.equal((await turn(over))[0], 'end', about);
      const first = server.requests.length;
      t.ok(
        server.requests.length <= (speaks ? refused.length + 1 : providerAttemptsMax),
        `${about}: ${server.requests.length} requests`,
      );
      const bound = refused.includes('max_tokens') ? 'max_completion_tokens' : 'max_tokens';
      const kept = ['stream_options', 'temperature', bound].filter((field) => !refused.includes(field));
      const fieldsOf = () => fields.filter((field) => sent()[field] !== undefined);
      t.same(
        fieldsOf(),
        fields.filter((field) => kept.includes(field)),
        about,
      );
      // A shape without a reason for its refusal is learnt once it has worked twice after the plain one was refused.
      for (let turns = 2; turns <= 3; turns++)
        t.same(await turn(over), ['end', turns === 2 && !speaks && first > 1 ? 2 : 1], `${about}: turn ${turns}`);
      t.same(
        fieldsOf(),
        fields.filter((field) => kept.includes(field)),
        about,
      );
    }
  }
});

t.test('parameters and a template at once', async (t) => {
  for (const speaks of [true, false]) {
    const { turn } = await serving(
      t,
      unless(unknown(['stream_options', 'max_tokens', 'temperature'], speaks), noSystem, alternation),
    );
    const over = { temperature: 0.5, outputTokensMax: 9, systemPrompt: 'Be kind.', messages: [greeting, first] };
    const [ending, requests] = await turn(over);
    t.equal(ending, 'end');
    t.ok(requests <= providerAttemptsMax);
    if (!speaks) t.same(await turn(over), ['end', 2]);
    t.same(await turn(over), ['end', 1]);
  }
});

t.test('an accepted shape is learnt for a model, an endpoint and a key', async (t) => {
  const { turn } = await serving(t, unless(unknown(['stream_options'], true)));
  t.same(await turn(), ['end', 2]);
  t.same(await turn(), ['end', 1]);
  t.same(await turn({ name: 'm2' }), ['end', 2]);
  t.same(await turn({ apiKey: 'other' }), ['end', 2]);
  t.same(await turn({ temperature: 1 }), ['end', 1]);
});

t.test('a learnt shape that is refused later is forgotten, in the same turn', async (t) => {
  const { server, turn, sent } = await serving(t, unless(unknown(['max_tokens', 'stream_options'], true)));
  const over = { temperature: 0.5, outputTokensMax: 9 };
  t.same(await turn(over), ['end', 3]);
  server.answer = unless(unknown(['max_completion_tokens', 'temperature'], true));
  t.equal((await turn(over))[0], 'end', 'the gateway has another model behind the name');
  t.same([sent().max_tokens, sent().max_completion_tokens, sent().temperature], [9, undefined, undefined]);
  t.same(await turn(over), ['end', 1]);
});

t.test('a learnt shape is tried anew after an hour', async (t) => {
  const clock = new ManualClock();
  const { server, turn, sent } = await serving(t, unless(unknown(['temperature'], true)), openaiModel, clock);
  t.same(await turn({ temperature: 0.5 }), ['end', 2]);
  server.answer = unless();
  t.same(await turn({ temperature: 0.5 }), ['end', 1]);
  t.equal(sent().temperature, undefined);
  clock.advance(modelLearntMs);
  t.same(await turn({ temperature: 0.5 }), ['end', 1]);
  t.equal(sent().temperature, 0.5);
});

t.test('a refusal of the request itself is asked for a bounded number of times, and teaches nothing', async (t) => {
  const { server, turn, sent } = await serving(t, (response) => refuse(response, { status: 400, body: '{}' }));
  const over = { temperature: 0.5, outputTokensMax: 9, systemPrompt: 'Be kind.', messages: [greeting, first] };
  const [ending, requests] = await turn(over);
  t.equal(ending, 'status');
  t.ok(requests <= providerAttemptsMax, `${requests} requests`);
  server.answer = unless();
  t.same(await turn(over), ['end', 1]);
  t.match(sent(), {
    temperature: 0.5,
    max_tokens: 9,
    stream_options: {},
    messages: [{ role: 'system' }, greeting, first],
  });
});

t.test('only these statuses are retried', async (t) => {
  for (const status of [401, 402, 403, 404, 409, 429, 502, 503, 529]) {
    const { turn } = await serving(t, (response) => refuse(response, { ...tooLong['vLLM']!, status }));
    t.equal((await turn({ messages: [first, reply, second] }))[1], 1, String(status));
  }
  for (const body of [
    '',
    '{}',
    '{"error":"the model runner has crashed"}',
    '{"error":{"message":"temperature of the GPU is too high"}}',
  ]) {
    const { turn } = await serving(t, (response) => refuse(response, { status: 500, body }));
    t.same(
      await turn({ messages: [greeting, first, reply, second], temperature: 1, systemPrompt: 'Be kind.' }),
      ['status', 1],
      `500 ${body}`,
    );
  }
});

t.test('no attempt begins after a minute, and none after the first output', async (t) => {
  const clock = new ManualClock();
  const late = await serving(
    t,
    (response) => (clock.advance(providerAttemptsMs / 2 + 1), refuse(response, { status: 400, body: '{}' })),
    openaiModel,
    clock,
  );
  t.same(await late.turn({ temperature: 1, outputTokensMax: 9 }), ['status', 2]);
  const cut = await serving(t, (response) => {
    response.writeHead(200, eventStream);
    response.write(delta('some'), () => response.destroy());
  });
  t.same(await cut.turn({ messages: [greeting, first] }), ['cut', 1]);
});

t.test('a body of a refusal that never ends, is cut, or is no text', async (t) => {
  const clock = new ManualClock();
  const cases: [string, Provider['answer']][] = [
    [
      'cut',
      (response) => void response.writeHead(400, { 'content-length': 100 }).write('{"a"', () => response.destroy()),
    ],
    ['large', (response) => void response.writeHead(400).end('x'.repeat(10 * limits.providerErrorBytesMax))],
    ['binary', (response) => void response.writeHead(400).end(Buffer.from([0xff, 0xfe, 0, 0x80]))],
    ['none', (response) => void response.writeHead(400).end()],
  ];
  for (const [name, refusing] of cases) {
    const { turn } = await serving(t, (response, seen) =>
      seen.body.stream_options === undefined ? unless()(response, seen) : refusing(response, seen),
    );
    t.same(await turn(), ['end', 2], name);
  }
  const { server, model } = await serving(t, (response) => void response.writeHead(400).write('{'), openaiModel, clock);
  const heard = ask(model, { baseUrl: server.baseUrl });
  await server.reached(1);
  heard.asked.cancel();
  await closed(server.sockets[0]!);
  t.same([heard.endings, server.requests.length], [[], 1], 'cancelled meanwhile');
});

const long = (count: number): ModelMessage[] =>
  Array.from({ length: count }, (_, index) =>
    say(index % 2 === 0 ? 'user' : 'assistant', `${index} ${'x'.repeat(400)}`),
  );
const history = [...long(20), say('user', 'now')];

t.test('a history that is too long is halved once, whoever says so, and stays so', async (t) => {
  for (const [name, refusal] of Object.entries(tooLong)) {
    const { turn, sent } = await serving(t, unless(window(5000, refusal)));
    t.same(await turn({ messages: history, temperature: 0.5, outputTokensMax: 9 }), ['end', 2], name);
    t.equal(sent().messages.at(-1).content, 'now');
    t.equal(sent().messages[0].role, 'user');
    t.match(sent(), { temperature: 0.5, max_tokens: 9, stream_options: {} }, 'it teaches nothing of parameters');
    t.same(await turn({ messages: [...history, reply, second] }), ['end', 1], `${name}: the next turn knows`);
    t.ok(sentCharacters(sent()) > 2000, 'and sends what fits');
  }
});

/** Errors within a 200 by which an endpoint refuses a request. */
const within: Readonly<Record<string, (body: string) => string>> = {
  'an event named error': (body) => `event: error\ndata: ${body}\n\n`,
  'an event without a name': (body) => `data: ${body}\n\n`,
  'an event, and then the end': (body) => `data: ${body}\n\n${done}`,
  'an event behind what says nothing': (body) =>
    `: waiting\n\n${data({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] })}data: ${body}\n\n${done}`,
  'a field of its own': (body) => `error: ${body}\n\n`,
  'one object': (body) => body,
};

t.test('a 200 or a 500 that says that it is too long is one, too', async (t) => {
  const bodies = Object.entries(tooLong).filter(
    ([, { status, body }]) => status !== 413 && JSON.parse(body).error !== undefined,
  );
  const asked = { messages: history, temperature: 0.5, outputTokensMax: 9 };
  const check = async (about: string, answer: Provider['answer'], of = openaiModel): Promise<void> => {
    const { server, model, turn, sent } = await serving(
      t,
      (response, seen) => (sentCharacters(seen.body) > 5000 ? answer(response, seen) : unless()(response, seen)),
      of,
    );
    const heard = ask(model, { baseUrl: server.baseUrl, ...asked });
    t.same([await heard.settled, heard.said, server.requests.length], ['end', 'ok', 2], about);
    t.same(heard.leftOutGiven, [history.length - sent().messages.length], `${about}: what was left out`);
    t.match(
      sent(),
      { temperature: 0.5, max_tokens: 9, stream_options: {} },
      `${about}: it teaches nothing of parameters`,
    );
    t.same(await turn(asked), ['end', 1], `${about}: the next turn knows`);
  };
  for (const [name, { body }] of bodies) {
    await check(`${name}: 500`, (response) => refuse(response, { status: 500, body }));
    for (const [form, text] of Object.entries(within))
      await check(`${name}: ${form}`, (response) => response.writeHead(200, eventStream).end(text(body)));
  }
  for (const body of Object.values(inTheirWords))
    await check(body, (response) => refuse(response, { status: 500, body }));
});

t.test('Anthropic: an error event that says that it is too long', async (t) => {
  const { server, turn } = await serving(
    t,
    (response, { body }) => {
      const said =
        sentCharacters(body) > 5000 ? `event: error\ndata: ${tooLong['Anthropic']!.body}\n\n` : anthropicAnswer;
      response.writeHead(200, eventStream).end(`event: ping\ndata: {"type":"ping"}\n\n${said}`);
    },
    anthropicModel,
  );
  t.same(await turn({ messages: history }), ['end', 2]);
  t.same(await turn({ messages: history }), ['end', 1]);
  server.answer = (response) =>
    void response
      .writeHead(200, eventStream)
      .end('event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n');
  t.same(await turn({ messages: history }), ['provider_error', 1]);
});

t.test('a template that wants roles to alternate may say so with a 200 or a 500', async (t) => {
  const { body } = alternation({ messages: [greeting] })!;
  const error = JSON.stringify({ error: JSON.parse(body) });
  const ways: Record<string, (response: ServerResponse) => void> = {
    '500': (response) => refuse(response, { status: 500, body: error }),
  };
  for (const [form, text] of Object.entries(within))
    ways[form] = (response) => void response.writeHead(200, eventStream).end(text(error));
  for (const [way, refusing] of Object.entries(ways)) {
    const { turn, sent } = await serving(t, (response, seen) =>
      alternation(seen.body) === null ? unless()(response, seen) : refusing(response),
    );
    t.same(await turn({ messages: [greeting, first], temperature: 0.5 }), ['end', 2], way);
    t.match(sent(), { messages: [first], temperature: 0.5, stream_options: {} });
    t.same(await turn({ messages: [greeting, first, reply, second] }), ['end', 1], `${way}: the next turn knows`);
  }
});

t.test('a request is final once its answer has begun, and after an error that names no field', async (t) => {
  const error = `data: ${tooLong['OpenAI']!.body}\n\n`;
  for (const begun of [
    delta('some'),
    data({ choices: [{ index: 0, delta: { reasoning_content: 'hm' } }] }),
    delta('<think>'),
  ]) {
    const { turn } = await serving(t, (response) => void response.writeHead(200, eventStream).end(begun + error));
    t.same(await turn({ messages: history }), ['provider_error', 1], begun);
  }
  for (const said of [
    '{"error":{"message":"overloaded","code":502}}',
    '{"error":{"message":"temperature of the GPU is too high"}}',
    '{"error":"rate limit"}',
  ]) {
    const { turn } = await serving(t, (response) => void response.writeHead(200, eventStream).end(`data: ${said}\n\n`));
    t.same(
      await turn({ messages: [greeting, ...history], temperature: 1, systemPrompt: 'Be kind.' }),
      ['provider_error', 1],
      said,
    );
  }
  const { server, turn } = await serving(t, (response) => void response.writeHead(200, eventStream).end(error));
  t.same(await turn({ messages: history }), ['provider_error', 2], 'once more, with half');
  server.answer = (response) => void response.writeHead(200, eventStream).end(delta('ok', 'stop') + error);
  t.same(await turn({ messages: history }), ['end', 1], 'what has said its finish is complete');
});

t.test('an answer that is asked for again can be cancelled, and the refused one is closed', async (t) => {
  const { server, model } = await serving(t, (response, { body }) => {
    if (sentCharacters(body) > 5000)
      response.writeHead(200, eventStream).write(`data: ${tooLong['OpenAI']!.body}\n\n${delta('late', 'stop')}${done}`);
    else response.writeHead(200, eventStream).write(delta('new'));
  });
  const heard = ask(model, { baseUrl: server.baseUrl, messages: history });
  await heard.hears('new');
  await closed(server.sockets[0]!);
  heard.asked.cancel();
  await closed(server.sockets[1]!);
  t.same([heard.said, heard.endings, server.requests.length], ['new', [], 2]);
});

t.test('the parameters left out are told', async (t) => {
  const { server, model } = await serving(t, unless(window(5000, tooLong['vLLM']!)));
  for (let turn = 1; turn <= 2; turn++) {
    const heard = ask(model, { baseUrl: server.baseUrl, messages: history });
    t.equal(await heard.settled, 'end');
    const sent = server.requests.at(-1)!.body.messages.length;
    t.same(heard.leftOutGiven, [history.length - sent], `turn ${turn}`);
  }
});

t.test('a window far smaller than the history is found within a few turns', async (t) => {
  const { turn } = await serving(t, unless(window(1000, tooLong['OpenAI']!)));
  const endings: string[] = [];
  for (let turns = 0; turns < 4; turns++) {
    const [ending, requests] = await turn({ messages: history });
    t.ok(requests <= 2);
    endings.push(ending);
  }
  t.same(endings.slice(-2), ['end', 'end']);
});

t.test('the message itself is always sent, and nothing is halved where there is nothing but it', async (t) => {
  const { turn } = await serving(t, unless(window(10, tooLong['OpenAI']!)));
  t.same(await turn({ messages: [say('user', 'x'.repeat(100))] }), ['status', 1]);
  t.same(await turn({ messages: [first] }), ['end', 1]);
});

t.test('a reply whose bound is too large is no history that is too long', async (t) => {
  const said =
    "'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 20 input tokens (5000 > 4096 - 20).";
  const { turn, sent } = await serving(
    t,
    unless((body) =>
      (body.max_tokens ?? body.max_completion_tokens ?? 0) > 100
        ? { status: 400, body: JSON.stringify({ message: said }) }
        : null,
    ),
  );
  t.same(await turn({ outputTokensMax: 5000, messages: history }), ['end', 3]);
  t.equal(sent().messages.length, history.length);
});

t.test(
  'a window fifty times smaller than the history is found within a few turns, and the message alone is sent in the end',
  async (t) => {
    for (const newest of ['now', 'x'.repeat(150)]) {
      const { turn, sent } = await serving(t, unless(window(160, tooLong['OpenAI']!)));
      const messages = [...long(20), say('user', newest)];
      const endings: string[] = [];
      for (let turns = 0; turns < 6; turns++) {
        const [ending, requests] = await turn({ systemPrompt: 'Be kind.', messages });
        t.ok(requests <= 2);
        endings.push(ending);
      }
      t.same(endings.slice(-3), ['end', 'end', 'end'], endings.join());
      t.same(sent().messages, [{ role: 'system', content: 'Be kind.' }, say('user', newest)]);
      t.same(
        await turn({ systemPrompt: 'Be kind.', messages: [...messages, say('assistant', 'hi'), second] }),
        ['end', 1],
        'the next one begins there',
      );
    }
  },
);

t.test('Anthropic: a temperature that a model refuses, and a history that is too long', async (t) => {
  const { server, turn, sent } = await serving(
    t,
    (response, { body }) => {
      if (body.temperature !== undefined)
        return refuse(response, {
          status: 400,
          body: '{"type":"error","error":{"type":"invalid_request_error","message":"`temperature` is deprecated for this model."}}',
        });
      if (sentCharacters(body) > 5000) return refuse(response, tooLong['Anthropic']!);
      response.writeHead(200, eventStream).end(anthropicAnswer);
    },
    anthropicModel,
  );
  t.same(await turn({ messages: [greeting, ...history], temperature: 0.5 }), ['end', 3]);
  t.equal(sent().messages[0].role, 'user');
  t.same(await turn({ messages: [greeting, ...history], temperature: 0.5 }), ['end', 1]);
  server.answer = (response) => refuse(response, { status: 400, body: '{}' });
  t.same(await turn(), ['status', 1]);
});

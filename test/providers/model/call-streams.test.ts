/** Streams of calls as endpoints write them: each is the calls that their model has made (contract 13). */
import t from 'tap';
import { openaiModel } from '../../../src/providers/model/openai.ts';
import type { ToolOffer } from '../../../src/providers/model.ts';
import { patient } from '../../run/speed.mjs';
import { ask, client, delta, done, eventStream, provider } from './provider.ts';

const tools: readonly ToolOffer[] = ['one', 'two', 'look_up'].map((name) => ({
  name,
  description: null,
  parameters: { type: 'object' },
}));

const chunk = (given: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: given, finish_reason: finish }] })}\n\n`;
type Part = readonly [index: number | undefined, id: string | undefined, name: string | undefined, text: unknown];
const partOf = ([index, id, name, text]: Part): object => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: text },
});
/** One delta for each part. */
const parts = (...given: readonly Part[]): string =>
  given.map((part) => chunk({ tool_calls: [partOf(part)] })).join('');
/** All parts in one delta. */
const together = (...given: readonly Part[]): string => chunk({ tool_calls: given.map(partOf) });
const end = chunk({}, 'tool_calls') + done;
const whole = JSON.stringify({
  choices: [
    {
      message: {
        content: null,
        tool_calls: [
          { id: 'a', function: { name: 'one', arguments: '{"a":1}' } },
          { id: 'b', function: { name: 'one', arguments: '{"a":1}' } },
        ],
      },
      finish_reason: 'tool_calls',
    },
  ],
});
const none = undefined;

type Calls = readonly (readonly [name: string, given: string])[];
const streams: Readonly<Record<string, readonly [body: string, calls: Calls]>> = {
  'in pieces': [parts([0, 'a', 'one', ''], [0, none, none, '{"a"'], [0, none, none, ':1}']), [['one', '{"a":1}']]],
  'two at one place, without ids': [
    parts([0, '', 'one', '{"a":1}'], [0, '', 'two', '{"b":2}']),
    [
      ['one', '{"a":1}'],
      ['two', '{"b":2}'],
    ],
  ],
  'two of one function at one place, without ids': [
    parts([0, '', 'one', '{"a":1}'], [0, '', 'one', '{"a":2}']),
    [
      ['one', '{"a":1}'],
      ['one', '{"a":2}'],
    ],
  ],
  'two at one place, in pieces, without ids': [
    parts([0, none, 'one', '{"a"'], [0, none, none, ':1}'], [0, none, 'two', '{"b"'], [0, none, none, ':2}']),
    [
      ['one', '{"a":1}'],
      ['two', '{"b":2}'],
    ],
  ],
  'two without arguments at one place, without ids': [
    parts([0, '', 'one', ''], [0, '', 'two', '']),
    [
      ['one', ''],
      ['two', ''],
    ],
  ],
  'the arguments of the second without its name': [
    parts([0, 'a', 'one', ''], [0, none, '', '{"a":1}'], [0, none, '', '{"a":2}']),
    [
      ['one', '{"a":1}'],
      ['one', '{"a":2}'],
    ],
  ],
  'two in one delta without places': [
    together([none, '', 'one', '{"a":1}'], [none, '', 'two', '{"b":2}']),
    [
      ['one', '{"a":1}'],
      ['two', '{"b":2}'],
    ],
  ],
  'two that are the same in one delta': [
    together([none, none, 'one', '{}'], [none, none, 'one', '{}']),
    [
      ['one', '{}'],
      ['one', '{}'],
    ],
  ],
  'two that are the same in one delta, at one place': [
    together([0, '', 'one', '{"a":1}'], [0, '', 'one', '{"a":1}']),
    [
      ['one', '{"a":1}'],
      ['one', '{"a":1}'],
    ],
  ],
  'two that are the same in a message': [
    whole,
    [
      ['one', '{"a":1}'],
      ['one', '{"a":1}'],
    ],
  ],
  'the same twice with ids of their own, at one place': [
    parts([0, 'a', 'one', '{"a":1}'], [0, 'b', 'one', '{"a":1}']),
    [
      ['one', '{"a":1}'],
      ['one', '{"a":1}'],
    ],
  ],
  'the whole again at the end': [
    parts([0, 'a', 'one', ''], [0, none, none, '{"a":'], [0, none, none, '1}'], [0, 'a', 'one', '{"a":1}']),
    [['one', '{"a":1}']],
  ],
  'the whole again at the end, without name and id': [
    parts([0, 'a', 'one', '{"a":'], [0, none, none, '1}'], [0, none, none, '{"a":1}']),
    [['one', '{"a":1}']],
  ],
  'the whole again at the end, spelled otherwise': [
    parts([0, 'a', 'one', '{"a":'], [0, none, none, '1}'], [0, none, none, '{"a": 1}']),
    [['one', '{"a": 1}']],
  ],
  'an empty object first': [parts([0, 'a', 'one', '{}'], [0, none, none, '{"a":1}']), [['one', '{"a":1}']]],
  'an empty object first, with the name twice': [
    parts([0, 'a', 'one', '{}'], [0, 'a', 'one', '{"a":1}']),
    [['one', '{"a":1}']],
  ],
  'an empty object first, and then pieces': [
    parts([0, 'a', 'one', '{}'], [0, none, none, '{"a"'], [0, none, none, ':1}']),
    [['one', '{"a":1}']],
  ],
  'an empty object that is given as one first': [
    parts([0, 'a', 'one', {}], [0, none, none, '{"a":1}']),
    [['one', '{"a":1}']],
  ],
  'an empty object first, and then pieces, with the name in each': [
    parts([0, 'a', 'one', '{}'], [0, 'a', 'one', '{"a"'], [0, 'a', 'one', ':1}']),
    [['one', '{"a":1}']],
  ],
  'an empty object first, and then pieces, with the id in each': [
    parts([0, 'a', 'one', '{}'], [0, 'a', none, '{"a"'], [0, 'a', none, ':1}']),
    [['one', '{"a":1}']],
  ],
  'an empty object last': [parts([0, 'a', 'one', '{"a":1}'], [0, 'a', 'one', '{}']), [['one', '{"a":1}']]],
  'more of the whole in each piece': [
    parts([0, 'a', 'one', '{"a":1}'], [0, 'a', none, '{"a":1,"b":2}'], [0, 'a', none, '{"a":1,"b":2,"c":3}']),
    [['one', '{"a":1,"b":2,"c":3}']],
  ],
  'the whole again in pieces, with the name and the id in each': [
    parts([0, 'a', 'one', '{"a":1}'], [0, 'a', 'one', '{"a"'], [0, 'a', 'one', ':1}']),
    [['one', '{"a":1}']],
  ],
  'two that take turns, by their ids alone': [
    parts([none, 'a', 'one', '{"a"'], [none, 'b', 'two', '{"b"'], [none, 'a', none, ':1}'], [none, 'b', none, ':2}']),
    [
      ['one', '{"a":1}'],
      ['two', '{"b":2}'],
    ],
  ],
  'two that take turns, by their places': [
    parts([1, 'a', 'one', ''], [2, 'b', 'two', ''], [1, none, none, '{"a":1}'], [2, none, none, '{"b":2}']),
    [
      ['one', '{"a":1}'],
      ['two', '{"b":2}'],
    ],
  ],
  'places that are texts': [
    parts(
      ['0' as never, none, 'one', '{"a"'],
      ['1' as never, none, 'one', '{"b"'],
      ['0' as never, none, none, ':1}'],
      ['1' as never, none, none, ':2}'],
    ),
    [
      ['one', '{"a":1}'],
      ['one', '{"b":2}'],
    ],
  ],
  'an id that comes late': [
    parts([0, none, 'one', ''], [0, 'a', none, '{"a"'], [0, 'a', none, ':1}']),
    [['one', '{"a":1}']],
  ],
  'encoded twice': [parts([0, 'a', 'one', JSON.stringify('{"a":1}')]), [['one', '{"a":1}']]],
  'encoded twice, in pieces': [parts([0, 'a', 'one', '"{\\"a'], [0, none, none, '\\":1}"']), [['one', '{"a":1}']]],
  'in a fence': [parts([0, 'a', 'one', '```json\n{"a":1}\n```']), [['one', '{"a":1}']]],
  'in a fence without a language': [parts([0, 'a', 'one', '```\n{"a":"```"}\n```']), [['one', '{"a":"```"}']]],
  null: [parts([0, 'a', 'one', 'null']), [['one', '']]],
  'null as a value': [parts([0, 'a', 'one', null]), [['one', '']]],
  'null first': [parts([0, 'a', 'one', 'null'], [0, none, none, '{"a":1}']), [['one', '{"a":1}']]],
  'a name in two pieces': [
    parts([0, 'a', 'look', ''], [0, none, '_up', ''], [0, none, none, '{}']),
    [['look_up', '{}']],
  ],
  'a name in two pieces, with another id in each': [
    parts([0, 'a', 'look', ''], [0, 'b', '_up', ''], [0, 'c', none, '{}']),
    [['look_up', '{}']],
  ],
  'the name in each piece': [
    parts([0, 'a', 'one', ''], [0, 'a', 'one', '{"a"'], [0, 'a', 'one', ':1}']),
    [['one', '{"a":1}']],
  ],
  'another id in each piece': [
    parts([0, 'a', 'one', ''], [0, 'b', none, '{"a"'], [0, 'c', none, ':1}']),
    [['one', '{"a":1}']],
  ],
  'another id in each piece, without places': [
    parts([none, 'a', 'one', ''], [none, 'b', none, '{"a"'], [none, 'c', none, ':1}']),
    [['one', '{"a":1}']],
  ],
  'a prefix before the name': [parts([0, 'a', 'functions.one', '{}']), [['one', '{}']]],
  'a prefix and a number': [parts([0, 'a', 'functions.one:0', '{}']), [['one', '{}']]],
  "Gemini's prefix": [parts([0, 'a', 'default_api:one', '{}']), [['one', '{}']]],
  "a mark of the model's format behind the name": [parts([0, 'a', 'one<|channel|>commentary', '{}']), [['one', '{}']]],
  'a made-up name': [parts([0, 'a', 'fly away', '{}']), [['fly away', '{}']]],
  'a name before its place has one': [parts([0, 'a', none, ''], [0, none, 'one', '{}']), [['one', '{}']]],
  'arguments that cannot be read': [parts([0, 'a', 'one', '{"a":'], [0, none, none, 'oops']), [['one', '{"a":oops']]],
  'arguments with what follows them': [parts([0, 'a', 'one', '{"a":1} and so on']), [['one', '{"a":1} and so on']]],
  'braces within a text': [
    parts([0, 'a', 'one', '{"a":"}{"'], [0, none, none, ',"b":2}']),
    [['one', '{"a":"}{","b":2}']],
  ],
};

for (const [name, [body, calls]] of Object.entries(streams)) {
  t.test(`calls are read: ${name}`, async (t) => {
    const server = await provider((response) =>
      response
        .writeHead(200, body.startsWith('{') ? { 'content-type': 'application/json' } : eventStream)
        .end(body.startsWith('{') ? body : body + end),
    );
    t.teardown(server.close);
    const heard = ask(openaiModel(client(t)), { baseUrl: server.baseUrl, tools });
    t.equal(await heard.settled, 'end');
    t.same(
      heard.calls.map((call) => [call.name, call.arguments]),
      calls,
    );
  });
}

/** Bodies that say `Hello`. */
const bodies: Readonly<Record<string, string>> = {
  'a heartbeat with half an object': `event: heartbeat\ndata: {"status":\n\n${delta('Hel')}event: heartbeat\ndata: {"status": "al\n\n${delta('lo', 'stop')}${done}`,
  'a whole answer, and the mark of a stream': `${JSON.stringify({ choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] })}\n\n${done}`,
  'a whole answer, and a bare mark': `${JSON.stringify({ choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] })}\n[DONE]\n`,
  'a whole answer, and the mark on its line': `${JSON.stringify({ choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] })} data: [DONE]\n\n`,
  'a whole answer as an event, and the mark of a stream': `data: ${JSON.stringify({ object: 'chat.completion', choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }] })}\n\n${done}`,
  'a heartbeat that is cut within a text, with an id': `id: 7\nevent: keep-alive\ndata: {"choices\n\n${delta('Hello', 'stop')}${done}`,
  'a whole answer, and a named mark': `${JSON.stringify({ choices: [{ message: { content: 'Hello' } }] })}\nevent: done\ndata: [DONE]\n\n`,
  'a whole answer, a comment and a mark': `${JSON.stringify({ choices: [{ message: { content: 'Hello' } }] }, null, 2)}\n\n: bye\n\n${done}`,
};

for (const [name, body] of Object.entries(bodies)) {
  t.test(`a body is read: ${name}`, async (t) => {
    const server = await provider((response) => response.writeHead(200, eventStream).end(body));
    t.teardown(server.close);
    const heard = ask(openaiModel(client(t)), { baseUrl: server.baseUrl });
    t.same([await heard.settled, heard.said], ['end', 'Hello']);
  });
}

t.test('the end of a whole answer is looked at in proportion to it', { timeout: patient(10_000) }, async (t) => {
  for (const end of [
    ':'.repeat(1000),
    ': '.repeat(500),
    'data:'.repeat(200),
    '[DONE]'.repeat(160),
    ' \n'.repeat(500),
  ]) {
    const server = await provider((response) =>
      response.writeHead(200, eventStream).end(`{"choices":[{"message":{"content":"Hello"}}]}${end}\nfoo`),
    );
    t.teardown(server.close);
    t.equal(
      await ask(openaiModel(client(t)), { baseUrl: server.baseUrl }).settled,
      'malformed',
      JSON.stringify(end.slice(0, 10)),
    );
  }
});

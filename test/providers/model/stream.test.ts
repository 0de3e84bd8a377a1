/** A stream that is cut into any chunks, with events that resemble each other, gives the result of a plain parser. */
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import type { Dialect, AnswerSink } from '../../../src/providers/model/dialect.ts';
import { parseObject } from '../../../src/base/json.ts';
import { objectAt, contentText } from '../../../src/providers/model/json.ts';
import { StreamReader } from '../../../src/providers/model/stream.ts';

const dialect: Dialect = {
  owns: () => true,
  storedOf: () => null,
  event(sink, event) {
    if (event['error'] !== undefined) return sink.fail('provider_error');
    if (event['usage'] !== undefined) sink.usage({ inputTokens: 1, outputTokens: 1 });
    sink.text(contentText(objectAt(event, 'delta')['content']));
    if (event['end'] === true) sink.complete(null);
  },
  whole() {},
};

/** Records the calls in order; consecutive texts count as one. */
class Heard implements AnswerSink {
  readonly said: string[] = [];
  texts = 0;

  begin(): void {}

  reasoning(): void {}

  text(piece: string): void {
    if (piece === '') return;
    this.texts++;
    if (this.said.at(-1)?.startsWith('text ') === true) this.said.push(`text ${this.said.pop()!.slice(5)}${piece}`);
    else this.said.push(`text ${piece}`);
  }

  call(): void {
    throw new Error('No tool is called here.');
  }

  keep(): void {}

  keepFields(): void {}

  usage(): void {
    this.said.push('usage');
  }

  complete(): void {
    this.said.push('complete');
  }

  refuse(): void {
    this.said.push('refuse');
  }

  finish(): void {
    this.said.push('finish');
  }

  fail(failure: string): void {
    this.said.push(`fail ${failure}`);
  }
}

function plainly(stream: string): string[] {
  const heard = new Heard();
  createParser({
    onEvent: ({ event: name, data: given }) => {
      const data = given.trim();
      if (name === 'error') return heard.fail('provider_error');
      if (data === '') return;
      if (data === '[DONE]') return heard.finish();
      const event = parseObject(data);
      if (event !== null) dialect.event(heard, event);
      else if (name === undefined || data.startsWith('{')) heard.fail('malformed');
    },
  }).feed(`${stream}\n\n`);
  return heard.said;
}

/** The stream's chunks: mostly one event each, now and then cut or joined anywhere. */
const chunks = (() => {
  const text = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('a', 'b ', 'token', '') },
    { weight: 1, arbitrary: fc.constantFrom('"', '\\', '\n', 'é', '😀', 'usage', '[DONE]', '\ue000') },
  );
  const body = fc.record({
    text,
    more: fc.constantFrom({}, {}, {}, {}, { id: 'token' }, { usage: {} }, { end: true }, { error: {} }),
  });
  const data = fc.oneof(
    { weight: 12, arbitrary: body.map(({ text, more }) => JSON.stringify({ delta: { content: text }, ...more })) },
    { weight: 1, arbitrary: fc.constantFrom('[DONE]', 'not JSON', '', '[]') },
  );
  const event = fc.record({
    data,
    head: fc.constantFrom('', '', '', '', 'event: piece\n', 'event: error\n', ': note\n', 'id: 7\n'),
    end: fc.constantFrom('\n\n', '\n\n', '\n\n', '\r\n\r\n', '\r\r', '\n\r', '\n', '\r', '\r\n', '\n\n\n'),
  });
  const sameHead = fc.constantFrom(null, null, '', 'event: piece\n');
  return fc
    .record({
      events: fc.array(event, { minLength: 4, maxLength: 40, size: 'max' }),
      cuts: fc.array(fc.nat(), { maxLength: 5 }),
      joins: fc.array(fc.nat(40), { maxLength: 3 }),
      sameHead,
    })
    .map(({ events, cuts, joins, sameHead }) => {
      const pieces = events.map(
        ({ data, head, end }) => `${sameHead ?? head}data: ${data}${sameHead === null ? end : '\n\n'}`,
      );
      for (const at of joins) if (at + 1 < pieces.length) pieces.splice(at, 2, pieces[at]! + pieces[at + 1]!);
      for (const cut of cuts) {
        const index = cut % pieces.length;
        const piece = pieces[index]!;
        const at = cut % (piece.length + 1);
        pieces.splice(index, 1, piece.slice(0, at), piece.slice(at));
      }
      return pieces;
    });
})();

t.test('a stream in chunks says what it says in one', async () => {
  fc.assert(
    fc.property(chunks, (pieces) => {
      const heard = new Heard();
      const reader = new StreamReader(dialect, heard);
      for (const piece of pieces) reader.feed(piece);
      reader.end();
      return heard.said.join() === plainly(pieces.join('')).join();
    }),
    { numRuns: 3000 },
  );
});

/** Counts the texts that are parsed until the end of the test. */
function countParsed(t: Test): { times: number } {
  const { parse } = JSON;
  const count = { times: 0 };
  JSON.parse = (...given: Parameters<typeof parse>): unknown => {
    count.times++;
    return parse(...given);
  };
  t.teardown(() => (JSON.parse = parse));
  return count;
}

t.test('the events of a short answer are parsed once each', async (t) => {
  const parsed = countParsed(t);
  const reader = new StreamReader(dialect, new Heard());
  const events = [
    '{"role":"assistant"}',
    '{"delta":{"content":"a"}}',
    '{"delta":{"content":"b"}}',
    '{"end":true}',
    '{"usage":{}}',
  ];
  for (const event of events) reader.feed(`data: ${event}\n\n`);
  reader.feed('data: [DONE]\n\n');
  t.equal(parsed.times, events.length);
});

t.test('events that differ in their text alone are not parsed', async (t) => {
  const parsed = countParsed(t);
  for (const head of ['', 'event: piece\n']) {
    const heard = new Heard();
    const reader = new StreamReader(dialect, heard);
    parsed.times = 0;
    for (let number = 0; number < 1000; number++)
      reader.feed(`${head}data: {"id":"c","delta":{"content":"piece ${number} "}}\n\n`);
    t.ok(parsed.times < 10, `${parsed.times} of 1000`);
    t.equal(heard.texts, 1000);
    t.match(heard.said[0], /^text piece 0 piece 1 .* piece 999 $/);
  }
});

t.test('chunks that end within an event are read', async (t) => {
  const heard = new Heard();
  const reader = new StreamReader(dialect, heard);
  for (let number = 0; number < 10; number++) {
    reader.feed(`data: {"delta":{"content":"a${number}"}}\n\ndata: `);
    reader.feed(`{"delta":{"content":"b${number}"}}\n\n`);
  }
  t.equal(heard.said[0], `text ${Array.from({ length: 10 }, (_, number) => `a${number}b${number}`).join('')}`);
});

t.test('streams that are read in turns, and within each other, do not mix', async (t) => {
  const said = (text: string): string => `data: {"delta":{"content":"${text}"}}\n\n`;
  const [one, other] = [new Heard(), new Heard()];
  const [first, second] = [new StreamReader(dialect, one), new StreamReader(dialect, other)];
  for (let number = 0; number < 3; number++) {
    first.feed(`id: ${number}\nevent: piece\n${said(`a${number}`)}data: {"delta":`);
    second.feed(said(`b${number}`));
    first.feed(`{"content":"c${number}"}}\n\n`);
  }
  t.same([one.said, other.said], [['text a0c0a1c1a2c2'], ['text b0b1b2']]);

  const within = new Heard();
  within.text = (piece) => {
    second.feed(`data: {"delta":\ndata: {"content":"${piece}"}}\n\n`);
  };
  new StreamReader(dialect, within).feed(`data: {"delta":\ndata: {"content":"d"}}\n\n${said('e')}`);
  t.same(other.said, ['text b0b1b2de']);
});

t.test('a stream whose event was thrown on leaves nothing to the next', async (t) => {
  const thrown = new Heard();
  thrown.text = () => {
    throw new Error('fault');
  };
  t.throws(() => new StreamReader(dialect, thrown).feed('id: 1\ndata: {"delta":\ndata: {"content":"a"}}\n\n'));
  const heard = new Heard();
  new StreamReader(dialect, heard).feed('data: {"delta":{"content":"b"}}\n\n');
  t.same(heard.said, ['text b']);
});

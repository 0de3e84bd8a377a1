/**
 * [R3] Readers of texts that clients and providers send, on texts made for them: their work grows with the text alone.
 */
import t from 'tap';
import { clientAddress } from '../../src/access/client-address.ts';
import { cookieOf } from '../../src/access/cookies.ts';
import { weighted } from '../../src/http/handlers/accept.ts';
import { isCurrent } from '../../src/base/etag.ts';
import type { RequestHead } from '../../src/base/edge.ts';
import { isNestedWithin, type Json } from '../../src/base/json.ts';
import { codePoints, indexAfter, textBehind, WholePoints } from '../../src/base/text.ts';
import { literalTemplate, parseTemplate } from '../../src/base/variables.ts';
import { CallMessages, queryObject, RealtimeEvents, shape, StartMessage } from '../../src/wire/wire.ts';
import { lastSentenceOf } from '../../src/conversation/call/transcript.ts';
import { idempotencyOf } from '../../src/conversation/idempotency.ts';
import { placedItems, readInput } from '../../src/http/openai/items.ts';
import { readMessages } from '../../src/http/openai/messages.ts';
import { answeredRoutes } from '../../src/http/routes.ts';
import { languageOf } from '../../src/pages/words.ts';
import { blocksOf } from '../../src/pages/link/markdown/blocks.ts';
import { ResponseParser } from '../../src/providers/client/response.ts';
import { JoinedToolCalls } from '../../src/providers/model/tool-calls.ts';
import type { Dialect, AnswerSink } from '../../src/providers/model/dialect.ts';
import { alternating, cutHistory } from '../../src/providers/model/history.ts';
import { reasoningOf } from '../../src/providers/model/reasoning.ts';
import { replyTo } from '../../src/providers/model/scripted/engine.ts';
import { StreamReader } from '../../src/providers/model/stream.ts';
import { isSchema } from '../../src/providers/tool/schema.ts';
import { classifyInterruption } from '../../src/providers/voice/interruption.ts';
import { WavReader } from '../../src/providers/voice/audio/wav.ts';
import { englishOf } from '../../src/providers/voice/english.ts';
import { Hypothesis } from '../../src/providers/voice/hypothesis.ts';
import { planOf } from '../../src/providers/voice/plan.ts';
import { SentenceStream } from '../../src/providers/voice/sentence-stream.ts';
import { sentencesOf, wordsOf } from '../../src/providers/voice/sentences.ts';
import { sentencesAndCode } from '../../src/providers/voice/sound.ts';
import { endsInAddress, speakableText } from '../../src/providers/voice/speakable.ts';
import { unfinished } from '../../src/providers/voice/unfinished.ts';
import { growthOfWork } from './growth.ts';
import { placesIn } from './schemas.ts';

type Work = (length: number) => () => unknown;

const times = (count: number, run: (index: number) => void): void => {
  for (let index = 0; index < count; index++) run(index);
};

/** Work on a whole text. */
const on =
  (make: (length: number) => string, read: (text: string) => unknown): Work =>
  (length) => {
    const text = make(length);
    return () => read(text);
  };
/** Work on a text that comes a piece at a time. */
const by =
  (open: () => (piece: string) => unknown, make: (index: number) => string): Work =>
  (length) =>
  () => {
    const take = open();
    times(length, (index) => void take(make(index)));
  };

const texts: Readonly<Record<string, (length: number) => string>> = {
  letters: (length) => 'a'.repeat(length),
  spaces: (length) => `${' '.repeat(length)}x`,
  lines: (length) => `Hi.${'\n'.repeat(length)}x`,
  stops: (length) => '.'.repeat(length),
  sentences: (length) => 'A! '.repeat(length / 3),
  abbreviations: (length) => 'Dr. '.repeat(length / 4),
  initials: (length) => 'J. '.repeat(length / 3),
  numbers: (length) => '000,'.repeat(length / 4),
  sums: (length) => '$1,000'.repeat(length / 6),
  signs: (length) => `Hi ${'% '.repeat(length / 2)}`,
  stars: (length) => `Hi ${'* '.repeat(length / 2)}`,
  'open brackets': (length) => '['.repeat(length),
  'open links': (length) => '[a](b '.repeat(length / 6),
  'open addresses': (length) => '<http://'.repeat(length / 8),
  bars: (length) => '| '.repeat(length / 2),
  pictures: (length) => `Hi ${'😀'.repeat(length / 2)}`,
  marks: (length) => `a${'\u0301'.repeat(length)}`,
  'words without spaces': (length) => '漢'.repeat(length),
  variables: (length) => '{{date}}'.repeat(length / 8),
  'open variables': (length) => '\\{{'.repeat(length / 3),
  'open braces': (length) => `{{${'{ '.repeat(length / 2)}`,
  quotes: (length) => `Hi. ${'" '.repeat(length / 2)}`,
  fences: (length) => '```\n'.repeat(length / 4),
  items: (length) => '- a\n'.repeat(length / 4),
};

const saying = { sayable: englishOf, spells: true };

const readersOfText: Readonly<Record<string, (text: string) => unknown>> = {
  sentencesOf,
  sentencesAndCode: (text) => sentencesAndCode(text),
  'code of a block': (text) => sentencesAndCode(text, '```'),
  endsInAddress,
  speakableText,
  englishOf,
  wordsOf,
  unfinished,
  lastSentenceOf,
  blocksOf,
  addressed: (text) => classifyInterruption(text, { lately: text, lastSentence: text, outlasted: false }),
  Hypothesis: (text) => [new Hypothesis()].map((one) => (one.take(text, 5_000), one.final(text))),
  'SentenceStream, all at once': (text) => {
    const stream = new SentenceStream(saying);
    let found = stream.push(text, 0).length + stream.end().length;
    for (let now = 1; stream.isBehind; now++) found += stream.look(now).length;
    return found;
  },
  parseTemplate,
  literalTemplate,
  codePoints,
  indexAfter: (text) => indexAfter(text, text.length),
  textBehind: (text) => textBehind(text, text.length / 2),
  'the embedded model': (text) =>
    replyTo(
      [
        { role: 'user', content: text },
        { role: 'user', content: text },
      ],
      'A',
    ),
};

const dialect: Dialect = { owns: () => false, storedOf: () => null, event() {}, whole() {} };
const sink: AnswerSink = {
  texts: 0,
  begin() {},
  text() {},
  reasoning() {},
  call() {},
  keep() {},
  keepFields() {},
  refuse() {},
  usage() {},
  complete() {},
  finish() {},
  fail() {},
};
const events = () => {
  const reader = new StreamReader(dialect, sink);
  return (piece: string): void => reader.feed(piece);
};
const answer = (head: string) => () => {
  const parser = new ResponseParser({ head() {}, data() {}, ended() {}, malformed() {} });
  const feed = (text: string): void => void parser.feed(Buffer.from(text, 'latin1'), text.length);
  feed(`HTTP/1.1 200 OK\r\n${head}`);
  return feed;
};
const joinedCalls = (): JoinedToolCalls =>
  new JoinedToolCalls({ origin: '', offered: new Map(), storedOf: () => null });
const part = { index: 0, id: null, name: 'f', arguments: '', begins: false, fields: null };
const joined = () => {
  const calls = joinedCalls();
  return (piece: string): void => (
    calls.take({ ...part, arguments: piece }),
    calls.keep(Number(piece), { text: piece })
  );
};
/** Fields that a provider puts on a call, with each of its parts or all with one. */
const fieldsOf = (fields: (index: number) => object) => () => {
  const calls = joinedCalls();
  return (piece: string): void => (
    calls.take({ ...part, fields: fields(Number(piece)) as Json }),
    calls.keepFields(fields(Number(piece)) as Json)
  );
};
const detail = (index: number): object => ({ type: 'reasoning.text', text: 'a', index });
const head = (name: string, value: string): RequestHead =>
  ({
    remoteAddress: '127.0.0.1',
    headers: (wanted: string) => (wanted === name ? [value] : []),
  }) as unknown as RequestHead;

/** Readers that take a text a piece at a time, or read more than a text. */
const others: Readonly<Record<string, Work>> = {
  'a line of events without an end': by(events, () => 'x'),
  'data without an end': by(events, (index) => (index === 0 ? 'data: ' : 'x')),
  'lines of data without an event': by(events, () => 'data: x\n'),
  'many events at once': on(
    (length) => 'data: {}\n\n'.repeat(length / 10),
    (text) => events()(text),
  ),
  'a head by the byte': by(answer('a: '), () => 'x'),
  'chunks of a byte': on(
    (length) => '1\r\nx\r\n'.repeat(length / 6),
    (text) => answer('transfer-encoding: chunked\r\n\r\n')()(text),
  ),
  'trailers without an end': on(
    (length) => 'a: b\r\n'.repeat(length / 6),
    (text) => answer('transfer-encoding: chunked\r\n\r\n0\r\n')()(text),
  ),
  'the header of a WAV': on(
    (length) => `RIFF\0\0\0\0WAVE${'junk\0\0\0\0'.repeat(length / 8)}`,
    (text) => new WavReader().push(Buffer.from(text, 'latin1')),
  ),
  'parts of calls': by(joined, (index) => String(index)),
  'unknown fields of a call, another name with each part': by(
    fieldsOf((index) => ({ [`n${index}`]: 'a' })),
    String,
  ),
  'details of reasoning, another place with each part': by(
    fieldsOf((index) => ({ details: [detail(index)] })),
    String,
  ),
  'details of reasoning, one place': by(
    fieldsOf(() => ({ details: [detail(0)] })),
    String,
  ),
  'details of reasoning, all at once': (length) => {
    const fields = { details: Array.from({ length: length / 50 }, (_, index) => detail(index)) } as Json;
    return () => [0, 1].map(() => joinedCalls().take({ ...part, fields }));
  },
  'a thought by the character': by(
    () => {
      const reasoning = reasoningOf('hidden');
      reasoning.text('<think>');
      return (piece) => reasoning.text(piece);
    },
    () => 'x',
  ),
  'thoughts one after another': on(
    (length) => '<think></think>'.repeat(length / 15),
    (text) => reasoningOf('hidden').text(text),
  ),
  'white space by the character': by(
    () => {
      const reasoning = reasoningOf('hidden');
      return (piece) => reasoning.text(piece);
    },
    () => ' ',
  ),
  'halves of characters': by(
    () => {
      const points = new WholePoints();
      return (piece) => points.take(piece);
    },
    () => '\ud83d',
  ),
  'sentences by the character': by(
    () => {
      const stream = new SentenceStream(saying);
      return (piece) => stream.push(piece, 0);
    },
    (index) => 'Dr. A! '[index % 7]!,
  ),
  'a sentence before signs': on(texts['stars']!, (raw) =>
    planOf({ from: 0, raw, spokenText: 'Hi' }, [{ from: 0, to: 1 }], 1, englishOf),
  ),
  'languages that are accepted': on(
    (length) => 'a,'.repeat(length / 2),
    (text) => weighted([text]).map(([name]) => languageOf(name)),
  ),
  'parameters of a language': on(
    (length) => `a${';q=1'.repeat(length / 4)}`,
    (text) => weighted([text]),
  ),
  'addresses of proxies': on(
    (length) => `${'127.0.0.1,'.repeat(length / 10)}127.0.0.1`,
    (text) => clientAddress(head('x-forwarded-for', text), ['127.0.0.0/8']),
  ),
  'addresses that are none': on(
    (length) => '[,'.repeat(length / 2),
    (text) => clientAddress(head('x-forwarded-for', text), ['127.0.0.0/8']),
  ),
  cookies: on(
    (length) => 'a=b;'.repeat(length / 4),
    (text) => cookieOf(head('cookie', text), 'c'),
  ),
  tags: on(
    (length) => 'W/"a",'.repeat(length / 6),
    (text) => isCurrent(head('if-none-match', text), '"b"'),
  ),
  'a query': on(
    (length) => 'a=%41&'.repeat(length / 6),
    (text) => queryObject(text, { properties: { a: {} } }),
  ),
  'a body with many names': on(
    (length) => `{${Array.from({ length: length / 12 }, (_, index) => `"n${index}":0`).join()}}`,
    (text) => digestOf(text),
  ),
  'a body that is nested deeply': on(
    (length) => '['.repeat(length / 2) + ']'.repeat(length / 2),
    (text) => digestOf(text),
  ),
  nesting: on(
    (length) => '['.repeat(length / 2) + ']'.repeat(length / 2),
    (text) => isNestedWithin(JSON.parse(text), Infinity),
  ),
  'a schema': on(
    (length) =>
      `{"type":"object","properties":{${Array.from({ length: length / 40 }, (_, index) => `"n${index}":{"type":"string","pattern":"a"}`).join()}}}`,
    (text) => isSchema(JSON.parse(text)),
  ),
  'messages of a chat completion': (length) => {
    const messages = Array.from({ length: length / 10 }, (_, index) => ({
      role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: 'Hi',
    }));
    return () => readMessages([...messages, { role: 'user', content: 'Hi' }], true);
  },
  'calls of a response': (length) => {
    const calls = Array.from({ length: length / 20 }, (_, index) => ({
      type: 'function_call' as const,
      call_id: `c${index}`,
      name: 'f',
      arguments: '{}',
    }));
    const results = calls.map(({ call_id }) => ({ type: 'function_call_output' as const, call_id, output: 'a' }));
    return () => readInput(placedItems([{ role: 'user', content: 'Hi' }, ...calls, ...results]));
  },
  'a history of short messages': (length) => {
    const messages = Array.from({ length: length / 4 }, (_, index) => ({
      role: index % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: 'Hi',
    }));
    return () => [alternating(messages, true), cutHistory(messages, 1_000_000)];
  },
  'a history of one role': (length) => {
    const messages = Array.from({ length: length / 4 }, () => ({ role: 'user' as const, content: 'Hi' }));
    return () => alternating(messages, true);
  },
};

const digestOf = (text: string): string =>
  idempotencyOf({ idempotencyKey: 'k', json: JSON.parse(text) }, { id: 'key_1' } as never, '/')!.bodyDigest;

t.test('[R3] each reader of a text takes time in proportion to it', async (t) => {
  for (const [name, read] of Object.entries(readersOfText)) {
    for (const [kind, make] of Object.entries(texts))
      t.equal(await growthOfWork(on(make, read)), null, `${name} of ${kind}`);
  }
});

t.test('[R3] each reader of what comes in pieces takes time in proportion to it', async (t) => {
  for (const [name, work] of Object.entries(others)) t.equal(await growthOfWork(work), null, name);
});

t.test('[R3] each shape of the wire is checked in time that is in proportion to the value', async (t) => {
  const bodies = answeredRoutes({ managementPort: null }).flatMap(({ method, path, body }) =>
    body === null ? [] : [{ name: `${method} ${path}`, schema: body.schema }],
  );
  const messages = [
    ...Object.entries(RealtimeEvents),
    ...Object.entries(CallMessages),
    ['transcription start', StartMessage] as const,
  ].map(([name, schema]) => ({ name, schema }));
  const known = new Map([...bodies, ...messages].map(({ name, schema }) => [schema, name]));
  for (const [schema, name] of known) {
    const { parse } = shape(schema);
    for (const place of placesIn(schema)) {
      const found = await growthOfWork((length) => {
        const value = place.make(length);
        return () => {
          try {
            return parse(value);
          } catch (error) {
            return error;
          }
        };
      });
      if (found !== null) t.fail(`${name}, ${place.name}: ${found}`);
    }
    t.pass(name);
  }
});

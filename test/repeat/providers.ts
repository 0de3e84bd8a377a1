/** Answers in which a provider sends something again and again. Each row is one turn, or one speech. */
import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { eventStream } from '../providers/model/provider.ts';
import type { Row } from './rows.ts';

const written = (stream: Writable, text: string): Promise<void> =>
  new Promise((resolve) => void stream.write(text, () => resolve()));

/** Writes pieces in few writes, as fast as they are read, until the other side has gone. */
async function pour(stream: Writable, times: number, piece: (time: number) => string): Promise<void> {
  const gone = new Promise<void>((resolve) => void stream.once('close', resolve));
  for (let time = 0; time < times && !stream.destroyed;) {
    let text = '';
    for (const last = Math.min(times, time + 1_000); time < last; time++) text += piece(time);
    await Promise.race([gone, written(stream, text)]);
  }
}

export const delta = (fields: object): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: fields }] })}\n\n`;
export const finish = `${delta({ content: 'end' })}data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;

/** An answer to a turn, and the status that the client gets for it. */
export const answers = (
  name: string,
  status: number,
  answer: (response: ServerResponse, times: number, held: () => Promise<void>) => Promise<void> | void,
): Row => ({
  name: `a provider: ${name}`,
  by: 'provider',
  covers: null,
  async send(world, times, held) {
    const { house, relayed, provider } = world;
    const before = provider.requests.length;
    let measured: Promise<void> | null = null;
    // A turn may ask more than once; memory is measured in the first answer.
    provider.answer = (response) => void answer(response, times, () => (measured ??= held()));
    const session = await house.session(relayed);
    const reply = await fetch(`${house.url}/sessions/${session.id}/chat`, {
      method: 'POST',
      headers: { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' },
      body: '{"message":"Hello"}',
    });
    const text = await reply.text();
    await measured;
    const end = reply.status === 200 ? (/event: turn\.completed/.test(text) ? 'completed' : 'error') : 'refused';
    const asked = provider.requests.length - before;
    const came = `${reply.status} ${end}, ${asked} answers`;
    return {
      sent: times,
      came,
      missed: asked > 0 && reply.status === status ? null : `instead of ${status} came ${came}`,
    };
  },
});

const streams = (
  name: string,
  piece: (time: number) => string,
  { end = finish, status = 200 }: { readonly end?: string; readonly status?: number } = {},
): Row =>
  answers(name, status, async (response, times, held) => {
    response.writeHead(200, eventStream);
    await pour(response, times, piece);
    await held();
    response.end(end);
  });

/** Bytes in place of an answer of the fake's server. */
const bytes = (name: string, status: number, head: string, piece: (time: number) => string, end = ''): Row =>
  answers(name, status, async ({ socket }, times, held) => {
    await written(socket!, head);
    await pour(socket!, times, piece);
    await held();
    socket!.end(end);
  });

/** A WAV of one channel of 16 bits, whose header says this rate, and a second of noise. */
function wav(rate: number, bytes = 32_000, sent = bytes): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE((36 + bytes) >>> 0, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE((rate * 2) >>> 0, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(bytes, 40);
  return Buffer.concat([head, Buffer.alloc(sent, 7)]);
}

/** A provider's audio for speeches: the first sentence is valid, so the second must be converted to its format. */
const sounds = (
  name: string,
  whole: boolean,
  second: (response: ServerResponse, times: number) => Promise<void> | void,
  format = 'wav',
): Row => ({
  name: `a provider: ${name} for ${format}`,
  by: 'provider',
  covers: null,
  async send({ house, provider, relayedVoice }, times) {
    const speeches = Math.ceil(times / 33_334);
    let ended = 0;
    let seconds = 0;
    provider.answer = (response, { body }) => {
      response.writeHead(200, { 'content-type': 'audio/wav' });
      if (/One/.test(body?.input)) response.end(wav(24_000));
      else {
        seconds++;
        void second(response, times);
      }
    };
    for (let time = 0; time < speeches; time++) {
      const body = JSON.stringify({
        assistant_id: relayedVoice,
        text: 'One sentence is here. Another one follows.',
        format,
      });
      const response = await fetch(`${house.url}/speech`, {
        method: 'POST',
        headers: { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' },
        body,
      });
      await response.arrayBuffer().then(
        () => ended++,
        () => {},
      );
    }
    const came = `${seconds} second sentences, ${ended} of ${speeches} speeches whole`;
    return { sent: speeches, came, missed: seconds >= speeches && (ended === speeches) === whole ? null : came };
  },
});

const rates = { 1: false, 7: false, 8_000: true, 192_000: true, 240_000_000: false, 4_294_967_295: false };
const rateRows = (format: string): readonly Row[] =>
  Object.entries(rates).map(([rate, whole]) =>
    sounds(`a WAV of ${rate} Hz`, whole, (response) => void response.end(wav(Number(rate))), format),
  );

export const providerRows: readonly Row[] = [
  streams('events of one character', () => delta({ content: 'a' })),
  streams('events without any text', () => delta({})),
  streams('comments', () => ': nothing\n'),
  streams('blank lines', () => '\n'),
  streams('reasoning', () => delta({ reasoning_content: 'hm' })),
  streams('thinking in its text', (time) => delta({ content: time === 0 ? '<think>' : 'hm ' }), {
    end: `${delta({ content: '</think>' })}${finish}`,
  }),
  streams('thinking without an end', (time) => delta({ content: time === 0 ? '<think>' : '</thin' })),
  streams('angle brackets', () => delta({ content: '<' })),
  streams('names of events', (time) => `event: e${time}\n`),
  streams('a line without an end', () => `data: ${'a'.repeat(58)}`, { end: '\n\n', status: 503 }),
  streams('an event of many lines', () => 'data: a\n', { end: '\n\n', status: 503 }),
  streams(
    'usage in each event',
    () => `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })}\n\n`,
  ),
  streams('events after the finish', (time) => (time === 0 ? finish : delta({ content: 'more' }))),
  bytes('a head without an end', 503, 'HTTP/1.1 200 OK\r\n', (time) => `x-${time}: y\r\n`),
  bytes('a header line without an end', 503, 'HTTP/1.1 200 OK\r\nx: ', () => 'aaaaaaaaaa'),
  bytes('a status line without an end', 503, 'HTTP/1.1 200 ', () => 'aaaaaaaaaa'),
  bytes('answers before the answer', 503, '', () => 'HTTP/1.1 100 Continue\r\n\r\n'),
  bytes(
    'chunks of one byte',
    200,
    'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n',
    () => '1\r\n:\r\n',
    `2\r\n\n\n\r\n${finish.length.toString(16)}\r\n${finish}\r\n0\r\n\r\n`,
  ),
  bytes(
    'an extension of a chunk without an end',
    503,
    'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n1;',
    () => 'aaaaaaaaaa',
  ),
  bytes(
    'trailers without an end',
    200,
    `HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n${finish.length.toString(16)}\r\n${finish}\r\n0\r\n`,
    (time) => `x-${time}: y\r\n`,
  ),
  bytes(
    'a refusal without an end',
    503,
    'HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n',
    () => '{"error":[',
  ),
  answers('an answer that is one long text', 200, (response, times) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        choices: [{ index: 0, message: { role: 'assistant', content: 'a '.repeat(times) }, finish_reason: 'stop' }],
      }),
    );
  }),
  ...rateRows('wav'),
  ...rateRows('mp3'),
  sounds('a WAV without data', false, async (response, times) => {
    response.write('RIFF\xff\xff\xff\xffWAVE', 'latin1');
    await pour(response, times, () => 'junk\x02\x00\x00\x00aa');
    response.end();
  }),
  sounds('a WAV of many small chunks', false, async (response, times) => {
    response.write('RIFF\xff\xff\xff\xffWAVEfmt ', 'latin1');
    await pour(response, times, () => 'aaaaaaaaaa');
    response.end();
  }),
  sounds(
    'audio without an end',
    false,
    async (response, times) => {
      response.write(wav(8_000, 0xffff_ff00, 2));
      await pour(response, times, () => 'aaaaaaaaaa'.repeat(16));
      response.destroy();
    },
    'pcm',
  ),
];

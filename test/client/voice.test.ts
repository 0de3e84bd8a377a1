/** Speech and transcription over the built package, at the real server. */
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo, Socket as Connection } from 'node:net';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import WebSocket, { WebSocketServer } from 'ws';
import type * as client from '../../src/client/index.ts';
import { readWav } from '../../src/providers/voice/audio/wav.ts';
import { openHouse } from '../api/house.ts';

const { Parley, ParleyError } = (await import(
  fileURLToPath(new URL('../../dist/client/index.js', import.meta.url))
)) as typeof client;
// The voice processes end with their server.
const house = await openHouse(t, { workersAlone: true });
const assistant = await house.assistant({ channels: { voice: true } });
const silent = await house.assistant();
const assistant_id: string = assistant.id;
const parley = new Parley({ url: house.url, key: house.key });

const hello = await parley.speech({ assistant_id, text: 'Hello there.', stream: false });
const { samples, sampleRate } = readWav(await hello.bytes());

/**
 * Sends the clip and a second of silence in frames of 20 ms, as fast as the pace allows it, which is ten seconds at
 * once.
 */
async function say(transcription: client.Transcription): Promise<void> {
  const all = new Int16Array(samples.length + sampleRate);
  all.set(samples);
  const frame = sampleRate / 50;
  for (let at = 0; at < all.length; at += frame) await transcription.send(all.subarray(at, at + frame));
}

async function rest(transcription: client.Transcription): Promise<client.TranscriptionMessage[]> {
  const messages: client.TranscriptionMessage[] = [];
  for await (const message of transcription) messages.push(message);
  return messages;
}

const cutOff = { name: 'ConnectionError', code: null };

const textOf = (messages: readonly client.TranscriptionMessage[]): string =>
  messages.map((message) => (message.type === 'transcript.final' ? message.text : '')).join(' ');

t.test('speech: whole, or piece by piece', async (t) => {
  t.match(hello, { contentType: 'audio/wav', sampleRate: 16_000, requestId: /^req_/ });
  t.ok(samples.length > 8000, `${samples.length} samples`);
  const streamed = await parley.speech({
    assistant_id,
    text: 'One. Two, which is longer. Three.',
    format: 'pcm',
    voice: 'kal16',
    speed: 1.5,
  });
  t.match(streamed.contentType, /^audio\/pcm/);
  let [bytes, pieces] = [0, 0];
  for await (const piece of streamed) {
    bytes += piece.length;
    pieces++;
  }
  t.ok(bytes > 16_000 && pieces > 1, `${bytes} bytes in ${pieces} pieces`);
  await t.rejects(streamed.bytes(), TypeError, 'once');
});

t.test('speech that is refused, left and aborted', async (t) => {
  await t.rejects(parley.speech({ assistant_id, text: 'Hello', voice: 'none' }), {
    code: 'invalid_request',
    status: 422,
    field: 'voice',
  });
  await t.rejects(parley.speech({ assistant_id: silent.id, text: 'Hello' }), { code: 'voice_disabled', status: 409 });
  await t.rejects(parley.speech({ assistant_id, text: 'Hello' }, { signal: AbortSignal.abort(new Error('enough')) }), {
    message: 'enough',
  });
  const text = 'This is a sentence of some length, to be spoken. '.repeat(15);
  const left = await parley.speech({ assistant_id, text });
  for await (const piece of left) if (piece.length > 0) break;
  const stop = new AbortController();
  const aborted = await parley.speech({ assistant_id, text }, { signal: stop.signal });
  await t.rejects(
    async () => {
      for await (const _ of aborted) stop.abort(new Error('enough'));
    },
    { message: 'enough' },
  );
});

t.test('speech that is cut or falls silent is a failure', async (t) => {
  const url = await server(
    t,
    createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'audio/wav', 'x-audio-sample-rate': '16000' });
      response.write('RIFF', () => request.headers['x-how'] === 'cut' && response.destroy());
    }),
  );
  const cut = await new Parley({ url, key: 'ak_1', headers: { 'x-how': 'cut' } }).speech({
    assistant_id,
    text: 'Hello',
  });
  await t.rejects(cut.bytes(), cutOff);
  const silence = await new Parley({ url, key: 'ak_1', silenceMs: 50 }).speech({ assistant_id, text: 'Hello' });
  await t.rejects(silence.bytes(), cutOff);
});

t.test('the client lists the voices', async (t) => {
  const all = await parley.voices({ assistant_id }).all();
  t.match(all[0], { object: 'voice', id: 'slt', language: 'en-US', sample_rate: 16_000 });
  t.match(await parley.voices({ assistant_id }).page({ limit: 1 }), { object: 'list', data: [all[0]], has_more: true });
  await t.rejects(parley.voices({ assistant_id: 'asst_none' }).all(), { code: 'assistant_not_found' });

  const first = await parley.voices({ assistant_id });
  t.strictSame(
    first,
    { object: 'list', data: all, has_more: false, next_cursor: null },
    'awaited, it is the list object',
  );
  t.match(await parley.voices({ assistant_id, limit: 1 }), { data: [all[0]], has_more: true });
  await t.rejects(Promise.resolve(parley.voices({ assistant_id: 'asst_none' })), { code: 'assistant_not_found' });
});

const classes: readonly (readonly [string, client.SocketClass | undefined])[] = [
  ['as the runtime has one, or over node:http', undefined],
  ['of the package ws', WebSocket],
];

for (const [name, Class] of classes) {
  t.test(`transcription with a socket ${name}`, async (t) => {
    const parley = new Parley({ url: house.url, key: house.key, ...(Class && { WebSocket: Class }) });
    const transcription = parley.transcribe({ assistant_id, sample_rate: sampleRate, silence_ms: 200 });
    const reading = rest(transcription);
    await say(transcription);
    await transcription.finish();
    const messages = await reading;
    t.match(messages[0], {
      type: 'ready',
      sample_rate: sampleRate,
      silence_ms: 200,
      encoding: 'pcm_s16le',
      expires_at: null,
    });
    t.match(messages.at(-1), { type: 'done', audio_ms: Number });
    t.match(textOf(messages), /hello/i);
    await transcription.send(new Uint8Array(2));
    t.same(await rest(transcription), [], 'it is over');
  });

  t.test(`a flush, a session that ends, and a close, with a socket ${name}`, async (t) => {
    const parley = new Parley({ url: house.url, key: house.key, ...(Class && { WebSocket: Class }) });
    const session = await parley.sessions.create({ assistant_id });
    const transcription = parley.transcribe({ assistant_id, session_id: session.id, partials: false });
    const reused = samples.slice();
    const sent = transcription.send(reused);
    reused.fill(0);
    await sent;
    await transcription.flush();
    const seen: client.TranscriptionMessage[] = [];
    for await (const message of transcription) {
      seen.push(message);
      if (message.type === 'transcript.final') break;
    }
    t.match(seen[0], { type: 'ready', expires_at: session.expires_at });
    t.match(seen.at(-1), { type: 'transcript.final', reason: /flush|silence/, text: /hello/i });
    t.notOk(seen.some(({ type }) => type === 'transcript.partial'));
    await parley.sessions.end(session.id);
    await t.rejects(rest(transcription), { code: 'session_ended', type: 'conflict', status: null });
    await t.rejects(transcription.send(samples), { code: 'session_ended' });

    const other = parley.transcribe({ assistant_id });
    for await (const { type } of other) if (type === 'ready') other.close();
    t.pass('the iteration ended');
  });
}

t.test('the end of audio at another rate, of which the resampler still holds some', async (t) => {
  const transcription = parley.transcribe({ assistant_id, sample_rate: 48_000 });
  void transcription.send(new Int16Array(960));
  void transcription.finish();
  t.match((await rest(transcription)).at(-1), { type: 'done', audio_ms: 20 });
});

t.test('a transcription is opened at the address of the client, or at the one that the program gives', async (t) => {
  const { port } = new URL(house.url);
  // The client reaches its server in a way that takes no sockets.
  const parley = new Parley({
    url: 'http://parley.invalid',
    key: house.key,
    fetch: (address: string, init: RequestInit) => fetch(address.replace('http://parley.invalid', house.url), init),
  });
  for (const url of [house.url, `ws://127.0.0.1:${port}/`]) {
    const transcription = parley.transcribe({ assistant_id, url });
    await transcription.finish();
    t.match(
      (await rest(transcription)).map(({ type }) => type),
      ['ready', 'done'],
    );
  }
});

t.test('calls that are refused', async (t) => {
  await t.rejects(rest(parley.transcribe({ assistant_id: silent.id })), { code: 'voice_disabled', status: 409 });
  await t.rejects(parley.transcribe({ assistant_id: 'asst_none' }).finish(), { code: 'assistant_not_found' });
  const german = parley.transcribe({ assistant_id, language: 'de' });
  const error = await rest(german).catch((thrown: unknown) => thrown);
  t.ok(error instanceof ParleyError);
  t.match(error, { code: 'invalid_request', type: 'invalid_request' });
  const fast = parley.transcribe({ assistant_id });
  await fast.send(new Int16Array(16_000 * 11));
  await t.rejects(rest(fast), { code: 'rate_limited', type: 'rate_limit_error' });
});

t.test('a socket that is refused with an error alone, without a close, as by Node 22', async (t) => {
  let attempts = 0;
  class Refused {
    readonly bufferedAmount = 0;
    send(): void {}
    close(): void {}
    addEventListener(type: string, listener: (event: object) => void): void {
      if (type === 'error') queueMicrotask(() => (attempts++, listener({ error: new Error('refused') })));
    }
  }
  const clock = {
    now: () => 0,
    random: () => 0,
    after: (ms: number, run: () => void) => (ms === 0 && queueMicrotask(run), () => {}),
  };
  const refused = new Parley({ url: house.url, key: house.key, WebSocket: Refused, clock });
  await t.rejects(rest(refused.transcribe({ assistant_id })), {
    ...cutOff,
    message: /^The socket at ws:\/\/127\.0\.0\.1:\d+\/ did not open\.$/,
  });
  t.equal(attempts, 3);
});

t.test('a signal and a close end it while it opens', async (t) => {
  const stop = new AbortController();
  const aborted = parley.transcribe({ assistant_id }, { signal: stop.signal });
  stop.abort(new Error('enough'));
  await t.rejects(rest(aborted), { message: 'enough' });
  await t.rejects(aborted.send(samples), { message: 'enough' });
  await t.rejects(rest(parley.transcribe({ assistant_id }, { signal: stop.signal })), { message: 'enough' });
  const closed = parley.transcribe({ assistant_id });
  closed.close();
  t.same(await rest(closed), []);
});

/** A server that mints tokens and treats its sockets as the test wants. */
async function server(t: Test, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const minting = (): Server =>
  createServer((_request, response) => {
    response.writeHead(201, { 'content-type': 'application/json' });
    response.end('{"object":"transcription_token","token":"tok_1"}');
  });

for (const [name, Class] of classes) {
  t.test(`cuts, refusals and backpressure, with a socket ${name}`, async (t) => {
    const http = minting();
    const url = await server(t, http);
    const sockets = new WebSocketServer({ noServer: true });
    let looks = 0;
    let look = (_what: string): void => {};
    const looked = new Promise<string>((resolve) => (look = resolve));
    /** Time limits that the test does not reach never run; waits do. */
    const after = (ms: number, run: () => void): (() => void) => {
      if (ms === 10 && ++looks === 5) look('looked again and again');
      const timer = ms < 1000 ? setTimeout(run, ms) : undefined;
      return () => clearTimeout(timer);
    };
    const clock = { now: () => 0, random: () => 0, after };
    let opened = 0;
    let treat = (_socket: WebSocket, _connection: Connection): void => {};
    http.on('upgrade', (request, connection, head) => {
      if (++opened === 1) return void connection.end('HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n');
      sockets.handleUpgrade(request, connection, head, (socket) => treat(socket, connection as Connection));
    });
    const parley = new Parley({ url, key: 'ak_1', clock, ...(Class && { WebSocket: Class }) });

    treat = (socket) => {
      socket.ping('still there?');
      socket.once('pong', () => socket.send(`{"type":"done","audio_ms":1${' '.repeat(70_000)}}`));
    };
    t.match(await rest(parley.transcribe({ assistant_id })), [{ type: 'done', audio_ms: 1 }]);
    t.equal(opened, 2, 'a refusal is followed by another attempt');

    treat = (_socket, connection) => connection.destroy();
    await t.rejects(rest(parley.transcribe({ assistant_id })), cutOff, 'cut');

    const unhandled: unknown[] = [];
    const note = (reason: unknown): number => unhandled.push(reason);
    process.on('unhandledRejection', note);
    t.teardown(() => process.off('unhandledRejection', note));
    const careless = parley.transcribe({ assistant_id });
    void careless.send(new Uint8Array(2));
    void careless.flush();
    void careless.finish();
    await t.rejects(rest(careless), cutOff, 'the iteration alone tells a sender that does not wait');
    void careless.send(new Uint8Array(2));
    await t.rejects(careless.send(new Uint8Array(2)), cutOff);
    // Node reports a rejection once the promises of an iteration have run.
    await new Promise(setImmediate);
    t.same(unhandled, []);

    const held = new Promise<Connection>((resolve) => {
      treat = (_socket, connection) => {
        connection.pause();
        resolve(connection);
      };
    });
    const transcription = parley.transcribe({ assistant_id });
    const sent = transcription.send(new Uint8Array(30_000_000)).then(() => 'sent');
    const connection = await held;
    t.equal(await Promise.race([sent, looked]), 'looked again and again', 'it waits while nobody reads');
    connection.resume();
    t.equal(await sent, 'sent');
    transcription.close();
  });
}

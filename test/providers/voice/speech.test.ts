/** `POST /speech` and `GET /voices`: formats, sentences, usage, providers and their failures (contract 8). */
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { edge, openHouse, type House } from '../../api/house.ts';
import { isRefused, missingField, refusals, wrongField } from '../../api/refusal.ts';
import { until } from '../../api/talk.ts';
import { temporaryFolder } from '../../folders.ts';
import { readWav } from '../../../src/providers/voice/audio/wav.ts';
import { speaker } from './talker.ts';
import { onUpstream, openUpstream, type Upstream } from './upstream.ts';

t.test(edge, async (t) => {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  const upstream = await openUpstream(t);
  await t.test('the embedded voice, in every format', (t) => formats(t, house));
  await t.test('fields of a speech request are checked', (t) => fields(t, house));
  await t.test('accents, signs and other scripts', (t) => worded(t, house));
  await t.test('voices of each provider speak', (t) => voices(t, house));
  await t.test('usage of speech is counted', (t) => counted(t, house));
  await t.test('texts that sound for longer than they look', (t) => sounding(t, house, upstream));
  await t.test('a failure before the first byte, and later', (t) => failing(t, house));
  await t.test('a client that leaves stops the work', (t) => leaving(t, house));
  await t.test('an OpenAI-compatible provider speaks and transcribes', (t) => remote(t, house, upstream));
  await t.test('odd audio of a provider', (t) => odd(t, house, upstream));
  await t.test('answers that are no audio', (t) => broken(t, house, upstream));
});

t.test("the operator's own folder, when it disappears or becomes a file", async (t) => {
  const folder = join(await temporaryFolder(t), 'voices');
  await mkdir(folder);
  await writeFile(join(folder, 'ada.flitevox'), '');
  const house = await openHouse(t, { env: { PARLEY_VOICE_FOLDER: folder } });
  const assistants = [
    await speaker(house, { voice: { provider: 'local' } }),
    await speaker(house, { voice: { provider: 'local', name: 'ada' } }),
  ];
  const names = async (id: string): Promise<string[]> =>
    (await house.ask(`/voices?assistant_id=${id}`)).json.data.map((voice: { id: string }) => voice.id);
  t.same(await names(assistants[0].id), ['ada']);
  await rm(folder, { recursive: true });
  for (const what of ['gone', 'a file']) {
    if (what === 'a file') await writeFile(folder, '');
    for (const { id } of assistants) {
      t.same(await names(id), [], what);
      isRefused(
        t,
        await house.ask('/speech', { body: { assistant_id: id, text: 'Hello.' } }),
        refusals.voiceUnavailable,
        what,
      );
    }
  }
});

interface Spoken {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  /** Whether the answer was cut before its end. */
  readonly cut: boolean;
}

async function speak(house: House, body: object): Promise<Spoken> {
  const response = await fetch(`${house.url}/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const chunks: Uint8Array[] = [];
  let cut = false;
  try {
    for await (const chunk of response.body!) chunks.push(chunk);
  } catch {
    cut = true;
  }
  return { status: response.status, headers: response.headers, bytes: Buffer.concat(chunks), cut };
}

/** The kind of audio that the bytes begin as. */
const magic = { wav: 'RIFF', opus: 'OggS' } as const;
const types = {
  wav: 'audio/wav',
  pcm: 'audio/pcm;rate=16000;channels=1',
  mp3: 'audio/mpeg',
  opus: 'audio/ogg;codecs=opus',
} as const;

async function formats(t: Test, house: House): Promise<void> {
  const { id } = await speaker(house);
  for (const [text, sentences] of [
    ['Hello there.', 1],
    ['Dr. Smith is here. So is his dog!', 2],
  ] as const) {
    for (const format of ['wav', 'pcm', 'mp3', 'opus'] as const) {
      for (const stream of [true, false]) {
        const what = `${format}, ${sentences} sentences, stream ${stream}`;
        const { status, headers, bytes, cut } = await speak(house, { assistant_id: id, text, format, stream });
        t.same(
          [status, cut, headers.get('content-type'), headers.get('x-audio-sample-rate')],
          [200, false, types[format], '16000'],
          what,
        );
        t.ok(headers.get('x-ratelimit-limit'), `${what}: rate headers`);
        const whole = !stream || (format === 'wav' && sentences === 1);
        t.same(
          [headers.get('content-length'), headers.get('transfer-encoding')],
          whole ? [String(bytes.length), null] : [null, 'chunked'],
          what,
        );
        if (format === 'wav' || format === 'opus') t.equal(bytes.toString('latin1', 0, 4), magic[format], what);
        if (format === 'mp3') t.equal(bytes[0], 0xff, what);
        if (format !== 'wav') continue;
        t.same(
          [bytes.readUInt32LE(4), bytes.readUInt32LE(40)],
          whole ? [bytes.length - 8, bytes.length - 44] : [0xffffffff, 0xffffffff],
          what,
        );
        const { sampleRate, samples } = readWav(bytes);
        t.equal(sampleRate, 16_000);
        t.ok(samples.length > 16_000 / 2 && samples.some((sample) => Math.abs(sample) > 1000), `${what}: it is heard`);
      }
    }
  }
  const [slow, fast] = await Promise.all(
    [0.5, 2].map((speed) => speak(house, { assistant_id: id, text: 'Hello there.', format: 'pcm', speed })),
  );
  t.ok(slow!.bytes.length > 3 * fast!.bytes.length, 'at half the speed and at twice the speed');
  const [one, other] = await Promise.all(
    ['slt', 'rms'].map((voice) => speak(house, { assistant_id: id, text: 'Hello there.', format: 'pcm', voice })),
  );
  t.notSame(one!.bytes, other!.bytes, 'by two voices');
}

async function fields(t: Test, house: House): Promise<void> {
  const { id } = await speaker(house);
  const { id: off } = await house.assistant();
  const ask = (fields: object) => house.ask('/speech', { body: { assistant_id: id, text: 'Hi', ...fields } });
  for (const voice of ['', 5, 'nobody']) isRefused(t, await ask({ voice }), wrongField('voice'), `voice ${voice}`);
  for (const text of [
    '你好，世界。',
    'こんにちは',
    '안녕하세요',
    'مرحبا بالعالم',
    'Привет, мир!',
    'Γειά',
    'สวัสดี',
    'שלום 👋',
    '你好 & 世界 + €',
    '**你好**\n\n> 世界',
  ]) {
    isRefused(t, await ask({ text }), wrongField('text'), `another script: ${text}`);
    isRefused(t, await ask({ assistant_id: off, text }), wrongField('text'), 'it comes before the state');
  }
  const { id: remote } = await speaker(house, { voice: { provider: 'openai' } });
  isRefused(
    t,
    await ask({ assistant_id: remote, text: '你好' }),
    refusals.voiceUnavailable,
    'other providers are given any',
  );
  for (const voice of ['x'.repeat(65), '\ud800'])
    isRefused(t, await ask({ assistant_id: remote, voice }), wrongField('voice'), `an openai provider's: ${voice}`);
  isRefused(
    t,
    await ask({ assistant_id: remote, voice: '\u{1f600}'.repeat(64) }),
    refusals.voiceUnavailable,
    '64 characters are passed on',
  );
  for (const speed of [0.49, 2.01, '1']) isRefused(t, await ask({ speed }), wrongField('speed'), `speed ${speed}`);
  isRefused(t, await ask({ stream: 'no' }), wrongField('stream'));
  isRefused(
    t,
    await ask({ assistant_id: off, voice: 'nobody' }),
    wrongField('voice'),
    'an unknown voice comes before the state',
  );
  const { key } = await house.newKey({ assistant_ids: [id] });
  isRefused(
    t,
    await house.ask('/speech', { key, body: { assistant_id: off, text: 'Hi', voice: 'nobody' } }),
    refusals.notPermitted,
    'and after the permission',
  );
}

/** The words said are the words heard. */
async function worded(t: Test, house: House): Promise<void> {
  const { id } = await speaker(house);
  const pcm = async (text: string): Promise<Buffer> => {
    const { status, bytes } = await speak(house, { assistant_id: id, text, format: 'pcm' });
    t.equal(status, 200, text);
    return bytes;
  };
  for (const [text, plain] of [
    ['Meet me at the café, Zoë.', 'Meet me at the cafe, Zoe.'],
    ['Ｆｕｌｌ ｗｉｄｔｈ ５００.', 'Full width 500.'],
    ['Hello, мир and 世界!', 'Hello, and !'],
    ['٣ apples', '3 apples'],
    ['It costs €5 & 20% more = 6.', 'It costs 5 euros and 20 percent more equals 6.'],
    ['½ of it', 'one half of it'],
  ] as const)
    t.ok((await pcm(text)).equals(await pcm(plain)), `${text} sounds as ${plain}`);
  const said = await pcm('One. Two.');
  const before = await characters(house);
  const mixed = '世界。One. 你好。Two. 再见。';
  t.ok((await pcm(mixed)).equals(said), 'sentences of which nothing can be said are left out');
  await until(async () => (await characters(house)) > before);
  t.equal(await characters(house), before + [...mixed].length, "usage counts the client's text");
  const { talk, silence } = await import('./talker.ts');
  for (const [text, heard] of [
    ['The price of it is €5 today.', /(five|5) euros|€\s?5/i],
    ['That is 20% more than we had before.', /(twenty|20) ?(per ?cent|%)/i],
  ] as const) {
    const talker = await talk(house, id);
    talker.burst(Buffer.concat([silence(400), await pcm(text), silence(400)]));
    talker.send({ type: 'finish' });
    await talker.closed;
    const words = talker.heard
      .filter(({ type }) => type === 'transcript.final')
      .map(({ text: final }) => final)
      .join(' ');
    t.match(words, heard, `${text}: heard "${words}"`);
  }
}

async function voices(t: Test, house: House): Promise<void> {
  const { id } = await speaker(house);
  const { json, status } = await house.ask(`/voices?assistant_id=${id}`);
  t.same([status, json.object, json.has_more], [200, 'list', false]);
  t.match(json.data[0], { id: 'slt', object: 'voice', name: /./, language: 'en-US', sample_rate: 16_000 });
  const first = (await house.ask(`/voices?assistant_id=${id}&limit=1`)).json;
  t.same([first.data.length, first.has_more], [1, true]);
  t.equal(
    (await house.ask(`/voices?assistant_id=${id}&limit=1&after=${first.next_cursor}`)).json.data[0].id,
    json.data[1].id,
  );
  const { id: remote } = await speaker(house, { voice: { provider: 'openai', voice: 'nova' } });
  t.same(
    (await house.ask(`/voices?assistant_id=${remote}`)).json.data.map((voice: { id: string }) => voice.id),
    ['nova'],
    "an openai provider's is the assistant's own",
  );
  const { key } = await house.newKey({ assistant_ids: [id] });
  isRefused(
    t,
    await house.ask(`/voices?assistant_id=${remote}`, { key }),
    refusals.noAssistant,
    'what the key may not use',
  );
  isRefused(t, await house.ask('/voices?assistant_id=asst_none'), refusals.noAssistant);
  isRefused(t, await house.ask('/voices'), missingField('assistant_id'));
}

const characters = async (house: House): Promise<number> => (await house.ask('/usage')).json.totals.speech_characters;

async function counted(t: Test, house: House): Promise<void> {
  const { id } = await speaker(house, { voice: { provider: 'synthetic', name: 'audio_ms=10' } });
  const before = await characters(house);
  const text = 'Héllo 👋. Wörld!';
  await speak(house, { assistant_id: id, text });
  t.equal(await characters(house), before + [...text].length, 'code points');
  const { id: failing } = await speaker(house, { voice: { provider: 'synthetic', name: 'fail_at=0' } });
  t.equal((await speak(house, { assistant_id: failing, text })).status, 503);
  const { id: second } = await speaker(house, { voice: { provider: 'synthetic', name: 'fail_at=1' } });
  t.equal(
    (await speak(house, { assistant_id: second, text, stream: false })).status,
    503,
    'whole, so that its failure is a status',
  );
  t.ok((await speak(house, { assistant_id: second, text })).cut);
  await until(async () => (await characters(house)) > before + [...text].length);
  t.equal(
    await characters(house),
    before + 2 * [...text].length,
    'each sentence whose synthesis began; a 503 counts nothing',
  );
}

async function sounding(t: Test, house: House, upstream: Upstream): Promise<void> {
  const { id } = await speaker(house, { voice: { provider: 'embedded', voice: 'kal16' } });
  const digits = '1234567890'.repeat(20);
  const before = await characters(house);
  const sentence = await speak(house, { assistant_id: id, text: digits, speed: 2 });
  t.same(
    [sentence.status, sentence.headers.get('content-length')],
    [200, String(sentence.bytes.length)],
    'one sentence is sent whole, in however many pieces it is made',
  );
  t.same(
    [sentence.bytes.readUInt32LE(4), sentence.bytes.readUInt32LE(40)],
    [sentence.bytes.length - 8, sentence.bytes.length - 44],
  );
  const secondsOf = (bytes: number): number => bytes / 2 / 16_000;
  t.ok(secondsOf(sentence.bytes.length) > 200 * 0.1, 'each digit is said');
  t.equal(await characters(house), before + 200);
  const text = await speak(house, { assistant_id: id, text: digits + digits.slice(0, 50), format: 'pcm', speed: 2 });
  t.same([text.status, text.cut], [200, false]);
  t.ok(secondsOf(text.bytes.length) > 250 * 0.1, 'to the last one');
  t.equal(await characters(house), before + 450);

  const { id: remote } = await onUpstream(house, upstream, {});
  upstream.answer = (response) => response.writeHead(200, { 'content-type': 'audio/pcm' }).end(tone);
  const asked = upstream.asked.length;
  t.equal((await speak(house, { assistant_id: remote, text: digits })).status, 200);
  const inputs = upstream.asked.slice(asked).map(({ body }) => JSON.parse(body.toString()).input as string);
  t.equal(inputs.join(''), digits);
  t.ok(
    inputs.every(({ length }) => length <= 60),
    'a provider, too, is sent pieces of some twenty seconds',
  );
}

async function failing(t: Test, house: House): Promise<void> {
  const ask = async (name: string, fields: object = {}) => {
    const { id } = await speaker(house, { voice: { provider: 'synthetic', name } });
    return house.ask('/speech', { body: { assistant_id: id, text: 'One. Two.', ...fields } });
  };
  isRefused(t, await ask('fail_at=0'), refusals.voiceUnavailable);
  isRefused(t, await ask('fail_at=0,fail_as=credential'), refusals.voiceUnavailable);
  isRefused(t, await ask('fail_at=0,fail_as=rate_limit'), refusals.unavailable, "a provider's rate limit (contract 2)");
  isRefused(t, await ask('fail_at=1', { stream: false }), refusals.voiceUnavailable);
  const { id } = await speaker(house, { voice: { provider: 'synthetic', name: 'fail_at=1' } });
  const spoken = await speak(house, { assistant_id: id, text: 'One. Two.', format: 'pcm' });
  t.same([spoken.status, spoken.cut], [200, true], 'cut without a clean end');
  t.ok(spoken.bytes.length <= 800 * 32);
}

async function leaving(t: Test, house: House): Promise<void> {
  const { id } = await speaker(house, { voice: { provider: 'synthetic', name: 'audio_ms=60000' } });
  const before = await characters(house);
  // 3 MB for each sentence: the system's buffers between server and client hold some 10 MB.
  const text = 'One. Two. '.repeat(20);
  const body = JSON.stringify({ assistant_id: id, text, format: 'pcm' });
  const client = request(`${house.url}/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' },
  });
  client.on('error', () => {});
  client.end(body);
  const [response] = await once(client, 'response');
  await once(response, 'readable');
  client.destroy();
  await until(async () => (await characters(house)) > before);
  t.ok((await characters(house)) - before < text.length / 2, 'later sentences were not begun');
}

/** A second of a tone at 24 kHz. */
const tone = Buffer.from(Int16Array.from({ length: 24_000 }, (_, index) => 8000 * Math.sin(index / 8)).buffer);

function wavOf(samples: Buffer, rate: number, { size = samples.length, behind = '' } = {}): Buffer {
  const header = Buffer.alloc(44);
  header.write('RIFF');
  header.writeUInt32LE(0xffffffff, 4);
  header.write('WAVEfmt ', 8);
  for (const [value, at, bytes] of [
    [16, 16, 4],
    [1, 20, 2],
    [1, 22, 2],
    [rate, 24, 4],
    [rate * 2, 28, 4],
    [2, 32, 2],
    [16, 34, 2],
  ] as const)
    header.writeUIntLE(value, at, bytes);
  header.write('data', 36);
  header.writeUInt32LE(size, 40);
  return Buffer.concat([header, samples, Buffer.from(behind, 'latin1')]);
}

async function remote(t: Test, house: House, upstream: Upstream): Promise<void> {
  const { id } = await onUpstream(house, upstream, { name: 'tts-x', voice: 'nova' });
  const ask = (fields: object = {}) =>
    speak(house, { assistant_id: id, text: 'Hello there.', format: 'wav', ...fields });
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'audio/pcm' });
    // Cut in the middle of a sample.
    response.write(tone.subarray(0, 1001));
    response.end(tone.subarray(1001));
  };
  const plain = await ask();
  t.same([plain.status, plain.headers.get('x-audio-sample-rate')], [200, '24000']);
  t.same(plain.bytes.subarray(44), tone);
  t.match(upstream.asked.at(-1), { path: '/v1/audio/speech', headers: { authorization: 'Bearer voice-secret' } });
  t.same(JSON.parse(upstream.asked.at(-1)!.body.toString()), {
    model: 'tts-x',
    input: 'Hello there.',
    voice: 'nova',
    response_format: 'pcm',
  });
  await ask({ voice: 'echo', speed: 1.5, text: 'One. Two.' });
  const [one, two] = upstream.asked.slice(-2).map(({ body }) => JSON.parse(body.toString()));
  t.match(
    [one, two],
    [
      { input: /One\.\s*/, voice: 'echo', speed: 1.5 },
      { input: 'Two.', voice: 'echo', speed: 1.5 },
    ],
    'sentence by sentence',
  );

  upstream.answer = (response, { body }) => {
    const wav = JSON.parse(body.toString()).response_format === 'wav';
    response.writeHead(wav ? 200 : 400, { 'content-type': wav ? 'audio/wav' : 'application/json' });
    response.end(wav ? wavOf(tone, 22_050, { behind: 'LIST\u0004\u0000\u0000\u0000abcd' }) : '{}');
  };
  const wav = await ask();
  t.same(
    [wav.status, wav.headers.get('x-audio-sample-rate'), wav.bytes.length - 44],
    [200, '22050', tone.length],
    'where pcm is refused, the data of a WAV alone',
  );

  upstream.answer = (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"text":" Good morning. "}');
  const { id: listening } = await onUpstream(house, upstream, { transcription_name: 'whisper-x' });
  const { talk, spoken, silence } = await import('./talker.ts');
  const { id: embedded } = await speaker(house);
  const talker = await talk(house, listening, { query: '&language=en-GB' });
  talker.burst(Buffer.concat([silence(300), await spoken(house, embedded, 'Good morning to you.'), silence(600)]));
  talker.send({ type: 'finish' });
  t.equal(await talker.closed, 1000);
  t.match(
    talker.heard.filter(({ type }) => type.startsWith('transcript')),
    [{ type: 'transcript.final', text: 'Good morning.', reason: 'silence' }],
    'without partials',
  );
  const { path, headers, body } = upstream.asked.at(-1)!;
  t.equal(path, '/v1/audio/transcriptions');
  const form = await new Response(body, { headers: { 'content-type': String(headers['content-type']) } }).formData();
  t.same(
    ['model', 'language', 'response_format'].map((name) => form.get(name)),
    ['whisper-x', 'en', 'json'],
  );
  const file = Buffer.from(await (form.get('file') as File).arrayBuffer());
  t.equal(file.readUInt32LE(40), file.length - 44, 'an exact header');
  t.equal(readWav(file).sampleRate, 16_000);
}

/** Bytes of a WAV's header that make it unplayable. */
const lies: Readonly<Record<string, readonly (readonly [value: number, at: number, bytes: number])[]>> = {
  'a rate of 1': [[1, 24, 4]],
  'a rate of 240,000,000': [[240_000_000, 24, 4]],
  'no channels': [[0, 22, 2]],
  '65,535 channels': [
    [65_535, 22, 2],
    [65_535, 32, 2],
    [8, 34, 2],
  ],
  'no bits': [[0, 34, 2]],
  'frames of no bytes': [[0, 32, 2]],
  'a chunk of 4 GB before the data': [
    [0x4b4e554a, 36, 4],
    [0xffffffff, 40, 4],
  ],
  'data of no bytes': [[0, 40, 4]],
  RF64: [[0x34364652, 0, 4]],
};

function changed(wav: Buffer, ...change: (typeof lies)[string]): Buffer {
  for (const [value, at, bytes] of change) wav.writeUIntLE(value, at, bytes);
  return wav;
}

/** Rates that differ by sentence, sizes that lie, and bytes behind the data. */
async function odd(t: Test, house: House, upstream: Upstream): Promise<void> {
  const { id } = await onUpstream(house, upstream);
  const rates = [8_000, 192_000, 44_100, 191_999];
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'audio/wav' });
    response.end(wavOf(tone, rates[(upstream.asked.length - 1) % rates.length]!, { size: 0x7fffffff }));
  };
  upstream.asked.length = 0;
  const { headers, bytes, cut } = await speak(house, {
    assistant_id: id,
    text: 'One. Two. Three. Four.',
    format: 'pcm',
  });
  t.same([cut, headers.get('x-audio-sample-rate')], [false, '8000'], "the first sentence's rate is that of all");
  t.equal(bytes.length, 2 * rates.reduce((sum, rate) => sum + Math.ceil((24_000 * 8_000) / rate), 0));

  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'audio/wav' });
    response.write(wavOf(tone, 24_000));
    const more = (): void => void (!response.destroyed && response.write(Buffer.alloc(1024), () => setImmediate(more)));
    more();
  };
  const behind = await speak(house, { assistant_id: id, text: 'One. Two.', format: 'pcm' });
  t.same(
    [behind.cut, behind.bytes.length],
    [false, 2 * tone.length],
    'what follows the data without end is not waited for',
  );
  await upstream.left();
  for (const type of ['audio/pcm', 'audio/wav']) {
    upstream.answer = (response) => {
      response.writeHead(200, { 'content-type': type });
      if (type === 'audio/wav') response.write(wavOf(tone, 8_000, { size: 0xffffffff }));
      const more = (): void =>
        void (!response.destroyed && response.write(Buffer.alloc(256 * 1024, 1), () => setImmediate(more)));
      more();
    };
    isRefused(
      t,
      await house.ask('/speech', { body: { assistant_id: id, text: 'Hi', stream: false } }),
      refusals.voiceUnavailable,
      `endless ${type}`,
    );
    await upstream.left();
  }
}

async function broken(t: Test, house: House, upstream: Upstream): Promise<void> {
  const { id } = await onUpstream(house, upstream);
  const answers: Readonly<Record<string, Upstream['answer']>> = {
    JSON: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"error":"no"}'),
    'a page': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    'no bytes': (response) => response.writeHead(200, { 'content-type': 'audio/pcm' }).end(),
    'a WAV without data': (response) => response.writeHead(200, { 'content-type': 'audio/wav' }).end('RIFF'),
    'another format': (response) => response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(tone),
    '401': (response) => response.writeHead(401).end(),
    '500': (response) => response.writeHead(500).end(),
    'a cut': (response) => response.destroy(),
  };
  for (const [what, answer] of Object.entries(answers)) {
    upstream.answer = answer;
    isRefused(
      t,
      await house.ask('/speech', { body: { assistant_id: id, text: 'Hi' } }),
      refusals.voiceUnavailable,
      what,
    );
  }
  for (const [what, change] of Object.entries(lies)) {
    upstream.answer = (response) =>
      response.writeHead(200, { 'content-type': 'audio/wav' }).end(changed(wavOf(tone, 24_000), ...change));
    isRefused(
      t,
      await house.ask('/speech', { body: { assistant_id: id, text: 'Hi', format: 'mp3' } }),
      refusals.voiceUnavailable,
      what,
    );
    // The first sentence is audio, the second one is not.
    upstream.answer = (response, { body }) => {
      const wav = wavOf(tone, 24_000);
      response
        .writeHead(200, { 'content-type': 'audio/wav' })
        .end(JSON.parse(body.toString()).input.startsWith('One') ? wav : changed(wav, ...change));
    };
    const two = { assistant_id: id, text: 'One. Two.', format: 'pcm' };
    t.match(await speak(house, two), { status: 200, cut: true }, `${what}, in the second sentence`);
    isRefused(
      t,
      await house.ask('/speech', { body: { ...two, stream: false } }),
      refusals.voiceUnavailable,
      `${what}, in the second sentence of a whole`,
    );
  }
  upstream.answer = (response) => response.writeHead(429).end();
  isRefused(t, await house.ask('/speech', { body: { assistant_id: id, text: 'Hi' } }), refusals.unavailable, '429');
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'audio/pcm' });
    response.write(tone);
    setImmediate(() => response.destroy());
  };
  t.match(
    await speak(house, { assistant_id: id, text: 'Hi', format: 'pcm' }),
    { status: 200, cut: true },
    'cut in the middle',
  );
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'audio/pcm' });
    response.write(tone);
  };
  const leaving = new AbortController();
  const response = await fetch(`${house.url}/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ assistant_id: id, text: 'Hi', format: 'pcm' }),
    signal: leaving.signal,
  });
  t.equal(response.status, 200, 'while the provider still speaks');
  const leftAt = performance.now();
  leaving.abort();
  await upstream.left();
  t.ok(performance.now() - leftAt < 8_000, 'the provider is left before its silence would end the request');
}

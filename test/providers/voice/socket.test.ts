/** Transcription sockets, from the token to the close (contract 8). */
import { WebSocket } from 'ws';
import t, { type Test } from 'tap';
import { randomIds } from '../../../src/base/ids.ts';
import { socketTokens } from '../../../src/access/socket-tokens.ts';
import { edges, openHouse, type Answer, type House } from '../../api/house.ts';
import { refusedUpgrade } from '../../api/raw.ts';
import { refusals, wrongField, type Refusal } from '../../api/refusal.ts';
import { end, until } from '../../api/talk.ts';
import { mint, open, silence, speaker, spoken, talk, type Talker } from './talker.ts';

const secret = 'a-secret-of-the-tests-that-is-long-enough';

for (const edge of edges) {
  t.test(edge, async (t) => {
    const house = await openHouse(t, { env: { PARLEY_EDGE: edge, PARLEY_SECRET: secret } });
    const { id } = await speaker(house);
    const greeting = await spoken(house, id, 'What is the weather in London today?');
    const world = { edge, house, id, greeting };
    await t.test('what is said comes back as text', (t) => hears(t, world));
    if (edge === edges[0]) await heard(t, world);
    await t.test('wrong messages are named before the close', (t) => wrong(t, world));
    await t.test('a token opens one socket', (t) => tokens(t, world));
    await t.test('a refused upgrade leaves its token good', (t) => refusedTokens(t, world));
    await t.test('a session bounds its socket', (t) => sessions(t, world));
    await t.test('the assistant counts when speech begins', (t) => states(t, world));
    await t.test('a provider that fails', (t) => failures(t, world));
    await t.test('a drain closes every socket', (t) => drains(t, world));
  });
}

/** Decoding and cutting of audio do not depend on the HTTP engine. */
async function heard(t: Test, world: World): Promise<void> {
  await t.test('a flush makes final what was said so far', (t) => flushes(t, world));
  await t.test('ten seconds of speech are cut', (t) => cuts(t, world));
  await t.test('every encoding is understood', (t) => encodings(t, world));
  await t.test('silence and noise stay undetected', (t) => quiet(t, world));
}

interface World {
  readonly edge: (typeof edges)[number];
  readonly house: House;
  readonly id: string;
  readonly greeting: Buffer;
}

/** A refusal without rate headers, as a token has no budget. */
const isRefused = (
  t: Test,
  { status, json, headers }: Answer,
  { status: expected, code, message }: Refusal,
  what = message,
): void =>
  void t.match(
    { status, error: json.error, rates: headers.get('x-ratelimit-limit') },
    { status: expected, error: { code, message }, rates: null },
    what,
  );

/** The error and the close code that a socket ended with. */
async function ended({ heard, closed }: Talker): Promise<readonly [string | undefined, number]> {
  const code = await closed;
  const last = heard.at(-1);
  return [last?.type === 'error' ? last.code : undefined, code];
}

async function hears(t: Test, { house, id, greeting }: World): Promise<void> {
  const before = (await house.ask('/usage')).json.totals.transcription_seconds;
  const talker = await talk(house, id);
  t.same(talker.heard, [
    { type: 'ready', sample_rate: 16_000, encoding: 'pcm_s16le', silence_ms: 300, expires_at: null },
  ]);
  const audio = Buffer.concat([silence(500), greeting, silence(1000)]);
  // Frames of odd lengths: a half sample is carried over.
  talker.burst(audio, 333);
  talker.send({ type: 'finish' });
  talker.send('not even JSON');
  t.same(await ended(talker), [undefined, 1000], 'what follows a finish is ignored');
  const of = (type: string) => talker.heard.filter((message) => message.type === type);
  const [[started], [stopped], [final]] = [of('speech.started'), of('speech.stopped'), of('transcript.final')];
  t.match(final, {
    utterance: 1,
    text: /london/i,
    start_ms: started!.at_ms,
    end_ms: stopped!.at_ms,
    reason: 'silence',
  });
  t.ok(started!.at_ms >= 400 && started!.at_ms < 900, `speech began at ${started!.at_ms} ms`);
  t.ok(Math.abs(stopped!.at_ms - (audio.length / 32 - 1000)) < 400, `speech stopped at ${stopped!.at_ms} ms`);
  t.same([of('speech.started').length, of('transcript.final').length], [1, 1]);
  t.same(
    of('audio.received').map(({ audio_ms: ms }) => ms),
    Array.from({ length: Math.floor(audio.length / 32_000) }, (_, index) => (index + 1) * 1000),
  );
  t.same(talker.heard.at(-1), { type: 'done', audio_ms: Math.floor(audio.length / 32) });
  const seconds = async () => (await house.ask('/usage')).json.totals.transcription_seconds - before;
  await until(async () => (await seconds()) > 0);
  t.equal(await seconds(), Math.floor(audio.length / 32_000));
  for (const partial of of('transcript.partial'))
    t.ok([...partial.text].length >= partial.stable, 'stable text is the beginning of the text');
}

async function flushes(t: Test, { house, id, greeting }: World): Promise<void> {
  const talker = await talk(house, id, { query: '&silence_ms=2000&partials=false' });
  talker.send({ type: 'flush' });
  talker.burst(Buffer.concat([silence(300), greeting]));
  talker.send({ type: 'flush' });
  t.match(await talker.until('transcript.final'), { utterance: 1, text: /london/i, reason: 'flush' });
  talker.burst(Buffer.concat([silence(300), greeting]));
  talker.send({ type: 'finish' });
  t.same(await ended(talker), [undefined, 1000]);
  t.match(talker.heard.filter(({ type }) => type === 'transcript.final').at(-1), {
    utterance: 2,
    text: /london/i,
    reason: 'finish',
  });
  t.notOk(
    talker.heard.some(({ type }) => type === 'speech.stopped'),
    'only a silence stops speech',
  );
  t.notOk(talker.heard.some(({ type }) => type === 'transcript.partial'));

  const quiet = await talk(house, id);
  quiet.send({ type: 'flush' });
  quiet.send({ type: 'finish' });
  t.same(await ended(quiet), [undefined, 1000]);
  t.same(quiet.heard.slice(1), [{ type: 'done', audio_ms: 0 }]);
}

/** Vowels without a pause: nothing that the detector could take for an end. */
async function cuts(t: Test, { house, id }: World): Promise<void> {
  const { id: tone } = await speaker(house, { voice: { provider: 'synthetic', transcription_name: 'text=one two' } });
  const long = await spoken(
    house,
    id,
    'One and two and three and four and five and six and seven and eight and nine and ten and eleven and twelve and thirteen and fourteen and fifteen and sixteen and seventeen and eighteen and nineteen and twenty',
  );
  const talker = await talk(house, tone, { query: '&silence_ms=2000' });
  const audio = Buffer.concat([long, long]).subarray(0, 32 * 13_500);
  talker.burst(audio.subarray(0, 32 * 9_900));
  await talker.until('audio.received', ({ audio_ms: ms }) => ms >= 9000);
  // From here on at the pace at which it is spoken.
  for (let at = 32 * 9_900; at < audio.length; at += 3200) {
    talker.send(audio.subarray(at, at + 3200));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  talker.send({ type: 'finish' });
  t.same(await ended(talker), [undefined, 1000]);
  const finals = talker.heard.filter(({ type }) => type === 'transcript.final');
  const starts = talker.heard.filter(({ type }) => type === 'speech.started');
  t.equal(finals.length, starts.length);
  t.match(finals[0], { text: 'one two', reason: 'length' });
  t.ok(
    finals[0]!.end_ms - finals[0]!.start_ms <= 10_000 && finals[0]!.end_ms - finals[0]!.start_ms > 7_900,
    'cut within the last two seconds',
  );
  t.equal(starts[1]!.at_ms, finals[0]!.end_ms, 'what goes on begins at the cut');
}

async function encodings(t: Test, { house, id, greeting }: World): Promise<void> {
  const audio = Buffer.concat([silence(500), greeting, silence(700)]);
  const samples = new Int16Array(audio.buffer.slice(audio.byteOffset, audio.byteOffset + audio.length));
  const half = samples.filter((_, index) => index % 2 === 0);
  const eight = Buffer.from(half.buffer);
  const ways: readonly (readonly [query: string, audio: Uint8Array, frameBytes: number])[] = [
    ['&sample_rate=8000', eight, 320],
    ['&encoding=pcm_mulaw&sample_rate=8000', Uint8Array.from(half, muLaw), 160],
    [
      '&sample_rate=48000',
      Buffer.from(
        Int16Array.from({ length: samples.length * 3 }, (_, index) => samples[Math.floor(index / 3)]!).buffer,
      ),
      1920,
    ],
  ];
  for (const [query, bytes, frameBytes] of ways) {
    const talker = await talk(house, id, { query });
    talker.burst(bytes, frameBytes);
    talker.send({ type: 'finish' });
    t.same(await ended(talker), [undefined, 1000], query);
    t.match(talker.heard.find(({ type }) => type === 'transcript.final')?.text, /london/i, query);
    t.equal(talker.heard.at(-1)!.audio_ms, Math.floor(audio.length / 32), `${query}: counted at its own rate`);
  }
  const talker = await talk(house, id, { query: '&sample_rate=8000' });
  talker.send({ type: 'start', sample_rate: 16_000, language: 'en-US' });
  talker.burst(audio);
  talker.send({ type: 'finish' });
  await talker.closed;
  t.equal(talker.heard.at(-1)!.audio_ms, Math.floor(audio.length / 32), 'a start before the first audio wins');
}

/** ITU-T G.711, from its formula. */
function muLaw(sample: number): number {
  const magnitude = Math.min(Math.abs(sample), 32_635) + 132;
  const exponent = 31 - Math.clz32(magnitude) - 7;
  return ~((sample < 0 ? 0x80 : 0) | (exponent << 4) | ((magnitude >> (exponent + 3)) & 15)) & 0xff;
}

async function quiet(t: Test, { house, id }: World): Promise<void> {
  const noise = Int16Array.from({ length: 16_000 * 4 }, (_, index) => ((index * 1_103_515_245 + 12_345) % 2048) - 1024);
  for (const [what, audio] of [
    ['silence', silence(9_000)],
    ['noise', Buffer.from(noise.buffer)],
  ] as const) {
    const talker = await talk(house, id);
    talker.burst(audio);
    talker.send({ type: 'finish' });
    t.same(await ended(talker), [undefined, 1000], what);
    const texts = talker.heard.filter(({ type }) => type === 'transcript.final').map(({ text }) => text);
    t.ok(texts.length <= 1, `${what}: ${texts}`);
  }
}

async function wrong(t: Test, { edge, house, id }: World): Promise<void> {
  const messages = [
    '',
    '{',
    '[]',
    'null',
    '"flush"',
    '{}',
    '{"type":5}',
    '{"type":"go"}',
    '{"type":"start","encoding":"mp3"}',
    '{"type":"start","sample_rate":7999}',
    '{"type":"start","silence_ms":"300"}',
    '{"type":"start","language":"de"}',
  ];
  for (const message of messages) {
    const talker = await talk(house, id);
    talker.send(message);
    t.same(await ended(talker), ['invalid_request', 1008], message);
    t.match(talker.heard.at(-1), { type: 'error', message: /.+/ });
  }
  const late = await talk(house, id);
  late.burst(silence(20));
  late.send({ type: 'start' });
  t.same(await ended(late), ['invalid_request', 1008], 'a start after audio');
  const opus = await talk(house, id, { query: '&encoding=opus' });
  opus.send(new Uint8Array(0));
  opus.send(Buffer.from('no packet of Opus at all, whatever one may think of it', 'latin1'));
  t.same(await ended(opus), ['invalid_request', 1008], 'an unreadable packet');
  const large = await talk(house, id);
  large.send(new Uint8Array(1024 * 1024 + 1));
  t.same(await ended(large), ['invalid_request', 1009], 'a frame that is too large');
  if (edge === 'node') {
    // The other engine cuts such sockets by itself.
    const vast = await talk(house, id);
    vast.send(new Uint8Array(5 * 1024 * 1024));
    t.same(await ended(vast), ['invalid_request', 1009], 'a frame that is far too large');
    const bytes = await talk(house, id);
    bytes.socket.send(Buffer.from('{"type":"finish","why":"\xff"}', 'latin1'), { binary: false });
    t.same(await ended(bytes), ['invalid_request', 1008], 'a text that is not UTF-8');
  }
  const fast = await talk(house, id);
  fast.burst(silence(10_000), 32_000);
  fast.burst(silence(700), 6400);
  t.same(await ended(fast), ['rate_limited', 1008], 'audio faster than ten seconds ahead');
  const tiny = await talk(house, id);
  for (const bytes of [0, 1, 1, 1]) tiny.send(new Uint8Array(bytes));
  tiny.send({ type: 'finish' });
  t.same(await ended(tiny), [undefined, 1000], 'frames of no byte and of one');
}

async function tokens(t: Test, { house, id }: World): Promise<void> {
  const { token, url, expires_at: expiresAt } = await mint(house, id);
  t.equal(url, `${house.url.replace('http', 'ws')}/transcription?token=${token}`);
  const left = expiresAt - Date.now() / 1000;
  t.ok(left > 50 && left <= 60, `good for ${left} s`);
  t.equal(
    socketTokens('transcription', secret, randomIds(Date), null).open(token)!.untilMs,
    expiresAt * 1000,
    'until that very second',
  );
  const all = Array.from({ length: 5 }, () => open(url));
  const opened = await Promise.all(
    all.map((talker) =>
      talker.until('ready').then(
        () => true,
        () => false,
      ),
    ),
  );
  t.equal(opened.filter((one) => one).length, 1, 'of five at once');
  const first = all[opened.indexOf(true)]!;
  isRefused(
    t,
    await refusedUpgrade(house.url, `/transcription?token=${token}`),
    refusals.invalidToken,
    'while it is open',
  );
  first.socket.close();
  await first.closed;
  isRefused(
    t,
    await refusedUpgrade(house.url, `/transcription?token=${token}`),
    refusals.invalidToken,
    'once it is closed',
  );

  const other = await mint(house, id);
  const socket = new WebSocket(`${house.url.replace('http', 'ws')}/transcription`, [`token.${other.token}`]);
  const protocol = await new Promise((resolve) => socket.on('open', () => resolve(socket.protocol)));
  t.equal(protocol, `token.${other.token}`, 'as a subprotocol, which is answered');
  socket.close();
  const { token: changed } = await mint(house, id);
  for (const text of [
    `${changed}A`,
    changed.slice(0, -1),
    changed.replace(/.$/, (last: string) => (last === 'A' ? 'B' : 'A')),
    'tok_',
    '',
  ]) {
    isRefused(t, await refusedUpgrade(house.url, `/transcription?token=${text}`), refusals.invalidToken, text);
  }
}

async function refusedTokens(t: Test, { house }: World): Promise<void> {
  const { id } = await speaker(house);
  const move = (verb: string) =>
    house.console(`/workspaces/${house.workspaceId}/assistants/${id}/${verb}`, { method: 'POST' });
  const { id: keyId, key } = await house.newKey();
  const { token } = (await house.ask('/transcription-tokens', { key, body: { assistant_id: id } })).json;
  const path = `/transcription?token=${token}`;
  for (const [query, field] of [
    ['encoding=mp3', 'encoding'],
    ['sample_rate=48001', 'sample_rate'],
    ['silence_ms=99', 'silence_ms'],
    ['partials=maybe', 'partials'],
    ['language=de', 'language'],
  ] as const) {
    isRefused(t, await refusedUpgrade(house.url, `${path}&${query}`), wrongField(field), query);
  }
  await move('disable');
  isRefused(t, await refusedUpgrade(house.url, path), refusals.disabled);
  await move('enable');
  await move('unpublish');
  isRefused(t, await refusedUpgrade(house.url, path), refusals.notPublished);
  await move('publish');
  const voice = (on: boolean) =>
    house.console(`/workspaces/${house.workspaceId}/assistants/${id}`, {
      method: 'PATCH',
      body: { channels: { voice: on } },
    });
  await voice(false);
  isRefused(t, await refusedUpgrade(house.url, path), refusals.voiceDisabled);
  await voice(true);
  const talker = open(`${house.url.replace('http', 'ws')}${path}`);
  await talker.until('ready');
  const revoke = (key: string) =>
    house.console(`/workspaces/${house.workspaceId}/keys/${key}/revoke`, { method: 'POST' });
  const { token: second } = (await house.ask('/transcription-tokens', { key, body: { assistant_id: id } })).json;
  await revoke(keyId);
  isRefused(
    t,
    await refusedUpgrade(house.url, `/transcription?token=${second}`),
    refusals.invalidToken,
    'of a revoked key',
  );
  talker.send({ type: 'finish' });
  t.same(await ended(talker), [undefined, 1000], 'an open socket lives on');
}

async function sessions(t: Test, { house, greeting }: World): Promise<void> {
  const { id } = await speaker(house, { max_call_seconds: 4 });
  const session = await house.session(id);
  const talker = await talk(house, id, { sessionId: session.id });
  t.equal(talker.heard[0]!.expires_at, session.expires_at);
  talker.burst(greeting);
  t.same(await ended(talker), ['session_expired', 1008]);
  t.ok(Date.now() >= session.expires_at * 1000, 'not before its second');

  const { id: other } = await speaker(house);
  const { id: long } = await house.session(other);
  const socket = await talk(house, other, { sessionId: long });
  const { token } = await mint(house, other, long);
  await end(house, long);
  t.same(await ended(socket), ['session_ended', 1008]);
  isRefused(t, await refusedUpgrade(house.url, `/transcription?token=${token}`), refusals.ended);
}

async function states(t: Test, { house, greeting }: World): Promise<void> {
  const { id } = await speaker(house);
  const talker = await talk(house, id);
  await house.console(`/workspaces/${house.workspaceId}/assistants/${id}/disable`, { method: 'POST' });
  talker.burst(silence(1000));
  await talker.until('audio.received');
  talker.burst(greeting);
  t.same(await ended(talker), ['assistant_disabled', 1008], 'when speech next begins');
}

async function failures(t: Test, { house, greeting }: World): Promise<void> {
  for (const [name, code] of [
    ['fail_at=0', 'voice_unavailable'],
    ['fail_at=0,fail_as=rate_limit', 'assistant_unavailable'],
  ] as const) {
    const { id } = await speaker(house, { voice: { provider: 'synthetic', transcription_name: name } });
    const talker = await talk(house, id, { query: '&partials=false' });
    talker.burst(Buffer.concat([greeting, silence(600)]));
    t.same(await ended(talker), [code, 1011], name);
  }
}

async function drains(t: Test, { house, id }: World): Promise<void> {
  const talker = await talk(house, id);
  const stopped = house.stop();
  t.same(await ended(talker), ['api_error', 1012]);
  t.same(await stopped, { code: 0, signal: null });
}

/**
 * Clients that leave, and what ends while something is still owed: the work stops, and the server lives (contract 8).
 */
import { request } from 'node:http';
import t, { type Test } from 'tap';
import { edge, openHouse, type House } from '../../api/house.ts';
import { end, until } from '../../api/talk.ts';
import { silence, speaker, spoken, talk } from './talker.ts';
import { onUpstream, openUpstream, type Upstream } from './upstream.ts';

t.test(edge, async (t) => {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  const upstream = await openUpstream(t);
  const { id } = await speaker(house);
  const sentence = await spoken(house, id, 'What is the weather in London today?');
  const world = { house, upstream, sentence };
  await t.test('a final that is owed when its socket ends', (t) => owed(t, world));
  await t.test('a client of speech that leaves before the first audio', (t) => early(t, world));
  await t.test('usage counts accepted audio only', (t) => refusedAudio(t, world));
  await t.test('messages after a finish are ignored, however large', (t) => behind(t, world));
  await t.test('the assistant counts for each utterance, whatever is owed', (t) => disabled(t, world));
  await t.test('a cut utterance has its final before the next one begins', (t) => cut(t, world));
  await t.test('bytes that are no audio, whatever their type says', (t) => disguised(t, world));
  await t.test('audio that begins as a text does', (t) => mistakable(t, world));
  await t.test('a drain beside a final that is owed', (t) => drained(t, world));
});

interface World {
  readonly house: House;
  readonly upstream: Upstream;
  readonly sentence: Buffer;
}

const lives = async (t: Test, house: House, what: string): Promise<void> =>
  void t.equal((await house.ask('/healthz', { key: null })).status, 200, what);

/** An assistant whose recogniser never answers. */
const mute = (house: House): Promise<any> =>
  speaker(house, { voice: { provider: 'synthetic', transcription_name: 'hang_at=0' } });

async function owed(t: Test, { house, sentence }: World): Promise<void> {
  const { id } = await mute(house);
  const left = await talk(house, id, { query: '&partials=false' });
  left.burst(Buffer.concat([sentence, silence(500)]));
  await left.until('speech.stopped');
  left.send({ type: 'finish' });
  left.socket.terminate();
  await left.closed;
  await lives(t, house, 'after a client that left');

  const { id: sessionId } = await house.session(id);
  const ended = await talk(house, id, { query: '&partials=false', sessionId });
  ended.burst(Buffer.concat([sentence, silence(500)]));
  await ended.until('speech.stopped');
  ended.send({ type: 'finish' });
  await end(house, sessionId);
  t.equal(await ended.closed, 1008);
  t.equal(ended.heard.at(-1)!.code, 'session_ended');
  await lives(t, house, 'after the end of its session');

  const { id: failing } = await speaker(house, {
    voice: { provider: 'synthetic', transcription_name: 'fail_at=0,delay_ms=300' },
  });
  const failed = await talk(house, failing, { query: '&partials=false' });
  failed.burst(Buffer.concat([sentence, silence(500)]));
  failed.send({ type: 'finish' });
  t.equal(await failed.closed, 1011);
  t.equal(failed.heard.at(-1)!.code, 'voice_unavailable');
  await lives(t, house, 'after a provider that failed');
}

const characters = async (house: House): Promise<number> => (await house.ask('/usage')).json.totals.speech_characters;

async function early(t: Test, { house, upstream }: World): Promise<void> {
  upstream.answer = () => {};
  const { id } = await onUpstream(house, upstream);
  const before = await characters(house);
  const asked = upstream.asked.length;
  const client = request(`${house.url}/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' },
  });
  client.on('error', () => {});
  client.end(JSON.stringify({ assistant_id: id, text: 'One. Two. Three.', stream: false }));
  await until(() => upstream.asked.length > asked);
  const leftAt = performance.now();
  client.destroy();
  await upstream.left();
  t.ok(performance.now() - leftAt < 8_000, 'the provider is left before its silence would end the request');
  await until(async () => (await characters(house)) > before);
  t.ok((await characters(house)) - before <= 'One. '.length, 'no further sentence was begun');
  t.equal(upstream.asked.length, asked + 1);
}

async function refusedAudio(t: Test, { house }: World): Promise<void> {
  const { id } = await speaker(house);
  const seconds = async () => (await house.ask('/usage')).json.totals.transcription_seconds;
  const before = await seconds();
  const talker = await talk(house, id, { query: '&encoding=pcm_mulaw&sample_rate=8000' });
  talker.send(new Uint8Array(1024 * 1024).fill(0xff));
  t.equal(await talker.closed, 1008);
  t.equal(talker.heard.at(-1)!.code, 'rate_limited');
  t.equal(await seconds(), before);
}

async function behind(t: Test, { house, sentence }: World): Promise<void> {
  const { id } = await speaker(house);
  const talker = await talk(house, id);
  talker.burst(sentence);
  talker.send({ type: 'finish' });
  talker.send(new Uint8Array(1024 * 1024 + 1));
  t.equal(await talker.closed, 1000);
  t.match(
    talker.heard.filter(({ type }) => type === 'transcript.final'),
    [{ reason: 'finish' }],
  );

  const opus = await talk(house, id, { query: '&encoding=opus&sample_rate=96000' });
  opus.send(new Uint8Array(0));
  opus.send({ type: 'start', encoding: 'opus', sample_rate: 1 });
  opus.send({ type: 'finish' });
  t.equal(await opus.closed, 1000, 'an empty frame is no audio yet, and Opus needs no rate');
}

async function disabled(t: Test, { house, sentence }: World): Promise<void> {
  const { id } = await mute(house);
  const talker = await talk(house, id, { query: '&partials=false' });
  talker.burst(Buffer.concat([sentence, silence(500)]));
  await talker.until('speech.stopped');
  await house.console(`/workspaces/${house.workspaceId}/assistants/${id}/disable`, { method: 'POST' });
  talker.burst(sentence);
  t.equal(await talker.closed, 1008, 'while a final is owed');
  t.equal(talker.heard.at(-1)!.code, 'assistant_disabled');
}

async function cut(t: Test, { house, sentence }: World): Promise<void> {
  const { id } = await speaker(house, { voice: { provider: 'synthetic', transcription_name: 'delay_ms=700' } });
  const talker = await talk(house, id, { query: '&partials=false&silence_ms=2000' });
  talker.burst(sentence.subarray(0, 32 * 1200));
  talker.send({ type: 'flush' });
  talker.burst(sentence.subarray(32 * 1200));
  talker.send({ type: 'finish' });
  t.equal(await talker.closed, 1000);
  const order = talker.heard
    .filter(({ type }) => type === 'speech.started' || type === 'transcript.final')
    .map(({ type, utterance }) => `${type} ${utterance}`);
  t.same(order, ['speech.started 1', 'transcript.final 1', 'speech.started 2', 'transcript.final 2']);
}

async function disguised(t: Test, { house, upstream }: World): Promise<void> {
  const { id } = await onUpstream(house, upstream);
  const json = [
    '{"error":{"message":"no"}}',
    '{}',
    '{\n}',
    '[]',
    '[{"a":1}]',
    '[null]',
    '\n{"error":"x"}',
    ' \r\n\t[1]',
    '\ufeff{"error":"x"}',
    `{"error":"Größe ${'é'.repeat(40)}"}`,
  ];
  const frames: Buffer[] = [];
  for (const speed of [0.5, 2]) {
    const body = JSON.stringify({
      assistant_id: (await speaker(house)).id,
      text: 'Hello there.',
      format: 'mp3',
      speed,
    });
    const spokenAs = await fetch(`${house.url}/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' },
      body,
    });
    frames.push(Buffer.from(await spokenAs.arrayBuffer()));
  }
  const boxes = ['RF64\xff\xff\xff\xffWAVE', 'RIFX', 'FORM', '\0\0\0\x20ftypM4A ', '\x1aE\xdf\xa3'].map((begin) =>
    Buffer.from(begin, 'latin1'),
  );
  for (const text of [
    ...frames,
    ...boxes,
    ...json,
    '<!doctype html>',
    '<html>',
    `\n\n<html>${'<p>'.repeat(40)}`,
    'ID3\u0004rest',
    'OggSrest',
    'fLaCrest',
  ]) {
    for (const type of ['audio/pcm', 'application/octet-stream']) {
      upstream.answer = (response) => response.writeHead(200, { 'content-type': type }).end(text);
      t.equal(
        (await house.ask('/speech', { body: { assistant_id: id, text: 'Hi' } })).json?.error?.code,
        'voice_unavailable',
        `${type}: ${JSON.stringify(text.toString().slice(0, 20))}`,
      );
    }
  }
  upstream.answer = (response) => {
    response.writeHead(200, { 'content-type': 'audio/pcm' });
    const rest = [...'\n{"error":"x"}'];
    const next = (): void => void (rest.length > 0 ? response.write(rest.shift(), next) : response.end());
    next();
  };
  t.equal(
    (await house.ask('/speech', { body: { assistant_id: id, text: 'Hi' } })).json?.error?.code,
    'voice_unavailable',
    'byte by byte',
  );
}

/** Samples may begin with any bytes, also with bytes of a text. */
async function mistakable(t: Test, { house, upstream }: World): Promise<void> {
  const { id } = await onUpstream(house, upstream);
  const begins = ['{}', '{"', '[1', '[]', '<a', '\n{"', '  {}'];
  const bodies = begins.map((begin) =>
    Buffer.concat([
      Buffer.from(begin),
      Buffer.from(Int16Array.from({ length: 200 }, (_, index) => 300 * Math.sin(index)).buffer),
    ]),
  );
  bodies.push(Buffer.from([0, 0]), Buffer.from('RIFF and so on'.slice(0, 3)));
  for (const body of bodies) {
    upstream.answer = (response) => response.writeHead(200, { 'content-type': 'audio/pcm' }).end(body);
    const { status, text } = await house.ask('/speech', {
      body: { assistant_id: id, text: 'Hi', format: 'pcm', stream: false },
    });
    t.match({ status, text }, { status: 200 }, body.toString('hex', 0, 4));
  }
}

async function drained(t: Test, { house, sentence }: World): Promise<void> {
  const { id } = await mute(house);
  const talker = await talk(house, id, { query: '&partials=false' });
  talker.burst(Buffer.concat([sentence, silence(500)]));
  await talker.until('speech.stopped');
  talker.send({ type: 'finish' });
  const stopped = house.stop();
  t.equal(await talker.closed, 1012);
  t.same(await stopped, { code: 0, signal: null });
}

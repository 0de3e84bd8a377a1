/**
 * OpenAI's agents and `openai` in a call of `/v1/realtime`, with nothing changed but URL, key and model (contract 18).
 */
import { createRequire } from 'node:module';
import { connect, type AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import OpenAI from 'openai';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import type { Test } from 'tap';
import { clipOf } from '../api/caller.ts';
import type { House } from '../api/house.ts';
import { synthetic, transcriptOf, until } from '../api/talk.ts';
import { certificate, privateKey } from '../providers/client/certificate.ts';
import type { Hooks } from '../providers/model/provider.ts';
import { agentsPackage } from './sdks.ts';

/** The file that an import of `@openai/agents/realtime` loads. */
export const realtimeEntry =
  agentsPackage.entry && createRequire(agentsPackage.entry).resolve('@openai/agents/realtime');

/**
 * TLS in front of a server, as a proxy has it: `openai` opens no other socket. Its port on this machine, and what a
 * client trusts.
 */
export async function secured(
  t: Hooks,
  url: string,
): Promise<{ readonly port: number; readonly trust: { readonly ca: string; readonly servername: string } }> {
  const server = createServer({ cert: certificate, key: privateKey }, (socket) => {
    const behind = connect(Number(new URL(url).port), '127.0.0.1');
    for (const [each, other] of [
      [socket, behind],
      [behind, socket],
    ] as const)
      each.on('error', () => {}).on('close', () => other.destroy());
    socket.pipe(behind).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { port: (server.address() as AddressInfo).port, trust: { ca: certificate, servername: 'provider.test' } };
}

/** Somebody says a few words at 24 kHz, with silence behind them, in pieces of 100 ms. */
async function piecesOf(house: House): Promise<Buffer[]> {
  const clip = await clipOf(house);
  const samples = new Int16Array(clip.buffer, clip.byteOffset, clip.length / 2);
  const audio = Int16Array.from(
    { length: Math.floor(samples.length * 1.5) + 36_000 },
    (_, at) => samples[Math.floor(at / 1.5)] ?? 0,
  );
  const bytes = Buffer.from(audio.buffer);
  return Array.from({ length: Math.ceil(bytes.length / 4_800) }, (_, index) =>
    bytes.subarray(index * 4_800, (index + 1) * 4_800),
  );
}

const caller = (house: House): Promise<any> =>
  synthetic(house, 'tokens=60', {
    channels: { voice: true },
    voice: {
      provider: 'synthetic',
      name: 'character_ms=60',
      transcription_name: 'texts=what_is_the_weather|stop_it_now',
    },
  });

/** A reply that was spoken over, as the transcript has it. */
async function cutBySpeech(t: Test, house: House, sessionId: string, heard: string): Promise<void> {
  const [said, reply] = await until(async () => {
    const messages = await transcriptOf(house, sessionId);
    return messages[1]?.status === 'partial' ? messages : null;
  });
  t.match([said.content, reply.voice.cut_by], ['what is the weather', 'speech']);
  t.ok(reply.content !== '' && heard.startsWith(reply.content), 'no word that was not heard');
}

export async function agentsRealtime(t: Test, house: House): Promise<void> {
  const { RealtimeAgent, RealtimeSession } = await import(realtimeEntry!);
  const { id } = await caller(house);
  const session = new RealtimeSession(new RealtimeAgent({ name: 'Clerk', instructions: 'Be brief.' }), {
    transport: 'websocket',
    model: id,
  });
  t.teardown(() => session.close());
  const failures: unknown[] = [];
  const events: any[] = [];
  let [bytes, interruptions] = [0, 0];
  session.on('error', (error: unknown) => failures.push(error));
  session.on('transport_event', (event: unknown) => events.push(event));
  session.on('audio', ({ data }: { data: ArrayBuffer }) => (bytes += data.byteLength));
  session.on('audio_interrupted', () => interruptions++);
  await session.connect({ apiKey: house.key, url: `${house.url.replace('http', 'ws')}/v1/realtime?model=${id}` });
  const pieces = await piecesOf(house);
  const speak = (): void => pieces.forEach((piece) => session.sendAudio(new Uint8Array(piece).buffer));
  const textsOf = (role: string): string[] =>
    session.history
      .filter((item: any) => item.role === role)
      .map(({ content }: any) => content.map((part: any) => part.transcript ?? part.text).join(''));
  const toldOf = (itemId: string): string =>
    events
      .filter(({ type, item_id: of }) => type === 'response.output_audio_transcript.delta' && of === itemId)
      .map(({ delta }) => delta)
      .join('');

  speak();
  const { item_id: itemId } = await until(() =>
    events.find(({ type }) => type === 'response.output_audio_transcript.delta'),
  );
  t.ok(bytes > 0, 'audio before the words are heard');
  t.same(textsOf('user'), ['what is the weather']);
  speak();
  const { response } = await until(() => events.find(({ type }) => type === 'response.done'));
  t.match(response, { status: 'cancelled', status_details: { reason: 'turn_detected' } });
  t.equal(interruptions, 1, 'it stops what it plays');
  await until(
    () =>
      textsOf('user').includes('stop it now') &&
      events.some(({ type, item_id: of }) => type === 'response.output_audio_transcript.delta' && of !== itemId),
  );
  const {
    session: { id: sessionId },
  } = events.find(({ type }) => type === 'session.created');
  await cutBySpeech(t, house, sessionId, toldOf(itemId));

  session.interrupt();
  await until(() => events.filter(({ type }) => type === 'response.done').length === 2);
  session.sendMessage('And typed?');
  const { response: typed } = await until(() => events.filter(({ type }) => type === 'response.created')[2]);
  const answer = await until(() =>
    events.find(({ type, response_id: of }) => type === 'response.output_audio_transcript.delta' && of === typed.id),
  );
  t.equal(textsOf('user').at(-1), 'And typed?');
  t.match(toldOf(answer.item_id), /^word/);
  t.same(failures, [], 'nothing that it sends is refused');
}

export async function openaiRealtime(t: Test, house: House): Promise<void> {
  const { id } = await caller(house);
  const { port, trust } = await secured(t, house.url);
  const client = new OpenAI({ baseURL: `https://127.0.0.1:${port}/v1`, apiKey: house.key });
  const call = new OpenAIRealtimeWS({ model: id, options: trust }, client);
  t.teardown(() => call.close());
  const events: any[] = [];
  const failures: unknown[] = [];
  call.on('event', (event) => events.push(event));
  call.on('error', (error) => failures.push(error));
  const { session } = await until(() => events.find(({ type }) => type === 'session.created'));
  const pieces = await piecesOf(house);
  const speak = (): void =>
    pieces.forEach((piece) => call.send({ type: 'input_audio_buffer.append', audio: piece.toString('base64') }));
  const textOf = (itemId: string): string =>
    events
      .filter(({ type, item_id: of }) => type === 'response.output_audio_transcript.delta' && of === itemId)
      .map(({ delta }) => delta)
      .join('');
  speak();
  const { item_id: itemId } = await until(() =>
    events.find(({ type }) => type === 'response.output_audio_transcript.delta'),
  );
  t.equal(
    events.find(({ type }) => type === 'conversation.item.input_audio_transcription.completed').transcript,
    'what is the weather',
  );
  t.ok(events.some(({ type, delta }) => type === 'response.output_audio.delta' && delta !== ''));
  speak();
  const { response } = await until(() => events.find(({ type }) => type === 'response.done'));
  t.match(response, { status: 'cancelled', status_details: { reason: 'turn_detected' } });
  await cutBySpeech(t, house, session.id, textOf(itemId));
  await until(() => events.filter(({ type }) => type === 'response.created')[1]);
  call.send({ type: 'response.cancel' });
  await until(() => events.filter(({ type }) => type === 'response.done')[1]);
  call.send({ type: 'session.update', session: { type: 'realtime', instructions: 'Be a pirate.' } });
  t.match(
    (await until(() => events.find(({ type }) => type === 'session.updated'))).session,
    { instructions: '' },
    "instructions are the assistant's",
  );
  t.same(failures, []);
}

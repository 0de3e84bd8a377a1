/** The phone bridge of the examples, as a separate process, at a fake of the media streams that phone carriers open. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { WebSocket } from 'ws';
import { softSound } from '../../src/client/thinking.ts';
import { Resampler } from '../../src/providers/voice/audio/resample.ts';
import { bytesOfMuLaw } from '../../src/providers/voice/audio/g711.ts';
import { clipOf } from '../api/caller.ts';
import { openHouse } from '../api/house.ts';
import { transcriptOf, until } from '../api/talk.ts';
import { temporaryFolder } from '../folders.ts';
import { patient } from '../run/speed.mjs';

const bridgeFile = fileURLToPath(new URL('../../examples/phone-bridge/bridge.mjs', import.meta.url));
const root = dirname(dirname(dirname(bridgeFile)));
const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1' } });

/** Somebody's words in mu-law at 8 kHz. */
const words = await clipOf(house).then((bytes) => {
  const samples = new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  return bytesOfMuLaw(new Resampler(16_000, 8000).push(samples));
});

/** Starts the bridge where its packages are installed, for an assistant that hears these texts; returns its address. */
async function bridge(texts: string, model: string): Promise<string> {
  const voice = { provider: 'synthetic', name: 'character_ms=60', transcription_name: `texts=${texts}` };
  const { id } = await house.assistant({
    channels: { voice: true },
    model: { provider: 'synthetic', name: model },
    voice,
  });
  const folder = await temporaryFolder(t);
  await copyFile(bridgeFile, join(folder, 'bridge.mjs'));
  await mkdir(join(folder, 'node_modules'));
  await symlink(join(root, 'dist', 'client'), join(folder, 'node_modules', 'parley-client'));
  await symlink(join(root, 'node_modules', 'ws'), join(folder, 'node_modules', 'ws'));
  const child = spawn(process.execPath, ['bridge.mjs'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      PARLEY_URL: house.url,
      PARLEY_API_KEY: house.key,
      ASSISTANT: id,
      SECRET: 'secret',
      PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data');
  return `ws://127.0.0.1:${/listens on (\d+)/.exec(line)![1]}/secret`;
}

type Message = Readonly<Record<string, any>>;

/** A carrier: it plays what it is sent at its pace, echoes marks as it comes to them, and sends audio all the time. */
class Carrier {
  readonly received: Message[] = [];
  /** Samples that the caller has heard. */
  heard = 0;
  readonly opened: Promise<unknown>;
  readonly closed: Promise<number>;
  readonly #socket: WebSocket;
  #queue: ({ readonly samples: number } | { readonly mark: string })[] = [];
  #said: Uint8Array = new Uint8Array(0);

  constructor(url: string) {
    this.#socket = new WebSocket(url);
    this.#socket.on('error', () => {});
    this.#socket.on('message', (data) => this.#take(JSON.parse(String(data))));
    this.opened = new Promise((resolve) => this.#socket.on('open', resolve));
    this.#socket.on('open', () => {
      this.send({ event: 'connected', protocol: 'Call', version: '1.0.0' });
      this.send({
        event: 'start',
        start: {
          callSid: 'CA1',
          tracks: ['inbound'],
          mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
        },
      });
    });
    const beat = setInterval(() => this.#beat(), 20);
    this.closed = new Promise((resolve) => this.#socket.on('close', (code) => (clearInterval(beat), resolve(code))));
  }

  send(message: Message): void {
    if (this.#socket.readyState === this.#socket.OPEN)
      this.#socket.send(JSON.stringify({ ...message, streamSid: 'MZ1' }));
  }

  say(audio: Uint8Array): void {
    this.#said = audio;
  }

  raw(text: string): void {
    this.#socket.send(text);
  }

  get clears(): number {
    return this.received.filter(({ event }) => event === 'clear').length;
  }

  #take(message: Message): void {
    this.received.push(message);
    if (message.event === 'media') this.#queue.push({ samples: Buffer.from(message.media.payload, 'base64').length });
    if (message.event === 'mark') this.#queue.push({ mark: message.mark.name });
    // Carriers echo the marks that they clear.
    if (message.event === 'clear')
      for (const one of this.#queue.splice(0))
        if ('mark' in one) this.send({ event: 'mark', mark: { name: one.mark } });
  }

  #beat(): void {
    const frame = new Uint8Array(160).fill(0xff);
    frame.set(this.#said.subarray(0, 160));
    this.#said = this.#said.subarray(160);
    this.send({ event: 'media', media: { track: 'inbound', payload: Buffer.from(frame).toString('base64') } });
    for (let room = 160; room > 0;) {
      const first = this.#queue.shift();
      if (first === undefined) return;
      if ('mark' in first) {
        this.send({ event: 'mark', mark: { name: first.mark } });
        continue;
      }
      const samples = Math.min(room, first.samples);
      this.heard += samples;
      room -= samples;
      if (samples < first.samples) this.#queue.unshift({ samples: first.samples - samples });
    }
  }
}

const newestSession = async (): Promise<any> => (await house.ask('/sessions?limit=1')).json.data[0];

t.test('a caller is answered, after a soft sound while the reply is thought of, and hangs up', async (t) => {
  const carrier = new Carrier(await bridge('hello_there', 'tokens=4,first_ms=2600'));
  const session = await until(async () => (await newestSession())?.active_call_id && newestSession());
  carrier.say(words);
  const [person, reply] = await until(async () => {
    const messages = await transcriptOf(house, session.id);
    return messages[1]?.status === 'completed' ? messages : null;
  });
  t.match(person, { content: 'hello there' });
  t.match(reply, { content: 'word word word word', voice: { heard: 'played', cut_by: null } });
  const sounds = carrier.received.flatMap(({ event, media }) =>
    event === 'media' ? [Buffer.from(media.payload, 'base64')] : [],
  );
  const ofReply = sounds.filter((audio) => !audio.equals(softSound(8000, 'pcm_mulaw')));
  t.ok(ofReply.length < sounds.length);
  t.equal(reply.voice.audio_ms, ofReply.reduce((sum, { length }) => sum + length, 0) / 8, 'which counts for no reply');
  t.ok(carrier.received.every(({ streamSid }) => streamSid === 'MZ1'));
  carrier.send({ event: 'stop' });
  await carrier.closed;
  await until(async () => (await newestSession()).status === 'ended');
});

t.test('keys that a caller presses are one message, once they pause', async (t) => {
  const carrier = new Carrier(await bridge('hello_there', 'tokens=4'));
  const session = await until(async () => (await newestSession())?.active_call_id && newestSession());
  for (const digit of ['4', '2', '*']) carrier.send({ event: 'dtmf', dtmf: { track: 'inbound_track', digit } });
  const messages = await until(async () => {
    const all = await transcriptOf(house, session.id);
    return all[1]?.status === 'completed' ? all : null;
  });
  t.match(messages, [{ role: 'user', content: '42*' }, { role: 'assistant' }]);
  carrier.send({ event: 'stop' });
  await carrier.closed;
});

t.test('a caller who speaks over the reply cuts it where they were; a word of assent lets it go on', async (t) => {
  const carrier = new Carrier(await bridge('tell_me_a_story|yeah|no_the_other_one', 'tokens=300'));
  const session = await until(async () => (await newestSession())?.active_call_id && newestSession());
  carrier.say(words);
  await until(() => carrier.heard > 8000 || null);
  carrier.say(words);
  await until(() => carrier.clears === 1 || null);
  const held = carrier.heard;
  await until(() => carrier.heard > held + 8000 || null);
  t.equal(carrier.clears, 1, 'held and gone on');
  carrier.say(words);
  const [, reply] = await until(async () => {
    const messages = await transcriptOf(house, session.id);
    return messages[1]?.status === 'partial' ? messages : null;
  });
  t.match(reply, { stop_reason: 'aborted', voice: { heard: 'played', cut_by: 'speech' } });
  // The cut clears the reply, and so does the pause before it, unless the words were known before a pause.
  await until(() => carrier.clears >= 2 || null);
  t.ok(carrier.clears <= 3, `${carrier.clears} clears`);
  t.ok(
    reply.voice.audio_ms <= carrier.heard / 8 && reply.voice.audio_ms >= carrier.heard / 8 - patient(300),
    `${reply.voice.audio_ms} of ${carrier.heard / 8} ms`,
  );
  carrier.send({ event: 'stop' });
  await carrier.closed;
});

t.test('a client without the path or the protocol is refused', async (t) => {
  const url = await bridge('hello', 'tokens=4');
  t.equal(await new Carrier(url.replace('secret', 'guess')).closed, 1006);
  const strange = new Carrier(url);
  await strange.opened;
  strange.raw('no JSON');
  t.equal(await strange.closed, 1008);
});

/**
 * A bridge from a phone carrier's media stream to a parley call. The carrier opens a WebSocket for each phone call and
 * sends JSON: connected, start, media, mark, dtmf, stop; it takes media, mark and clear. Audio is mu-law at 8 kHz both
 * ways, so nothing is converted.
 */
import { Parley } from 'parley-client';
import { call } from 'parley-client/call';
import { WebSocketServer } from 'ws';

/**
 * The carrier's loudspeaker. It holds all that it was sent, and echoes a mark when the audio before it has been played.
 */
class PhoneLine {
  sampleRate = 8000;
  onPlayed = null;
  #tell;
  #message = '';
  #received = 0;
  #played = 0;
  /** Audio that may not have been played yet: a hold takes it back from the carrier, and keeps it here. */
  #pieces = [];
  #held = false;
  /** Marks are echoed on a clear too; those of before it say nothing. */
  #generation = 0;

  constructor(tell) {
    this.#tell = tell;
  }

  play(messageId, audio) {
    if (messageId !== this.#message) [this.#message, this.#received, this.#played, this.#pieces, this.#held] = [messageId, 0, 0, [], false];
    const piece = { audio, end: (this.#received += audio.length) };
    this.#pieces.push(piece);
    if (!this.#held) this.#send(piece);
  }

  pause() {
    this.#held = true;
    this.#generation++;
    this.#tell({ event: 'clear' });
    return this.#played;
  }

  resume() {
    this.#held = false;
    for (const piece of this.#pieces) this.#send(piece);
  }

  clear() {
    this.#pieces = [];
    return this.pause();
  }

  close() {
    this.clear();
  }

  /** The carrier echoes a mark. */
  marked(name) {
    const [message, generation, end] = name.split(' ');
    if (message !== this.#message || Number(generation) !== this.#generation) return;
    this.#played = Number(end);
    while (this.#pieces[0]?.end <= this.#played) this.#pieces.shift();
    this.onPlayed?.(message, this.#played);
  }

  #send({ audio, end }) {
    this.#tell({ event: 'media', media: { payload: Buffer.from(audio).toString('base64') } });
    this.#tell({ event: 'mark', mark: { name: `${this.#message} ${this.#generation} ${end}` } });
  }
}

const { PARLEY_URL: url = 'http://127.0.0.1:8080', PARLEY_API_KEY: key, ASSISTANT: assistant_id, SECRET: secret, PORT = '8090' } = process.env;
/** The variables that must be set, and their values. */
const required = {
  PARLEY_API_KEY: 'an API key: `npx parley keys create phone` prints one',
  ASSISTANT: 'the id of the assistant: `npx parley assistants list` prints it',
  SECRET: 'the path that the carrier alone knows: `openssl rand -hex 16` prints one',
};
const missing = Object.keys(required).filter((name) => !process.env[name]);
for (const name of missing) console.error(`Set ${name} to ${required[name]}.`);
if (missing.length > 0) process.exit(1);
const parley = new Parley({ url, key });
const server = new WebSocketServer({ port: Number(PORT), path: `/${secret}`, maxPayload: 65_536 });
server.on('error', ({ code, message }) => {
  console.error(code === 'EADDRINUSE' ? `The port ${PORT} is in use. Set PORT to a free one.` : message);
  process.exit(1);
});
server.on('listening', () => console.log(`listens on ${server.address().port}`));

server.on('connection', (carrier) => {
  let [line, live, keys, pause] = [null, null, '', null];
  const sayKeys = () => {
    live?.message(keys);
    keys = '';
  };
  /** Gathers keys: a pause of 1.5 s ends them, and # does at once. */
  const press = (digit) => {
    keys += digit;
    clearTimeout(pause);
    pause = setTimeout(sayKeys, digit === '#' ? 0 : 1500);
  };
  const begin = async ({ streamSid }) => {
    line = new PhoneLine((message) => carrier.send(JSON.stringify({ ...message, streamSid })));
    const session = await parley.sessions.create({ assistant_id });
    const left = new AbortController();
    carrier.on('close', () => left.abort());
    if (carrier.readyState !== carrier.OPEN) left.abort();
    live = call(parley, session.id, { url: parley.url, player: line, signal: left.signal, encoding: 'pcm_mulaw', sample_rate: 8000, output_encoding: 'pcm_mulaw', thinkingSound: true });
    live.subscribe((event) => event.type === 'closed' && event.error !== null && console.error(event.error.message));
    await live.closed;
    carrier.close();
    await parley.sessions.end(session.id);
  };
  const take = ({ event, streamSid, media, mark, dtmf }) => {
    if (event === 'start' && line === null) begin({ streamSid }).catch((error) => (console.error(error.message), carrier.close()));
    if (event === 'media') live?.send(Buffer.from(media.payload, 'base64'));
    if (event === 'mark') line?.marked(mark.name);
    if (event === 'dtmf' && keys.length < 100 && /^[0-9A-D*#]$/.test(dtmf.digit)) press(dtmf.digit);
    if (event === 'stop') carrier.close();
  };
  carrier.on('error', () => carrier.terminate());
  carrier.on('close', () => clearTimeout(pause));
  carrier.on('message', (data) => {
    try {
      take(JSON.parse(data));
    } catch {
      carrier.close(1008);
    }
  });
});

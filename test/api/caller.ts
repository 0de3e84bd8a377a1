/** A client of calls for tests: it sends audio, and plays what it is sent as fast as the test says. */
import { isDeepStrictEqual } from 'node:util';
import { WebSocket } from 'ws';
import { CallEvents, shape } from '../../src/wire/wire.ts';
import type { House } from './house.ts';
import { speaker, spoken } from '../providers/voice/talker.ts';
import { patient } from '../run/speed.mjs';

export interface Heard {
  readonly type: string;
  readonly [field: string]: any;
}

const silenceMs = 1_500;
/** No message is longer on its way. */
const patienceMs = patient(100_000);

const shapes = new Map(Object.entries(CallEvents).map(([type, schema]) => [type, shape(schema)]));

/** Throws for a message that is not as the reference says. */
function check(message: Heard): void {
  const known = shapes.get(message.type);
  if (known === undefined || !isDeepStrictEqual(known.parse(message), message))
    throw new Error(`no message of a call: ${JSON.stringify(message)}`);
}

const clips = new WeakMap<House, Promise<Buffer>>();

/** Somebody says a few words: 16 kHz. */
export function clipOf(house: House): Promise<Buffer> {
  let clip = clips.get(house);
  if (clip === undefined)
    clips.set(
      house,
      (clip = speaker(house).then(({ id }) => spoken(house, id, 'What is the weather in London today?'))),
    );
  return clip;
}

export class Caller {
  readonly socket: WebSocket;
  readonly session: any;
  readonly heard: Heard[] = [];
  readonly closed: Promise<number>;
  /** Samples received, by message. */
  readonly received = new Map<string, number>();
  /** The message whose audio is received. */
  message = '';
  readonly #waiting = new Set<() => void>();
  #over = false;

  constructor(url: string, session: any) {
    this.session = session;
    this.socket = new WebSocket(url);
    this.closed = new Promise((resolve) =>
      this.socket.on('close', (code) => {
        this.#over = true;
        for (const wake of this.#waiting) wake();
        resolve(code);
      }),
    );
    this.socket.on('error', () => {});
    this.socket.on('message', (data, binary) => {
      if (binary) this.received.set(this.message, (this.received.get(this.message) ?? 0) + (data as Buffer).length / 2);
      else {
        const message = JSON.parse(String(data)) as Heard;
        check(message);
        this.heard.push(message);
        if (message.type === 'audio.start') this.message = message.message_id;
      }
      for (const wake of this.#waiting) wake();
    });
  }

  send(message: object | Uint8Array): void {
    this.socket.send(message instanceof Uint8Array ? message : JSON.stringify(message));
  }

  /** Sends audio, and silence behind it. */
  say(clip: Buffer, silentMs = silenceMs): void {
    const bytes = Buffer.concat([clip, Buffer.alloc(silentMs * 32)]);
    for (let at = 0; at < bytes.length; at += 640) this.send(bytes.subarray(at, at + 640));
  }

  /** Resolves with the first message of this type, past or coming. */
  async until(type: string, fits: (message: Heard) => boolean = () => true): Promise<Heard> {
    const late = AbortSignal.timeout(patienceMs);
    for (;;) {
      const found = this.heard.find((message) => message.type === type && fits(message));
      if (found !== undefined) return found;
      if (this.#over || late.aborted)
        throw new Error(
          `${this.#over ? 'closed before' : 'waited in vain for'} ${type}: ${JSON.stringify(this.heard.slice(-5))}`,
        );
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          late.removeEventListener('abort', wake);
          resolve();
        };
        this.#waiting.add(wake);
        late.addEventListener('abort', wake);
      });
    }
  }

  /** Reports all that was received as played. */
  report(): void {
    this.send({ type: 'played', message_id: this.message, samples: this.received.get(this.message) ?? 0 });
  }

  /** Plays at once what comes, to the end of the reply, or up to another message. */
  async plays(end = 'audio.end'): Promise<void> {
    const timer = setInterval(() => this.report(), 50);
    try {
      await this.until(end);
      this.report();
    } finally {
      clearInterval(timer);
    }
  }

  textOf(messageId: string): string {
    return this.heard
      .filter(({ type, message_id: id }) => type === 'message.delta' && id === messageId)
      .map(({ text }) => text)
      .join('');
  }

  states(): string[] {
    return this.heard.filter(({ type }) => type === 'state').map(({ state }) => state);
  }
}

export interface CallWish {
  readonly texts?: string;
  readonly characterMs?: number;
  /** The name of the synthetic model. */
  readonly model?: string;
  readonly fields?: object;
  readonly query?: string;
}

/** Opens a call on a new session of a new assistant with synthetic model and voice; resolves once it is ready. */
export async function opened(
  house: House,
  { texts = 'hello', characterMs = 20, model = 'tokens=5', fields = {}, query = '' }: CallWish = {},
): Promise<Caller> {
  const voice = { provider: 'synthetic', name: `character_ms=${characterMs}`, transcription_name: `texts=${texts}` };
  const { id } = await house.assistant({
    channels: { voice: true },
    model: { provider: 'synthetic', name: model },
    voice,
    ...fields,
  });
  return callOn(house, (await house.ask('/sessions', { body: { assistant_id: id } })).json, query);
}

/** Opens a call on a session; resolves once it is ready. */
export async function callOn(house: House, session: any, query = ''): Promise<Caller> {
  const { json, status, text } = await house.ask('/call-tokens', { body: { session_id: session.id } });
  if (status !== 201) throw new Error(`no token: ${text}`);
  const caller = new Caller(`${house.url.replace('http', 'ws')}/call?token=${json.token}${query}`, session);
  await caller.until('ready');
  return caller;
}

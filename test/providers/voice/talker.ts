/** A client of transcription sockets for tests, and things to say on them. */
import { WebSocket, type ClientOptions } from 'ws';
import type { House } from '../../api/house.ts';
import { until } from '../../api/talk.ts';

export interface Heard {
  readonly type: string;
  readonly [field: string]: any;
}

export interface Talker {
  readonly socket: WebSocket;
  /** Every message so far. */
  readonly heard: Heard[];
  /** Resolves with the first message of this type that fits, past or coming; rejects when the socket closes before. */
  until(type: string, fits?: (message: Heard) => boolean): Promise<Heard>;
  send(message: object | string | Uint8Array): void;
  /** Sends audio in frames of 20 ms without waiting: at most ten seconds are taken so. */
  burst(audio: Uint8Array, frameBytes?: number): void;
  /** Resolves with the close code. */
  readonly closed: Promise<number>;
}

/** A published assistant with its voice on. */
export const speaker = (house: House, fields: object = {}): Promise<any> =>
  house.assistant({ channels: { voice: true }, ...fields });

export async function mint(house: House, assistantId: string, sessionId: string | null = null): Promise<any> {
  const { status, json, text } = await house.ask('/transcription-tokens', {
    body: { assistant_id: assistantId, session_id: sessionId },
  });
  if (status !== 201) throw new Error(`no token: ${text}`);
  return json;
}

/** Opens a socket with a fresh token; resolves once it is ready. */
export async function talk(
  house: House,
  assistantId: string,
  {
    query = '',
    sessionId = null,
    opens = house.url,
  }: { query?: string; sessionId?: string | null; opens?: string } = {},
): Promise<Talker> {
  const { token } = await mint(house, assistantId, sessionId);
  // A server whose recognisers are behind, as on a busy machine, answers 503 and leaves the token good.
  return until(async () => {
    const talker = open(`${opens.replace('http', 'ws')}/transcription?token=${token}${query}`);
    const refusal = new Promise<number | null>((resolve) => {
      talker.socket.once('open', () => resolve(null));
      talker.socket.once('close', () => resolve(null));
      talker.socket.once('unexpected-response', (_, { statusCode }) => {
        talker.socket.terminate();
        resolve(statusCode ?? 0);
      });
    });
    if ((await refusal) === 503) return null;
    await talker.until('ready');
    return talker;
  });
}

/** `options`: of the client, as a connection that is open already. */
export function open(url: string, options: ClientOptions = {}): Talker {
  const socket = new WebSocket(url, options);
  const heard: Heard[] = [];
  const waiting = new Set<() => void>();
  let over = false;
  const closed = new Promise<number>((resolve) => {
    socket.on('close', (code) => {
      over = true;
      for (const wake of waiting) wake();
      resolve(code);
    });
  });
  socket.on('error', () => {});
  socket.on('message', (data) => {
    heard.push(JSON.parse(String(data)));
    for (const wake of waiting) wake();
  });
  return {
    socket,
    heard,
    closed,
    send: (message) =>
      socket.send(typeof message === 'string' || message instanceof Uint8Array ? message : JSON.stringify(message)),
    burst(audio, frameBytes = 640) {
      for (let at = 0; at < audio.length; at += frameBytes) socket.send(audio.subarray(at, at + frameBytes));
    },
    async until(type, fits = () => true) {
      for (;;) {
        const found = heard.find((message) => message.type === type && fits(message));
        if (found !== undefined) return found;
        if (over) throw new Error(`closed before ${type}: ${JSON.stringify(heard)}`);
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            waiting.delete(wake);
            resolve();
          };
          waiting.add(wake);
        });
      }
    },
  };
}

/** The sentence as PCM, s16le at 16 kHz, spoken by the server's own voice. */
export async function spoken(house: House, assistantId: string, text: string): Promise<Buffer> {
  const response = await fetch(`${house.url}/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ assistant_id: assistantId, text, format: 'pcm' }),
  });
  if (response.status !== 200) throw new Error(await response.text());
  return Buffer.from(await response.arrayBuffer());
}

/** Silence, s16le at 16 kHz. */
export const silence = (ms: number): Buffer => Buffer.alloc(ms * 32);

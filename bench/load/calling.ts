/**
 * A client of a call: a microphone and a loudspeaker at the pace of speech, in frames of 20 ms, and the time of each
 * message.
 */
import { WebSocket } from 'ws';
import { bytesPerMs, type Clip } from './clips.ts';

const frameMs = 20;
const frameBytes = frameMs * bytesPerMs;
const samplesPerMs = 16;
const reportMs = 250;
/** An answer later than this counts as missing. */
const lateMs = 30_000;
/** Samples below are silence. */
const soundLevel = 300;

export interface HeardMessage {
  readonly at: number;
  readonly message: { readonly type: string; readonly [field: string]: any };
}

/** When the voice of a clip was sent: times of `performance.now()`. */
export interface Spoken {
  readonly onsetAt: number;
  readonly endAt: number;
}

/** A reply as its listener hears it. */
interface Playing {
  readonly id: string;
  samples: number;
  played: number;
  reportedAt: number;
  isWhole: boolean;
  isPaused: boolean;
}

interface Saying {
  readonly clip: Clip;
  at: number;
  onsetAt: number;
  endAt: number;
  done(spoken: Spoken): void;
}

const quiet = Buffer.alloc(frameBytes);

export class Calling {
  readonly socket: WebSocket;
  readonly closed: Promise<number>;
  readonly heard: HeardMessage[] = [];
  /** When the first sound of each message reaches the listener, if it is played as soon as it comes. */
  readonly soundAt = new Map<string, number>();
  readonly #saying: Saying[] = [];
  #playing: Playing | null = null;
  #code: number | null = null;
  #wake = new Set<() => void>();
  #timer: NodeJS.Timeout | null = null;
  #frames = 0;
  #startedAt = 0;

  private constructor(url: string) {
    this.socket = new WebSocket(url, { perMessageDeflate: false });
    this.socket.on('error', () => {});
    this.socket.on('message', (data, binary) => {
      if (binary) this.#audio(data as Buffer);
      else this.#take(JSON.parse(String(data)));
      this.#wakeAll();
    });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', (code) => {
        this.#code = code;
        if (this.#timer !== null) clearTimeout(this.#timer);
        this.#wakeAll();
        resolve(code);
      });
    });
  }

  /** Resolves once the call is ready. */
  static async open(url: string): Promise<Calling> {
    const calling = new Calling(url);
    await calling.until((message) => message.type === 'ready');
    return calling;
  }

  /** Begins to send audio: silence, until somebody says something. */
  listen(): void {
    this.#startedAt = performance.now();
    this.#tick();
  }

  /** Says the clip behind what is being said; resolves when its last sample was sent. */
  say(clip: Clip): Promise<Spoken> {
    return new Promise((done) => this.#saying.push({ clip, at: 0, onsetAt: 0, endAt: 0, done }));
  }

  /** Resolves with the first message that fits, of those behind `from`; rejects if the call ends, or after a while. */
  until(fits: (message: HeardMessage['message'], at: number) => boolean, from = 0): Promise<HeardMessage> {
    return this.#when(() => this.heard.slice(from).find(({ message, at }) => fits(message, at)));
  }

  /** Resolves when the first sound of a message has come. */
  soundOf(messageId: string): Promise<number> {
    return this.#when(() => this.soundAt.get(messageId));
  }

  /** The messages so far: a place for `until` to look from. */
  get place(): number {
    return this.heard.length;
  }

  send(message: object): void {
    this.socket.send(JSON.stringify(message));
  }

  close(): void {
    this.socket.terminate();
  }

  async #when<T>(find: () => T | undefined): Promise<T> {
    const last = performance.now() + lateMs;
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (this.#code !== null || performance.now() > last)
        throw new Error(
          `A call has no answer${this.#code === null ? '' : `, and was closed with ${this.#code}`}: ${JSON.stringify(this.heard.slice(-8).map(({ message }) => message))}`,
        );
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => wake(), 1_000);
        const wake = (): void => {
          clearTimeout(timer);
          this.#wake.delete(wake);
          resolve();
        };
        this.#wake.add(wake);
      });
    }
  }

  #wakeAll(): void {
    for (const wake of [...this.#wake]) wake();
  }

  #take(message: HeardMessage['message']): void {
    const at = performance.now();
    this.heard.push({ at, message });
    const playing = this.#playing;
    if (message.type === 'audio.start')
      this.#playing = {
        id: message['message_id'],
        samples: 0,
        played: 0,
        reportedAt: at,
        isWhole: false,
        isPaused: false,
      };
    if (playing === null || message['message_id'] !== playing.id) return;
    if (message.type === 'audio.end') playing.isWhole = true;
    if (message.type === 'audio.pause') playing.isPaused = true;
    if (message.type === 'audio.resume') playing.isPaused = false;
    if (message.type === 'audio.pause' || message.type === 'audio.clear') this.#report(playing);
    if (message.type === 'audio.clear') this.#playing = null;
  }

  #audio(bytes: Buffer): void {
    const playing = this.#playing;
    if (playing === null) return;
    if (!this.soundAt.has(playing.id)) {
      const samples = new Int16Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
      const first = samples.findIndex((sample) => Math.abs(sample) > soundLevel);
      // Silence before it is heard too.
      if (first >= 0)
        this.soundAt.set(
          playing.id,
          Math.max(performance.now(), this.#startOf(playing) + (playing.samples + first) / samplesPerMs),
        );
    }
    playing.samples += bytes.length / 2;
  }

  #startOf({ id }: Playing): number {
    return this.heard.find(({ message }) => message.type === 'audio.start' && message['message_id'] === id)!.at;
  }

  #tick(): void {
    if (this.#code !== null) return;
    this.#frames++;
    this.#timer = setTimeout(
      () => {
        this.socket.send(this.#frame());
        this.#play();
        this.#tick();
      },
      Math.max(0, this.#startedAt + this.#frames * frameMs - performance.now()),
    );
  }

  /** A frame is sent when it has been spoken: its last sample is now. */
  #frame(): Buffer {
    const saying = this.#saying[0];
    if (saying === undefined) return quiet;
    const { clip } = saying;
    const frame = clip.audio.subarray(saying.at, saying.at + frameBytes);
    saying.at += frameBytes;
    const [ms, now] = [saying.at / bytesPerMs, performance.now()];
    if (saying.onsetAt === 0 && ms >= clip.onsetMs) saying.onsetAt = now;
    if (saying.endAt === 0 && ms >= clip.endMs) saying.endAt = now;
    if (saying.at >= clip.audio.length) {
      this.#saying.shift();
      saying.done({ onsetAt: saying.onsetAt || now, endAt: saying.endAt || now });
    }
    return frame.length < frameBytes ? Buffer.concat([frame, quiet.subarray(frame.length)]) : frame;
  }

  #play(): void {
    const playing = this.#playing;
    if (playing === null || playing.isPaused) return;
    playing.played = Math.min(playing.samples, playing.played + frameMs * samplesPerMs);
    const isOver = playing.isWhole && playing.played === playing.samples;
    if (isOver || performance.now() - playing.reportedAt >= reportMs) this.#report(playing);
    if (isOver) this.#playing = null;
  }

  #report(playing: Playing): void {
    playing.reportedAt = performance.now();
    this.send({ type: 'played', message_id: playing.id, samples: playing.played });
  }
}

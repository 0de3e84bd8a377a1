/**
 * A client of a transcription socket that speaks at the pace of speech, in frames of 20 ms, and records when each
 * message comes back.
 */
import { WebSocket } from 'ws';
import { bytesPerMs, type Clip } from './clips.ts';

const frameMs = 20;
/** A final later than this counts as missing. */
const lateMs = 30_000;

interface Heard {
  readonly at: number;
  readonly message: { readonly type: string; readonly [field: string]: any };
}

export interface Said {
  /** From the end of the speech, as it was sent, to its final. */
  readonly finalMs: number;
  /** Milliseconds from the onset to the first partial; null without one. */
  readonly partialMs: number | null;
  readonly text: string;
}

export class Talking {
  readonly socket: WebSocket;
  readonly closed: Promise<number>;
  #heard: Heard[] = [];
  #wake: () => void = () => {};
  /** The close code, once it is closed. */
  #code: number | null = null;
  /** Audio sent, in milliseconds. */
  #sentMs = 0;
  #startedAt = 0;

  private constructor(url: string, onRefused: (status: number) => void) {
    this.socket = new WebSocket(url, { perMessageDeflate: false });
    this.socket.on('error', () => {});
    this.socket.on('unexpected-response', (_, { statusCode = 0 }) => {
      onRefused(statusCode);
      this.socket.terminate();
    });
    this.socket.on('message', (data) => {
      this.#heard.push({ at: performance.now(), message: JSON.parse(String(data)) });
      this.#wake();
    });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', (code) => {
        this.#code = code;
        this.#wake();
        resolve(code);
      });
    });
  }

  /** Resolves when the socket is open. A server that is full leaves the token good, so it is tried again. */
  static async open(url: string): Promise<Talking> {
    for (let tries = 1; ; tries++) {
      let refusedWith = 0;
      const talking = new Talking(url, (status) => (refusedWith = status));
      if (await talking.#until(({ message }) => message.type === 'ready')) return talking;
      if (refusedWith !== 503 || tries === triesMax)
        throw new Error(`The socket did not open: ${refusedWith || (await talking.closed)}.`);
      await new Promise((resolve) => setTimeout(resolve, againMs));
    }
  }

  /**
   * Speaks the clip and stays silent, sending silence, until the final of it is there. `flush`: asks for it at the end
   * of the speech.
   */
  async say(clip: Clip, flush = false): Promise<Said> {
    if (this.#sentMs === 0) this.#startedAt = performance.now();
    this.#heard = this.#heard.filter(({ message }) => message.type === 'error');
    const fromMs = this.#sentMs;
    const audio = flush ? clip.audio.subarray(0, clip.endMs * bytesPerMs) : clip.audio;
    let [onsetAt, endAt] = [0, 0];
    for (let at = 0; at < audio.length; at += frameMs * bytesPerMs) {
      await this.#frame(audio.subarray(at, at + frameMs * bytesPerMs));
      // A frame is sent when it has been spoken: its last sample is now.
      if (onsetAt === 0 && this.#sentMs - fromMs >= clip.onsetMs) onsetAt = performance.now();
      if (endAt === 0 && this.#sentMs - fromMs >= clip.endMs) endAt = performance.now();
    }
    endAt ||= performance.now();
    if (flush) this.socket.send('{"type":"flush"}');
    const isIts = ({ message }: Heard): boolean =>
      message.type === 'transcript.final' && message['end_ms'] > fromMs + clip.endMs - slackMs;
    while (!this.#heard.some(isIts)) {
      if (this.#code !== null || performance.now() - endAt > lateMs)
        throw new Error(
          `What was said had no final${this.#code === null ? '' : `, and the socket was closed with ${this.#code}`}: ${JSON.stringify(this.#heard.map(({ message }) => message))}`,
        );
      if (flush)
        await Promise.race([
          new Promise<void>((resolve) => (this.#wake = resolve)),
          new Promise((resolve) => setTimeout(resolve, lateMs).unref()),
        ]);
      else await this.#frame(quiet);
    }
    const final = this.#heard.find(isIts)!;
    const partial = this.#heard.find(({ message }) => message.type === 'transcript.partial');
    if (flush) this.#startedAt = performance.now() - this.#sentMs;
    return {
      finalMs: final.at - endAt,
      partialMs: partial === undefined ? null : partial.at - onsetAt,
      text: final.message['text'],
    };
  }

  /** Sends all of it at once, which is at most ten seconds, and resolves with the transcript. */
  async burst(audio: Buffer): Promise<string> {
    for (let at = 0; at < audio.length; at += 3200) this.socket.send(audio.subarray(at, at + 3200));
    this.socket.send('{"type":"finish"}');
    await this.closed;
    return this.#heard
      .flatMap(({ message }) => (message.type === 'transcript.final' ? [message['text'] as string] : []))
      .join(' ');
  }

  close(): void {
    this.socket.terminate();
  }

  async #frame(frame: Buffer): Promise<void> {
    this.#sentMs += frame.length / bytesPerMs;
    const waitMs = this.#startedAt + this.#sentMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    if (this.#code === null) this.socket.send(frame);
  }

  /** False if the socket closes before. */
  async #until(fits: (heard: Heard) => boolean): Promise<boolean> {
    while (!this.#heard.some(fits)) {
      if (this.#code !== null) return false;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return true;
  }
}

const againMs = 1_000;
const triesMax = 20;

/** Milliseconds by which the detector may end an utterance earlier than the samples do. */
const slackMs = 400;
const quiet = Buffer.alloc(frameMs * bytesPerMs);

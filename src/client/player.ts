/** The loudspeaker of a call: an interface for each platform, and the player that writes to a stream at its pace. */
import { realClock, type Clock } from './clock.ts';

/**
 * Plays a call's audio, one message after the other, and knows how much has left the loudspeaker. Samples are counted
 * for each message from its first, at the output rate; the count of a message never falls.
 */
export interface Player {
  /** Hertz: the `output_sample_rate` of the call. */
  readonly sampleRate: number;
  /**
   * Set by the call: receives the position about ten times a second while it moves, and once more when all audio has
   * been played.
   */
  onPlayed: ((messageId: string, samples: number) => void) | null;
  /** Plays 16-bit samples of a message after those that came before, as raw bytes, little-endian. */
  play(messageId: string, audio: Uint8Array): void;
  /** Holds; gives the position. */
  pause(messageId: string): number | Promise<number>;
  /** Continues from the paused position. */
  resume(messageId: string): void;
  /** Drops what has not been played of the message; gives the position that it keeps. */
  clear(messageId: string): number | Promise<number>;
  /** Falls silent at once, for good. */
  close(): void;
}

export interface StreamPlayerOptions {
  /** Hertz; 16,000 by default. */
  sampleRate?: number;
  /** Milliseconds from a write to the loudspeaker: audio is written so much before it is due. 100 by default. */
  latencyMs?: number;
  /** Bytes of a sample: 2 by default, 1 for the telephone's encodings. */
  sampleBytes?: number;
  clock?: Clock;
}

/** Milliseconds between two writes of audio and reports of the position. */
const beatMs = 20;
const toldMs = 100;

/**
 * Writes raw audio at the pace in which it is played, a moment ahead, and takes the clock's word for the position: for
 * a program's stdin, a file or a telephone line. Nothing is written while there is nothing to play.
 */
export class StreamPlayer implements Player {
  readonly sampleRate: number;
  onPlayed: Player['onPlayed'] = null;
  readonly #write: (audio: Uint8Array) => void;
  readonly #latencyMs: number;
  readonly #sampleBytes: number;
  readonly #clock: Clock;
  #message = '';
  #queue: Uint8Array[] = [];
  #written = 0;
  #played = 0;
  /**
   * The time at which sample 0 of the message would have been played without any hold or gap; null while nothing
   * sounds.
   */
  #began: number | null = null;
  #told = -Infinity;
  #held = false;
  #cancel: (() => void) | null = null;

  constructor(
    write: (audio: Uint8Array) => void,
    { sampleRate = 16_000, latencyMs = 100, sampleBytes = 2, clock = realClock }: StreamPlayerOptions = {},
  ) {
    this.sampleRate = sampleRate;
    this.#write = write;
    this.#latencyMs = latencyMs;
    this.#sampleBytes = sampleBytes;
    this.#clock = clock;
  }

  play(messageId: string, audio: Uint8Array): void {
    if (messageId !== this.#message) this.#begin(messageId);
    this.#queue.push(audio);
    if (this.#cancel === null && !this.#held) this.#beat();
  }

  pause(messageId: string): number {
    if (messageId !== this.#message) return 0;
    this.#held = true;
    this.#stop();
    return this.#played;
  }

  resume(messageId: string): void {
    if (messageId !== this.#message || !this.#held) return;
    this.#held = false;
    this.#beat();
  }

  clear(messageId: string): number {
    if (messageId !== this.#message) return 0;
    this.#queue = [];
    this.#held = false;
    this.#stop();
    return this.#played;
  }

  close(): void {
    this.clear(this.#message);
    this.onPlayed = null;
  }

  #begin(messageId: string): void {
    this.clear(this.#message);
    this.#message = messageId;
    this.#written = 0;
    this.#played = 0;
  }

  /** A write cannot be undone: all of it is heard within `latencyMs`, and counts. */
  #stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#played = this.#written;
    this.#began = null;
  }

  #samples(ms: number): number {
    return Math.floor((ms * this.sampleRate) / 1000);
  }

  #look(): void {
    if (this.#began === null) return;
    const due = this.#samples(this.#clock.now() - this.#began);
    this.#played = Math.max(this.#played, Math.min(this.#written, due));
  }

  readonly #beat = (): void => {
    this.#cancel = null;
    const now = this.#clock.now();
    // From here on, or after a gap, the next sample is played `latencyMs` from now.
    const edge = this.#began === null ? -Infinity : this.#began + (this.#written / this.sampleRate) * 1000;
    if (edge < now && this.#queue.length > 0)
      this.#began = now + this.#latencyMs - (this.#written / this.sampleRate) * 1000;
    this.#feed(now);
    this.#look();
    const all = this.#played === this.#written && this.#queue.length === 0;
    if (all || now - this.#told >= toldMs) {
      this.#told = now;
      this.onPlayed?.(this.#message, this.#played);
    }
    if (all || this.#held) this.#began = null;
    else this.#cancel ??= this.#clock.after(beatMs, this.#beat);
  };

  /** Writes all that is due within the latency and one beat. */
  #feed(now: number): void {
    if (this.#began === null) return;
    const until = this.#samples(now - this.#began + this.#latencyMs + beatMs);
    while (this.#written < until) {
      const first = this.#queue[0];
      if (first === undefined) return;
      const most = (until - this.#written) * this.#sampleBytes;
      const piece = first.subarray(0, most);
      if (piece.length === first.length) this.#queue.shift();
      else this.#queue[0] = first.subarray(most);
      this.#written += piece.length / this.#sampleBytes;
      this.#write(piece);
    }
  }
}

/**
 * Speaks one reply to the listener of a call: stores its text just before its audio, and sends no more audio than the
 * listener may have ahead.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { StreamingSynthesis } from '../../providers/voice/streaming-synthesis.ts';
import { Cursor } from './cursor.ts';

export interface MouthOptions {
  readonly narration: StreamingSynthesis;
  readonly clock: Clock;
  /** Hertz of the output. */
  readonly rate: number;
  readonly aheadMs: number;
  /** Whether the client has reported what it plays in this call: then it is waited for. */
  reports(): boolean;
  /**
   * Stores the reply's text up to so many code points; resolves with whether it is stored, at once if it was supplied
   * before.
   */
  supply(points: number): boolean | Promise<boolean>;
  send(frame: Uint8Array): void;
  /** Whether the connection has taken what was sent. */
  isFree(): boolean;
  /** The first audio is at hand, or it is certain that there is none; it waits for `begin`. */
  ready(): void;
  /** Audio that is not played is on its way, or no more of it. */
  due(due: boolean): void;
  /** All of it is sent. */
  sent(samples: number): void;
  /** So much of the text was heard; called whenever there is more. */
  heard(points: number): void;
  /** All that was sent is played, and no more follows. */
  played(): void;
  /** The store takes no more of the text, so no more is spoken. */
  unstored(): void;
  failed(error: unknown): void;
}

export class Mouth {
  readonly #options: MouthOptions;
  readonly cursor: Cursor;
  /** Whether the first audio is at hand. */
  isReady = false;
  /** Whether audio is sent. */
  isBegun = false;
  #allSent = false;
  #begun: () => void = () => {};
  readonly #beginning: Promise<void>;
  #paused = false;
  #stopped = false;
  #isOver = false;
  #starved = true;
  #wake: () => void = () => {};
  #timer: Timer | null = null;
  #looker: Timer | null = null;

  constructor(options: MouthOptions) {
    this.#options = options;
    this.cursor = new Cursor(options.rate, options.clock.monotonic());
    this.#beginning = new Promise((resolve) => (this.#begun = resolve));
    void this.#speak();
  }

  /** The samples that count as played. */
  get played(): number {
    const { reported } = this.cursor;
    if (this.#options.reports()) return reported ?? 0;
    return this.cursor.estimated(this.#now);
  }

  /** Sends audio from here on. */
  begin(): void {
    this.isBegun = true;
    this.cursor.resume(this.#now);
    this.#begun();
    this.#look();
  }

  pause(): void {
    this.#paused = true;
    this.cursor.pause(this.#now);
  }

  resume(): void {
    this.#paused = false;
    this.cursor.resume(this.#now);
    this.#wake();
  }

  /** The client has played so many samples of the reply. */
  report(samples: number): void {
    if (!this.cursor.report(samples, this.#now)) return;
    this.#progress();
    this.#wake();
  }

  /** No more is made; what was sent is still played. */
  curb(): void {
    this.#options.narration.stop();
    this.#wake();
  }

  /** Ends it: nothing more is sent or told. */
  stop(): void {
    this.#stopped = true;
    this.cursor.pause(this.#now);
    this.#options.narration.stop();
    this.#timer?.cancel();
    this.#looker?.cancel();
    this.#begun();
    this.#wake();
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  async #speak(): Promise<void> {
    const { narration, sent, failed } = this.#options;
    try {
      for await (const item of narration.spoken()) {
        if (this.#stopped) return;
        if (item.type === 'sentence') this.cursor.sentence(item.from, item.to, item.start);
        else if (item.type === 'plan') this.cursor.plan(item.plan);
        else if (!(await this.#frame(item.bytes, item.samples))) break;
      }
    } catch (error) {
      if (!this.#stopped) failed(error);
    }
    this.#getReady();
    await this.#beginning;
    if (this.#stopped) return;
    this.#allSent = true;
    sent(this.cursor.sent);
    this.#progress();
  }

  #getReady(): void {
    if (this.isReady || this.#stopped) return;
    this.isReady = true;
    this.#options.ready();
  }

  /**
   * Sends a frame once the listener has room and its text is stored, which is not before: what is stored may be all
   * that is kept of them. False if that will not be.
   */
  async #frame(bytes: Uint8Array, samples: number): Promise<boolean> {
    this.#getReady();
    await this.#beginning;
    if (!(await this.#canSend(samples))) return false;
    if (!(await this.#options.supply(this.cursor.begunAt(this.cursor.sent + samples)))) {
      if (!this.#stopped) this.#options.unstored();
      return false;
    }
    // It may have been paused while the text was stored.
    if (!(await this.#canSend(samples))) return false;
    this.cursor.send(samples, this.#now);
    this.#setStarved(false);
    this.#options.send(bytes);
    return true;
  }

  /** Resolves once the listener has room for so many samples; with false if nothing is sent any more. */
  async #canSend(samples: number): Promise<boolean> {
    while (!this.#stopped && (this.#paused || !this.#options.isFree() || !this.#hasRoom(samples))) await this.#rest();
    return !this.#stopped;
  }

  #hasRoom(samples: number): boolean {
    const ahead = this.cursor.sent + samples - this.played;
    return (ahead * 1000) / this.#options.rate <= this.#options.aheadMs;
  }

  #setStarved(starved: boolean): void {
    if (this.#starved === starved) return;
    this.#starved = starved;
    this.#options.due(!starved);
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#timer?.cancel();
      this.#timer = this.#options.clock.after(limits.callStepMs, resolve);
    });
  }

  /** Looks from time to time what the estimate says. */
  #look(): void {
    this.#looker = this.#options.clock.after(limits.callLookMs, () => {
      if (this.#stopped || this.#isOver) return;
      this.#progress();
      this.#look();
    });
  }

  #progress(): void {
    if (this.#stopped || this.#isOver) return;
    const played = this.played;
    this.#options.heard(this.cursor.pointsAt(played));
    if (played < this.cursor.sent) return;
    this.#setStarved(true);
    if (!this.#allSent) return;
    this.#isOver = true;
    this.#looker?.cancel();
    this.#options.played();
  }
}

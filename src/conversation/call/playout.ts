/**
 * Sends one reply to the listener of a call: stores its text just before its audio, and sends no more audio than the
 * listener may have ahead.
 */
import type { Basis, ReplyContext } from '../../../machines/reply.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { StreamingSynthesis } from '../../providers/voice/streaming-synthesis.ts';
import type { HeardVoice } from '../../store/store.ts';
import { PlaybackPosition } from './position.ts';
import type { ReplyTranscript } from './transcript.ts';

/** Milliseconds between checks whether the listener has room for more audio. */
const callStepMs = 20;
/** Milliseconds between estimates of the position that the listener has reached. */
const callLookMs = 100;
/** Milliseconds after a report in which a cut waits for a newer one. */
const callAnswerMs = 100;

/** State of the reply's machine, which decides whether audio is sent. */
export interface PlayedReply {
  readonly isOpen: boolean;
  readonly state: string;
  readonly context: Pick<ReplyContext, 'ready' | 'sent' | 'played'>;
}

/** Position of the listener, in code points of the text and in samples, and its source. */
export interface HeardAudio {
  readonly points: number;
  readonly samples: number;
  readonly heard: HeardVoice['heard'];
}

/** Progress of the audio, an event of the reply's machine. */
export type PlayoutEvent = 'ready' | 'sent' | 'played';

export interface ReplyPlayoutOptions {
  readonly reply: PlayedReply;
  readonly narration: StreamingSynthesis;
  readonly transcript: ReplyTranscript;
  readonly clock: Clock;
  /** Hertz of the output. */
  readonly rate: number;
  readonly aheadMs: number;
  /** Whether the client reports what it plays in this call: then its reports are waited for. */
  reports(): boolean;
  /** `first`: no audio of the reply was sent before. */
  send(frame: Uint8Array, first: boolean): void;
  /** Whether the connection has taken what was sent. */
  isFree(): boolean;
  note(event: PlayoutEvent): void;
  /** Reports whether audio that the client has not played is at hand. */
  due(due: boolean): void;
  /** The store takes no more of the text, so no more is spoken. */
  unstored(): void;
  failed(error: unknown): void;
}

export class ReplyPlayout {
  readonly #options: ReplyPlayoutOptions;
  readonly position: PlaybackPosition;
  /** Resolves `#begun`. */
  #begin: () => void = () => {};
  readonly #begun: Promise<void>;
  /** Whether audio that the client has not played was last reported as at hand. */
  #isDue = false;
  #wake: () => void = () => {};
  #timer: Timer | null = null;
  #poll: Timer | null = null;
  #answered: () => void = () => {};
  #unanswered: () => void = () => {};

  constructor(options: ReplyPlayoutOptions) {
    this.#options = options;
    this.position = new PlaybackPosition(options.rate, options.clock.monotonic());
    this.#begun = new Promise((resolve) => (this.#begin = resolve));
    void this.#speak();
  }

  /** The samples that count as played. */
  get played(): number {
    const { reported } = this.position;
    if (this.#options.reports()) return reported ?? 0;
    return this.position.estimated(this.#now);
  }

  /** Sends audio from now on. */
  begin(): void {
    this.position.resume(this.#now);
    this.#begin();
    this.#pollEstimate();
  }

  pause(): void {
    this.position.pause(this.#now);
  }

  resume(): void {
    this.position.resume(this.#now);
    this.#wake();
  }

  /** Takes the client's report of the samples that it has played. */
  report(samples: number): void {
    if (this.position.report(samples, this.#now)) {
      this.#progress();
      this.#wake();
    }
    this.#answered();
  }

  /** The client reports no more: a cut that waits for a report uses the estimate. */
  unreported(): void {
    this.#unanswered();
  }

  /** Finds the position of the listener at the end of a reply. */
  async heardBy(basis: Basis): Promise<HeardAudio> {
    const { position } = this;
    const { sent } = position;
    if (basis === 'sent') return { points: position.begunAt(sent), samples: sent, heard: 'sent' };
    const estimate = position.estimated(this.#now);
    const isReported = basis === 'report' || (basis === 'answer' && sent > 0 && (await this.#answer()));
    const samples = isReported ? (position.reported ?? 0) : estimate;
    return { points: position.pointsAt(samples), samples, heard: isReported ? 'played' : 'estimated' };
  }

  /**
   * Resolves with whether the client reports in time what it has played. A report may have been on its way already, so
   * the last one counts.
   */
  #answer(): Promise<boolean> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      let isAnswered = false;
      const end = (): void => {
        timer.cancel();
        rest?.cancel();
        resolve(isAnswered);
      };
      let rest: Timer | null = null;
      const timer = clock.after(limits.callPlayedMs, end);
      this.#unanswered = end;
      this.#answered = () => {
        isAnswered = true;
        rest?.cancel();
        rest = clock.after(callAnswerMs, end);
      };
    });
  }

  /** Makes no more audio; what was sent is still played. */
  curb(): void {
    this.#options.narration.stop();
    this.#wake();
  }

  /** Ends the playout of a reply that is no longer open. */
  stop(): void {
    this.position.pause(this.#now);
    this.#options.narration.stop();
    this.#timer?.cancel();
    this.#poll?.cancel();
    this.#begin();
    this.#wake();
  }

  get #now(): number {
    return this.#options.clock.monotonic();
  }

  get #isOpen(): boolean {
    return this.#options.reply.isOpen;
  }

  async #speak(): Promise<void> {
    const { narration, note, failed } = this.#options;
    try {
      for await (const item of narration.spoken()) {
        if (!this.#isOpen) return;
        if (item.type === 'sentence') this.position.sentence(item.from, item.to, item.start);
        else if (item.type === 'plan') this.position.plan(item.plan);
        else if (!(await this.#frame(item.bytes, item.samples))) break;
      }
    } catch (error) {
      if (this.#isOpen) failed(error);
    }
    this.#noteReady();
    await this.#begun;
    if (!this.#isOpen) return;
    note('sent');
    this.#progress();
  }

  #noteReady(): void {
    const { reply, note } = this.#options;
    if (this.#isOpen && !reply.context.ready) note('ready');
  }

  /**
   * Sends a frame once the listener has room and its text is stored: after a crash only the stored text is kept of it.
   * Returns false if the frame can no longer be sent.
   */
  async #frame(bytes: Uint8Array, samples: number): Promise<boolean> {
    this.#noteReady();
    await this.#begun;
    if (!(await this.#canSend(samples))) return false;
    if (!(await this.#options.transcript.supply(this.position.begunAt(this.position.sent + samples)))) {
      if (this.#isOpen) this.#options.unstored();
      return false;
    }
    // The reply may have been paused while the text was stored.
    if (!(await this.#canSend(samples))) return false;
    const first = this.position.sent === 0;
    this.position.send(samples, this.#now);
    this.#setDue(true);
    this.#options.send(bytes, first);
    return true;
  }

  /** Resolves with true once the listener has room for the samples, or with false once nothing is sent any more. */
  async #canSend(samples: number): Promise<boolean> {
    const { reply, isFree } = this.#options;
    while (this.#isOpen && (reply.state === 'paused' || !isFree() || !this.#hasRoom(samples))) await this.#rest();
    return this.#isOpen;
  }

  #hasRoom(samples: number): boolean {
    const ahead = this.position.sent + samples - this.played;
    return (ahead * 1000) / this.#options.rate <= this.#options.aheadMs;
  }

  #setDue(due: boolean): void {
    if (this.#isDue === due) return;
    this.#isDue = due;
    this.#options.due(due);
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#timer?.cancel();
      this.#timer = this.#options.clock.after(callStepMs, resolve);
    });
  }

  /** Follows the estimate of a client that reports nothing. */
  #pollEstimate(): void {
    this.#poll = this.#options.clock.after(callLookMs, () => {
      if (!this.#isOpen || this.#options.reply.context.played) return;
      this.#progress();
      this.#pollEstimate();
    });
  }

  #progress(): void {
    const { reply, transcript, note } = this.#options;
    if (!this.#isOpen || reply.context.played) return;
    const { played } = this;
    transcript.follow(this.position.pointsAt(played));
    if (played < this.position.sent) return;
    this.#setDue(false);
    if (reply.context.sent) note('played');
  }
}

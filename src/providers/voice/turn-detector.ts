/**
 * Detects the turns of a person in a call. A turn ends after a silence whose length depends on the text. Words stay
 * pending until a turn takes them. Positions are milliseconds of audio from the call's beginning, including gaps that
 * count as silence.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { classifyInterruption, type Interruption, type SpokenReply } from './interruption.ts';
import { recognitionRate } from './audio/recognition.ts';
import type { PendingTranscript, Words } from './pending-transcript.ts';
import type { ListenerEvent } from './listener-events.ts';
import { Listener, type ListenerOptions } from './listener.ts';
import { unfinished } from './unfinished.ts';

/** Factor by which the silence after an unfinished text is longer, and the longest silence. */
const [unfinishedTimes, silenceMsMax] = [2.4, 3_000];
/** Milliseconds without audio after which the gap counts as silence. */
const gapMs = 1_000;

type FinalEvent = Extract<ListenerEvent, { type: 'transcript.final' }>;

/** Reason for which a final's words do not belong to a turn. */
export type Ignored = 'backchannel' | 'echo' | 'failed' | null;

/** Events of a transcription socket; a final also says whether its words count. */
export type TurnDetectorEvent = Exclude<ListenerEvent, FinalEvent> | (FinalEvent & { readonly ignored: Ignored });

export interface TurnDetectorOptions extends Pick<
  ListenerOptions,
  'partials' | 'repeats' | 'transcribe' | 'stretch' | 'begins' | 'failed'
> {
  readonly clock: Clock;
  /** Voice activity detector of this call alone, closed with it. */
  readonly detector: { chances(samples: Int16Array): Promise<Float32Array>; close(): void };
  readonly turnSilenceMs: number;
  /** Keeps the words until a turn takes them. */
  readonly pending: PendingTranscript;
  emit(event: TurnDetectorEvent): void;
  /** Returns the reply during which the utterance began, or that ended at most 500 ms before; otherwise null. */
  replyOf(utterance: number): SpokenReply | null;
  /** Reports the beginning of an utterance. */
  voice(utterance: number, atMs: number): void;
  /** Reports the milliseconds of voice in the current utterance whenever they grow. */
  voiced(utterance: number, ms: number): void;
  /** Reports each transcript of an utterance: the partial ones, the one at a pause and the final one. */
  heard(utterance: number, text: string, verdict: Interruption): void;
  /**
   * Reports that the turn may end here, with all pending words and the words of the current utterance. Only called
   * with a word that counts.
   */
  early(words: Words): void;
  /** Reports that speech continues after a pause that `early` may have reported. */
  resumed(utterance: number): void;
  /** Reports the end of an utterance, after its final was sent. */
  quiet(utterance: number, verdict: Interruption): void;
  /** Reports the end of the turn; its words, if any, are pending. Not called after a flush. */
  over(): void;
}

export class TurnDetector {
  readonly #options: TurnDetectorOptions;
  readonly #listener: Listener;
  readonly #pending: PendingTranscript;
  /** Number of the current utterance; null in silence. */
  #utterance: number | null = null;
  /** Number of pending finals. */
  #owed = 0;
  #voicedMs = 0;
  /** Beginning of the current or last utterance. */
  #fromMs = 0;
  #positionMs = 0;
  /** Offset at which voice last stopped in the open turn; null if no turn is open. */
  #voiceEnd: number | null = null;
  /** Utterances whose latest decoding has failed twice. */
  readonly #failed = new Set<number>();
  #deaf = false;
  /** Flushes and clears that the listener has not applied, and those whose finals are pending. */
  #flushing: (() => void)[] = [];
  #flushed: (() => void)[] = [];
  #audioAt: number;
  /** Time up to which a gap in the audio was filled. */
  #filledTo: number;
  #timer: Timer | null = null;
  #closed = false;

  constructor(options: TurnDetectorOptions) {
    const { clock, turnSilenceMs, detector, partials, repeats, stretch, begins, failed } = options;
    this.#options = options;
    this.#pending = options.pending;
    this.#audioAt = this.#filledTo = clock.monotonic();
    this.#listener = new Listener({
      silenceMs: turnSilenceMs,
      partials,
      repeats,
      detect: (samples) => detector.chances(samples),
      stretch,
      begins,
      failed,
      transcribe: (samples, utterance, urgency, signal) => this.#transcribe(samples, utterance, urgency, signal),
      ends: () => (this.#utterance = null),
      emit: (event) => this.#take(event),
      follower: {
        looked: (positionMs, voicedMs) => this.#looked(positionMs, voicedMs),
        early: (utterance, text, toMs) => this.#early(utterance, text, toMs),
        resumed: (utterance) => this.#options.resumed(utterance),
        flushed: (times) => this.#flushHeard(times),
        silenceFor: (text) => this.#silenceFor(text),
      },
    });
  }

  /** Milliseconds of audio that wait for the detector. */
  get backlogMs(): number {
    return this.#listener.backlogMs;
  }

  /** Milliseconds of audio that were examined. */
  get positionMs(): number {
    return this.#positionMs;
  }

  /** The pending words, joined. */
  get text(): string {
    return this.#pending.text;
  }

  /** Whether a voice is heard or a final is pending. */
  get busy(): boolean {
    return this.#utterance !== null || this.#owed > 0;
  }

  /**
   * Mutes the input. An utterance that begins while it is muted is not heard; one that lasts longer is heard from the
   * end of the muting.
   */
  deafen(deaf: boolean): void {
    this.#deaf = deaf;
  }

  /** Takes audio of 16 kHz. */
  push(samples: Int16Array): void {
    if (this.#closed) return;
    this.#audioAt = this.#filledTo = this.#options.clock.monotonic();
    this.#watch();
    this.#listener.push(this.#deaf && this.#utterance === null ? new Int16Array(samples.length) : samples);
  }

  /** Resolves once the words of all audio so far are pending; `over` is not called for them. */
  flush(): Promise<void> {
    return this.#reach(() => this.#listener.flush());
  }

  /** Drops the current utterance and the unexamined audio; resolves once that is done. */
  clear(): Promise<void> {
    return this.#reach(() => this.#listener.clear());
  }

  #reach(mark: () => void): Promise<void> {
    return new Promise((done) => {
      if (this.#closed) return done();
      this.#flushing.push(done);
      mark();
    });
  }

  /** Takes the pending words; null if no word is pending. */
  take(): Words | null {
    return this.#pending.take();
  }

  /** Puts words of a withdrawn turn before the next ones. */
  putBack(words: Words): void {
    this.#pending.putBack(words);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#listener.close();
    this.#options.detector.close();
    for (const done of [...this.#flushing.splice(0), ...this.#flushed.splice(0)]) done();
  }

  /** Transcribes an utterance; retries a failed decoding once, then returns an empty text. */
  async #transcribe(...asked: Parameters<ListenerOptions['transcribe']>): Promise<string> {
    const [, { number }, urgency, signal] = asked;
    const transcribe = (): Promise<string> => this.#options.transcribe(...asked);
    if (urgency === 'partial') return transcribe();
    const text = await transcribe()
      .catch((error) => (signal.aborted ? Promise.reject(error) : transcribe()))
      .catch((error) => (signal.aborted ? Promise.reject(error) : null));
    if (text === null) this.#failed.add(number);
    else this.#failed.delete(number);
    return text ?? '';
  }

  #take(event: ListenerEvent): void {
    if (event.type === 'transcript.final') return this.#final(event);
    this.#options.emit(event);
    if (event.type === 'speech.started') {
      this.#utterance = event.utterance;
      this.#owed++;
      this.#voicedMs = 0;
      this.#fromMs = event.at_ms;
      this.#voiceEnd = null;
      this.#watch();
      this.#options.voice(event.utterance, event.at_ms);
    } else if (event.type === 'transcript.partial')
      this.#options.heard(event.utterance, event.text, this.#verdict(event.utterance, event.text));
  }

  #verdict(utterance: number, text: string): Interruption {
    return classifyInterruption(text, this.#options.replyOf(utterance));
  }

  #final(event: FinalEvent): void {
    const { utterance, text, start_ms: fromMs, end_ms: toMs, reason } = event;
    const verdict = this.#verdict(utterance, text);
    this.#owed--;
    // Events after a cut are late: the utterance may have ended before its beginning was reported.
    if (this.#utterance === utterance) this.#utterance = null;
    if (verdict === 'counts') this.#pending.add({ text, fromMs, toMs });
    const ignored = this.#failed.delete(utterance)
      ? 'failed'
      : verdict === 'backchannel' || verdict === 'echo'
        ? verdict
        : null;
    this.#options.emit({ ...event, ignored });
    if (text !== '') this.#options.heard(utterance, text, verdict);
    this.#options.quiet(utterance, verdict);
    this.#voiceEnd = reason === 'flush' ? null : toMs;
    if (this.#owed === 0) for (const done of this.#flushed.splice(0)) done();
    // The next utterance may have begun after a cut, which the listener reports next.
    if (reason !== 'length' || this.#full) this.#lookForEnd();
  }

  #looked(positionMs: number, voicedMs: number): void {
    this.#positionMs = positionMs;
    if (this.#utterance !== null && voicedMs > this.#voicedMs)
      this.#options.voiced(this.#utterance, (this.#voicedMs = voicedMs));
    this.#lookForEnd();
  }

  #lookForEnd(): void {
    if (this.#closed || this.#voiceEnd === null) return;
    if (!this.#full && (this.busy || this.#positionMs < this.#voiceEnd + this.#silenceFor(''))) return;
    this.#voiceEnd = null;
    this.#options.over();
  }

  get #full(): boolean {
    return this.#pending.isFull;
  }

  #early(utterance: number, text: string, toMs: number): void {
    const verdict = this.#verdict(utterance, text);
    if (text !== '') this.#options.heard(utterance, text, verdict);
    if (verdict === 'counts')
      this.#options.early({
        text: this.#with(text),
        fromMs: this.#pending.whole?.fromMs ?? this.#fromMs,
        toMs,
        ...(this.#pending.isTyped && { typed: true }),
      });
  }

  #with(text: string): string {
    return [this.text, text].filter((part) => part !== '').join(' ');
  }

  /**
   * Returns the milliseconds of silence that end a turn with the pending words and this text of the current utterance.
   */
  #silenceFor(text: string): number {
    const { turnSilenceMs } = this.#options;
    return unfinished(this.#with(text)) ? Math.min(silenceMsMax, unfinishedTimes * turnSilenceMs) : turnSilenceMs;
  }

  #flushHeard(times: number): void {
    const done = this.#flushing.splice(0, times);
    if (this.#owed > 0) return void this.#flushed.push(...done);
    this.#voiceEnd = null;
    for (const one of done) one();
  }

  /** Checks whether audio still arrives; a gap counts as silence. */
  #watch(): void {
    if (this.#timer !== null || this.#closed) return;
    const { clock } = this.#options;
    this.#timer = clock.after(this.#filledTo > this.#audioAt ? limits.socketPollMs : gapMs, () => {
      this.#timer = null;
      const now = clock.monotonic();
      // Silence decides only about an open turn.
      const waits = this.busy || this.#voiceEnd !== null || this.#flushing.length > 0;
      if (now - this.#audioAt < gapMs) return waits ? this.#watch() : undefined;
      if (!waits) return;
      this.#listener.push(new Int16Array(Math.floor(((now - this.#filledTo) * recognitionRate) / 1000)));
      this.#filledTo = now;
      this.#watch();
    });
  }
}

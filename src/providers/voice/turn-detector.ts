/**
 * Listens to the person of a call: utterances become turns, which end after a silence that their text decides. The
 * words stay in hand until they are taken. Positions are milliseconds of audio from the call's beginning, gaps that
 * count as silence included.
 */
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { classifyInterruption, type Interruption, type SpokenReply } from './interruption.ts';
import { recognitionRate } from './audio/decoding.ts';
import type { PendingTranscript, Words } from './pending-transcript.ts';
import { Listener, type ListenerEvent, type ListenerOptions } from './listener.ts';
import { unfinished } from './unfinished.ts';

/** A silence after a text that goes on is this much longer, up to the longest. */
const [unfinishedTimes, silenceMsMax] = [2.4, 3_000];
/** For so long there may be no audio before that counts as silence. */
const gapMs = 1_000;

type FinalEvent = Extract<ListenerEvent, { type: 'transcript.final' }>;

/** Why a final's words are no part of a turn. */
export type Ignored = 'backchannel' | 'echo' | 'failed' | null;

/** The events of a transcription socket; a final says as well whether its words count. */
export type TurnDetectorEvent = Exclude<ListenerEvent, FinalEvent> | (FinalEvent & { readonly ignored: Ignored });

export interface TurnDetectorOptions extends Pick<
  ListenerOptions,
  'partials' | 'repeats' | 'transcribe' | 'stretch' | 'begins' | 'failed'
> {
  readonly clock: Clock;
  /** The ear's own: it is closed with it. */
  readonly detector: { chances(samples: Int16Array): Promise<Float32Array>; close(): void };
  readonly turnSilenceMs: number;
  /** Holds the words until a turn takes them. */
  readonly pending: PendingTranscript;
  emit(event: TurnDetectorEvent): void;
  /** The reply in which the utterance began, or in the 500 ms after which it did; null if there is none. */
  replyOf(utterance: number): SpokenReply | null;
  /** An utterance has begun, there. */
  voice(utterance: number, atMs: number): void;
  /** So much voice is in the utterance under way: called whenever it grows. */
  voiced(utterance: number, ms: number): void;
  /** A transcript of an utterance: the partial ones, that of a pause and the final one. */
  heard(utterance: number, text: string, verdict: Interruption): void;
  /**
   * The turn may end here: all words in hand with those of the utterance under way. Not called without a word that
   * counts.
   */
  early(words: Words): void;
  /** The voice goes on after a pause of which `early` may have told. */
  resumed(utterance: number): void;
  /** An utterance is over, and its final was sent. */
  quiet(utterance: number, verdict: Interruption): void;
  /** The turn has ended: its words are in hand, if there are any. After a flush it is not called. */
  over(): void;
}

export class TurnDetector {
  readonly #options: TurnDetectorOptions;
  readonly #listener: Listener;
  readonly #pending: PendingTranscript;
  /** The utterance under way; null in silence. */
  #utterance: number | null = null;
  /** Finals that are owed. */
  #owed = 0;
  #voicedMs = 0;
  /** Where the utterance under way, or the last one, began. */
  #fromMs = 0;
  #positionMs = 0;
  /** Where the last voice ended of a turn that has not; null if none waits for its end. */
  #voiceEnd: number | null = null;
  /** Utterances whose latest decoding has failed twice. */
  readonly #failed = new Set<number>();
  #deaf = false;
  /** Flushes and clears that the listener has not obeyed, and those whose finals are owed. */
  #flushing: (() => void)[] = [];
  #flushed: (() => void)[] = [];
  #audioAt: number;
  /** Up to when a gap in the audio was filled. */
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

  /** How much audio was looked at, in milliseconds. */
  get positionMs(): number {
    return this.#positionMs;
  }

  /** The words in hand, joined. */
  get text(): string {
    return this.#pending.text;
  }

  /** Whether a voice is heard, or a final is owed. */
  get busy(): boolean {
    return this.#utterance !== null || this.#owed > 0;
  }

  /**
   * An utterance that begins while it is deaf is not heard; one that lasts longer is heard from the end of the
   * deafness.
   */
  deafen(deaf: boolean): void {
    this.#deaf = deaf;
  }

  /** Audio of 16 kHz. */
  push(samples: Int16Array): void {
    if (this.#closed) return;
    this.#audioAt = this.#filledTo = this.#options.clock.monotonic();
    this.#watch();
    this.#listener.push(this.#deaf && this.#utterance === null ? new Int16Array(samples.length) : samples);
  }

  /** Resolves once the words of all audio so far are in hand; `over` is not called for them. */
  flush(): Promise<void> {
    return this.#reach(() => this.#listener.flush());
  }

  /** Drops the utterance under way and the audio that was not looked at; resolves once that is done. */
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

  /** Takes the words in hand; null if there are none. */
  take(): Words | null {
    return this.#pending.take();
  }

  /** Words that were taken for a turn that is withdrawn begin the next one. */
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

  /** A decoding that fails is tried once more; then there is no text. */
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
    // The events behind a cut are late: this utterance may have been over when its beginning was told.
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
    // Behind a cut the next utterance may have begun, of which the listener tells next.
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

  /** The silence after the words in hand and this text of the utterance under way. */
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

  /** Looks whether audio still comes; while none does, it counts as silence. */
  #watch(): void {
    if (this.#timer !== null || this.#closed) return;
    const { clock } = this.#options;
    this.#timer = clock.after(this.#filledTo > this.#audioAt ? limits.socketPollMs : gapMs, () => {
      this.#timer = null;
      const now = clock.monotonic();
      // Silence decides nothing where no voice waits for its end.
      const waits = this.busy || this.#voiceEnd !== null || this.#flushing.length > 0;
      if (now - this.#audioAt < gapMs) return waits ? this.#watch() : undefined;
      if (!waits) return;
      this.#listener.push(new Int16Array(Math.floor(((now - this.#filledTo) * recognitionRate) / 1000)));
      this.#filledTo = now;
      this.#watch();
    });
  }
}

/**
 * Turns a stream of audio into the events of a transcription socket (contract 8). The voice activity detector precedes
 * every recogniser, so that all give the same events. Audio is 16-bit PCM, mono, 16 kHz; positions are samples.
 */
import { VoiceFailed, type DecodingDraft } from '../voice.ts';
import { windowSamples } from './engine/messages.ts';
import { endBefore, onsetBefore } from './speech-boundaries.ts';
import { Hypothesis } from './hypothesis.ts';
import { OrderedEvents, type ListenerEvent } from './listener-events.ts';
import { PartialSchedule } from './partial-schedule.ts';
import { Segmenter, type Segmented } from './segmenter.ts';
import { AudioHistory } from './audio-history.ts';
import { samplesPerMs } from './audio/recognition.ts';

/** Finished utterances that wait for their transcript. */
export const socketFinalsOwedMax = 100;

/** Samples of audio that stay before a voice begins. */
const keptSamples = 1_000 * samplesPerMs;
/** Audio decoded with an utterance: before its onset and after its end. */
const [prerollSamples, hangoverSamples] = [320 * samplesPerMs, 120 * samplesPerMs];
/**
 * Audio decoded before a partial's onset. It is shorter: the recogniser finds no words in a little speech after much
 * silence.
 */
const partialPrerollSamples = 160 * samplesPerMs;
/**
 * Silence appended to all decoded audio: otherwise the recogniser ends a finished sentence with a comma and misses a
 * word in progress.
 */
const paddingSamples = 200 * samplesPerMs;
/** Maximum number of windows detected at a time. */
const windowsMax = 32;

/** Progress of the current utterance, which the listener reports beside the events. */
export interface ListenerFollower {
  /**
   * Called for each window, with the milliseconds of audio examined and the milliseconds of speech in the current
   * utterance, 0 in silence.
   */
  looked(positionMs: number, voicedMs: number): void;
  /** Reports the final text of the utterance if it ends at the present pause. */
  early(utterance: number, text: string, toMs: number): void;
  /** Reports that speech continues after the pause. */
  resumed(utterance: number): void;
  /** Reports the number of flushes or clears that were applied; finals may still be pending. */
  flushed(times: number): void;
  /**
   * Returns the milliseconds of silence that end an utterance with this text, at least `silenceMs`; the text is empty
   * if it is unknown.
   */
  silenceFor(text: string): number;
}

export interface ListenerOptions {
  readonly silenceMs: number;
  readonly partials: boolean;
  /** Whether the recogniser can decode the same utterance repeatedly; without this there are no partials. */
  readonly repeats: boolean;
  /** Returns the probability of speech for each window of 512 samples. */
  detect(samples: Int16Array): Promise<Float32Array>;
  transcribe(
    samples: Int16Array,
    utterance: { readonly number: number; readonly draft: DecodingDraft },
    urgency: 'final' | 'partial',
    signal: AbortSignal,
  ): Promise<string>;
  /** Factor by which partials are rarer now: 1 for the full rate, Infinity for none. */
  stretch(): number;
  /** Called before the first event of an utterance; false ends the stream. */
  begins(): boolean | Promise<boolean>;
  /** Called when an utterance has ended; its final may still be pending. */
  ends(): void;
  emit(event: ListenerEvent): void;
  /** Called when the stream ends because the detector or the recogniser failed. */
  failed(error: unknown): void;
  readonly follower?: ListenerFollower;
}

interface Spoken {
  readonly number: number;
  readonly from: number;
  /** Position at which its decoded audio begins. */
  readonly audioFrom: number;
  readonly hypothesis: Hypothesis;
  readonly draft: DecodingDraft;
  readonly partials: PartialSchedule;
  /** Decoding that began at a pause, in case the speech ends there. */
  early: {
    readonly to: number;
    readonly text: Promise<string>;
    readonly stop: AbortController;
    ready: string | null;
    decided: boolean;
  } | null;
  partial: AbortController | null;
  /** Whether its audio was dropped; then it has no text. */
  isDropped: boolean;
}

export class Listener {
  readonly #options: ListenerOptions;
  readonly #segmenter: Segmenter;
  readonly #audio = new AudioHistory();
  /**
   * Positions up to which speech becomes final or is dropped, once the detector has read the audio before them.
   * Consecutive marks of one kind are merged into the last.
   */
  readonly #marks: { at: number; readonly drops: boolean; times: number }[] = [];
  /** Position of the end of the audio; null before `finish`. */
  #finishAt: number | null = null;
  #finished: () => void = () => {};
  #spoken: Spoken | null = null;
  /** End of the previous utterance: later utterances do not include its audio. */
  #lastEnd = 0;
  /** End of the audio; only the silence that fills its last window follows. */
  #audioEnd = Infinity;
  readonly #events: OrderedEvents;
  /** Number of pending finals. */
  #owed = 0;
  #running = false;
  #closed = false;
  /** Finals are sent in the order of their utterances. */
  #finals: Promise<void> = Promise.resolve();
  readonly #stop = new AbortController();

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#events = new OrderedEvents((event) => options.emit(event));
    this.#segmenter = new Segmenter(options.silenceMs, {
      onset: (sure, position) => onsetBefore(sure, position, this.#audio),
      end: (sure, position) => endBefore(sure, position, this.#audio),
    });
  }

  /** Milliseconds of audio that wait for the detector. */
  get backlogMs(): number {
    return (this.#audio.end - this.#segmenter.position) / samplesPerMs;
  }

  get #wanted(): boolean {
    return this.#options.partials && this.#options.repeats;
  }

  push(samples: Int16Array): void {
    if (this.#closed || samples.length === 0) return;
    this.#audio.append(samples);
    this.#run();
  }

  /** Makes the speech so far final. */
  flush(): void {
    if (this.#closed || this.#finishAt !== null) return;
    this.#mark(false);
  }

  /**
   * Drops the speech after the last flush: the current utterance gets no text, and unexamined audio becomes silence.
   */
  clear(): void {
    if (this.#closed || this.#finishAt !== null) return;
    this.#audio.silence(Math.max(this.#segmenter.position, this.#marks.at(-1)?.at ?? 0));
    this.#mark(true);
  }

  #mark(drops: boolean): void {
    const last = this.#marks.at(-1);
    if (last?.drops === drops) Object.assign(last, { at: this.#audio.end, times: last.times + 1 });
    else this.#marks.push({ at: this.#audio.end, drops, times: 1 });
    this.#run();
  }

  /** Ends the audio; resolves once every final is sent. */
  async finish(): Promise<void> {
    await this.#finish();
    await this.#finals;
  }

  close(): void {
    this.#closed = true;
    this.#stop.abort();
    this.#spoken?.early?.stop.abort();
    this.#spoken?.partial?.abort();
    this.#events.close();
    this.#finished();
  }

  #finish(): Promise<void> {
    return new Promise((done) => {
      if (this.#closed) return done();
      this.#finished = done;
      // An incomplete last window is filled with silence.
      this.#audioEnd = Math.min(this.#audioEnd, this.#audio.end);
      this.#audio.append(new Int16Array((windowSamples - (this.#audio.end % windowSamples)) % windowSamples));
      this.#finishAt = this.#audio.end;
      this.#run();
    });
  }

  #run(): void {
    if (this.#running) return;
    this.#running = true;
    this.#work().catch((error) => this.#fail(error));
  }

  #fail(error: unknown): void {
    if (this.#closed) return;
    this.close();
    this.#options.failed(error);
  }

  async #work(): Promise<void> {
    try {
      for (;;) {
        const windows = this.#windows();
        if (windows > 0) await this.#detect(windows);
        else if (this.#marks.length > 0) {
          const { drops, times } = this.#marks.shift()!;
          if (drops && this.#spoken !== null) this.#spoken.isDropped = true;
          this.#cutHere('flush');
          this.#options.follower?.flushed(times);
        } else if (this.#finishAt !== null) {
          this.#finishAt = null;
          this.#cutHere('finish');
          this.#finished();
        } else return;
        if (this.#closed) return;
      }
    } finally {
      // Cleared here and not after the promise: audio in between would otherwise wait for a run that has ended.
      this.#running = false;
    }
  }

  /**
   * Returns the number of whole windows that can be detected now; a flush and the finish wait for the audio before
   * them.
   */
  #windows(): number {
    const until = this.#marks[0]?.at ?? this.#finishAt ?? this.#audio.end;
    return Math.min(windowsMax, Math.floor((until - this.#segmenter.position) / windowSamples));
  }

  async #detect(windows: number): Promise<void> {
    const from = this.#segmenter.position;
    const chances = await this.#options.detect(this.#audio.slice(from, from + windows * windowSamples));
    for (const chance of chances) {
      if (this.#closed) return;
      if (this.#options.follower !== undefined) await this.#putOff();
      for (const segment of this.#segmenter.push(chance)) await this.#follow(segment);
      this.#maybePartial();
      this.#options.follower?.looked(msOf(this.#segmenter.position), msOf(this.#segmenter.voiced));
    }
    this.#audio.forget(Math.min(this.#spoken?.audioFrom ?? Infinity, this.#segmenter.position - keptSamples));
  }

  #cutHere(reason: 'flush' | 'finish'): void {
    for (const segment of this.#segmenter.end(reason)) this.#follow(segment).catch((error) => this.#fail(error));
  }

  async #follow(segment: Segmented): Promise<void> {
    if (segment.type === 'started') await this.#begin(segment.utterance, segment.at);
    else if (segment.type === 'paused') this.#decodeEarly(segment.at);
    else if (segment.type === 'resumed') this.#takeEarly();
    else this.#end(segment);
  }

  async #begin(number: number, from: number): Promise<void> {
    const begins = this.#options.begins();
    if (!(typeof begins === 'boolean' ? begins : await begins)) return this.close();
    const audioFrom = Math.max(from - prerollSamples, this.#lastEnd, 0);
    this.#spoken = {
      number,
      from,
      audioFrom,
      hypothesis: new Hypothesis(),
      draft: { tokens: [] },
      partials: new PartialSchedule(),
      early: null,
      partial: null,
      isDropped: false,
    };
    this.#events.send({ type: 'speech.started', utterance: number, at_ms: msOf(from) });
  }

  /** Decodes the speech so far at a pause: if it has ended, the final is ready at the end of the silence. */
  #decodeEarly(to: number): void {
    const spoken = this.#spoken;
    if (spoken === null || !this.#options.repeats) return;
    spoken.early?.stop.abort();
    const stop = new AbortController();
    const text = this.#options.transcribe(this.#whole(spoken, to), spoken, 'final', stop.signal);
    const early: NonNullable<Spoken['early']> = (spoken.early = { to, text, stop, ready: null, decided: false });
    text.then(
      (ready) => this.#early(spoken, early, ready),
      () => {},
    );
  }

  #early(spoken: Spoken, early: NonNullable<Spoken['early']>, text: string): void {
    early.ready = text;
    if (this.#spoken === spoken && spoken.early === early && !this.#closed)
      this.#options.follower?.early(spoken.number, spoken.hypothesis.final(text), msOf(early.to));
  }

  /**
   * Sets the silence that ends the utterance from the text at the pause. Waits for that text, because audio may arrive
   * faster than it is decoded.
   */
  async #putOff(): Promise<void> {
    const { follower } = this.#options;
    const spoken = this.#spoken;
    const early = spoken?.early;
    if (follower === undefined || !early || early.decided || !this.#segmenter.ending) return;
    early.decided = true;
    const text = await early.text.catch(() => '');
    this.#segmenter.putOff(follower.silenceFor(spoken.hypothesis.final(text)));
  }

  /** Handles resumed speech: the text decoded at the pause becomes a partial. */
  #takeEarly(): void {
    const spoken = this.#spoken;
    const early = spoken?.early;
    if (spoken) this.#options.follower?.resumed(spoken.number);
    if (!spoken || !early) return;
    spoken.early = null;
    // A text that is ready becomes a partial; a decoding that still runs would delay finals.
    if (early.ready !== null) this.#sendPartial(spoken, early.ready, early.to);
    else early.stop.abort();
  }

  #maybePartial(): void {
    const spoken = this.#spoken;
    if (spoken === null || !this.#wanted || spoken.partial !== null || spoken.early !== null) return;
    if (!spoken.partials.take(this.#segmenter.position - spoken.from, this.#options.stretch())) return;
    const to = this.#segmenter.position;
    const stop = (spoken.partial = new AbortController());
    this.#options.transcribe(this.#beginning(spoken, to), spoken, 'partial', stop.signal).then(
      (text) => {
        spoken.partial = null;
        if (text === '') spoken.partials.hadNoWords(to - spoken.from);
        this.#sendPartial(spoken, text, to);
      },
      // A failed partial is skipped; the final reports whether the recogniser has failed.
      () => (spoken.partial = null),
    );
  }

  #sendPartial(spoken: Spoken, text: string, to: number): void {
    if (this.#spoken !== spoken || text === '' || !this.#wanted) return;
    this.#events.send({
      type: 'transcript.partial',
      utterance: spoken.number,
      ...spoken.hypothesis.take(text, msOf(to - spoken.from)),
      start_ms: msOf(spoken.from),
    });
  }

  #end({ utterance, from, to, reason }: Extract<Segmented, { type: 'ended' }>): void {
    const spoken = this.#spoken!;
    this.#spoken = null;
    // Dropped audio is silence, in which the utterance may end before the mark.
    if (reason === 'silence' && this.#marks[0]?.drops) spoken.isDropped = true;
    this.#lastEnd = to;
    spoken.partial?.abort();
    this.#options.ends();
    if (reason === 'silence') this.#events.send({ type: 'speech.stopped', utterance, at_ms: msOf(to) });
    if (++this.#owed > socketFinalsOwedMax)
      return this.#fail(new VoiceFailed('process', 'Too many finals are pending.'));
    const decoded = this.#finalText(spoken, to);
    decoded.catch(() => {});
    this.#finals = this.#finals.then(async () => {
      const heard = await decoded;
      const text = spoken.isDropped ? '' : spoken.hypothesis.final(heard);
      this.#owed--;
      this.#events.send({
        type: 'transcript.final',
        utterance,
        text,
        start_ms: msOf(from),
        end_ms: msOf(Math.min(to, this.#audioEnd)),
        reason,
      });
      this.#events.release(utterance);
    });
    // The utterance was cut: the rest of the speech is a new utterance, sent after this final.
    if (reason === 'length' || reason === 'flush') this.#events.cut(utterance);
    this.#finals.catch((error) => this.#fail(error));
  }

  #finalText(spoken: Spoken, to: number): Promise<string> {
    if (spoken.early?.to === to && !spoken.isDropped) return spoken.early.text;
    spoken.early?.stop.abort();
    if (spoken.isDropped) return Promise.resolve('');
    return this.#options.transcribe(this.#whole(spoken, to), spoken, 'final', this.#stop.signal);
  }

  #whole({ audioFrom }: Spoken, to: number): Int16Array {
    return this.#padded(audioFrom, Math.min(to + hangoverSamples, this.#segmenter.position));
  }

  #beginning({ from, audioFrom }: Spoken, to: number): Int16Array {
    return this.#padded(Math.max(audioFrom, from - partialPrerollSamples), to);
  }

  #padded(from: number, to: number): Int16Array {
    const samples = new Int16Array(to - from + paddingSamples);
    samples.set(this.#audio.slice(from, to));
    return samples;
  }
}

const msOf = (position: number): number => Math.floor(position / samplesPerMs);

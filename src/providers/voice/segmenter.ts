/**
 * Decides the beginning and end of speech from the detector's probabilities, in windows of 32 ms (contract 8).
 * Positions are samples at 16 kHz from the beginning of the stream.
 */
import { windowSamples } from './engine/messages.ts';
import { samplesPerMs } from './audio/recognition.ts';

const samplesOf = (ms: number): number => Math.round(ms * samplesPerMs);

/** Speech begins at the first probability and may end below the second; between them the state stays. */
const [onsetChance, offsetChance] = [0.5, 0.35];
/** Windows that make an onset, longer than a click; fewer are enough if the sum of their probabilities is that high. */
const onsetWindows = 3;
const sureEvidence = 1.8;
/** Maximum length of an utterance; it is cut at the quietest position within the last part. */
const lengthMax = samplesOf(10_000);
const cutWithin = samplesOf(2_000);
/** Silence after which the speech may have ended: decoding can begin before the silence is long enough. */
const pauseSamples = samplesOf(120);

export type FinalReason = 'silence' | 'flush' | 'finish' | 'length';

export type Segmented =
  | { readonly type: 'started'; readonly utterance: number; readonly at: number }
  /** The speaker may have stopped at this position. */
  | { readonly type: 'paused'; readonly utterance: number; readonly at: number }
  /** Speech continues after a pause. */
  | { readonly type: 'resumed'; readonly utterance: number }
  /** Utterance between two positions. */
  | {
      readonly type: 'ended';
      readonly utterance: number;
      readonly from: number;
      readonly to: number;
      readonly reason: FinalReason;
    };

interface Utterance {
  readonly number: number;
  readonly from: number;
  /** The end of the last window with speech in it. */
  spokenTo: number;
  /** Position at which the speech ends if the present pause is its end; null outside a pause. */
  endsAt: number | null;
  /** Samples of its windows with speech. */
  voiced: number;
  /** Silence that ends it. */
  silence: number;
  /** Probabilities of its latest windows, for a cut. */
  readonly chances: number[];
}

/** Returns the least silence within half a window of the given one, which is the detector's resolution. */
const nearestOf = (ms: number): number => samplesOf(ms) - windowSamples / 2;

/** Finds the exact boundaries of speech near the positions that the detector reports. */
export interface SpeechBoundaries {
  /** Returns the onset of a voice that the detector hears from `sure` to `position`. */
  onset(sure: number, position: number): number;
  /** Returns the end of a voice that the detector hears up to `sure` and not from there to `position`. */
  end(sure: number, position: number): number;
}

export class Segmenter {
  readonly #silence: number;
  readonly #boundaries: SpeechBoundaries;
  /** Number of windows examined. */
  #windows = 0;
  #utterances = 0;
  #current: Utterance | null = null;
  /** Consecutive windows that may be the onset of speech, and the sum of their probabilities. */
  #onset = 0;
  #evidence = 0;
  /** End of the previous utterance. */
  #lastEnd = 0;

  constructor(silenceMs: number, boundaries: SpeechBoundaries) {
    this.#silence = nearestOf(silenceMs);
    this.#boundaries = boundaries;
  }

  /** Position up to which the stream was examined. */
  get position(): number {
    return this.#windows * windowSamples;
  }

  /** Samples with speech in the current utterance; 0 in silence. */
  get voiced(): number {
    return this.#current?.voiced ?? 0;
  }

  /** Whether one more window of silence would end the current utterance. */
  get ending(): boolean {
    return (
      this.#current !== null &&
      this.#current.endsAt !== null &&
      this.position + windowSamples - this.#current.endsAt >= this.#current.silence
    );
  }

  /** Sets the silence that ends the current utterance, until speech continues. */
  putOff(silenceMs: number): void {
    if (this.#current !== null) this.#current.silence = nearestOf(silenceMs);
  }

  /** Examines one more window. */
  push(chance: number): Segmented[] {
    const from = this.position;
    this.#windows++;
    if (this.#current === null) return this.#listen(chance);
    return this.#follow(this.#current, chance, from);
  }

  /** Ends the current utterance here. */
  end(reason: 'flush' | 'finish'): Segmented[] {
    const utterance = this.#current;
    if (utterance === null) return [];
    // The speaker may be in the middle of a word, and all of its audio counts.
    return [this.#ended(utterance, utterance.endsAt ?? this.position, reason)];
  }

  #listen(chance: number): Segmented[] {
    const isOnset = chance >= onsetChance;
    this.#onset = isOnset ? this.#onset + 1 : 0;
    this.#evidence = isOnset ? this.#evidence + chance : 0;
    if (this.#onset < onsetWindows && this.#evidence < sureEvidence) return [];
    const from = this.#boundaries.onset(this.position - this.#onset * windowSamples, this.position);
    this.#onset = this.#evidence = 0;
    return [this.#begin(Math.max(from, this.#lastEnd))];
  }

  #begin(from: number): Segmented {
    this.#current = {
      number: ++this.#utterances,
      from,
      spokenTo: this.position,
      endsAt: null,
      voiced: this.position - from,
      silence: this.#silence,
      chances: [],
    };
    return { type: 'started', utterance: this.#utterances, at: from };
  }

  #follow(utterance: Utterance, chance: number, windowFrom: number): Segmented[] {
    const events: Segmented[] = [];
    const { number, endsAt } = utterance;
    if (chance >= (endsAt === null ? offsetChance : onsetChance)) {
      utterance.spokenTo = this.position;
      utterance.voiced += windowSamples;
      utterance.silence = this.#silence;
      utterance.endsAt = null;
      if (endsAt !== null) events.push({ type: 'resumed', utterance: number });
    } else if (endsAt === null && this.position - utterance.spokenTo >= pauseSamples) {
      utterance.endsAt = Math.max(utterance.from, this.#boundaries.end(utterance.spokenTo, this.position));
      events.push({ type: 'paused', utterance: number, at: utterance.endsAt });
    } else if (endsAt !== null && this.position - endsAt >= utterance.silence)
      return [this.#ended(utterance, endsAt, 'silence')];
    utterance.chances.push(chance);
    if (utterance.chances.length > cutWithin / windowSamples) utterance.chances.shift();
    return this.position - utterance.from >= lengthMax ? [...events, ...this.#cut(utterance, windowFrom)] : events;
  }

  /** Cuts after the quietest of the last windows. The rest of the speech is a new utterance. */
  #cut(utterance: Utterance, windowFrom: number): Segmented[] {
    const { chances } = utterance;
    let quietest = chances.length - 1;
    for (let i = quietest; i >= 0; i--) if (chances[i]! < chances[quietest]!) quietest = i;
    const at = windowFrom - (chances.length - 1 - quietest) * windowSamples;
    const ended = this.#ended(utterance, at, 'length');
    // Words after a pause begin a new utterance.
    if (utterance.endsAt !== null) return [ended];
    const started = this.#begin(at);
    this.#current!.spokenTo = utterance.spokenTo;
    this.#current!.chances.push(...chances.slice(quietest));
    return [ended, started];
  }

  #ended({ number, from }: Utterance, to: number, reason: FinalReason): Segmented {
    this.#current = null;
    this.#lastEnd = to;
    return { type: 'ended', utterance: number, from, to, reason };
  }
}

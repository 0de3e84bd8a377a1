/**
 * Where speech begins and ends, decided from the detector's chances, one window of 32 ms after the other (contract 8).
 * Positions are samples at 16 kHz from the beginning of the stream.
 */
import { windowSamples } from './engine/messages.ts';

const sampleRate = 16_000;
const samplesOf = (ms: number): number => Math.round((ms * sampleRate) / 1000);

/** Above the first, speech begins; below the second it may be over: between them it goes on as it was. */
const [onsetChance, offsetChance] = [0.5, 0.35];
/** A click is shorter than that; fewer windows are enough where the detector is that sure of them. */
const onsetWindows = 3;
const sureEvidence = 1.8;
/** An utterance is cut there at the latest; the cut is put where the speaker is quietest within the last part of it. */
const lengthMax = samplesOf(10_000);
const cutWithin = samplesOf(2_000);
/** An early guess at the end of the speech, on which decoding can begin before the silence is long enough. */
const pauseSamples = samplesOf(120);

export type FinalReason = 'silence' | 'flush' | 'finish' | 'length';

export type Segmented =
  | { readonly type: 'started'; readonly utterance: number; readonly at: number }
  /** The speaker may have stopped at this position. */
  | { readonly type: 'paused'; readonly utterance: number; readonly at: number }
  /** The speaker goes on after a pause. */
  | { readonly type: 'resumed'; readonly utterance: number }
  /** The utterance is `from` to `to`. */
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
  /** Where the speech ended, if the present pause is its end; null where there is none. */
  endsAt: number | null;
  /** Samples of its windows with speech in them. */
  voiced: number;
  /** The silence that ends it. */
  silence: number;
  /** The chances of its windows of late, for a cut. */
  readonly chances: number[];
}

/** The least silence that is within half a window of this one: the detector looks no finer. */
const nearestOf = (ms: number): number => samplesOf(ms) - windowSamples / 2;

/** Finds the edges of a voice, which the detector knows to be around there. */
export interface SpeechBoundaries {
  /** Returns where the voice began that the detector hears from `sure` to `position`. */
  onset(sure: number, position: number): number;
  /** Returns where the voice ended that the detector hears up to `sure`, and not from there to `position`. */
  end(sure: number, position: number): number;
}

export class Segmenter {
  readonly #silence: number;
  readonly #boundaries: SpeechBoundaries;
  /** Windows looked at. */
  #windows = 0;
  #utterances = 0;
  #current: Utterance | null = null;
  /** Windows in a row that may be the onset of speech, and the sum of their chances. */
  #onset = 0;
  #evidence = 0;
  /** The end of the utterance before. */
  #lastEnd = 0;

  constructor(silenceMs: number, boundaries: SpeechBoundaries) {
    this.#silence = nearestOf(silenceMs);
    this.#boundaries = boundaries;
  }

  /** The position up to which the stream was looked at. */
  get position(): number {
    return this.#windows * windowSamples;
  }

  /** Samples with speech in them of the utterance under way; 0 if there is none. */
  get voiced(): number {
    return this.#current?.voiced ?? 0;
  }

  /** Whether one more window of silence would end the utterance under way. */
  get ending(): boolean {
    return (
      this.#current !== null &&
      this.#current.endsAt !== null &&
      this.position + windowSamples - this.#current.endsAt >= this.#current.silence
    );
  }

  /** Lets the utterance under way end after another silence, until it goes on. */
  putOff(silenceMs: number): void {
    if (this.#current !== null) this.#current.silence = nearestOf(silenceMs);
  }

  /** Looks at one more window. */
  push(chance: number): Segmented[] {
    const from = this.position;
    this.#windows++;
    if (this.#current === null) return this.#listen(chance);
    return this.#follow(this.#current, chance, from);
  }

  /** Ends the utterance under way here. */
  end(reason: 'flush' | 'finish'): Segmented[] {
    const utterance = this.#current;
    if (utterance === null) return [];
    // The speaker may be in the middle of a word, of which all there is counts.
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
    const found: Segmented[] = [];
    const { number, endsAt } = utterance;
    if (chance >= (endsAt === null ? offsetChance : onsetChance)) {
      utterance.spokenTo = this.position;
      utterance.voiced += windowSamples;
      utterance.silence = this.#silence;
      utterance.endsAt = null;
      if (endsAt !== null) found.push({ type: 'resumed', utterance: number });
    } else if (endsAt === null && this.position - utterance.spokenTo >= pauseSamples) {
      utterance.endsAt = Math.max(utterance.from, this.#boundaries.end(utterance.spokenTo, this.position));
      found.push({ type: 'paused', utterance: number, at: utterance.endsAt });
    } else if (endsAt !== null && this.position - endsAt >= utterance.silence)
      return [this.#ended(utterance, endsAt, 'silence')];
    utterance.chances.push(chance);
    if (utterance.chances.length > cutWithin / windowSamples) utterance.chances.shift();
    return this.position - utterance.from >= lengthMax ? [...found, ...this.#cut(utterance, windowFrom)] : found;
  }

  /** Cuts behind the quietest of the last windows. Speech that goes on from there is a new utterance. */
  #cut(utterance: Utterance, windowFrom: number): Segmented[] {
    const { chances } = utterance;
    let quietest = chances.length - 1;
    for (let i = quietest; i >= 0; i--) if (chances[i]! < chances[quietest]!) quietest = i;
    const at = windowFrom - (chances.length - 1 - quietest) * windowSamples;
    const ended = this.#ended(utterance, at, 'length');
    // While the speaker pauses the next words begin an utterance of their own.
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

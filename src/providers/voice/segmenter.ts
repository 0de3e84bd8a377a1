/**
 * Where speech begins and ends, decided from the detector's chances, one window of 32 ms after the other (contract 8). Positions
 * are samples at 16 kHz from the beginning of the stream.
 */
import { windowSamples } from './engine/messages.ts';

const sampleRate = 16_000;
const samplesOf = (ms: number): number => Math.round((ms * sampleRate) / 1000);

/** Above the first, speech begins; below the second it may be over: between them it goes on as it was. */
const [onsetChance, offsetChance] = [0.5, 0.35];
/** A click is shorter than that. */
const onsetWindows = 3;
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
  | { readonly type: 'ended'; readonly utterance: number; readonly from: number; readonly to: number; readonly reason: FinalReason };

interface Utterance {
  readonly number: number;
  readonly from: number;
  /** The end of the last window with speech in it. */
  spokenTo: number;
  /** Samples of its windows with speech in them. */
  voiced: number;
  /** The silence that ends it. */
  silence: number;
  paused: boolean;
  /** The chances of its windows of late, for a cut. */
  readonly chances: number[];
}

/** Whole windows, the nearest: the detector looks no finer. */
const windowsOf = (ms: number): number => Math.round(samplesOf(ms) / windowSamples) * windowSamples;

export class Segmenter {
  readonly #silence: number;
  /** Windows looked at. */
  #windows = 0;
  #utterances = 0;
  #current: Utterance | null = null;
  /** Windows in a row that may be the onset of speech. */
  #onset = 0;

  constructor(silenceMs: number) {
    this.#silence = windowsOf(silenceMs);
  }

  /** The position up to which the stream was looked at. */
  get position(): number {
    return this.#windows * windowSamples;
  }

  /** Where speech may have begun that has not been announced yet. */
  get onset(): number {
    return (this.#windows - this.#onset) * windowSamples;
  }

  /** Samples with speech in them of the utterance under way; 0 if there is none. */
  get voiced(): number {
    return this.#current?.voiced ?? 0;
  }

  /** Whether one more window of silence would end the utterance under way. */
  get ending(): boolean {
    return this.#current !== null && this.position + windowSamples - this.#current.spokenTo >= this.#current.silence;
  }

  /** Lets the utterance under way end after another silence, until it goes on. */
  putOff(silenceMs: number): void {
    if (this.#current !== null) this.#current.silence = windowsOf(silenceMs);
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
    const to = utterance.paused ? utterance.spokenTo : this.position;
    this.#current = null;
    this.#onset = 0;
    return [{ type: 'ended', utterance: utterance.number, from: utterance.from, to, reason }];
  }

  #listen(chance: number): Segmented[] {
    this.#onset = chance >= onsetChance ? this.#onset + 1 : 0;
    if (this.#onset < onsetWindows) return [];
    const from = this.onset;
    this.#onset = 0;
    return [this.#begin(from)];
  }

  #begin(from: number): Segmented {
    this.#current = { number: ++this.#utterances, from, spokenTo: this.position, voiced: this.position - from, silence: this.#silence, paused: false, chances: [] };
    return { type: 'started', utterance: this.#utterances, at: from };
  }

  #follow(utterance: Utterance, chance: number, windowFrom: number): Segmented[] {
    const found: Segmented[] = [];
    const spoken = chance >= (utterance.paused ? onsetChance : offsetChance);
    if (spoken) {
      utterance.spokenTo = this.position;
      utterance.voiced += windowSamples;
      utterance.silence = this.#silence;
      if (utterance.paused) found.push({ type: 'resumed', utterance: utterance.number });
      utterance.paused = false;
    } else if (this.position - utterance.spokenTo >= utterance.silence) {
      this.#current = null;
      return [{ type: 'ended', utterance: utterance.number, from: utterance.from, to: utterance.spokenTo, reason: 'silence' }];
    } else if (!utterance.paused && this.position - utterance.spokenTo >= pauseSamples) {
      utterance.paused = true;
      found.push({ type: 'paused', utterance: utterance.number, at: utterance.spokenTo });
    }
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
    this.#current = null;
    const ended: Segmented = { type: 'ended', utterance: utterance.number, from: utterance.from, to: at, reason: 'length' };
    // While the speaker pauses the next words begin an utterance of their own.
    if (utterance.paused) return [ended];
    const started = this.#begin(at);
    this.#current!.spokenTo = utterance.spokenTo;
    this.#current!.chances.push(...chances.slice(quietest));
    return [ended, started];
  }
}

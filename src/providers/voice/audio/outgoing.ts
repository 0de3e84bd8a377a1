/**
 * Speech on its way to a listener of a call: sentence after sentence, at one rate, in one encoding, in short frames.
 */
import type { Encoding } from '../../../base/audio-formats.ts';
import { bytesOfALaw, bytesOfMuLaw } from './g711.ts';
import { Resampler } from './resample.ts';
import { bytesOf, joinedSamples, noSamples } from './samples.ts';

export type OutputEncoding = Exclude<Encoding, 'opus'>;

const encoders: Readonly<Record<OutputEncoding, (samples: Int16Array) => Uint8Array>> = {
  pcm_s16le: bytesOf,
  pcm_mulaw: bytesOfMuLaw,
  pcm_alaw: bytesOfALaw,
};

export interface Frame {
  readonly bytes: Uint8Array;
  readonly samples: number;
}

const frameMs = 20;
/** Each sentence rises from silence and falls to it in this time, so that an abrupt edge is no click. */
const edgeMs = 5;

export class OutgoingAudio {
  readonly #encode: (samples: Int16Array) => Uint8Array;
  readonly #rate: number;
  readonly #frame: number;
  /** Encoded samples that fill no frame yet. */
  #rest: Int16Array = noSamples;
  #resampler: Resampler | null = null;
  #sourceRate = 0;
  /** Samples of the source that were taken since its rate changed, and the output before that. */
  #taken = 0;
  #before = 0;
  /** Samples of the sentence that were taken and that were passed on; the held samples may be its end. */
  #ofSentence = 0;
  #passed = 0;
  #tail: Int16Array = noSamples;

  /** `rate`: hertz. */
  constructor(encoding: OutputEncoding, rate: number) {
    this.#encode = encoders[encoding];
    this.#rate = rate;
    this.#frame = Math.max(1, Math.floor((rate * frameMs) / 1000));
  }

  /** The output samples for all that was taken. */
  get samples(): number {
    return this.#before + this.#outputOf(this.#taken);
  }

  /** The output sample, from the beginning of the sentence, at which a sample of it at its own rate is played. */
  placeOf(sample: number): number {
    return this.#outputOf(this.#taken - this.#ofSentence + sample) - this.#outputOf(this.#taken - this.#ofSentence);
  }

  /**
   * Begins a sentence of this rate. One resampler continues over all sentences of a voice; returns the samples that the
   * sentence before still held.
   */
  begin(sourceRate: number): Frame[] {
    if (sourceRate === this.#sourceRate) return [];
    const left = this.#resampler?.end() ?? noSamples;
    this.#before = this.samples;
    this.#taken = 0;
    this.#sourceRate = sourceRate;
    this.#resampler = new Resampler(sourceRate, this.#rate);
    return this.#framesOf(left);
  }

  /** Takes the next samples of the sentence; returns whole frames. */
  push(samples: Int16Array): Frame[] {
    this.#taken += samples.length;
    this.#ofSentence += samples.length;
    const all = joinedSamples([this.#tail, samples]);
    const ready = all.subarray(0, Math.max(0, all.length - this.#edge));
    this.#tail = all.slice(ready.length);
    return this.#framesOf(this.#resampler!.push(this.#risen(ready)));
  }

  /** Ends the sentence; returns all of its remaining frames, except the samples that the resampler still holds. */
  endSentence(): Frame[] {
    const last = this.#risen(this.#tail);
    for (let at = 0; at < last.length; at++) last[at] = Math.round((last[at]! * (last.length - 1 - at)) / last.length);
    this.#tail = noSamples;
    const frames = this.#framesOf(this.#resampler!.push(last));
    this.#ofSentence = this.#passed = 0;
    return [...frames, ...this.#lastFrame()];
  }

  /** No sentence follows. */
  end(): Frame[] {
    const frames = this.#framesOf(this.#resampler?.end() ?? noSamples);
    return [...frames, ...this.#lastFrame()];
  }

  get #edge(): number {
    return Math.floor((this.#sourceRate * edgeMs) / 1000);
  }

  #outputOf(taken: number): number {
    return this.#sourceRate === 0 ? 0 : Math.ceil((taken * this.#rate) / this.#sourceRate);
  }

  /** A copy of the samples that come next, in which the beginning of the sentence rises from silence. */
  #risen(samples: Int16Array): Int16Array {
    const copy = samples.slice();
    for (let at = 0; at < copy.length && this.#passed + at < this.#edge; at++)
      copy[at] = Math.round((copy[at]! * (this.#passed + at)) / this.#edge);
    this.#passed += copy.length;
    return copy;
  }

  #framesOf(samples: Int16Array): Frame[] {
    const all = joinedSamples([this.#rest, samples]);
    const frames: Frame[] = [];
    let at = 0;
    for (; all.length - at >= this.#frame; at += this.#frame)
      frames.push(this.#framed(all.subarray(at, at + this.#frame)));
    this.#rest = all.slice(at);
    return frames;
  }

  #lastFrame(): Frame[] {
    const rest = this.#rest;
    this.#rest = noSamples;
    return rest.length === 0 ? [] : [this.#framed(rest)];
  }

  #framed(samples: Int16Array): Frame {
    return { bytes: this.#encode(samples), samples: samples.length };
  }
}

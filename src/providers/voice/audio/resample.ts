/**
 * A change of the sampling rate, in a stream: each output sample is a weighted sum of the input samples around its
 * moment (a windowed sinc). The weights depend only on where that moment lies between two input samples, its phase, so
 * they are computed once for each phase and shared by all streams with the same two rates.
 */
import { clipped, noSamples } from './samples.ts';
import { evictOldest } from '../../../base/evict-oldest.ts';

/** The attenuation of unwanted parts: images, and frequencies above the new Nyquist frequency. */
const attenuationDb = 66;
/** The filter falls from here to 1, both as parts of the lower of the two Nyquist frequencies. */
const passBand = 0.83;
/** Kaiser's formulas for the window's shape and length. */
const kaiserBeta = 0.1102 * (attenuationDb - 8.7);
/** Half of the filter's length, in samples of the lower rate. */
const halfWidth = Math.ceil((attenuationDb - 8) / (2.285 * Math.PI * (1 - passBand)) / 2);

/**
 * Rates in a ratio with more phases than this (44,099 Hz, not 44,100 Hz) take two neighbours of fewer phases, between
 * which they interpolate: a table of every phase would be megabytes.
 */
const exactPhasesMax = 640;
const interpolatedPhases = 256;
/**
 * Clients and providers choose their rates, so the tables are kept for a limited number of rates; the largest, from 192
 * kHz, is about 5 MB.
 */
const banksKeptMax = 16;
/** Input samples that are taken at a time: each open stream has a buffer, and there may be thousands. */
const sliceSamples = 256;

interface Bank {
  /** Output samples for each `step` input samples, in lowest terms. */
  readonly phases: number;
  readonly step: number;
  /** Input samples on each side of an output sample's moment; even. */
  readonly half: number;
  /**
   * Phases in `weights`, which has one more, for the interpolation at the end. Equal to `phases` where they are exact.
   */
  readonly stored: number;
  /** `2 * half` weights for each stored phase. */
  readonly weights: Float64Array;
}

/**
 * Resamples one stream. Both rates are in hertz. The output depends on the samples alone, not on the sizes of their
 * pieces.
 */
export class Resampler {
  readonly #bank: Bank | null;
  /** The input that later output still needs, at first the silence before the start. */
  readonly #input: Float64Array;
  #heldLength: number;
  /** Index in `#held` of the last input sample at or before the next output sample's time. */
  #base: number;
  /** Distance from that input sample to the output sample's time, in parts of an input sample: `#phase / phases`. */
  #phase = 0;
  /** Samples taken and given so far. */
  #taken = 0;
  #produced = 0;

  constructor(from: number, to: number) {
    this.#bank = from === to ? null : bankOf(from, to);
    const half = this.#bank?.half ?? 0;
    this.#input = new Float64Array(this.#bank === null ? 0 : 2 * half + sliceSamples);
    this.#heldLength = Math.max(0, half - 1);
    this.#base = this.#heldLength;
  }

  /** Takes samples and returns the output that is certain: the last 2 ms (at 16 kHz) wait for further samples. */
  push(samples: Int16Array): Int16Array {
    const bank = this.#bank;
    if (bank === null) return samples.slice();
    this.#taken += samples.length;
    return this.#resampled(bank, samples, Math.ceil(((this.#taken - bank.half) * bank.phases) / bank.step));
  }

  /**
   * Returns the rest of the output, as if silence followed. The whole output has one sample for each time before the
   * input's end: `ceil(input * to / from)`.
   */
  end(): Int16Array {
    const bank = this.#bank;
    if (bank === null) return noSamples;
    return this.#resampled(bank, new Int16Array(bank.half), Math.ceil((this.#taken * bank.phases) / bank.step));
  }

  /** Returns the output up to sample number `until`, from the buffer and these samples. */
  #resampled(bank: Bank, samples: Int16Array, until: number): Int16Array {
    const output = new Int16Array(Math.max(0, until - this.#produced));
    this.#produced += output.length;
    let written = 0;
    for (let at = 0; at < samples.length; at += sliceSamples) {
      const slice = samples.subarray(at, at + sliceSamples);
      this.#input.set(slice, this.#heldLength);
      this.#heldLength += slice.length;
      written = this.#fill(bank, output, written);
      const done = this.#base - bank.half + 1;
      this.#input.copyWithin(0, done, this.#heldLength);
      this.#heldLength -= done;
      this.#base -= done;
    }
    return output;
  }

  /** Writes the output samples whose input is there; returns how many have been written. */
  #fill(bank: Bank, output: Int16Array, written: number): number {
    const { phases, step, half, stored, weights } = bank;
    const input = this.#input;
    const count = 2 * half;
    const exact = stored === phases;
    const wholeStep = Math.floor(step / phases);
    const partStep = step % phases;
    const last = this.#heldLength - half;
    let base = this.#base;
    let phase = this.#phase;
    for (; base < last && written < output.length; written++) {
      const first = base - half + 1;
      const before = exact ? phase : Math.floor((phase * stored) / phases);
      let sum = weighed(input, first, weights, before * count, count);
      if (!exact)
        sum +=
          ((phase * stored) / phases - before) * (weighed(input, first, weights, (before + 1) * count, count) - sum);
      output[written] = clipped(sum);
      base += wholeStep;
      phase += partStep;
      if (phase >= phases) {
        phase -= phases;
        base += 1;
      }
    }
    this.#base = base;
    this.#phase = phase;
    return written;
  }
}

/** The sum of `count` products, a multiple of four: four sums at a time do not wait for one another. */
function weighed(samples: Float64Array, from: number, weights: Float64Array, at: number, count: number): number {
  let one = 0;
  let two = 0;
  let three = 0;
  let four = 0;
  for (let k = 0; k < count; k += 4) {
    one += samples[from + k]! * weights[at + k]!;
    two += samples[from + k + 1]! * weights[at + k + 1]!;
    three += samples[from + k + 2]! * weights[at + k + 2]!;
    four += samples[from + k + 3]! * weights[at + k + 3]!;
  }
  return one + two + (three + four);
}

const banks = new Map<string, Bank>();

function bankOf(from: number, to: number): Bank {
  const name = `${from}:${to}`;
  const bank = banks.get(name) ?? newBank(from, to);
  // The one used last stands last, so that the first is the one to leave.
  banks.delete(name);
  banks.set(name, bank);
  evictOldest(banks, banksKeptMax, banksKeptMax);
  return bank;
}

function newBank(from: number, to: number): Bank {
  const divisor = commonDivisor(from, to);
  const phases = to / divisor;
  const stored = phases <= exactPhasesMax ? phases : interpolatedPhases;
  const scale = Math.min(1, to / from);
  const half = 2 * Math.ceil(halfWidth / scale / 2);
  const weights = new Float64Array((stored + 1) * 2 * half);
  for (let phase = 0; phase <= stored; phase++) {
    const ours = weights.subarray(phase * 2 * half, (phase + 1) * 2 * half);
    for (let k = 0; k < ours.length; k++) ours[k] = kernelAt((k - half + 1 - phase / stored) * scale);
    // Every phase passes a constant unchanged: else a constant would come out with a tone.
    const sum = ours.reduce((total, weight) => total + weight, 0);
    for (let k = 0; k < ours.length; k++) ours[k]! /= sum;
  }
  return { phases, step: from / divisor, half, stored, weights };
}

const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b));

/**
 * Places in the kernel's table for each sample of the lower rate; between two of them a straight line is within -110
 * dB.
 */
const kernelSteps = 512;
let kernel: Float64Array | null = null;

/**
 * The filter `position` samples of the lower rate away from its middle. It is the same for all rates, so its Bessel
 * functions are computed once.
 */
function kernelAt(position: number): number {
  kernel ??= Float64Array.from({ length: halfWidth * kernelSteps + 2 }, (_, at) => windowedSinc(at / kernelSteps));
  const place = Math.abs(position) * kernelSteps;
  if (place >= halfWidth * kernelSteps) return 0;
  const before = Math.floor(place);
  return kernel[before]! + (place - before) * (kernel[before + 1]! - kernel[before]!);
}

function windowedSinc(position: number): number {
  if (position >= halfWidth) return 0;
  const angle = Math.PI * position * ((1 + passBand) / 2);
  const sinc = position === 0 ? 1 : Math.sin(angle) / angle;
  return sinc * (bessel(kaiserBeta * Math.sqrt(1 - (position / halfWidth) ** 2)) / bessel(kaiserBeta));
}

/** The modified Bessel function of the first kind and order zero, by its series. */
function bessel(x: number): number {
  let term = 1;
  let sum = 1;
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

/**
 * Decodes a caller's audio in any encoding of the socket, frame by frame, to the format of recognition: 16 kHz, mono,
 * 16 bits.
 */
import { thenSync } from '../../../base/then-sync.ts';
import type { Encoding } from '../../../base/audio-formats.ts';
import { samplesOfALaw, samplesOfMuLaw } from './g711.ts';
import { opusDecoder } from './opus.ts';
import { recognitionRate } from './recognition.ts';
import { Resampler } from './resample.ts';
import { joined, noSamples, samplesOf } from './samples.ts';

export interface AudioFormat {
  readonly encoding: Encoding;
  /** Hertz, 8,000 to 48,000; ignored for `opus`, whose packets need no rate. */
  readonly sampleRate: number;
}

export interface AudioDecoder {
  /** Rate at which the source's samples are counted, in hertz: the format's rate, or 16,000 for `opus`. */
  readonly sourceRate: number;
  /**
   * Whole samples of the source so far. They give the length of a client's audio, including samples that the resampler
   * still holds.
   */
  readonly sourceSamples: number;
  /** The length of the audio so far, in whole milliseconds, rounded down. */
  readonly audioMs: number;
  /**
   * The 16 kHz samples that a frame completes; often some fewer or more than its length, as the resampler holds about 2
   * ms. Throws `UnreadableAudio`.
   */
  push(frame: Uint8Array): Int16Array;
  /** Returns the remaining samples after the last audio. */
  end(): Int16Array;
  /** Frees the decoder's memory; it cannot be used afterwards. */
  close(): void;
}

/** Turns a frame into samples of the source's rate. */
interface Source {
  readonly rate: number;
  samples(frame: Uint8Array): Int16Array;
  close(): void;
}

/** Returns a decoder. Only the one for `opus` has to be loaded; it rejects if its package does not load. */
export const audioDecoder = ({ encoding, sampleRate }: AudioFormat): AudioDecoder | Promise<AudioDecoder> =>
  thenSync(sourceOf(encoding, sampleRate), (source) => new Decoding(source));

function sourceOf(encoding: Encoding, rate: number): Source | Promise<Source> {
  const nothing = (): void => {};
  switch (encoding) {
    case 'pcm_s16le':
      return { rate, samples: wholeSamples(), close: nothing };
    case 'pcm_mulaw':
      return { rate, samples: samplesOfMuLaw, close: nothing };
    case 'pcm_alaw':
      return { rate, samples: samplesOfALaw, close: nothing };
    case 'opus':
      return opusDecoder(recognitionRate).then((decoder) => ({
        rate: recognitionRate,
        samples: (packet) => decoder.decode(packet),
        close: () => decoder.close(),
      }));
  }
}

/** Samples of 16 bits from frames of any length: the first half of one that a frame cuts waits for the next frame. */
function wholeSamples(): (frame: Uint8Array) => Int16Array {
  let half: number | null = null;
  return (frame) => {
    if (half === null && frame.length % 2 === 0) return samplesOf(frame);
    const bytes = half === null ? frame : joined([Uint8Array.of(half), frame]);
    half = bytes.length % 2 === 0 ? null : bytes[bytes.length - 1]!;
    return samplesOf(bytes);
  };
}

class Decoding implements AudioDecoder {
  readonly #source: Source;
  readonly #resampler: Resampler;
  #samples = 0;

  constructor(source: Source) {
    this.#source = source;
    this.#resampler = new Resampler(source.rate, recognitionRate);
  }

  get sourceRate(): number {
    return this.#source.rate;
  }

  get sourceSamples(): number {
    return this.#samples;
  }

  get audioMs(): number {
    return Math.floor((this.#samples * 1000) / this.#source.rate);
  }

  push(frame: Uint8Array): Int16Array {
    // Ignores an empty frame: libopus would take it for a lost packet and make up its sound.
    if (frame.length === 0) return noSamples;
    const samples = this.#source.samples(frame);
    this.#samples += samples.length;
    return this.#resampler.push(samples);
  }

  end(): Int16Array {
    return this.#resampler.end();
  }

  close(): void {
    this.#source.close();
  }
}

/** Speech in the requested format, piece by piece as it is synthesised, or whole. Samples are mono, 16 bits. */
import type { SpeechFormat } from '../../../base/audio-formats.ts';
import { mp3Encoder, mp3Rates } from './mp3.ts';
import { OggOpus } from './ogg.ts';
import { opusEncoder, opusRates, type OpusEncoder } from './opus.ts';
import { Resampler } from './resample.ts';
import { bytesOf, joined, joinedSamples, noBytes } from './samples.ts';
import { exactWav, wavHeader } from './wav.ts';

export interface AudioEncoder {
  /** The value of the `Content-Type` header. */
  readonly contentType: string;
  /** Encoded sample rate, in hertz: the rate of the samples if the format has it. */
  readonly sampleRate: number;
  /**
   * The bytes that these samples complete, perhaps none. Bytes and samples in the order of the calls; the caller may
   * reuse the array.
   */
  push(samples: Int16Array): Uint8Array;
  /** Returns the last bytes; called once, after the last samples. */
  end(): Uint8Array;
}

/**
 * An encoder of samples at `rate` hertz. Where `whole` is set, a WAV has exact sizes and comes at the end, in one
 * piece; the other formats are the same either way. Rejects if the format's package does not load.
 */
export async function encoderFor(format: SpeechFormat, rate: number, whole: boolean): Promise<AudioEncoder> {
  switch (format) {
    case 'wav':
      return whole ? wholeWav(rate) : streamedWav(rate);
    case 'pcm':
      return { contentType: `audio/pcm;rate=${rate};channels=1`, sampleRate: rate, push: bytesOf, end: () => noBytes };
    case 'mp3': {
      const encoder = await mp3Encoder(rateAmong(mp3Rates, rate));
      return resampled(rate, {
        contentType: 'audio/mpeg',
        sampleRate: rateAmong(mp3Rates, rate),
        push: encoder.encode,
        end: encoder.end,
      });
    }
    case 'opus':
      return resampled(rate, new OpusStream(await opusEncoder(rateAmong(opusRates, rate)), rateAmong(opusRates, rate)));
  }
}

/** Encodes all of some speech at once. Rejects if the format's package does not load. */
export async function encodeWhole(
  format: SpeechFormat,
  rate: number,
  samples: Int16Array,
): Promise<{ readonly contentType: string; readonly sampleRate: number; readonly bytes: Uint8Array }> {
  const encoder = await encoderFor(format, rate, true);
  return {
    contentType: encoder.contentType,
    sampleRate: encoder.sampleRate,
    bytes: joined([encoder.push(samples), encoder.end()]),
  };
}

/**
 * Returns the rate itself, or the lowest supported rate above it, so that no sound is lost; the highest rate if all are
 * lower.
 */
const rateAmong = (rates: readonly number[], rate: number): number => rates.find((one) => one >= rate) ?? rates.at(-1)!;

function wholeWav(rate: number): AudioEncoder {
  const pieces: Int16Array[] = [];
  return {
    contentType: 'audio/wav',
    sampleRate: rate,
    push(samples) {
      pieces.push(samples.slice());
      return noBytes;
    },
    end: () => exactWav(joinedSamples(pieces), rate),
  };
}

function streamedWav(rate: number): AudioEncoder {
  let header: Uint8Array = wavHeader(rate, null);
  const withHeader = (bytes: Uint8Array): Uint8Array => {
    const all = joined([header, bytes]);
    header = noBytes;
    return all;
  };
  return {
    contentType: 'audio/wav',
    sampleRate: rate,
    push: (samples) => withHeader(bytesOf(samples)),
    end: () => withHeader(noBytes),
  };
}

/** Adapts an encoder to samples of another rate. */
function resampled(rate: number, encoder: AudioEncoder): AudioEncoder {
  if (rate === encoder.sampleRate) return encoder;
  const resampler = new Resampler(rate, encoder.sampleRate);
  return {
    contentType: encoder.contentType,
    sampleRate: encoder.sampleRate,
    push: (samples) => encoder.push(resampler.push(samples)),
    end: () => joined([encoder.push(resampler.end()), encoder.end()]),
  };
}

/** Opus in Ogg: a page for the frames that each piece completes, so that a player waits for nothing. */
class OpusStream implements AudioEncoder {
  readonly contentType = 'audio/ogg;codecs=opus';
  readonly sampleRate: number;
  readonly #encoder: OpusEncoder;
  readonly #ogg: OggOpus;
  /** Samples of 48 kHz, in which Ogg counts, for each of ours. */
  readonly #scale: number;
  /** Frame that is being filled. */
  readonly #frame: Int16Array;
  #filled = 0;
  #started = false;
  /** Samples taken, and samples encoded. */
  #taken = 0;
  #encoded = 0;

  constructor(encoder: OpusEncoder, rate: number) {
    this.sampleRate = rate;
    this.#encoder = encoder;
    this.#scale = 48_000 / rate;
    this.#frame = new Int16Array(encoder.frameSamples);
    this.#ogg = new OggOpus(encoder.lookahead * this.#scale, rate);
  }

  push(samples: Int16Array): Uint8Array {
    this.#taken += samples.length;
    return this.#pages(this.#packets(samples), false);
  }

  /** Silence after the end flushes the encoder's buffer; the last page says how much of it players skip. */
  end(): Uint8Array {
    const owed = this.#taken + this.#encoder.lookahead - this.#encoded;
    const frames = Math.ceil(owed / this.#frame.length);
    const packets = this.#packets(new Int16Array(frames * this.#frame.length - this.#filled));
    this.#encoder.close();
    return this.#pages(packets, true);
  }

  #packets(samples: Int16Array): Uint8Array[] {
    const packets: Uint8Array[] = [];
    for (let at = 0; at < samples.length;) {
      const piece = samples.subarray(at, at + this.#frame.length - this.#filled);
      this.#frame.set(piece, this.#filled);
      this.#filled += piece.length;
      at += piece.length;
      if (this.#filled < this.#frame.length) break;
      packets.push(this.#encoder.encode(this.#frame));
      this.#encoded += this.#frame.length;
      this.#filled = 0;
    }
    return packets;
  }

  #pages(packets: readonly Uint8Array[], last: boolean): Uint8Array {
    const head = this.#started ? noBytes : this.#ogg.head();
    this.#started = true;
    const first = this.#encoded - packets.length * this.#frame.length;
    const ends = packets.map((_, index) => (first + (index + 1) * this.#frame.length) * this.#scale);
    if (last) ends[ends.length - 1] = (this.#taken + this.#encoder.lookahead) * this.#scale;
    return joined([head, this.#ogg.pages(packets, ends, last)]);
  }
}

/**
 * libopus, from the optional package @evan/opus. It is the WebAssembly build on every platform: packets come from
 * strangers, and a defect in a native decoder would be a hole in the process, while this one cannot leave its own
 * memory. It also needs no binary for the platform.
 */
import { UnreadableAudio } from './unreadable.ts';
import { samplesOf } from './samples.ts';

interface Coder {
  ctl(request: number, value?: number): number;
  /**
   * Frees the coder's memory, which all coders share. A coder that is not dropped is freed by the garbage collector.
   */
  drop(): void;
}

interface Library {
  readonly Encoder: new (options: {
    channels: number;
    sample_rate: number;
    application: string;
  }) => Coder & { encode(pcm: Uint8Array | Int16Array): Uint8Array };
  readonly Decoder: new (options: {
    channels: number;
    sample_rate: number;
  }) => Coder & { decode(packet: Uint8Array): Uint8Array };
}

/** libopus' numbers for its settings. */
const requests = { setBitrate: 4002, setComplexity: 4010, lookahead: 4027 } as const;

/** The rates that libopus takes and gives, in hertz. */
export const opusRates: readonly number[] = [8000, 12000, 16000, 24000, 48000];

/** Average bits per second: enough for mono speech of the whole range of hearing (RFC 7587, part 3.1.1). */
const bitrate = 32_000;
/** From 0 to 10; above 5 the time triples and the samples come hardly nearer to the original. */
const complexity = 5;

async function load(): Promise<Library> {
  try {
    // The name is not a literal, so that neither the bundler nor the compiler looks for a package that may be missing.
    const name: string = '@evan/opus/wasm/index.js';
    const { default: library }: { default: Library } = await import(name);
    return library;
  } catch (error) {
    throw new Error('Opus audio needs the package @evan/opus, which does not load.', { cause: error });
  }
}

/** Decodes one stream's packets to mono samples of one rate. */
export interface OpusDecoder {
  /** The samples of one packet: up to 120 ms. Throws `UnreadableAudio`. */
  decode(packet: Uint8Array): Int16Array;
  close(): void;
}

/** Encodes mono samples, 20 ms at a time. */
export interface OpusEncoder {
  /** Samples in a frame. */
  readonly frameSamples: number;
  /** Samples by which the encoder's output lags its input, at the encoder's rate. */
  readonly lookahead: number;
  encode(frame: Int16Array): Uint8Array;
  close(): void;
}

/** A decoder to one of `opusRates`. Rejects if the package does not load. */
export async function opusDecoder(rate: number): Promise<OpusDecoder> {
  const { Decoder } = await load();
  const decoder = new Decoder({ channels: 1, sample_rate: rate });
  return {
    decode(packet) {
      try {
        // Throws as well at more bytes than the library has room for, 8,192: packets of one channel have at most 7,662
        // (RFC 6716, part 3.2.1).
        return samplesOf(decoder.decode(packet));
      } catch (error) {
        throw new UnreadableAudio('The Opus packet cannot be read.', { cause: error });
      }
    },
    close: () => decoder.drop(),
  };
}

/** An encoder from one of `opusRates`. Rejects if the package does not load. */
export async function opusEncoder(rate: number): Promise<OpusEncoder> {
  const { Encoder } = await load();
  // Not `voip`, which is for microphones: it filters out the low tones, alters the sound to be understood in noise, and
  // takes twice the time.
  const encoder = new Encoder({ channels: 1, sample_rate: rate, application: 'audio' });
  encoder.ctl(requests.setBitrate, bitrate);
  encoder.ctl(requests.setComplexity, complexity);
  return {
    frameSamples: rate / 50,
    lookahead: encoder.ctl(requests.lookahead),
    encode: (frame) => encoder.encode(frame),
    close: () => encoder.drop(),
  };
}

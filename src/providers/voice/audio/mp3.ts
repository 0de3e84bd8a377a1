/**
 * MP3 by LAME, from the optional package wasm-media-encoders: WebAssembly, incremental, without the first frame that
 * would have to be rewritten at the end.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

interface Encoder {
  configure(options: { channels: 1; sampleRate: number; outputSampleRate: number; bitrate: number }): void;
  /** Both return a view of the encoder's own memory. */
  encode(channels: readonly [Float32Array]): Uint8Array;
  finalize(): Uint8Array;
}

interface Library {
  createEncoder(type: 'audio/mpeg', module: object): Promise<Encoder>;
}

/** The part of WebAssembly that is used here; Node's types leave it out. */
const { WebAssembly } = globalThis as unknown as {
  readonly WebAssembly: { compile(code: Uint8Array): Promise<object> };
};

/**
 * The rates of MP3, in hertz, each with a constant bit rate for mono speech, in kilobits per second. With a constant
 * one, players know the length without an index.
 */
const bitrates: ReadonlyMap<number, number> = new Map([
  [8000, 32],
  [11025, 32],
  [12000, 32],
  [16000, 48],
  [22050, 64],
  [24000, 64],
  [32000, 96],
  [44100, 96],
  [48000, 96],
]);

export const mp3Rates: readonly number[] = [...bitrates.keys()];

/** Encodes one stream. */
export interface Mp3Encoder {
  /** The whole frames that these samples complete, perhaps none. */
  encode(samples: Int16Array): Uint8Array;
  /** Returns the last frames and ends the encoder. */
  end(): Uint8Array;
}

/** The module is compiled once; each encoder is an instance with nearly a megabyte of memory. */
let loaded: Promise<() => Promise<Encoder>> | null = null;

/** Encoders that have ended a stream, for the next ones: configuring one anew resets it. */
const idle: Encoder[] = [];
const idleMax = 4;

async function load(): Promise<() => Promise<Encoder>> {
  try {
    // The name is not a literal, so that neither the bundler nor the compiler looks for a package that may be missing.
    const name: string = 'wasm-media-encoders';
    const { createEncoder }: Library = await import(name);
    const module = await WebAssembly.compile(
      await readFile(createRequire(import.meta.url).resolve(`${name}/wasm/mp3`)),
    );
    return () => createEncoder('audio/mpeg', module);
  } catch (error) {
    loaded = null;
    throw new Error('MP3 audio needs the package wasm-media-encoders, which does not load.', { cause: error });
  }
}

/** An encoder from one of `mp3Rates`. Rejects if the package does not load. */
export async function mp3Encoder(rate: number): Promise<Mp3Encoder> {
  const create = await (loaded ??= load());
  const encoder = idle.pop() ?? (await create());
  encoder.configure({ channels: 1, sampleRate: rate, outputSampleRate: rate, bitrate: bitrates.get(rate)! });
  return {
    encode: (samples) => encoder.encode([Float32Array.from(samples, (sample) => sample / 32768)]).slice(),
    end() {
      const rest = encoder.finalize().slice();
      if (idle.length < idleMax) idle.push(encoder);
      return rest;
    },
  };
}

/**
 * English recognition by Moonshine's networks: an encoder, and a decoder that runs once for each token that was not
 * guessed.
 */
import { join } from 'node:path';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { openInference, tensors, toFloat } from './onnx.ts';
import { packageFolder } from './packages.ts';
import { recognitionRate } from '../audio/recognition.ts';

const startToken = 1;
const endToken = 2;
/** Maximum tokens per second of audio: speech has fewer, and more are a loop of the decoder. */
const tokensPerSecond = 6.5;
const tokensLeast = 4;
/** Minimum samples for which the encoder has an output. */
const samplesLeast = recognitionRate / 5;
/** Margins of silence with which an empty result is retried: the small network misses numbers at the very edge. */
const margins = [0, recognitionRate / 4, recognitionRate / 2];
/** Share of full scale below which audio is silent. */
const quiet = 0.003;

type Cache = Record<string, Tensor>;

export interface Decoded {
  readonly text: string;
  readonly tokens: readonly number[];
}

export class Recogniser {
  readonly #encoder: InferenceSession;
  readonly #decoder: InferenceSession;
  readonly #make: Awaited<ReturnType<typeof tensors>>;
  readonly #textOf: (tokens: number[]) => string;
  /** The names of the decoder's caches, and the shape of an empty one. */
  readonly #empty: Cache = {};
  /** Results requested of all runs but the first. */
  readonly #further: readonly string[];

  private constructor(
    encoder: InferenceSession,
    decoder: InferenceSession,
    make: Awaited<ReturnType<typeof tensors>>,
    textOf: (tokens: number[]) => string,
  ) {
    this.#encoder = encoder;
    this.#decoder = decoder;
    this.#make = make;
    this.#textOf = textOf;
    this.#further = decoder.outputNames.filter((name) => name === 'logits' || isOfDecoder(name));
    for (const input of decoder.inputMetadata) {
      if (!input.name.startsWith('past_key_values') || !input.isTensor) continue;
      const [, heads, , width] = input.shape as number[];
      this.#empty[input.name] = new make('float32', new Float32Array(0), [0, heads!, 1, width!]);
    }
  }

  /** `folder` has `encoder_model.onnx` and `decoder_model_merged.onnx`; null for the installed weights. */
  static async open(folder: string | null): Promise<Recogniser> {
    const from = folder ?? join(packageFolder('@moonshine-ai/moonshine-js'), 'dist', 'model', 'tiny', 'quantized');
    const { default: tokenizer } = await import('llama-tokenizer-js');
    const [encoder, decoder] = [
      await openInference(join(from, 'encoder_model.onnx')),
      await openInference(join(from, 'decoder_model_merged.onnx')),
    ];
    return new Recogniser(encoder, decoder, await tensors(), (tokens) => tokenizer.decode(tokens, false, false));
  }

  /**
   * Returns the text of the speech and its tokens; both are empty for audio without speech. Stops without a text once
   * `dropped` returns true. `guess`: likely tokens, from an earlier decoding of the same utterance. They speed up the
   * decoding and do not change the text.
   */
  async decode(
    samples: Int16Array,
    guess: readonly number[] = [],
    dropped: () => boolean = () => false,
  ): Promise<Decoded> {
    const audio = toFloat(samples, new Float32Array(samples.length));
    for (const margin of isQuiet(audio) ? [] : margins) {
      const tokens = withoutLoop(await this.#tokens(withMargin(audio, margin), margin === 0 ? guess : [], dropped));
      const text = this.#textOf(tokens).trim();
      // Tokens of a dropped decoding are a guess for the next one, not a text.
      if (text !== '' || dropped()) return { text: dropped() ? '' : text, tokens };
    }
    return { text: '', tokens: [] };
  }

  /**
   * The decoder reads the guess at once, in a fifth of the time that single tokens take, and continues at the first
   * token that differs.
   */
  async #tokens(audio: Float32Array, guess: readonly number[], dropped: () => boolean): Promise<number[]> {
    const { last_hidden_state: heard } = await this.#encoder.run({
      input_values: new this.#make('float32', audio, [1, audio.length]),
    });
    const most = Math.max(tokensLeast, Math.ceil((audio.length / recognitionRate) * tokensPerSecond));
    const read = [startToken, ...guess.slice(0, most)];
    const results = await this.#run(heard!, read, null);
    const tokens: number[] = [];
    let next = likeliest(results['logits']!, 0);
    for (; next === read[tokens.length + 1]; next = likeliest(results['logits']!, tokens.length)) tokens.push(next);
    let cache = this.#cacheOf(results, tokens.length + 1);
    while (next !== endToken && tokens.length < most && !dropped()) {
      tokens.push(next);
      const further = await this.#run(heard!, [next], cache);
      next = likeliest(further['logits']!, 0);
      // The encoder's output is cached with the first run; later results leave it out.
      cache = { ...cache, ...renamed(further) };
    }
    return tokens;
  }

  /** Runs the decoder over further tokens; `cache` belongs to the tokens before, null for the first run. */
  #run(heard: Tensor, tokens: readonly number[], cache: Cache | null): Promise<Cache> {
    const feeds = {
      ...(cache ?? this.#empty),
      input_ids: new this.#make('int64', BigInt64Array.from(tokens, BigInt), [1, tokens.length]),
      encoder_hidden_states: heard,
      use_cache_branch: new this.#make('bool', [cache !== null]),
    };
    return cache === null ? this.#decoder.run(feeds) : this.#decoder.run(feeds, this.#further);
  }

  /** Returns the caches after the first run, shortened to the given number of tokens. */
  #cacheOf(results: Cache, kept: number): Cache {
    const cache = renamed(results);
    for (const name of Object.keys(cache)) if (isOfDecoder(name)) cache[name] = this.#beginning(cache[name]!, kept);
    return cache;
  }

  /** Returns the first tokens of each head, from a tensor of heads, tokens and width. */
  #beginning({ data, dims }: Tensor, kept: number): Tensor {
    const [, heads, tokens, width] = dims as [number, number, number, number];
    const shorter = new Float32Array(heads * kept * width);
    for (let head = 0; head < heads; head++)
      shorter.set(
        (data as Float32Array).subarray(head * tokens * width, (head * tokens + kept) * width),
        head * kept * width,
      );
    return new this.#make('float32', shorter, [1, heads, kept, width]);
  }
}

const isOfDecoder = (name: string): boolean => name.includes('decoder');

/** Results as the inputs of the next run. */
const renamed = (results: Cache): Cache =>
  Object.fromEntries(
    Object.entries(results).flatMap(([name, tensor]) =>
      name.startsWith('present') ? [[name.replace('present', 'past_key_values'), tensor]] : [],
    ),
  );

/** Returns the token with the highest score at a position of the result. */
function likeliest({ data, dims }: Tensor, place: number): number {
  const count = dims[2]!;
  const scores = (data as Float32Array).subarray(place * count, (place + 1) * count);
  let best = 0;
  for (let i = 1; i < scores.length; i++) if (scores[i]! > scores[best]!) best = i;
  return best;
}

function isQuiet(audio: Float32Array): boolean {
  let sum = 0;
  for (const sample of audio) sum += sample * sample;
  return Math.sqrt(sum / Math.max(1, audio.length)) < quiet;
}

/** Pads the audio with silence at both ends, to at least the encoder's minimum. */
function withMargin(audio: Float32Array, margin: number): Float32Array {
  if (margin === 0 && audio.length >= samplesLeast) return audio;
  const padded = new Float32Array(Math.max(samplesLeast, audio.length + 2 * margin));
  padded.set(audio, margin);
  return padded;
}

const loopTokens = 8;
const loopRepeats = 3;
/** Number of repetitions that people do say: "five, five, five" is a number. */
const loopLengthLeast = 12;

/** Cuts a group of tokens that is repeated again and again at the end, which the network does on noise and silence. */
export function withoutLoop(tokens: number[]): number[] {
  for (let size = 1; size <= loopTokens; size++) {
    const repeats = repeatsAtEnd(tokens, size);
    if (repeats >= loopRepeats && repeats * size >= loopLengthLeast)
      return tokens.slice(0, tokens.length - (repeats - 1) * size);
  }
  return tokens;
}

function repeatsAtEnd(tokens: readonly number[], size: number): number {
  let repeats = 1;
  const end = tokens.length;
  const same = (back: number): boolean => tokens[end - back] === tokens[end - back - size];
  for (let back = 1; end - back - size >= 0 && same(back); back++) if (back % size === 0) repeats++;
  return repeats;
}

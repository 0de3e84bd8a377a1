/** English recognition by Moonshine's networks: an encoder, and a decoder that is run once for each token. */
import { join } from 'node:path';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { openSession, tensors, toFloat } from './onnx.ts';
import { packageFolder } from './packages.ts';

const startToken = 1;
const endToken = 2;
/** People say no more; more is a loop of the decoder. */
const tokensPerSecond = 6.5;
const tokensLeast = 4;
const sampleRate = 16_000;
/** The encoder needs some audio to have an output at all. */
const samplesLeast = sampleRate / 5;
/** The margins of silence that an empty result is tried with again: the small network misses numbers at the very edge. */
const margins = [0, sampleRate / 4, sampleRate / 2];
/** The share of full scale below which there is nothing to say. */
const quiet = 0.003;

type Cache = Record<string, Tensor>;

export class Recogniser {
  readonly #encoder: InferenceSession;
  readonly #decoder: InferenceSession;
  readonly #make: Awaited<ReturnType<typeof tensors>>;
  readonly #textOf: (tokens: number[]) => string;
  /** The names of the decoder's caches, and what an empty one looks like. */
  readonly #empty: Cache = {};

  private constructor(encoder: InferenceSession, decoder: InferenceSession, make: Awaited<ReturnType<typeof tensors>>, textOf: (tokens: number[]) => string) {
    this.#encoder = encoder;
    this.#decoder = decoder;
    this.#make = make;
    this.#textOf = textOf;
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
    const [encoder, decoder] = [await openSession(join(from, 'encoder_model.onnx')), await openSession(join(from, 'decoder_model_merged.onnx'))];
    return new Recogniser(encoder, decoder, await tensors(), (tokens) => tokenizer.decode(tokens, false, false));
  }

  /** The text; empty where nothing is said, or once `dropped` says that it is not wanted any more. */
  async text(samples: Int16Array, dropped: () => boolean = () => false): Promise<string> {
    const audio = toFloat(samples, new Float32Array(samples.length));
    for (const margin of isQuiet(audio) ? [] : margins) {
      const text = this.#textOf(await this.#tokens(withMargin(audio, margin), dropped)).trim();
      if (text !== '' || dropped()) return dropped() ? '' : text;
    }
    return '';
  }

  async #tokens(audio: Float32Array, dropped: () => boolean): Promise<number[]> {
    const { last_hidden_state: heard } = await this.#encoder.run({ input_values: new this.#make('float32', audio, [1, audio.length]) });
    const most = Math.max(tokensLeast, Math.ceil((audio.length / sampleRate) * tokensPerSecond));
    const [tokens, cache]: [number[], Cache] = [[], { ...this.#empty }];
    let token = startToken;
    while (tokens.length < most && !dropped()) {
      const first = tokens.length === 0;
      const results = await this.#decoder.run({
        ...cache,
        input_ids: new this.#make('int64', BigInt64Array.of(BigInt(token)), [1, 1]),
        encoder_hidden_states: heard!,
        use_cache_branch: new this.#make('bool', [!first]),
      });
      token = likeliest(results['logits']!.data as Float32Array);
      if (token === endToken) break;
      tokens.push(token);
      // What the encoder heard is cached with the first token; later results leave it out.
      for (const name of Object.keys(cache)) if (first || name.includes('decoder')) cache[name] = results[name.replace('past_key_values', 'present')] as Tensor;
    }
    return withoutLoop(tokens);
  }
}

function likeliest(scores: Float32Array): number {
  let best = 0;
  for (let i = 1; i < scores.length; i++) if (scores[i]! > scores[best]!) best = i;
  return best;
}

function isQuiet(audio: Float32Array): boolean {
  let sum = 0;
  for (const sample of audio) sum += sample * sample;
  return Math.sqrt(sum / Math.max(1, audio.length)) < quiet;
}

/** With silence at both ends, and as long as the encoder needs. */
function withMargin(audio: Float32Array, margin: number): Float32Array {
  if (margin === 0 && audio.length >= samplesLeast) return audio;
  const padded = new Float32Array(Math.max(samplesLeast, audio.length + 2 * margin));
  padded.set(audio, margin);
  return padded;
}

const loopTokens = 8;
const loopRepeats = 3;
/** People do repeat a word: "five, five, five" is a number. */
const loopLengthLeast = 12;

/** Cuts a group of tokens that is repeated again and again at the end, which the network does on noise and silence. */
export function withoutLoop(tokens: number[]): number[] {
  for (let size = 1; size <= loopTokens; size++) {
    const repeats = repeatsAtEnd(tokens, size);
    if (repeats >= loopRepeats && repeats * size >= loopLengthLeast) return tokens.slice(0, tokens.length - (repeats - 1) * size);
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

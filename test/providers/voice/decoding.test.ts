import t from 'tap';
import { audioDecoder, type AudioDecoder, type AudioFormat } from '../../../src/providers/voice/audio/decoding.ts';
import { samplesOfALaw, samplesOfMuLaw } from '../../../src/providers/voice/audio/g711.ts';
import { opusEncoder } from '../../../src/providers/voice/audio/opus.ts';
import { Resampler } from '../../../src/providers/voice/audio/resample.ts';
import { bytesOf } from '../../../src/providers/voice/audio/samples.ts';
import { UnreadableAudio } from '../../../src/providers/voice/audio/unreadable.ts';
import { all, chance, isSame, likeness, pieces, voice } from './sounds.ts';

const decoded = (decoder: AudioDecoder, frames: readonly Uint8Array[]): Int16Array =>
  all([...frames.map((frame) => decoder.push(frame)), decoder.end()]);
const resampled = (samples: Int16Array, from: number): Int16Array => {
  const resampler = new Resampler(from, 16_000);
  return all([resampler.push(samples), resampler.end()]);
};

t.test('PCM in frames of any size', async (t) => {
  for (const sampleRate of [8000, 16_000, 44_100, 48_000]) {
    const sound = voice(sampleRate, 0.5);
    for (const most of [1, 3, 641, 9999]) {
      const decoder = await audioDecoder({ encoding: 'pcm_s16le', sampleRate });
      t.ok(
        isSame(decoded(decoder, pieces(bytesOf(sound), most, most)), resampled(sound, sampleRate)),
        `${sampleRate} Hz: up to ${most} bytes`,
      );
      t.same(
        [decoder.sourceRate, decoder.sourceSamples, decoder.audioMs],
        [sampleRate, sound.length, 500],
        'its length',
      );
    }
  }
});

t.test('half a sample waits for the next frame', async (t) => {
  const decoder = await audioDecoder({ encoding: 'pcm_s16le', sampleRate: 16_000 });
  const counts = [[1], [2], [], [3], [4, 5, 6], [7]].map((bytes) => [
    [...decoder.push(Uint8Array.from(bytes))],
    decoder.sourceSamples,
  ]);
  t.same(counts, [
    [[], 0],
    [[0x201], 1],
    [[], 1],
    [[], 1],
    [[0x403, 0x605], 3],
    [[], 3],
  ]);
});

t.test('telephone audio is decoded to samples', async (t) => {
  const next = chance(5);
  const bytes = Uint8Array.from({ length: 4001 }, () => Math.floor(next() * 256));
  for (const [encoding, expand] of [
    ['pcm_mulaw', samplesOfMuLaw],
    ['pcm_alaw', samplesOfALaw],
  ] as const) {
    const decoder = await audioDecoder({ encoding, sampleRate: 8000 });
    t.ok(isSame(decoded(decoder, pieces(bytes, 333, 1)), resampled(expand(bytes), 8000)), encoding);
    t.same([decoder.sourceSamples, decoder.audioMs], [4001, 500], 'a sample for each byte, milliseconds rounded down');
  }
});

t.test('Opus packets are decoded to samples', async (t) => {
  for (const rate of [16_000, 48_000]) {
    const sound = voice(rate, 1);
    const encoder = await opusEncoder(rate);
    const packets = Array.from({ length: 50 }, (_, at) =>
      encoder.encode(sound.subarray((at * rate) / 50, ((at + 1) * rate) / 50)),
    );
    const decoder = await audioDecoder({ encoding: 'opus', sampleRate: 44_100 });
    const out = decoded(
      decoder,
      packets.flatMap((packet) => [packet, new Uint8Array(0)]),
    );
    t.same(
      [out.length, decoder.sourceRate, decoder.sourceSamples, decoder.audioMs],
      [16_000, 16_000, 16_000, 1000],
      `${rate} Hz: 20 ms each, empty frames nothing, whatever the rate that was named`,
    );
    const { lag, correlation } = likeness(voice(16_000, 1), out, 200);
    t.ok(correlation > 0.97 && Math.abs(lag - 104) < 8, `it is the same sound, 6.5 ms later: ${correlation} at ${lag}`);
    decoder.close();
    encoder.close();
  }
});

t.test('packets that nobody can read', async (t) => {
  const decoder = await audioDecoder({ encoding: 'opus', sampleRate: 16_000 });
  for (const bytes of [
    [255, 255, 255],
    Array<number>(2000).fill(7),
    Array<number>(8193).fill(0),
    Array<number>(1 << 20).fill(1),
  ]) {
    t.throws(() => decoder.push(Uint8Array.from(bytes)), UnreadableAudio, `${bytes.length} bytes`);
    t.equal(decoder.sourceSamples, 0, 'count nothing');
  }
  const next = chance(9);
  let read = 0;
  for (let round = 0; round < 3000; round++) {
    const packet = Uint8Array.from({ length: 1 + Math.floor(next() * 300) }, () => Math.floor(next() * 256));
    try {
      read += decoder.push(packet).length;
    } catch (error) {
      if (!(error instanceof UnreadableAudio)) t.fail(`noise: ${String(error)}`);
    }
  }
  t.equal(decoder.sourceSamples, read, 'noise is sound or refused');
});

t.test('decoders run independently', async (t) => {
  const encoder = await opusEncoder(16_000);
  const sound = voice(16_000, 0.4);
  const packets = Array.from({ length: 20 }, (_, at) => encoder.encode(sound.subarray(at * 320, (at + 1) * 320)));
  const opus: AudioFormat = { encoding: 'opus', sampleRate: 16_000 };
  const alone = decoded(await audioDecoder(opus), packets);
  const many = await Promise.all(Array.from({ length: 500 }, () => audioDecoder(opus)));
  const outs = many.map((): Int16Array[] => []);
  for (const packet of packets) many.forEach((decoder, index) => outs[index]!.push(decoder.push(packet)));
  t.ok(
    outs.every((out) => isSame(all(out), alone)),
    '500 at once, which makes their memory grow',
  );
  for (const decoder of many) decoder.close();
});

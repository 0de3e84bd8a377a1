import t from 'tap';
import { encodeWhole, encoderFor } from '../../../src/providers/voice/audio/encoding.ts';
import { speechFormats, type SpeechFormat } from '../../../src/base/audio-formats.ts';
import { bytesOf, joined } from '../../../src/providers/voice/audio/samples.ts';
import { readWav } from '../../../src/providers/voice/audio/wav.ts';
import { isSame, pieces, voice } from './sounds.ts';

async function streamed(format: SpeechFormat, rate: number, parts: readonly Int16Array[]): Promise<Uint8Array> {
  const encoder = await encoderFor(format, rate, false);
  return joined([...parts.map((part) => encoder.push(part)), encoder.end()]);
}

t.test('the type and the rate that a client is told', async (t) => {
  const told = async (format: SpeechFormat, rate: number): Promise<[string, number]> => {
    const { contentType, sampleRate } = await encoderFor(format, rate, false);
    return [contentType, sampleRate];
  };
  t.same(await told('wav', 16_000), ['audio/wav', 16_000]);
  t.same(await told('pcm', 22_050), ['audio/pcm;rate=22050;channels=1', 22_050]);
  for (const rate of [8000, 16_000, 22_050, 24_000, 48_000]) t.same(await told('mp3', rate), ['audio/mpeg', rate]);
  t.same(await told('mp3', 20_000), ['audio/mpeg', 22_050], 'the next rate that MP3 has');
  for (const rate of [8000, 16_000, 24_000, 48_000]) t.same(await told('opus', rate), ['audio/ogg;codecs=opus', rate]);
  t.same(await told('opus', 22_050), ['audio/ogg;codecs=opus', 24_000], 'the next rate that Opus has');
  t.same(await told('opus', 96_000), ['audio/ogg;codecs=opus', 48_000], 'or the highest');
});

t.test('WAV and PCM are the samples', async (t) => {
  const sound = voice(16_000, 0.4);
  const parts = pieces(sound, 700, 1);
  t.ok(Buffer.from(await streamed('pcm', 16_000, parts)).equals(bytesOf(sound)));
  const wav = Buffer.from(await streamed('wav', 16_000, parts));
  t.same(
    [wav.length, wav.readUInt32LE(4), wav.readUInt32LE(40)],
    [44 + sound.byteLength, 0xffffffff, 0xffffffff],
    'streamed, its size is open, and nothing follows its data',
  );
  t.ok(isSame(readWav(wav).samples, sound));
  const { bytes } = await encodeWhole('wav', 16_000, sound);
  const whole = Buffer.from(bytes);
  t.same(
    [whole.length, whole.readUInt32LE(4), whole.readUInt32LE(40)],
    [44 + sound.byteLength, 36 + sound.byteLength, sound.byteLength],
    'whole, its size is exact',
  );
  t.equal((await streamed('wav', 16_000, [])).length, 44, 'of nothing, a header');
});

t.test('the caller may reuse its samples', async (t) => {
  for (const format of speechFormats) {
    for (const whole of [false, true]) {
      const sound = voice(16_000, 0.2);
      const encoder = await encoderFor(format, 16_000, whole);
      const out: Uint8Array[] = [];
      for (let from = 0; from < sound.length; from += 400) {
        const reused = sound.slice(from, from + 400);
        out.push(encoder.push(reused));
        reused.fill(32_767);
      }
      out.push(encoder.end());
      const other = whole ? (await encodeWhole(format, 16_000, sound)).bytes : await streamed(format, 16_000, [sound]);
      if (format !== 'opus') t.ok(Buffer.from(joined(out)).equals(other), `${format}, ${whole ? 'whole' : 'streamed'}`);
      else t.ok(Math.abs(joined(out).length - other.length) < 600, 'opus: the same but for the pages');
    }
  }
});

t.test('bytes arrive with the sound', async (t) => {
  const sound = voice(16_000, 1);
  for (const format of speechFormats) {
    const encoder = await encoderFor(format, 16_000, false);
    const sizes = Array.from(
      { length: 10 },
      (_, at) => encoder.push(sound.subarray(at * 1600, (at + 1) * 1600)).length,
    );
    t.ok(
      sizes.every((size) => size > 0),
      `${format}: each 100 ms brings some: ${sizes}`,
    );
  }
});

t.test('interleaved streams stay separate', async (t) => {
  const sounds = Array.from({ length: 8 }, (_, index) => voice(16_000, 0.5 + index / 20));
  for (const format of ['mp3', 'opus'] as const) {
    const parts = sounds.map((sound, index) => pieces(sound, 900, index));
    const alone: Uint8Array[] = [];
    for (const own of parts) alone.push(await streamed(format, 16_000, own));
    const encoders = await Promise.all(sounds.map(() => encoderFor(format, 16_000, false)));
    const outs = sounds.map((): Uint8Array[] => []);
    for (let at = 0; parts.some((own) => at < own.length); at++) {
      parts.forEach((own, index) => at < own.length && outs[index]!.push(encoders[index]!.push(own[at]!)));
    }
    encoders.forEach((encoder, index) => outs[index]!.push(encoder.end()));
    t.ok(
      outs.every((out, index) => Buffer.from(joined(out)).equals(alone[index]!)),
      `${format}: what each is alone, also from an encoder that was used before`,
    );
  }
});

import { spawnSync } from 'node:child_process';
import t from 'tap';
import { samplesOfALaw, samplesOfMuLaw } from '../../../src/providers/voice/audio/g711.ts';
import { samplesOf } from '../../../src/providers/voice/audio/samples.ts';
import { whyMissing } from '../../installed.ts';

const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);

t.test('the values that the standard prints', async (t) => {
  t.same(
    [...samplesOfMuLaw(Uint8Array.of(0x00, 0x80, 0x7f, 0xff, 0x8f, 0x70))],
    [-32124, 32124, 0, 0, 16764, -120],
    'µ-law',
  );
  t.same([...samplesOfALaw(Uint8Array.of(0x2a, 0xaa, 0x55, 0xd5, 0x54))], [-32256, 32256, -8, 8, -24], 'A-law');
  t.equal(samplesOfMuLaw(new Uint8Array(0)).length, 0, 'nothing gives nothing');
});

t.test('all bytes, as another decoder reads them', { skip: whyMissing('ffmpeg') ?? false }, async (t) => {
  for (const [format, decode] of [
    ['mulaw', samplesOfMuLaw],
    ['alaw', samplesOfALaw],
  ] as const) {
    const { stdout } = spawnSync(
      'ffmpeg',
      ['-v', 'error', '-f', format, '-ar', '8000', '-i', '-', '-f', 's16le', '-'],
      { input: bytes },
    );
    t.same([...decode(bytes)], [...samplesOf(stdout)], format);
  }
});

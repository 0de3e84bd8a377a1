/** The edges of a voice, found by level around where a detector heard it. */
import t from 'tap';
import { endBefore, onsetBefore } from '../../../src/providers/voice/speech-boundaries.ts';
import { all, chance, tone } from './sounds.ts';

const samplesOf = (ms: number): number => ms * 16;
const silence = (ms: number): Int16Array => new Int16Array(samplesOf(ms));
const voice = (ms: number, peak = 8_000): Int16Array => tone(200, 16_000, samplesOf(ms), peak);
/** Something like an s. */
function hiss(ms: number, peak: number): Int16Array {
  const next = chance(3);
  return Int16Array.from({ length: samplesOf(ms) }, () => (next() * 2 - 1) * peak);
}

/** Returns the milliseconds of a sound's onset; the detector is sure of the sound from `sureMs` to 100 ms later. */
const onset = (sureMs: number, ...sounds: Int16Array[]): number =>
  onsetBefore(samplesOf(sureMs), samplesOf(sureMs + 100), all(sounds)) / 16;
const end = (sureMs: number, ...sounds: Int16Array[]): number =>
  endBefore(samplesOf(sureMs), samplesOf(sureMs + 128), all(sounds)) / 16;

t.test('an onset of speech is found in its window', async (t) => {
  t.equal(onset(800, silence(800), voice(400)), 800, 'where the detector is right');
  t.equal(onset(960, silence(800), voice(400)), 800, 'where it is late');
  t.equal(
    onset(1_040, silence(800), hiss(160, 1_500), silence(64), voice(400)),
    800,
    'behind a hiss and the silence of a plosive',
  );
  t.equal(
    onset(1_000, silence(800), hiss(40, 1_500), silence(120), voice(400)),
    960,
    'a sound that is not of the word',
  );
  t.equal(onset(1_200, silence(800), voice(1_000)), 880, '320 ms earlier at most');
  t.equal(onset(960, hiss(800, 400), voice(400)), 800, 'out of steady noise');
  t.equal(onset(960, hiss(960, 400), voice(400)), 960, 'steady noise is none');
  t.equal(
    onset(960, silence(640), hiss(320, 100), voice(400)),
    960,
    'nor is a sound that is far quieter than the voice',
  );
  t.equal(onset(0, voice(400)), 0, 'at the beginning of the audio');
});

t.test('an end of speech is found after its pause', async (t) => {
  t.equal(end(960, silence(160), voice(800), silence(400)), 960, 'where the detector is right');
  t.equal(end(1_040, silence(160), voice(800), silence(400)), 960, 'where it is late');
  t.equal(end(1_200, silence(160), voice(800), silence(400)), 1_072, '128 ms earlier at most');
  t.equal(end(1_120, silence(160), voice(800), hiss(160, 1_500), silence(400)), 1_120, 'an s belongs to the word');
  t.equal(end(1_040, silence(160), voice(800), hiss(560, 150)), 960, 'noise does not');
  t.equal(
    end(1_040, silence(160), voice(800), hiss(80, 150), silence(400)),
    960,
    'nor does what is far quieter than the voice',
  );
  t.equal(end(96, voice(40), silence(400)), 40, 'of a short sound at the beginning of the audio');
});

/**
 * A sound for a browser's fake microphone that is taken for speech, where loudness decides and where noise is
 * suppressed.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exactWav } from '../src/providers/voice/audio/wav.ts';
import { temporaryFolder, type Owner } from './folders.ts';

const rate = 16_000;

/** Syllables, four a second, of a voice that falls a little; below it a murmur, as every real microphone has one. */
function samplesOf(beforeMs: number, voiceMs: number, afterMs: number): Int16Array {
  const [begin, end] = [(beforeMs * rate) / 1000, ((beforeMs + voiceMs) * rate) / 1000];
  let noise = 1;
  return Int16Array.from({ length: end + (afterMs * rate) / 1000 }, (_, at) => {
    noise = (noise * 16_807) % 2_147_483_647;
    const murmur = (noise % 7) - 3;
    if (at < begin || at >= end) return murmur;
    const seconds = (at - begin) / rate;
    const pitch = 140 - 20 * (seconds % 1);
    const buzz = [1, 2, 3, 4, 6, 8].reduce(
      (sum, harmonic) => sum + Math.sin(2 * Math.PI * pitch * harmonic * seconds) / harmonic,
      0,
    );
    return Math.round(murmur + 9_000 * buzz * Math.abs(Math.sin(4 * Math.PI * seconds)));
  });
}

/** A phrase as a client of calls sends it. */
export const phrase = (voiceMs = 1_200): Buffer => Buffer.from(samplesOf(0, voiceMs, 0).buffer);

/**
 * The path of a WAV file: a moment, the phrase, and a minute of nothing. A browser plays it once where `%noloop`
 * follows.
 */
export async function phraseFor(t: Owner, { beforeMs = 800, voiceMs = 1_200, afterMs = 60_000 } = {}): Promise<string> {
  const path = join(await temporaryFolder(t), 'phrase.wav');
  await writeFile(path, exactWav(samplesOf(beforeMs, voiceMs, afterMs), rate));
  return path;
}

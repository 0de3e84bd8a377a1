/**
 * Finds the beginning and end of a voice by the level of the audio. The detector notices a voice only after its first
 * sounds, above all after one that hisses, and holds for some 70 ms after the last; the level shows both to 8 ms. Audio
 * has 16 kHz, positions are samples.
 */
import { samplesPerMs } from './audio/recognition.ts';

const samplesOf = (ms: number): number => ms * samplesPerMs;
const frameSamples = samplesOf(8);

/**
 * Samples by which a voice may begin before the detector's onset, and samples before that which show the level of
 * silence.
 */
const [earlierMax, beforeSamples] = [samplesOf(320), samplesOf(320)];
/** Silence within a word, before a plosive. */
const gapMax = samplesOf(72);
/**
 * Samples by which a voice may end before the detector's end, and samples before that end which show the level of the
 * voice.
 */
const [laterMax, voiceSamples] = [samplesOf(128), samplesOf(1_000)];

/**
 * Decibels by which a voice is louder than the silence next to it, decibels by which it is at most quieter than its
 * loudest frame, and the level of audible sound: decibels of full scale.
 */
const [overSilence, underVoice, inaudible] = [10, 30, -60];

/** Audio by position. */
export interface Recorded {
  slice(from: number, to: number): Int16Array;
}

/**
 * Returns the onset of the voice that the detector hears from `sure` to `position`: `sure`, or up to 320 ms before it.
 */
export function onsetBefore(sure: number, position: number, audio: Recorded): number {
  const levels = levelsOf(audio.slice(Math.max(0, sure - earlierMax - beforeSamples), sure));
  const threshold = thresholdOf(quantile(levels, 0.2), levelsOf(audio.slice(sure, position)));
  let onset = sure;
  for (let frame = levels.length - 1; frame >= 0; frame--) {
    const at = sure - (levels.length - frame) * frameSamples;
    if (at < sure - earlierMax || onset - at > gapMax + frameSamples) break;
    if (levels[frame]! >= threshold) onset = at;
  }
  return onset;
}

/**
 * Returns the end of the voice that the detector hears up to `sure`, and not from there to `position`: `sure`, or up to
 * 128 ms before it.
 */
export function endBefore(sure: number, position: number, audio: Recorded): number {
  const levels = levelsOf(audio.slice(Math.max(0, sure - voiceSamples), sure));
  const threshold = thresholdOf(quantile(levelsOf(audio.slice(sure, position)), 0.5), levels);
  let frames = 0;
  while (frames < levels.length && frames * frameSamples < laterMax && levels.at(-1 - frames)! < threshold) frames++;
  return sure - frames * frameSamples;
}

const thresholdOf = (silence: number, voice: readonly number[]): number =>
  Math.max(inaudible, silence + overSilence, Math.max(...voice) - underVoice);

/** Levels of the whole frames at the end of the samples. */
function levelsOf(samples: Int16Array): number[] {
  const first = samples.length % frameSamples;
  return Array.from({ length: (samples.length - first) / frameSamples }, (_, frame) =>
    decibels(samples.subarray(first + frame * frameSamples, first + (frame + 1) * frameSamples)),
  );
}

/** Returns the level of the samples in decibels of full scale. */
export function decibels(samples: Int16Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return 10 * Math.log10(sum / samples.length / 32_768 ** 2 + 1e-10);
}

const quantile = (levels: readonly number[], share: number): number =>
  levels.toSorted((one, other) => one - other)[Math.floor(levels.length * share)] ?? inaudible;

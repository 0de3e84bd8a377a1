/**
 * Where a voice begins and ends, by the level of the audio. The detector is sure of a voice only behind its first
 * sounds, most of all behind one that hisses, and stays sure for some 70 ms behind the last one; the level shows both
 * to 8 ms. Audio has 16 kHz, positions are samples.
 */

const samplesOf = (ms: number): number => ms * 16;
const frameSamples = samplesOf(8);

/**
 * A voice may have begun so much before the detector's onset; the audio before that tells how loud it is without a
 * voice.
 */
const [earlierMax, beforeSamples] = [samplesOf(320), samplesOf(320)];
/** The silence within a word, before a plosive. */
const gapMax = samplesOf(72);
/**
 * A voice may have ended so much before the detector's end; and the audio before that end which tells how loud the
 * voice is.
 */
const [laterMax, voiceSamples] = [samplesOf(128), samplesOf(1_000)];

/**
 * A voice is so many decibels louder than the silence beside it, at most so many quieter than its loudest frame, and
 * audible at all: in decibels of full scale.
 */
const [overSilence, underVoice, inaudible] = [10, 30, -60];

/** Audio by position. */
export interface Recorded {
  slice(from: number, to: number): Int16Array;
}

/**
 * Returns where the voice began that the detector hears from `sure` to `position`: there, or up to 320 ms before it.
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
 * Returns where the voice ended that the detector hears up to `sure`, and not from there to `position`: there, or up to
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

/** The levels of the whole frames that end with the samples. */
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

/**
 * Removes the silence that voices put before the first sound of a sentence, a fifth of a second with flite: a listener
 * would wait for it at the beginning of a reply.
 */
import { joinedSamples, noSamples } from './samples.ts';

/** Level below which samples are silence. */
const soundLevel = 100;
/** Milliseconds of silence that stay before a sound, for its soft beginning. */
const keptMs = 5;
/** Milliseconds above which the silence counts as part of the speech. */
const leadMsMax = 500;

/** Number of leading samples to leave out; 0 for audio without a sound. */
export function leadOf(samples: Int16Array, sampleRate: number): number {
  const first = samples.findIndex((sample) => Math.abs(sample) >= soundLevel);
  return first > (leadMsMax * sampleRate) / 1000 ? 0 : Math.max(0, first - Math.round((keptMs * sampleRate) / 1000));
}

export async function* withoutLead(pieces: AsyncIterable<Int16Array>, sampleRate: number): AsyncGenerator<Int16Array> {
  let undecided: Int16Array | null = noSamples;
  for await (const piece of pieces) {
    if (undecided === null) {
      yield piece;
      continue;
    }
    undecided = joinedSamples([undecided, piece]);
    const isDecided =
      undecided.length > (leadMsMax * sampleRate) / 1000 || undecided.some((sample) => Math.abs(sample) >= soundLevel);
    if (!isDecided) continue;
    yield undecided.subarray(leadOf(undecided, sampleRate));
    undecided = null;
  }
  if (undecided !== null) yield undecided;
}

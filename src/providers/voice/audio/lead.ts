/**
 * The silence that voices put before the first sound of a sentence, a fifth of a second with flite: at the beginning of
 * a reply its listener would wait for it.
 */
import { joinedSamples, noSamples } from './samples.ts';

/** Samples below are silence. */
const soundLevel = 100;
/** So much of it stays, for the soft beginning of a sound. */
const keptMs = 5;
/** A longer silence is taken as the voice's own. */
const leadMsMax = 500;

/** Samples that can be left out; 0 where nothing sounds. */
export function leadOf(samples: Int16Array, sampleRate: number): number {
  const first = samples.findIndex((sample) => Math.abs(sample) >= soundLevel);
  return first > (leadMsMax * sampleRate) / 1000 ? 0 : Math.max(0, first - Math.round((keptMs * sampleRate) / 1000));
}

export async function* withoutLead(pieces: AsyncIterable<Int16Array>, sampleRate: number): AsyncGenerator<Int16Array> {
  let held: Int16Array | null = noSamples;
  for await (const piece of pieces) {
    if (held === null) {
      yield piece;
      continue;
    }
    held = joinedSamples([held, piece]);
    const isDecided =
      held.length > (leadMsMax * sampleRate) / 1000 || held.some((sample) => Math.abs(sample) >= soundLevel);
    if (!isDecided) continue;
    yield held.subarray(leadOf(held, sampleRate));
    held = null;
  }
  if (held !== null) yield held;
}

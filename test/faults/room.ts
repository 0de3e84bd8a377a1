/**
 * A room without an echo canceller: what a loudspeaker plays is heard by the microphone beside it, later, softer and
 * with the room's own tail.
 */
import type { Random } from '../simulate/random.ts';

const rate = 16_000;
const samplesOf = (ms: number): number => Math.round((ms * rate) / 1000);
/**
 * The loudspeaker reports its sound when a timer fires: a piece that comes this little late follows the one before
 * without a gap.
 */
const jitter = samplesOf(60);
/** Reflections of a tail in a millisecond, of either sign (velvet noise: as dense as it takes to sound like a room). */
const reflectionsPerMs = 2;

export interface RoomOptions {
  readonly delayMs: number;
  /** Decibels of the echo as a whole. */
  readonly loudness: number;
  /** Milliseconds of the tail after the direct sound, in which it falls by 30 dB; 0 for no tail. */
  readonly tailMs?: number;
}

interface Reflection {
  readonly at: number;
  readonly gain: number;
}

export class Room {
  readonly #delay: number;
  readonly #reflections: readonly Reflection[];
  /** Sound on its way to the microphone, from the next sample on. */
  #coming = new Float32Array(rate);
  /** Sample at which the direct sound of the played audio ends. */
  #end = 0;

  constructor({ delayMs, loudness, tailMs = 0 }: RoomOptions, random: Random) {
    this.#delay = samplesOf(delayMs);
    const count = tailMs * reflectionsPerMs;
    const tail = Array.from({ length: count }, (_, index) => ({
      at: Math.round((index * rate) / 1000 / reflectionsPerMs) + random.between(0, 7),
      gain: (random.between(0, 1) === 0 ? -1 : 1) * 10 ** ((-30 * index) / count / 20),
    }));
    const energy = Math.sqrt(tail.reduce((sum, { gain }) => sum + gain * gain, 0));
    // Tail and direct sound are equally loud, and add up to what the echo has.
    const level = 10 ** (loudness / 20) * (count === 0 ? 1 : Math.SQRT1_2);
    this.#reflections = [
      { at: 0, gain: level },
      ...tail.map(({ at, gain }) => ({ at, gain: (level * gain) / energy })),
    ];
  }

  /** The loudspeaker has just played this, 16-bit samples. */
  play(audio: Buffer): void {
    const samples = new Int16Array(audio.buffer.slice(audio.byteOffset, audio.byteOffset + audio.length));
    const due = Math.max(0, this.#delay - samples.length);
    const from = Math.abs(this.#end - due) < jitter ? this.#end : due;
    this.#end = from + samples.length;
    this.#reach(this.#end + (this.#reflections.at(-1)?.at ?? 0) + 1);
    for (const { at, gain } of this.#reflections) {
      for (let index = 0; index < samples.length; index++) this.#coming[from + at + index]! += samples[index]! * gain;
    }
  }

  /** The next samples in the microphone, 16-bit. */
  hear(samples: number): Buffer {
    this.#reach(samples);
    const heard = Int16Array.from(this.#coming.subarray(0, samples), (sample) =>
      Math.max(-32_768, Math.min(32_767, Math.round(sample))),
    );
    this.#coming.copyWithin(0, samples);
    this.#coming.fill(0, this.#coming.length - samples);
    this.#end = Math.max(0, this.#end - samples);
    return Buffer.from(heard.buffer);
  }

  #reach(samples: number): void {
    if (samples <= this.#coming.length) return;
    const longer = new Float32Array(samples * 2);
    longer.set(this.#coming);
    this.#coming = longer;
  }
}

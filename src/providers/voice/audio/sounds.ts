/** Sounds and pauses of a sentence, found by the levels of its samples; the audio itself is not kept. */

const frameMs = 10;
/**
 * Share of the loudest frame's level below which a frame is silent, and the level above which a frame is never silent.
 */
const [silentShare, leastSound] = [0.02, 12];
/** A shorter gap is part of a word. */
const pauseMs = 80;

/** Samples from the first to before the last. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

export class Sounds {
  readonly #frame: number;
  /** The level of each whole frame. */
  readonly #levels: number[] = [];
  #sum = 0;
  #filled = 0;
  /** Samples so far. */
  samples = 0;

  /** Hertz. */
  constructor(sampleRate: number) {
    this.#frame = Math.max(1, Math.round((sampleRate * frameMs) / 1000));
  }

  push(samples: Int16Array): void {
    this.samples += samples.length;
    for (const sample of samples) {
      this.#sum += sample * sample;
      if (++this.#filled < this.#frame) continue;
      this.#levels.push(Math.sqrt(this.#sum / this.#frame));
      this.#sum = this.#filled = 0;
    }
  }

  /**
   * The stretches between the first and the last sound without the pauses between them; all of it where nothing sounds.
   */
  stretches(): Stretch[] {
    const levels = this.#levels;
    const silent = Math.max(leastSound, silentShare * levels.reduce((loudest, level) => Math.max(loudest, level), 0));
    const stretches: { from: number; to: number }[] = [];
    for (const [index, level] of levels.entries()) {
      const [from, to] = [index * this.#frame, (index + 1) * this.#frame];
      const last = stretches.at(-1);
      if (level < silent) continue;
      if (last !== undefined && index - last.to / this.#frame < pauseMs / frameMs) last.to = to;
      else stretches.push({ from, to });
    }
    return stretches.length === 0 ? [{ from: 0, to: this.samples }] : stretches;
  }
}

/** Schedule of an utterance's partial transcripts. Lengths are samples of 16 kHz. */
import { samplesPerMs } from './audio/recognition.ts';

/**
 * Lengths of an utterance at which it is decoded for a partial. The intervals grow, so that the cost does not grow with
 * the square of the length.
 */
const partialsAt = [350, 1_000, 1_500, 2_250, 3_400, 5_000, 7_600].map((ms) => ms * samplesPerMs);
/** Audio after which a first decoding without words is repeated, up to the second one. */
const emptyAgain = 100 * samplesPerMs;

export class PartialSchedule {
  #made = 0;
  /** Length at which a decoding without words is repeated. */
  #again = Infinity;

  /**
   * Whether a partial is due at this length; then it counts as made, and a later one that is due as well is skipped.
   * `stretch`: the factor by which partials are rarer now, Infinity for none.
   */
  take(length: number, stretch: number): boolean {
    if (stretch === Infinity || length < Math.min(this.#again, this.#next) * stretch) return false;
    this.#again = Infinity;
    while (length >= this.#next * stretch) this.#made++;
    return true;
  }

  /** Notes that a decoding of this length had no words: the first one is repeated soon. */
  hadNoWords(length: number): void {
    if (this.#made === 1) this.#again = length + emptyAgain;
  }

  get #next(): number {
    return partialsAt[this.#made] ?? Infinity;
  }
}

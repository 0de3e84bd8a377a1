/**
 * The listener of one reply: how much of its audio they have heard, and of its text (contract 18). Samples are of the
 * output.
 */
import { begunAt, heardAt, type UtterancePlan } from '../../providers/voice/plan.ts';

/** A sentence of the reply: its text, without the white space behind it, and the samples before it. */
interface Sentence {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  plan: UtterancePlan | null;
}

export class Cursor {
  readonly #rate: number;
  readonly #sentences: Sentence[] = [];
  /** Samples sent so far. */
  sent = 0;
  /** The client's last report; null before. */
  reported: number | null = null;
  #estimate = 0;
  #estimatedAt: number;
  #still = true;

  /** `rate`: hertz; `now`: monotonic milliseconds. */
  constructor(rate: number, now: number) {
    this.#rate = rate;
    this.#estimatedAt = now;
  }

  sentence(from: number, to: number, start: number): void {
    this.#sentences.push({ from, to, start, plan: null });
  }

  /** The plan of the sentence that came last. */
  plan(plan: UtterancePlan): void {
    const sentence = this.#sentences.findLast(({ from }) => from === plan.from);
    if (sentence !== undefined) sentence.plan = plan;
  }

  send(samples: number, now: number): void {
    this.#advance(now);
    this.sent += samples;
  }

  /**
   * The client has played so many samples; true unless it had reported as many before. More than was sent counts as
   * all.
   */
  report(samples: number, now: number): boolean {
    this.#advance(now);
    const played = Math.min(samples, this.sent);
    if (this.reported !== null && played < this.reported) return false;
    const grown = played !== this.reported;
    this.reported = this.#estimate = played;
    return grown;
  }

  /** Nothing is played from here on, until `resume`. */
  pause(now: number): void {
    this.#advance(now);
    this.#still = true;
  }

  resume(now: number): void {
    this.#advance(now);
    this.#still = false;
  }

  /** The samples played, as the time since the last report lets expect. */
  estimated(now: number): number {
    this.#advance(now);
    return Math.floor(this.#estimate);
  }

  /**
   * The code points of the reply that were heard with so many samples: whole words, whole sentences, never behind white
   * space.
   */
  pointsAt(samples: number): number {
    return this.#reached(({ from, start, plan }) =>
      start > samples || plan === null ? from : heardAt(plan, samples - start),
    );
  }

  /**
   * The code points of the reply whose audio begins within so many samples, never behind white space; all of a sentence
   * whose words are not known yet.
   */
  begunAt(samples: number): number {
    return this.#reached(({ from, to, start, plan }) =>
      start >= samples ? from : plan === null ? to : begunAt(plan, samples - start),
    );
  }

  /**
   * `within`: the position in a sentence. The white space before one is no word's, so it counts once a word behind it
   * does.
   */
  #reached(within: (sentence: Sentence) => number): number {
    for (const sentence of this.#sentences.toReversed()) {
      const points = within(sentence);
      if (points > sentence.from) return points;
    }
    return 0;
  }

  /** While all that was sent is played, the estimate waits. */
  #advance(now: number): void {
    if (!this.#still)
      this.#estimate = Math.min(this.sent, this.#estimate + ((now - this.#estimatedAt) * this.#rate) / 1000);
    this.#estimatedAt = now;
  }
}

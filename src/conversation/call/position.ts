/** The position of a listener in the audio and the text of one reply (contract 18). Samples are of the output. */
import { begunAt, heardAt, type UtterancePlan } from '../../providers/voice/plan.ts';

/** A sentence of the reply: its text without the white space after it, and the samples before it. */
interface Sentence {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  plan: UtterancePlan | null;
}

export class PlaybackPosition {
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

  /** Adds the words of the newest sentence that begins at the plan's position. */
  plan(plan: UtterancePlan): void {
    const sentence = this.#sentences.findLast(({ from }) => from === plan.from);
    if (sentence !== undefined) sentence.plan = plan;
  }

  send(samples: number, now: number): void {
    this.#advance(now);
    this.sent += samples;
  }

  /**
   * Takes the client's report; returns false unless it reports more than before. A report above the samples that were
   * sent counts as all of them.
   */
  report(samples: number, now: number): boolean {
    this.#advance(now);
    const played = Math.min(samples, this.sent);
    if (this.reported !== null && played < this.reported) return false;
    const grown = played !== this.reported;
    this.reported = this.#estimate = played;
    return grown;
  }

  /** Stops the estimate until `resume`. */
  pause(now: number): void {
    this.#advance(now);
    this.#still = true;
  }

  resume(now: number): void {
    this.#advance(now);
    this.#still = false;
  }

  /** Samples played, estimated by the time since the last report. */
  estimated(now: number): number {
    this.#advance(now);
    return Math.floor(this.#estimate);
  }

  /** Code points that were heard once the samples are played: whole words, and no white space after the last one. */
  pointsAt(samples: number): number {
    return this.#reached(({ from, start, plan }) =>
      start > samples || plan === null ? from : heardAt(plan, samples - start),
    );
  }

  /**
   * Code points whose audio begins within the samples, without white space after the last word. A sentence whose words
   * are not known yet counts as a whole.
   */
  begunAt(samples: number): number {
    return this.#reached(({ from, to, start, plan }) =>
      start >= samples ? from : plan === null ? to : begunAt(plan, samples - start),
    );
  }

  /** `within`: the position in a sentence. White space before a sentence counts once its first word does. */
  #reached(within: (sentence: Sentence) => number): number {
    for (const sentence of this.#sentences.toReversed()) {
      const points = within(sentence);
      if (points > sentence.from) return points;
    }
    return 0;
  }

  /** Moves the estimate on, up to the samples that were sent. */
  #advance(now: number): void {
    if (!this.#still)
      this.#estimate = Math.min(this.sent, this.#estimate + ((now - this.#estimatedAt) * this.#rate) / 1000);
    this.#estimatedAt = now;
  }
}

/** Remembers the fields that models refuse, so that only the first turns pay for it. */
import { limits } from '../../base/limits.ts';

export interface Lesson {
  /** The parts that their requests omit. */
  readonly shape: number;
  /** How much of a history they take, in estimated tokens; null as long as none was too long. */
  readonly historyTokens: number | null;
}

const nothing: Lesson = { shape: 0, historyTokens: null };

export class Lessons {
  readonly #now: () => number;
  /** By model, the one learnt longest ago first. */
  readonly #known = new Map<string, Lesson & { readonly untilMs: number }>();

  /** `now` is monotonic, in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** A lesson is forgotten after a while: nothing tells that a model takes more than before. */
  of(model: string): Lesson {
    // Mostly nothing is known of any model, and the name is a long text that was just made.
    if (this.#known.size === 0) return nothing;
    const known = this.#known.get(model);
    if (known === undefined) return nothing;
    if (known.untilMs > this.#now()) return known;
    this.#known.delete(model);
    return nothing;
  }

  note(model: string, { shape, historyTokens }: Lesson): void {
    const known = this.of(model);
    if (known.shape === shape && known.historyTokens === historyTokens) return;
    this.#known.delete(model);
    if (shape === 0 && historyTokens === null) return;
    if (this.#known.size >= limits.modelsLearntMax) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(model, { shape, historyTokens, untilMs: this.#now() + limits.modelLearntMs });
  }
}

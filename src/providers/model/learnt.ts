/** Remembers the requests that models take, so that only the first turns pay for it. */
import { evictOldest } from '../../base/evict-oldest.ts';

/** Models whose refusals a process remembers. */
const modelsLearntMax = 1000;
/** Milliseconds for which it remembers them. */
export const modelLearntMs = 60 * 60 * 1000;

export interface Lesson {
  /** The repairs of their requests. */
  readonly shape: number;
  /**
   * A request shape that was accepted once after the plain shape was refused without a reason; it is learnt when that
   * happens again. Null if no shape is a candidate.
   */
  readonly trial: number | null;
  /** The definitions of functions that they refuse (see `definitionOf`). */
  readonly refused: ReadonlySet<string>;
  /** Estimated tokens of history that the model accepts; null until a history was too long. */
  readonly historyTokens: number | null;
}

export const nothingLearnt: Lesson = { shape: 0, trial: null, refused: new Set(), historyTokens: null };

/** The shapes of one turn's requests. */
export interface Trying {
  /** The repairs that the turn's requests have a use for. */
  readonly open: number;
  /** The repairs that refusals have named. */
  readonly named: number;
  /** The shape that was accepted. */
  readonly accepted: number;
}

/**
 * The lesson of a turn whose request was accepted in the end. A repair is learnt if a refusal has named it; others are
 * learnt if they worked twice where the shape without them failed twice: a refusal may have had nothing to do with the
 * shape. Repairs that the turn had no use for stay.
 */
export function learntFrom(
  { shape, trial }: Pick<Lesson, 'shape' | 'trial'>,
  { open, named, accepted }: Trying,
): Pick<Lesson, 'shape' | 'trial'> {
  const before = shape & open;
  const others = shape & ~open;
  const guessed = accepted & ~before & ~named;
  // Drops a candidate shape once a plain request is accepted.
  const isPlain = accepted === before && trial !== null && (trial & ~open) === 0;
  if (guessed === 0) return { shape: accepted | others, trial: isPlain ? null : trial };
  if (trial === accepted) return { shape: accepted | others, trial: null };
  return { shape: (accepted & ~guessed) | others, trial: accepted };
}

export class Lessons {
  readonly #now: () => number;
  /** Lessons by model, the oldest first. */
  readonly #known = new Map<string, Lesson & { readonly untilMs: number }>();

  /** `now` is monotonic, in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns a model's lesson. A lesson expires, because a provider does not announce that a model now accepts more. */
  of(model: string): Lesson {
    // Mostly nothing is known of any model, and the name is a long text that was just made.
    if (this.#known.size === 0) return nothingLearnt;
    const known = this.#known.get(model);
    if (known === undefined) return nothingLearnt;
    if (known.untilMs > this.#now()) return known;
    this.#known.delete(model);
    return nothingLearnt;
  }

  /** A later lesson does not prolong an earlier one. */
  note(model: string, lesson: Lesson): void {
    const known = this.of(model);
    if (isSame(known, lesson)) return;
    const untilMs = this.#known.get(model)?.untilMs ?? this.#now() + modelLearntMs;
    this.#known.delete(model);
    if (isSame(lesson, nothingLearnt)) return;
    this.#known.set(model, { ...lesson, untilMs });
    evictOldest(this.#known, modelsLearntMax, modelsLearntMax);
  }
}

const isSame = (one: Lesson, other: Lesson): boolean =>
  one.shape === other.shape &&
  one.trial === other.trial &&
  one.historyTokens === other.historyTokens &&
  one.refused.size === other.refused.size &&
  [...one.refused].every((each) => other.refused.has(each));

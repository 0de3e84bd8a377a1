/** Looks for a shape that an endpoint takes, in few tries. */
import {
  anyStatusRepairs,
  bodyRepairs,
  boundRepairs,
  guessedRepairs,
  repairs,
  repairsNamed,
  withRepairs,
} from './repairs.ts';

const boundOf = (shape: number): number => shape & boundRepairs;

export class ShapeSearch {
  shape: number;
  /** The repairs that refusals have named. */
  named = 0;
  /** The repairs that the request has a use for. */
  readonly #open: number;
  /**
   * A shape that was accepted once after the first one was refused without a reason; null if no shape is a candidate.
   */
  readonly #trial: number | null;
  readonly #refused: number[] = [];
  readonly #refusedBounds: number[] = [];
  /** The repairs of messages and tools that were named. */
  #named = 0;

  constructor(open: number, first: number, trial: number | null = null) {
    this.#open = open;
    this.shape = first & open;
    this.#named = this.shape & ~bodyRepairs;
    this.#trial = trial === null || (trial & ~open) !== 0 || trial === this.shape ? null : trial;
  }

  /** Whether the words ask for a repair that servers ask for with any status. */
  isNamed(errorText: string): boolean {
    return (repairsNamed(errorText) & anyStatusRepairs & this.#open & ~this.shape) !== 0;
  }

  /**
   * Moves on from a shape that was refused in these words; false if none is left. `left`: how many more may follow the
   * next one. The last ones repair most.
   */
  next(errorText: string, left: number): boolean {
    const named = repairsNamed(errorText);
    this.#refused.push(this.shape);
    this.named |= named & this.#open;
    const nextShape = this.#nextOf(named, left);
    if (nextShape !== null) this.shape = nextShape;
    return nextShape !== null;
  }

  #nextOf(named: number, left: number): number | null {
    const repairedShape = this.#repaired(named & ~bodyRepairs);
    if (repairedShape !== null) return repairedShape;
    if (boundOf(named) !== 0) this.#refusedBounds.push(boundOf(this.shape));
    // Words that ask for what is done already say as little as none.
    const isBlind = (named & this.#open & ~this.shape) === 0;
    if (isBlind && this.#trial !== null && !this.#refused.includes(this.#trial)) return this.#trial;
    const guesses = this.#guesses();
    const isOfCalls = (this.#open & repairs.ids) !== 0;
    if (isBlind && left >= guesses.length) {
      const guess = (isOfCalls ? guesses : guesses.slice(0, 1)).find(
        (one) => !this.#refused.some((refused) => (refused & ~bodyRepairs) === one),
      );
      if (guess !== undefined) return (this.shape & bodyRepairs) | guess;
    }
    const bodies = this.#bodies();
    if (left >= guesses.length && bodies.length > 0) return bodies[0]! | this.#named;
    const whole = shapesOf(this.#open & bodyRepairs).at(-1)!;
    return guesses.map((guess) => whole | guess).findLast((shape) => !this.#refused.includes(shape)) ?? null;
  }

  /** The repairs of messages that are tried where a refusal asks for none: what is left out, then what is put in. */
  #guesses(): readonly number[] {
    const open = this.#open & ~(this.#named & repairs.thoughtStub ? repairs.noThoughts : 0);
    const guesses = guessedRepairs.map((guess) => withRepairs(this.#named, guess & open));
    return [...new Set(guesses)];
  }

  /**
   * The shape with the repairs of messages and tools that a refusal has named; null if they are made already, or not
   * open.
   */
  #repaired(named: number): number | null {
    let more = named & this.#open & ~this.shape;
    // Signatures of calls are not what this provider reads: what is left are details of the round.
    if (named & repairs.signatureStub && this.shape & repairs.signatureStub) more |= repairs.detailsStub;
    if (this.shape & repairs.detailsStub) more &= ~repairs.signatureStub;
    // A text was refused as null was: what is left is a sentence.
    if (named & repairs.emptyContent && this.shape & repairs.emptyContent) more |= repairs.wordContent;
    if (more & repairs.wordContent) more &= ~repairs.emptyContent;
    this.named |= more;
    const nextShape = withRepairs(this.shape, more);
    if (more === 0 || this.#refused.includes(nextShape)) return null;
    this.#named = nextShape & ~bodyRepairs;
    return nextShape;
  }

  /** The bodies that are left, the likeliest first. */
  #bodies(): number[] {
    const refused = this.#refused.map((shape) => shape & bodyRepairs);
    const left = shapesOf(this.#open & bodyRepairs).filter(
      (shape) => !refused.some((one) => impliesRefusal(one, shape)),
    );
    const wanted = this.named & bodyRepairs & ~boundRepairs;
    const likely = left.filter((shape) => (wanted & ~shape) === 0 && !this.#refusedBounds.includes(boundOf(shape)));
    return likely.length > 0 ? likely : left;
  }
}

/** Returns every shape, the one with the fewest repairs first. */
function shapesOf(open: number): number[] {
  const shapes: number[] = [];
  for (let shape = 0; shape <= open; shape++)
    if ((shape & ~open) === 0 && boundOf(shape) !== boundRepairs) shapes.push(shape);
  return shapes.sort((one, other) => repairsIn(one) - repairsIn(other) || one - other);
}

function repairsIn(shape: number): number {
  let count = 0;
  for (let left = shape; left !== 0; left &= left - 1) count++;
  return count;
}

/** An endpoint that refuses a request refuses one with all of that and more. */
function impliesRefusal(refused: number, shape: number): boolean {
  const bound = boundOf(refused);
  return (bound === repairs.bound || bound === boundOf(shape)) && (shape & ~boundRepairs & ~refused) === 0;
}

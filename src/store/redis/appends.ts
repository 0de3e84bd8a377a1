/**
 * Pieces of output that turns of one workspace append at the same time, as those of a crowd do at its beat. One step appends them all,
 * because a step costs more than a piece, here and in Redis.
 */
import { limits } from '../../limits.ts';
import type { Link } from './link.ts';
import type { Reply } from './reply.ts';

/** The arguments of one piece, in the order of the step `append-output`. */
export type Piece = readonly [session: string, turn: string, epoch: number, owner: string, position: number, count: number, text: string, lease: number | ''];

/** A step that takes further pieces until it is full or sent. */
interface Step {
  readonly pieces: Piece[];
  characters: number;
  readonly answers: Promise<Reply[]>;
}

export class Appends {
  readonly #link: Link;
  /** The step of each root that takes further pieces. */
  readonly #steps = new Map<string, Step>();

  constructor(link: Link) {
    this.#link = link;
  }

  /** Appends a piece in a step that is sent once all that is ready now has been added to it; resolves with the piece's own answer. If the step fails, all its pieces fail. */
  add(root: string, piece: Piece): Promise<Reply[]> {
    const { length } = piece[6];
    let step = this.#steps.get(root);
    // While a step runs, Redis serves no other call.
    if (step === undefined || step.pieces.length === limits.redisAppendsMax || step.characters + length > limits.redisAppendCharactersMax) step = this.#begin(root);
    const at = step.pieces.push(piece) - 1;
    step.characters += length;
    return step.answers.then((answers) => answers[at] as Reply[]);
  }

  #begin(root: string): Step {
    const answers = Promise.resolve().then(() => {
      if (this.#steps.get(root) === step) this.#steps.delete(root);
      return this.#link.runOutput('append-output', root, { pieces: step.pieces.flat() }, step.pieces.length) as Promise<Reply[]>;
    });
    const step: Step = { pieces: [], characters: 0, answers };
    this.#steps.set(root, step);
    return step;
  }
}

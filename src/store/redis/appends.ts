/** Pieces of output that turns of one workspace append at the same time, as those of a crowd do at its beat, in one step. */
import { limits } from '../../limits.ts';
import { Gathering } from './gathering.ts';
import type { Link } from './link.ts';
import type { Reply } from './reply.ts';

/** The arguments of one piece, in the order of the step `append-output`. */
export type Piece = readonly [session: string, turn: string, epoch: number, owner: string, position: number, count: number, text: string, lease: number | ''];

export class Appends {
  readonly #pieces: Gathering<Piece, Reply[]>;

  constructor(link: Link) {
    const send = (root: string, pieces: readonly Piece[]) => link.runOutput('append-output', root, { pieces: pieces.flat() }, pieces.length) as Promise<Reply[][]>;
    // While a step runs, Redis serves no other call.
    this.#pieces = new Gathering(send, { itemsMax: limits.redisAppendsMax, weightMax: limits.redisAppendCharactersMax, weightOf: (piece) => piece[6].length });
  }

  /** Appends a piece; resolves with its own answer. */
  add(root: string, piece: Piece): Promise<Reply[]> {
    return this.#pieces.add(root, piece);
  }
}

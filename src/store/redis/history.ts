/** The history of each actor: a list, to which the steps that move the actor append. */
import type { HistoryKind, HistoryStore, Move } from '../store.ts';
import { packMove, unpackMove } from '../moves.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { Argument, RedisReply } from './reply.ts';

/** A move as the scripts take it; empty without one. */
export const moveField = (move: Move | null | undefined): { move: Argument } => ({ move: move ? packMove(move) : '' });

export class RedisHistory implements HistoryStore {
  readonly #link: RedisLink;
  readonly #roots: Roots;

  constructor(link: RedisLink, roots: Roots) {
    this.#link = link;
    this.#roots = roots;
  }

  async read(kind: HistoryKind, workspaceId: string, id: string): Promise<Move[]> {
    const key = `${this.#roots.workspace(workspaceId)}:history:${kind}:${part(id)}`;
    return ((await this.#link.send(key, 'LRANGE', key, 0, -1)) as RedisReply[]).map((row) => unpackMove(row as Buffer));
  }
}

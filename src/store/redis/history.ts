/** What moved each actor: a list for each, which the steps that move it append to. */
import type { HistoryKind, HistoryStore, Move } from '../../store.ts';
import { packMove, unpackMove } from '../moves.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { Link } from './link.ts';
import type { Argument, Reply } from './reply.ts';

/** A move as the scripts take it; empty if there is none. */
export const moveField = (move: Move | null | undefined): { move: Argument } => ({ move: move ? packMove(move) : '' });

export class RedisHistory implements HistoryStore {
  readonly #link: Link;
  readonly #roots: Roots;

  constructor(link: Link, roots: Roots) {
    this.#link = link;
    this.#roots = roots;
  }

  async read(kind: HistoryKind, workspaceId: string, id: string): Promise<Move[]> {
    const key = `${this.#roots.workspace(workspaceId)}:history:${kind}:${part(id)}`;
    return ((await this.#link.send(key, 'LRANGE', key, 0, -1)) as Reply[]).map((row) => unpackMove(row as Buffer));
  }
}

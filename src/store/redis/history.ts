/** The history of each actor: a list, to which the steps that move the actor append. */
import type { HistoryKind, HistoryStore, Move } from '../store.ts';
import { packMove, unpackMove } from '../moves.ts';
import { packer } from '../packer.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { Argument } from './reply.ts';
import { bytesOfReply, listOfReply } from './reply.ts';

/** A move as the scripts take it; empty without one. */
export const moveField = (move: Move | null | undefined): { move: Argument } => ({ move: move ? packMove(move) : '' });

/** A time that no move has; it is packed in as many bytes as one. */
const markedMs = 0x1fedcba987654;

/** A time in milliseconds as it is within a packed move. */
export const packedTime = (atMs: number): Uint8Array => packer.pack(atMs)!;

/** The bytes of a packed move before its time and after it: a script stores the move once it knows the time. */
export function moveAround(move: Move): { readonly head: Argument; readonly tail: Argument } {
  const bytes = Buffer.from(packMove({ ...move, atMs: markedMs }));
  const time = packedTime(markedMs);
  const at = bytes.indexOf(time);
  return { head: bytes.subarray(0, at), tail: bytes.subarray(at + time.length) };
}

export class RedisHistory implements HistoryStore {
  readonly #link: RedisLink;
  readonly #roots: Roots;

  constructor(link: RedisLink, roots: Roots) {
    this.#link = link;
    this.#roots = roots;
  }

  async read(kind: HistoryKind, workspaceId: string, id: string): Promise<Move[]> {
    const key = `${this.#roots.workspace(workspaceId)}:history:${kind}:${part(id)}`;
    return listOfReply(await this.#link.send(key, 'LRANGE', key, 0, -1)).map((row) => unpackMove(bytesOfReply(row)));
  }
}

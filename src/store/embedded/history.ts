/** What moved each actor: a row for each step, written by the step. */
import type { HistoryKind, HistoryStore, Move } from '../../store.ts';
import type { Draft, Ledger } from '../ledger.ts';
import { moveOfRow, moveRow, movesKept } from '../moves.ts';
import * as keys from './keys.ts';

/** Adds a step to an actor's history, and drops the step that is too old to be kept. */
export function putMove(draft: Draft, kind: HistoryKind, workspaceId: string, id: string, move: Move | null | undefined): void {
  if (!move) return;
  draft.put(keys.move(kind, workspaceId, id, move.seq), moveRow(move));
  if (move.seq > movesKept) draft.remove(keys.move(kind, workspaceId, id, move.seq - movesKept));
}

export class History implements HistoryStore {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  async read(kind: HistoryKind, workspaceId: string, id: string): Promise<Move[]> {
    const prefix = keys.history(kind, workspaceId, id);
    return Array.from(this.#ledger.scan<Parameters<typeof moveOfRow>[0]>(prefix, keys.endOf(prefix)), ([, row]) => moveOfRow(row));
  }
}

/** The part of a store that reads the histories of actors. The steps that move actors write them. */
import type { HistoryKind, Move } from '../records.ts';

export interface HistoryStore {
  /**
   * Returns the actor's moves, oldest first: the newest `historyKept` steps, and as many before them as a fold needs
   * that begins at a stored snapshot. Empty if there is no such actor. Steps of versions that kept no history are
   * missing.
   */
  read(kind: HistoryKind, workspaceId: string, id: string): Promise<Move[]>;
}

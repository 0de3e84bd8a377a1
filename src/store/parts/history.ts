/** The part of a store that finds what moved an actor. The steps that move actors write it. */
import type { HistoryKind, Move } from '../../records.ts';

export interface HistoryStore {
  /**
   * What moved the actor, oldest first: the newest `historyKept` steps, and as many before them as a fold needs that begins at a
   * stored snapshot. Empty if there is no such actor. Steps of versions that kept no history are missing.
   */
  read(kind: HistoryKind, workspaceId: string, id: string): Promise<Move[]>;
}

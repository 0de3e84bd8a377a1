/** The rows of sessions and turns. */
import type { Fence, Session, Turn } from '../../store.ts';

export interface SessionRow {
  readonly session: Session;
  readonly version: number;
  /** The turn withdrawn last and the version that this made: the turn has no row left from which a second sending could be answered. */
  readonly withdrawn: { readonly turnId: string; readonly fence: Fence; readonly version: number } | null;
}

/** A turn that is over: one in flight is in the row of its flight. */
export interface TurnRow {
  readonly turn: Turn;
  /** The answers of the steps that began and finished the turn, to return them again. */
  readonly begun: { readonly fence: Fence; readonly version: number };
  /** Null only in rows of earlier versions, which had one for a turn in flight too. */
  readonly finished: { readonly fence: Fence; readonly version: number } | null;
  /** True if the finished turn must not be withdrawn any more. */
  readonly claimed?: boolean;
}

/** The rows of sessions, turns and messages. */
import type { MoveRow } from '../moves.ts';
import type { Fence, Message, Session, Turn } from '../store.ts';

export interface StoredSession {
  readonly session: Session;
  readonly version: number;
  /**
   * The turn withdrawn last and the version that this made: the turn has no row left from which a second sending could
   * be answered.
   */
  readonly withdrawn: { readonly turnId: string; readonly fence: Fence; readonly version: number } | null;
}

/**
 * The steps of its session that began and ended a turn. The first is absent where it has a row of its own, as behind an
 * import; each where the step has no history.
 */
export interface TurnMoves {
  readonly begun?: MoveRow;
  readonly ended?: MoveRow;
}

/** A turn that is over: one in flight is in the row of its flight. */
export interface StoredTurn {
  readonly turn: Turn;
  /** The answers of the steps that began and finished the turn, to return them again. */
  readonly begun: { readonly fence: Fence; readonly version: number };
  /** Null only in rows of earlier versions, which had one for a turn in flight too. */
  readonly finished: { readonly fence: Fence; readonly version: number } | null;
  /** True if the finished turn must not be withdrawn any more. */
  readonly claimed?: boolean;
  /** Absent in rows of imports, and of earlier versions, which gave them rows of their own. */
  readonly moves?: TurnMoves;
}

/** Both messages of a turn that is over, under the index of the user's. */
export interface ExchangeRow {
  readonly said: Message;
  readonly reply: Message;
}

/** A greeting, the messages of an import and those of earlier versions have rows of their own. */
export type StoredMessage = Message | ExchangeRow;

/** The messages of a row, by index. */
export const messagesOf = (index: number, row: StoredMessage): [index: number, message: Message][] =>
  'said' in row
    ? [
        [index, row.said],
        [index + 1, row.reply],
      ]
    : [[index, row]];

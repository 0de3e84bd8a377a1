/** The rows of sessions, turns and messages. */
import type { MoveRow } from '../moves.ts';
import type { Feedback, Fence, Message, Session, Turn } from '../store.ts';

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
 * The steps of its session that began and ended a turn. The first is absent if it has a separate row, as after an
 * import; each is absent if its history is not recorded.
 */
export interface TurnMoves {
  readonly begun?: MoveRow;
  readonly ended?: MoveRow;
}

/** An ended turn; the row of its flight holds a turn in flight. */
export interface StoredTurn {
  readonly turn: Turn;
  /** The answers of the steps that began and finished the turn, to return them again. */
  readonly begun: { readonly fence: Fence; readonly version: number };
  /** Null only in rows of earlier versions, which had one for a turn in flight too. */
  readonly finished: { readonly fence: Fence; readonly version: number } | null;
  /** True if the finished turn must not be withdrawn any more. */
  readonly claimed?: boolean;
  readonly feedback?: Feedback;
  /** Absent in rows of imports, and of earlier versions, which stored them in separate rows. */
  readonly moves?: TurnMoves;
}

/** A session at the desk: it waits for a person, or has one. */
export interface DeskRow {
  readonly workspaceId: string;
  readonly sessionId: string;
}

/** Both messages of an ended turn, under the index of the user's message. */
export interface ExchangeRow {
  readonly said: Message;
  readonly reply: Message;
}

/** A greeting and the messages of imports and earlier versions have separate rows. */
export type StoredMessage = Message | ExchangeRow;

/** The messages of a row, by index. */
export const messagesOf = (index: number, row: StoredMessage): [index: number, message: Message][] =>
  'said' in row
    ? [
        [index, row.said],
        [index + 1, row.reply],
      ]
    : [[index, row]];

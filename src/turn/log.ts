/**
 * A turn's output: one append-only text with many cursors (idea 3 of the architecture). Positions count Unicode code
 * points. Text becomes visible to cursors only once the store has it: that is the output gate.
 */
import type { AnswerCut } from '../../machines/turn.ts';
import type { ModelUsage } from '../providers/model.ts';
import type { PendingCall, StopReason, ToolCall, Turn } from '../store/store.ts';
import { codePoints, indexAfter } from '../base/text.ts';
import { pendingOf } from './pending-tool-calls.ts';

/** The end of a turn, as its readers see it. */
export type TurnEnd =
  | {
      type: 'completed';
      inputTokens: number;
      outputTokens: number;
      /** Absent for none. */
      cachedInputTokens?: number;
      cut?: AnswerCut;
      pending?: readonly PendingCall[];
    }
  | { type: 'aborted'; isTaken?: true }
  | { type: 'failed'; errorCode: string };

/** The tool calls of a turn's end that wait for the caller. */
export const waitingCalls = (end: TurnEnd | null): readonly PendingCall[] =>
  end?.type === 'completed' ? (end.pending ?? []) : [];

/** The reason why the reply of a completed turn is incomplete; null if it is complete, or the turn is not completed. */
export const cutOf = (end: TurnEnd | null): AnswerCut | null => (end?.type === 'completed' ? (end.cut ?? null) : null);

/** The end of a stored turn; null while it streams. */
export function terminalOf(turn: Turn, calls: readonly ToolCall[] = []): TurnEnd | null {
  if (turn.status === 'streaming') return null;
  if (turn.status === 'completed') {
    return completedEnd(turn, turn.stopReason, calls);
  }
  if (turn.status === 'aborted') return abortedEnd(turn.stopReason);
  return { type: 'failed', errorCode: turn.errorCode ?? 'api_error' };
}

/** The end of an aborted turn: on request, or because a person has taken the session. */
export const abortedEnd = (stopReason: StopReason | null): TurnEnd =>
  stopReason === 'taken' ? { type: 'aborted', isTaken: true } : { type: 'aborted' };

/** The end of a completed turn. `calls`: the tool calls of its message. */
export function completedEnd(
  { inputTokens, outputTokens, cachedInputTokens }: ModelUsage,
  stopReason: StopReason | null,
  calls: readonly ToolCall[],
): TurnEnd {
  const end = {
    type: 'completed',
    inputTokens,
    outputTokens,
    ...(cachedInputTokens && { cachedInputTokens }),
  } as const;
  if (stopReason === 'tool_calls') return { ...end, pending: pendingOf(calls) };
  return stopReason === 'length' || stopReason === 'content_filter' ? { ...end, cut: stopReason } : end;
}

/** The token counts of a completed turn, as clients read them. */
export const usageOf = ({ inputTokens, outputTokens, cachedInputTokens = 0 }: TurnEnd & { type: 'completed' }) => ({
  input_tokens: inputTokens,
  output_tokens: outputTokens,
  cached_input_tokens: cachedInputTokens,
});

/** A mark of a tool call in the log (contract 13): readers learn that it was sent, or that it has its result. */
export interface CallMark {
  readonly kind: 'started' | 'ended';
  readonly call: ToolCall;
}

/** A mark and its position in the output. */
interface PlacedMark extends CallMark {
  readonly position: number;
}

export class TurnLog {
  /** The pieces in order, and for each piece the number of code points up to its end. */
  readonly pieces: string[] = [];
  readonly ends: number[] = [];
  /**
   * The marks of tool calls so far, in order: all of them are stored, and so is the text before each. Null without tool
   * calls.
   */
  marks: PlacedMark[] | null = null;
  /** The stored pieces and code points, which cursors may see. */
  storedPieces = 0;
  stored = 0;
  terminal: TurnEnd | null = null;
  /** The turn left nothing behind: it failed before its first output. */
  withdrawn = false;
  /** The end is unknown to this process: its readers are cut off, and learn the end when they resume. */
  cutOff = false;
  /** Called once when an abandoned log gets a follower again. */
  onFollowed: (() => void) | null = null;
  #appended = 0;
  #taken = 0;
  /** The stored pieces of a spoken reply, and the code points that its listener has heard. */
  #kept = 0;
  #released: number | null = null;
  /** The callbacks for more output; usually one. */
  #followers: (() => void)[] = [];

  /**
   * Makes the log of a stored turn: of all its output if it has ended (`terminal`), otherwise of the output stored so
   * far.
   */
  static replay(text: string, terminal: TurnEnd | null, calls: readonly ToolCall[] = []): TurnLog {
    const log = new TurnLog();
    log.add(text, calls);
    if (terminal !== null) log.close(terminal);
    return log;
  }

  /** The log of a reply that is spoken: cursors see what its listener has heard (contract 18). */
  static released(): TurnLog {
    const log = new TurnLog();
    log.#released = 0;
    return log;
  }

  /** Code points appended so far. */
  get length(): number {
    return this.#appended;
  }

  /** Appends stored text, with the new steps of the turn's tool calls. A mark stands between two pieces. */
  add(text: string, calls: readonly ToolCall[]): void {
    let from = 0;
    const upTo = (position: number): void => {
      const end = from + indexAfter(text.slice(from), Math.max(0, position - this.#appended));
      if (end > from) this.append(text.slice(from, end));
      from = end;
      this.take();
      this.commit(this.pieces.length);
    };
    for (const call of calls) {
      const marks = this.#newOf(call);
      if (marks.length === 0) continue;
      upTo(call.position);
      for (const mark of marks) this.mark(mark);
    }
    upTo(Infinity);
  }

  /**
   * Takes the new steps of tool calls, after the text that cursors may see: text beyond it may never have been stored.
   */
  learn(calls: readonly ToolCall[]): void {
    for (const mark of calls.flatMap((call) => this.#newOf(call)))
      (this.marks ??= []).push({ ...mark, position: this.stored });
    this.#wake();
  }

  #newOf(call: ToolCall): CallMark[] {
    return marksOf(call).filter(
      ({ kind }) => !this.marks?.some((mark) => mark.kind === kind && mark.call.id === call.id),
    );
  }

  /** Notifies readers of a tool call's mark, after the output so far. */
  mark(mark: CallMark): void {
    (this.marks ??= []).push({ ...mark, position: this.#released === null ? this.#appended : this.stored });
    this.#wake();
  }

  /** Counts pieces and marks that cursors may see. */
  get shown(): number {
    return this.stored + (this.marks?.length ?? 0);
  }

  append(piece: string): void {
    this.#appended += codePoints(piece);
    this.pieces.push(piece);
    this.ends.push(this.#appended);
  }

  /**
   * The output that no write has taken yet, and its position; null without any. It is one piece from now on: it is
   * stored as one, and fewer pieces live as long as the turn.
   */
  take(): { position: number; text: string; pieces: number } | null {
    const count = this.pieces.length - this.#taken;
    if (count === 0) return null;
    const position = this.#taken === 0 ? 0 : this.ends[this.#taken - 1]!;
    // The pieces of a spoken reply are its words, which cursors see one by one.
    if (count > 1 && this.#released !== null) {
      const text = this.pieces.slice(this.#taken).join('');
      this.#taken = this.pieces.length;
      return { position, text, pieces: this.#taken };
    }
    if (count > 1) {
      this.pieces.push(this.pieces.splice(this.#taken).join(''));
      this.ends.splice(this.#taken, count - 1);
    }
    this.#taken = this.pieces.length;
    return { position, text: this.pieces[this.#taken - 1]!, pieces: this.#taken };
  }

  /** Whether a write has taken output. */
  get isTaken(): boolean {
    return this.#taken > 0;
  }

  /** Drops the output of a model that has failed, before a write has taken any. */
  discard(): void {
    if (this.isTaken) throw new Error('A write has taken output of the turn.');
    this.pieces.length = this.ends.length = this.#appended = 0;
  }

  /** The output without a confirmed store, and the position it begins at. */
  rest(): { position: number; text: string } {
    if (this.#released === null) return { position: this.stored, text: this.pieces.slice(this.storedPieces).join('') };
    return { position: this.kept, text: this.pieces.slice(this.#kept).join('') };
  }

  /** Code points that the store has. */
  get kept(): number {
    if (this.#released === null) return this.stored;
    return this.#kept === 0 ? 0 : this.ends[this.#kept - 1]!;
  }

  /**
   * The listener has heard the first `points` code points, which end with a piece. Cursors see them once the store has
   * them.
   */
  release(points: number): void {
    if (this.#released === null || points <= this.#released) return;
    this.#released = points;
    this.#show(this.#kept);
  }

  /** Marks the first `pieces` pieces as stored. */
  commit(pieces: number): void {
    if (this.#released !== null) this.#kept = Math.max(this.#kept, pieces);
    this.#show(pieces);
  }

  #show(stored: number): void {
    let pieces = stored;
    if (this.#released !== null) {
      pieces = this.storedPieces;
      while (pieces < stored && this.ends[pieces]! <= this.#released) pieces++;
    }
    if (pieces <= this.storedPieces) return;
    this.storedPieces = pieces;
    this.stored = this.ends[pieces - 1]!;
    this.#wake();
  }

  /** Marks the first `stored` code points as stored, because the store has them. All of them were appended here. */
  commitUpTo(stored: number): void {
    let pieces = this.storedPieces;
    while (pieces < this.ends.length && this.ends[pieces]! <= stored) pieces++;
    this.commit(pieces);
  }

  /** Ends the log without an end of the turn, which is unknown here. */
  cut(): void {
    if (this.terminal !== null || this.cutOff) return;
    this.cutOff = true;
    this.#wake();
    this.#followers.length = 0;
  }

  /**
   * Ends the log. Output that was never stored stays invisible, unless the step that stored the end also stored `all`
   * output.
   */
  close(terminal: TurnEnd, all = false): void {
    if (this.terminal !== null) return;
    if (all && this.#released !== null) this.commit(this.pieces.length);
    this.terminal = terminal;
    if (all && this.#released === null) {
      this.storedPieces = this.pieces.length;
      this.stored = this.#appended;
    }
    this.#wake();
    this.#followers.length = 0;
  }

  /** Whether the log has followers. */
  get followed(): boolean {
    return this.#followers.length > 0;
  }

  /** Calls back whenever there is more to read; returns a function that stops it. */
  follow(callback: () => void): () => void {
    // The usual single follower: an array that grows by `push` reserves room for seventeen.
    this.#followers = this.#followers.concat(callback);
    const { onFollowed } = this;
    this.onFollowed = null;
    onFollowed?.();
    return () => {
      const at = this.#followers.indexOf(callback);
      if (at >= 0) this.#followers.splice(at, 1);
    };
  }

  #wake(): void {
    // From the last one, because a follower that has read the end removes itself from the array.
    for (let at = this.#followers.length - 1; at >= 0; at--) this.#followers[at]?.();
  }
}

/**
 * The marks of a stored tool call. A call that waits for the caller has none, and neither has one that was declined;
 * its answer belongs to a later turn.
 */
function marksOf(call: ToolCall): CallMark[] {
  if (call.wants !== undefined) return [];
  const ended: CallMark[] = call.status === 'running' ? [] : [{ kind: 'ended', call }];
  return call.sent ? [{ kind: 'started', call }, ...ended] : ended;
}

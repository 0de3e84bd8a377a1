/**
 * A cursor that turns a log into an event stream. If the client is slow, the cursor falls behind and then sends fewer,
 * larger events.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { codePoints, endsInHalf, indexAfter } from '../base/text.ts';
import type { CallMark, TurnEnd, TurnLog } from './log.ts';

/** The stream that a reader writes to. */
export interface Sink {
  /** With `last` the terminal follows at once, so both may be sent together. */
  delta(text: string, position: number, last: boolean): boolean;
  /** A step of a call of a tool. */
  mark(mark: CallMark, position: number): boolean;
  terminal(terminal: TurnEnd, position: number): void;
  /** Ends the stream without a terminal. */
  cut(): void;
  heartbeat(): boolean;
  onDrain(callback: () => void): void;
}

export class TurnReader {
  readonly #log: TurnLog;
  readonly #sink: Sink;
  readonly #clock: Clock;
  /** Null before it follows the log. */
  #leave: (() => void) | null = null;
  /** The next piece, where in it to begin, and the code points already sent. */
  #piece: number;
  #index: number;
  #position: number;
  /** The next mark. */
  #mark = 0;
  #blocked = false;
  #done = false;
  #sentAt: number;
  #heart: Timer | null = null;

  /** Begins behind `position`, which must not lie beyond the stored output. */
  constructor(log: TurnLog, position: number, sink: Sink, clock: Clock) {
    this.#log = log;
    this.#sink = sink;
    this.#clock = clock;
    this.#position = position;
    this.#piece = pieceAt(log.ends, position);
    const before = this.#piece === 0 ? 0 : log.ends[this.#piece - 1]!;
    this.#index = position > before ? indexAfter(log.pieces[this.#piece]!, position - before) : 0;
    // The marks at the position are sent again: the server cannot know which of them the client has.
    while (log.marks !== null && this.#mark < log.marks.length && log.marks[this.#mark]!.position < position)
      this.#mark++;
    this.#sentAt = clock.monotonic();
    sink.onDrain(() => {
      this.#blocked = false;
      this.#pump();
    });
  }

  /**
   * Sends the output stored so far, and follows the log unless the turn has ended: a short reply has often ended before
   * its reader starts.
   */
  start(): void {
    this.#pump();
    if (this.#done) return;
    this.#leave = this.#log.follow(() => this.#pump());
    this.#heart = this.#clock.after(limits.heartbeatMs, () => this.#beat());
  }

  /** Stops the reader when the client has gone. */
  stop(): void {
    this.#done = true;
    this.#leave?.();
    this.#heart?.cancel();
  }

  #pump(): void {
    while (!this.#done && !this.#blocked) {
      const mark = this.#log.marks?.[this.#mark];
      if (mark !== undefined && mark.position <= this.#position) this.#sendMark(mark);
      else if (this.#piece < this.#log.storedPieces) this.#sendPieces(mark?.position ?? Infinity);
      else if (this.#log.terminal !== null) return this.#finish(this.#log.terminal);
      else if (this.#log.cutOff) return this.#cutOff();
      else return;
    }
  }

  #sendMark(mark: CallMark): void {
    this.#mark++;
    this.#sentAt = this.#clock.monotonic();
    this.#blocked = !this.#sink.mark(mark, this.#position);
  }

  /** `until`: the position of the next mark, which stands between two pieces. */
  #sendPieces(until: number): void {
    const { pieces, ends, storedPieces } = this.#log;
    let text = pieces[this.#piece]!.slice(this.#index);
    this.#index = 0;
    this.#piece++;
    while (
      this.#piece < storedPieces &&
      ends[this.#piece - 1]! < until &&
      text.length + pieces[this.#piece]!.length <= limits.deltaCharactersMax
    )
      text += pieces[this.#piece++]!;
    if (text.length > limits.deltaCharactersMax) text = this.#cut(text);
    this.#position = this.#index === 0 ? ends[this.#piece - 1]! : this.#position + codePoints(text);
    this.#sentAt = this.#clock.monotonic();
    const last = this.#log.terminal !== null && this.#piece === storedPieces && until === Infinity;
    this.#blocked = !this.#sink.delta(text, this.#position, last);
  }

  /**
   * Takes the beginning of a piece that is longer than an event may be, and stays within the piece; never cuts inside a
   * surrogate pair.
   */
  #cut(text: string): string {
    let end = limits.deltaCharactersMax;
    if (endsInHalf(text.slice(0, end))) end--;
    this.#piece--;
    this.#index = this.#log.pieces[this.#piece]!.length - (text.length - end);
    return text.slice(0, end);
  }

  #finish(terminal: TurnEnd): void {
    this.stop();
    this.#sink.terminal(terminal, this.#position);
  }

  #cutOff(): void {
    this.stop();
    this.#sink.cut();
  }

  // Re-armed lazily: a stream that flows costs one timer for every heartbeat's time, not one for every event.
  #beat(): void {
    if (this.#done) return;
    const silence = this.#clock.monotonic() - this.#sentAt;
    const due = silence >= limits.heartbeatMs;
    if (due) {
      this.#sentAt = this.#clock.monotonic();
      if (!this.#blocked) this.#blocked = !this.#sink.heartbeat();
    }
    this.#heart = this.#clock.after(due ? limits.heartbeatMs : limits.heartbeatMs - silence, () => this.#beat());
  }
}

/** The first piece that reaches beyond `position`. */
function pieceAt(ends: readonly number[], position: number): number {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle]! <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

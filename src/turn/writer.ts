/**
 * Stores a turn's output as it comes; in a crowd in fewer and larger pieces, at a beat. Pieces go from the log into the
 * store and from there to the readers.
 */
import type { Clock } from '../base/clock.ts';
import type { ModelStream } from '../providers/model.ts';
import { StoreUnavailable, type AppendResult, type StopRequest } from '../store/store.ts';
import type { Pace } from './pace.ts';
import type { TurnLog } from './log.ts';
import { appendRetryMsMax, retryMs } from '../base/store-retry.ts';

/** The turn, as its writer reports to it. */
export interface WriterEvents {
  /** Whether output is stored, and whether the model still produces it. */
  readonly stores: boolean;
  readonly listens: boolean;
  /** Whether a piece that the store rejected is sent again. */
  readonly retries: boolean;
  /** Whether another model is asked if this one fails before a write has taken output. */
  readonly hasFallback: boolean;
  readonly model: ModelStream | null;
  stored(): void;
  unstored(error: unknown): void;
  taken(): void;
  stopRequested(reason: StopRequest): void;
}

export class Writer {
  readonly #log: TurnLog;
  readonly #turn: WriterEvents;
  readonly #append: (position: number, text: string) => Promise<AppendResult>;
  readonly #pace: Pace;
  readonly #clock: Clock;
  #writing: Promise<void> | null = null;
  /** Whether the next write waits for a beat. */
  #paced = false;
  /** Whether the model is not read before a beat. */
  #held = false;

  constructor(
    log: TurnLog,
    turn: WriterEvents,
    append: (position: number, text: string) => Promise<AppendResult>,
    { pace, clock }: { readonly pace: Pace; readonly clock: Clock },
  ) {
    this.#log = log;
    this.#turn = turn;
    this.#append = append;
    this.#pace = pace;
    this.#clock = clock;
  }

  /** Resolves once no write is under way. */
  get idle(): Promise<void> | null {
    return this.#writing;
  }

  /**
   * A piece has come from the model: in a crowd the model is not read until the beat, so that its output until then is
   * read, stored and sent as one piece.
   */
  note(): void {
    this.#pace.note();
    if (this.#pace.crowded) this.#holdModel();
  }

  /** Stores what the log has; at the next beat, if the writes wait for one. */
  begin(): void {
    if (!this.#paced) this.start();
  }

  /**
   * Stores the log's new output at once. In a crowd, and before the first output of a turn with a fallback model, the
   * write waits until everything ready has been read: pieces may be read record by record, each with separate promises,
   * and a failure may follow them.
   */
  start(): void {
    this.#writing ??= (this.#held || this.#turn.hasFallback ? this.#pace.turnEnd() : Promise.resolve()).then(() =>
      this.#write(),
    );
  }

  /** Makes one write of everything that comes until the next beat. */
  #waitForBeat(): void {
    this.#paced = true;
    this.#pace.next(() => {
      this.#paced = false;
      if (this.#turn.listens) this.start();
    });
  }

  #holdModel(): void {
    const { model } = this.#turn;
    if (this.#held || model?.hold === undefined) return;
    this.#held = true;
    model.hold();
    this.#pace.next(() => {
      this.#held = false;
      model.resume?.();
    });
  }

  async #write(): Promise<void> {
    const turn = this.#turn;
    let fresh: ReturnType<TurnLog['take']> = null;
    let tries = 0;
    let answer: AppendResult;
    while (turn.stores) {
      fresh ??= this.#log.take();
      if (fresh === null) break;
      try {
        answer = await this.#append(fresh.position, fresh.text);
      } catch (error) {
        if (turn.retries && error instanceof StoreUnavailable) {
          await pause(this.#clock, Math.min(retryMs(tries++), appendRetryMsMax));
          continue;
        }
        turn.unstored(error);
        break;
      }
      if (answer === 'fenced') {
        turn.taken();
        break;
      }
      if (typeof answer === 'object') turn.stopRequested(answer.stop);
      // A person has taken the session: the piece was not stored.
      if (typeof answer === 'object' && answer.stop === 'taken') break;
      this.#log.commit(fresh.pieces);
      fresh = null;
      tries = 0;
      turn.stored();
      if (this.#pace.busy && !this.#held) {
        this.#waitForBeat();
        break;
      }
    }
    this.#writing = null;
  }
}

export const pause = (clock: Clock, delayMs: number): Promise<void> =>
  new Promise((resolve) => void clock.after(delayMs, resolve));

/**
 * One turn in flight: takes what the model gives, lets the store's cursor go first, and seals the turn whatever ends it.
 * It belongs to the session, not to the request that began it.
 */
import type { Clock, Timer } from '../clock.ts';
import { limits } from '../limits.ts';
import type { ModelCall, ModelFailure, ModelSink, ModelUsage } from '../model.ts';
import { endsInHalf } from '../text.ts';
import { TurnLog, type Terminal } from '../turn.ts';
import type { Pace } from './pace.ts';

/** What ends a turn. Time limit, output limit, drain and store faults are ours: `api_error`. */
export type TurnOutcome =
  | { status: 'completed'; stopReason: 'end'; errorCode: null }
  | { status: 'aborted'; stopReason: 'aborted'; errorCode: null }
  | { status: 'failed'; stopReason: 'error'; errorCode: 'assistant_unavailable' | 'api_error' }
  | { status: 'failed'; stopReason: 'expired'; errorCode: 'session_expired' };

const outcomes = {
  completed: { status: 'completed', stopReason: 'end', errorCode: null },
  aborted: { status: 'aborted', stopReason: 'aborted', errorCode: null },
  expired: { status: 'failed', stopReason: 'expired', errorCode: 'session_expired' },
  provider: { status: 'failed', stopReason: 'error', errorCode: 'assistant_unavailable' },
  late: { status: 'failed', stopReason: 'error', errorCode: 'api_error' },
  ours: { status: 'failed', stopReason: 'error', errorCode: 'api_error' },
} as const satisfies Record<string, TurnOutcome>;

/** What the runner does to the world, as the host has it. */
export interface TurnEffects {
  append(position: number, text: string): Promise<'stored' | 'fenced'>;
  /**
   * Seals the turn with its last output, or (null) as the store has it; resolves with the tokens that were counted. Rejects if the
   * store is away, or has forgotten what the output stands behind.
   */
  finish(outcome: TurnOutcome, tail: { position: number; text: string } | null, usage: ModelUsage | null, length: number): Promise<'fenced' | ModelUsage>;
  /** Undoes a turn that failed before its first output. */
  withdraw(): Promise<void>;
  /** For the log and the metrics. */
  providerFailed(reason: ModelFailure): void;
  /** The turn is sealed or withdrawn; called once. */
  over(status: TurnOutcome['status'] | 'withdrawn'): void;
}

/** Why a turn is stopped. `late`: its time limit; `ours`: a drain or a fault of our own. Of both the client hears `api_error`. */
export type Stop = 'aborted' | 'expired' | 'late' | 'ours';

/**
 * What a waiting request hears: its turn began (text is stored, or the turn is sealed), it failed before its first
 * output, it ran out of its time before that, or we could not serve it.
 */
export type Begun = { kind: 'begun' } | { kind: 'withdrawn' } | { kind: 'late' } | { kind: 'unavailable' };

const sealRetryMs = 1000;

export class TurnRunner {
  readonly turnId: string;
  readonly messageId: string;
  readonly log = new TurnLog();
  /** Settles when the stream may begin, or when it never will. */
  readonly begun: Promise<Begun>;
  /** Resolves once the turn is sealed or withdrawn. */
  readonly over: Promise<void>;
  /** Resolves once readers know how the turn ended: whether that is stored, or the store is away and will be asked again. */
  readonly settled: Promise<boolean>;
  readonly #effects: TurnEffects;
  readonly #clock: Clock;
  readonly #pace: Pace;
  #announceBegun!: (begun: Begun) => void;
  #announceOver!: () => void;
  #announceSettled!: (stored: boolean) => void;
  #call: ModelCall | null = null;
  #usage: ModelUsage | null = null;
  /** A high surrogate whose other half has not come yet. */
  #half = '';
  #phase: 'waiting' | 'streaming' | 'sealing' | 'over' = 'waiting';
  #writing: Promise<void> | null = null;
  /** The next write waits for a beat. */
  #paced = false;
  /** The model is not heard before a beat. */
  #held = false;
  #timer: Timer;

  constructor(turn: { turnId: string; messageId: string }, effects: TurnEffects, clock: Clock, pace: Pace, turnMsMax: number) {
    this.turnId = turn.turnId;
    this.messageId = turn.messageId;
    this.#effects = effects;
    this.#clock = clock;
    this.#pace = pace;
    this.begun = new Promise((resolve) => (this.#announceBegun = resolve));
    this.over = new Promise((resolve) => (this.#announceOver = resolve));
    this.settled = new Promise((resolve) => (this.#announceSettled = resolve));
    this.#timer = clock.after(turnMsMax, () => void this.stop('late'));
  }

  /** Calls the model. */
  start(call: (sink: ModelSink) => ModelCall): void {
    if (this.#phase !== 'waiting') return;
    this.#call = call({
      text: (piece) => this.#text(piece),
      usage: (usage) => (this.#usage = usage),
      end: () => this.#end(),
      failed: (reason) => this.#failed(reason),
    });
  }

  /** Fails the turn before a model was called: its credential or provider cannot be used. */
  refuse(reason: ModelFailure): void {
    this.#failed(reason);
  }

  /** Stops the turn and its provider at once; resolves as `settled` does. Does nothing to a turn that is over. */
  stop(reason: Stop): Promise<boolean> {
    if (this.#phase !== 'waiting' && this.#phase !== 'streaming') return this.settled;
    this.#call?.cancel();
    // Before the first output a failure is a status, so the turn leaves nothing behind.
    if (this.#phase === 'waiting' && (reason === 'ours' || reason === 'late')) this.#withdraw(reason === 'late' ? 'late' : 'unavailable');
    else this.#seal(outcomes[reason]);
    return this.settled;
  }

  /** Somebody else owns the turn, or may: nothing more is sent or stored, and it is sealed by whoever comes next. */
  lose(): void {
    if (this.#phase !== 'waiting' && this.#phase !== 'streaming') return;
    this.#lost(this.#phase === 'waiting' ? 'unavailable' : 'begun');
  }

  #text(piece: string): void {
    if (this.#phase !== 'waiting' && this.#phase !== 'streaming') return;
    const whole = this.#wholePoints(piece);
    if (whole === '') return;
    this.#phase = 'streaming';
    this.log.append(whole);
    if (this.log.length > limits.outputCharactersMax) {
      this.#call?.cancel();
      this.#seal(outcomes.ours);
      return;
    }
    this.#pace.note();
    if (this.#pace.crowded) this.#holdModel();
    if (!this.#paced) this.#startWriting();
  }

  /** The write waits for what arrives together: what is read in a crowd may come record by record, each with promises of its own. */
  #startWriting(): void {
    this.#writing ??= (this.#held ? this.#pace.turnEnd() : Promise.resolve()).then(() => this.#write());
  }

  /** Has what comes until the next beat be one write. */
  #waitForBeat(): void {
    this.#paced = true;
    this.#pace.next(() => {
      this.#paced = false;
      if (this.#phase === 'streaming') this.#startWriting();
    });
  }

  /** In a crowd the model is not even listened to until the beat: what it says meanwhile is then read, stored and sent as one. */
  #holdModel(): void {
    if (this.#held || this.#call?.hold === undefined) return;
    this.#held = true;
    this.#call.hold();
    this.#pace.next(() => {
      this.#held = false;
      this.#call?.resume?.();
    });
  }

  /** Keeps back half a surrogate pair, and mends what can never become one. */
  #wholePoints(piece: string): string {
    const text = this.#half + piece;
    const split = endsInHalf(text);
    this.#half = split ? text.slice(-1) : '';
    return (split ? text.slice(0, -1) : text).toWellFormed();
  }

  async #write(): Promise<void> {
    try {
      while (this.#phase === 'streaming') {
        const fresh = this.log.take();
        if (fresh === null) return;
        const answer = await this.#effects.append(fresh.position, fresh.text);
        if (answer === 'fenced') return this.#lost();
        this.log.commit(fresh.pieces);
        this.#announceBegun({ kind: 'begun' });
        if (this.#pace.busy && !this.#held) return this.#waitForBeat();
      }
    } catch {
      this.#storeFailed();
    } finally {
      this.#writing = null;
    }
  }

  #end(): void {
    if (this.#phase !== 'waiting' && this.#phase !== 'streaming') return;
    if (this.#half !== '') this.log.append('\ufffd');
    this.#seal(outcomes.completed);
  }

  #failed(reason: ModelFailure): void {
    if (this.#phase !== 'waiting' && this.#phase !== 'streaming') return;
    this.#effects.providerFailed(reason);
    if (this.#phase === 'waiting') this.#withdraw();
    else this.#seal(outcomes.provider);
  }

  /** Somebody else owns the turn now and has sealed it, or will. */
  #lost(kind: 'begun' | 'unavailable' = 'begun'): void {
    this.#call?.cancel();
    this.#close({ type: 'failed', errorCode: 'api_error' }, { kind }, 'failed');
  }

  /** The store refused output: the provider stops, readers hear it, and what is stored is sealed once the store is back. */
  #storeFailed(): void {
    if (this.#phase !== 'streaming') return;
    this.#call?.cancel();
    this.#giveUp();
    this.#seal(outcomes.ours, true);
  }

  /** Readers are not kept waiting for a store that is away. */
  #giveUp(): void {
    this.#announceBegun({ kind: 'unavailable' });
    this.log.close({ type: 'failed', errorCode: 'api_error' });
    this.#announceSettled(false);
  }

  /** `asItStands`: with what the store has, whatever that is; after a failover it may be less than readers have seen. */
  #seal(outcome: TurnOutcome, asItStands = false): void {
    this.#phase = 'sealing';
    this.#timer.cancel();
    void this.#sealOnce(outcome, asItStands);
  }

  async #sealOnce(outcome: TurnOutcome, asItStands = false): Promise<void> {
    if (this.#writing !== null) await this.#writing;
    const tail = asItStands ? null : this.log.rest();
    try {
      const counted = await this.#effects.finish(outcome, tail, this.#usage, asItStands ? this.log.stored : this.log.length);
      if (counted === 'fenced') return this.#lost();
      this.#close(terminalFor(outcome, counted), { kind: 'begun' }, outcome.status, !asItStands);
    } catch {
      this.#giveUp();
      this.#clock.after(sealRetryMs, () => void this.#sealOnce(outcomes.ours, true));
    }
  }

  #withdraw(kind: 'withdrawn' | 'late' | 'unavailable' = 'withdrawn'): void {
    this.#phase = 'sealing';
    this.#timer.cancel();
    this.#effects.withdraw().then(
      () => this.#close({ type: 'failed', errorCode: kind === 'withdrawn' ? 'assistant_unavailable' : 'api_error' }, { kind }, 'withdrawn'),
      () => {
        this.#giveUp();
        this.#clock.after(sealRetryMs, () => this.#withdraw(kind));
      },
    );
  }

  #close(terminal: Terminal, begun: Begun, status: TurnOutcome['status'] | 'withdrawn', all = false): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#timer.cancel();
    this.#effects.over(status);
    this.log.close(terminal, all);
    this.#announceBegun(begun);
    this.#announceSettled(true);
    this.#announceOver();
  }
}

const terminalFor = (outcome: TurnOutcome, usage: ModelUsage): Terminal => {
  if (outcome.status === 'completed') return { type: 'completed', ...usage };
  if (outcome.status === 'aborted') return { type: 'aborted' };
  return { type: 'failed', errorCode: outcome.errorCode };
};

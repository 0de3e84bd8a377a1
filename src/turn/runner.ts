/**
 * One turn in flight: takes the model's output, shows it only once it is stored, and seals the turn however it ends. The turn
 * belongs to the session, not to the request that began it.
 */
import { Announced } from '../announced.ts';
import type { Clock, Timer } from '../clock.ts';
import { limits, retryMs } from '../limits.ts';
import type { Member } from '../members.ts';
import type { TurnFault } from '../metrics.ts';
import type { ModelCall, ModelFailure, ModelSink, ModelUsage } from '../model.ts';
import { StoreUnavailable } from '../store.ts';
import { codePoints, endsInHalf } from '../text.ts';
import { TurnLog, type Terminal } from '../turn.ts';
import { faultOf, outcomes, terminalFor, type Begun, type Fate, type Stop, type TurnEffects, type TurnOutcome } from './outcome.ts';
import type { Pace } from './pace.ts';

/** How long readers wait for an end that is not known here, before their streams are cut. */
const readersWaitMs = limits.leaseMs + limits.fateReadersMs;

export class TurnRunner implements Member, ModelSink {
  readonly turnId: string;
  readonly messageId: string;
  /** In the list of the turns in flight; see `Member`. */
  place = -1;
  readonly log = new TurnLog();
  /** Resolves when the stream may begin, or when it is certain that it never will. */
  readonly begun: Promise<Begun>;
  readonly #effects: TurnEffects;
  readonly #clock: Clock;
  readonly #pace: Pace;
  #announceBegun!: (begun: Begun) => void;
  readonly #over = new Announced<void>();
  /** Whether the end of the turn is stored. */
  readonly #settled = new Announced<boolean>();
  #call: ModelCall | null = null;
  #usage: ModelUsage | null = null;
  /** A high surrogate whose other half has not come yet. */
  #half = '';
  #phase: 'waiting' | 'streaming' | 'sealing' | 'over' = 'waiting';
  #writing: Promise<void> | null = null;
  /** Whether the next write waits for a beat. */
  #paced = false;
  /** Whether the model is not read before a beat. */
  #held = false;
  #timer: Timer;
  /** Ends the streams of readers that have waited too long for the end. */
  #cut: Timer | null = null;
  #faulty = false;
  /** Whether the lease is no longer renewed. */
  #fenced = false;
  /** Whether another process owns the turn, and this one queries how the turn ended. */
  #losing = false;
  /** Whether the turn must leave nothing behind. */
  #withdrawing = false;

  constructor(turn: { turnId: string; messageId: string }, effects: TurnEffects, clock: Clock, pace: Pace, turnMsMax: number) {
    this.turnId = turn.turnId;
    this.messageId = turn.messageId;
    this.#effects = effects;
    this.#clock = clock;
    this.#pace = pace;
    this.begun = new Promise((resolve) => (this.#announceBegun = resolve));
    this.#timer = clock.after(turnMsMax, () => void this.stop('late'));
  }

  /** Resolves once the turn is sealed or withdrawn, or another process owns it. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Resolves once it is known whether the end of the turn is stored, or when the store did not answer and the end will be retried. */
  get settled(): Promise<boolean> {
    return this.#settled.promise;
  }

  /** Calls the model. */
  start(call: (sink: ModelSink) => ModelCall): void {
    if (this.#phase !== 'waiting') return;
    this.#call = call(this);
  }

  /** Fails the turn before its model is called, because its credential or provider cannot be used. */
  refuse(reason: ModelFailure): void {
    this.failed(reason);
  }

  /** Stops the turn and its provider at once; resolves as `settled` does. Has no effect on a turn that is over. */
  stop(reason: Stop): Promise<boolean> {
    if (this.#phase !== 'waiting' && this.#phase !== 'streaming') return this.settled;
    this.#call?.cancel();
    if (reason === 'late') this.#fault('time_limit');
    if (reason === 'drain') this.#fault('drain');
    // Before the first output a failure is answered with a status, so the turn leaves nothing behind.
    if (this.#phase === 'waiting' && (reason === 'drain' || reason === 'late')) this.#withdraw(reason === 'late' ? 'late' : 'unavailable');
    else this.#seal(outcomes[reason]);
    return this.settled;
  }

  /** Ends the turn for a fault of ours before its model was called. */
  fail(cause: unknown): void {
    if (this.#phase !== 'waiting') return;
    this.#fault(faultOf(cause), cause);
    this.#withdraw('unavailable');
  }

  /** The lease is no longer renewed, because another process has taken over the turn or its slot. The store decides which end the turn has. */
  fenced(): void {
    if (this.#phase !== 'waiting' && this.#phase !== 'streaming') return;
    if (this.log.stored === 0) return this.#lost();
    this.#call?.cancel();
    this.#fenced = true;
    this.#seal(outcomes.ours);
  }

  /** The lease cannot be renewed: the model's output is not taken any more. Readers get the end once the store has answered. */
  lose(): void {
    if (this.#phase !== 'waiting' && this.#phase !== 'streaming') return;
    this.#fault('lease_lost');
    this.#call?.cancel();
    if (this.log.stored === 0) this.#refuse();
    else this.#seal(outcomes.ours);
  }

  /** What the model says: these four methods are called by it alone. */
  text(piece: string): void {
    if (this.#phase !== 'waiting' && this.#phase !== 'streaming') return;
    const whole = this.#wholePoints(piece);
    if (whole === '') return;
    this.#phase = 'streaming';
    this.log.append(whole);
    if (this.log.length > limits.outputCharactersMax) {
      this.#call?.cancel();
      this.#fault('output_limit');
      this.#seal(outcomes.ours);
      return;
    }
    this.#pace.note();
    if (this.#pace.crowded) this.#holdModel();
    if (!this.#paced) this.#startWriting();
  }

  /** In a crowd the write waits until everything ready has been read: pieces may be read record by record, each with promises of its own. */
  #startWriting(): void {
    this.#writing ??= (this.#held ? this.#pace.turnEnd() : Promise.resolve()).then(() => this.#write());
  }

  /** Makes one write of everything that comes until the next beat. */
  #waitForBeat(): void {
    this.#paced = true;
    this.#pace.next(() => {
      this.#paced = false;
      if (this.#phase === 'streaming') this.#startWriting();
    });
  }

  /** In a crowd the model is not read until the beat: its output until then is read, stored and sent as one piece. */
  #holdModel(): void {
    if (this.#held || this.#call?.hold === undefined) return;
    this.#held = true;
    this.#call.hold();
    this.#pace.next(() => {
      this.#held = false;
      this.#call?.resume?.();
    });
  }

  /** Keeps back half a surrogate pair, and replaces halves that can never be completed. */
  #wholePoints(piece: string): string {
    const text = this.#half + piece;
    const split = endsInHalf(text);
    this.#half = split ? text.slice(-1) : '';
    return (split ? text.slice(0, -1) : text).toWellFormed();
  }

  async #write(): Promise<void> {
    let fresh: ReturnType<TurnLog['take']> = null;
    let tries = 0;
    while (this.#phase === 'streaming') {
      fresh ??= this.log.take();
      if (fresh === null) break;
      try {
        const answer = await this.#effects.append(fresh.position, fresh.text);
        if (answer === 'fenced') {
          this.#lost();
          break;
        }
        this.log.commit(fresh.pieces);
      } catch (error) {
        if (this.#mayWait(error)) {
          await this.#pause(Math.min(retryMs(tries++), limits.appendRetryMsMax));
          continue;
        }
        this.#appendFailed(error);
        break;
      }
      fresh = null;
      tries = 0;
      this.#announceBegun({ kind: 'begun' });
      if (this.#pace.busy && !this.#held) {
        this.#waitForBeat();
        break;
      }
    }
    this.#writing = null;
  }

  /**
   * Whether a piece whose answer was lost is retried, at its position, until the lease has run out (see `lose`). The first piece
   * is not retried, because a chat waits for it.
   */
  #mayWait(error: unknown): boolean {
    return this.#effects.unsure && this.log.stored > 0 && error instanceof StoreUnavailable;
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(delayMs, resolve));
  }

  usage(usage: ModelUsage): void {
    this.#usage = usage;
  }

  end(): void {
    if (this.#phase !== 'waiting' && this.#phase !== 'streaming') return;
    if (this.#half !== '') this.log.append('\ufffd');
    this.#seal(outcomes.completed);
  }

  failed(reason: ModelFailure): void {
    if (this.#phase !== 'waiting' && this.#phase !== 'streaming') return;
    this.#effects.providerFailed(reason);
    if (this.#phase === 'waiting') this.#withdraw();
    else this.#seal(outcomes.provider);
  }

  /** Another process owns the turn and has sealed it, or will: readers get the end that is stored then. */
  #lost(): void {
    if (this.#phase === 'over') return;
    this.#call?.cancel();
    if (this.log.stored === 0) return void this.#lostUnbegun();
    this.#leave(null, false);
    const until = this.#clock.monotonic() + readersWaitMs;
    const wanted = (): boolean => this.log.followed && this.#clock.monotonic() < until;
    this.#effects.fate(this.log.stored, wanted).then(
      (fate) => {
        if (fate === 'unknown') return this.#cutLost();
        if (fate !== null) this.log.commitUpTo(this.log.stored + codePoints(fate.text));
        const terminal = fate?.terminal ?? forgotten;
        // An end by request is no fault, whichever process has sealed it.
        if (!wasStopped(terminal)) this.#fault('fence_lost');
        this.#effects.over(terminal.type);
        this.log.close(terminal);
      },
      () => this.#cutLost(),
    );
  }

  #cutLost(): void {
    this.#fault('fence_lost');
    this.#effects.over('failed');
    this.log.cut();
  }

  /** The chat has not begun. If another process has sealed the turn with an abort or an expiry, that end was answered and stays; any other end is withdrawn. */
  async #lostUnbegun(): Promise<void> {
    if (this.#losing) return;
    this.#losing = true;
    this.#phase = 'sealing';
    this.#timer.cancel();
    const fate = await this.#fateOfUnbegun();
    if (this.#withdrawing) return;
    if (fate === null || !wasStopped(fate.terminal)) {
      this.#fault('fence_lost');
      return this.#refuse();
    }
    this.#leave(fate.terminal.type, true);
    this.log.commitUpTo(codePoints(fate.text));
    this.log.close(fate.terminal);
    this.#announceBegun({ kind: 'begun' });
  }

  /** Resolves with null if the fate is not known within `fateMs`, because the chat waits for it. */
  async #fateOfUnbegun(): Promise<Fate | null> {
    let timer: Timer | undefined;
    let waits = true;
    const late = new Promise<null>((resolve) => (timer = this.#clock.after(limits.fateMs, () => resolve(null))));
    try {
      const fate = await Promise.race([this.#effects.fate(0, () => waits), late]);
      return fate === 'unknown' ? null : fate;
    } catch {
      return null;
    } finally {
      waits = false;
      timer?.cancel();
    }
  }

  /** Answers 503 to a chat that has not begun and withdraws its turn, even if part of it is stored. */
  #refuse(): void {
    this.#announceBegun({ kind: 'unavailable' });
    this.#withdraw('unavailable');
  }

  /** An append failed: stops the provider. Where the failure is certain, readers get it at once; what is stored is sealed once the store is back. */
  #appendFailed(error: unknown): void {
    if (this.#phase === 'over' || (this.#phase === 'sealing' && this.log.stored > 0)) return;
    this.#fault(faultOf(error), error);
    this.#call?.cancel();
    if (this.log.stored === 0) return this.#refuse();
    if (!this.#effects.unsure) this.#giveUp();
    this.#seal(outcomes.ours, true);
  }

  /** Readers do not wait for a store that has certainly not stored the end; another end is stored later. */
  #giveUp(): void {
    this.log.close({ type: 'failed', errorCode: 'api_error' });
    this.#settled.announce(false);
  }

  /** `asItStands`: seals only the output that is stored, which after a failover may be less than readers have seen. */
  #seal(outcome: TurnOutcome, asItStands = false): void {
    this.#phase = 'sealing';
    this.#timer.cancel();
    void this.#sealOnce(outcome, asItStands);
  }

  async #sealOnce(outcome: TurnOutcome, asItStands = false, tries = 0): Promise<void> {
    if (this.#writing !== null) await this.#writing;
    if (this.#withdrawing || this.#phase === 'over') return;
    const tail = asItStands ? null : this.log.rest();
    try {
      const counted = await this.#effects.finish(outcome, tail, this.#usage, asItStands ? this.log.stored : this.log.length);
      if (counted === 'fenced') return this.#lost();
      const terminal = terminalFor(outcome, counted);
      if (this.#fenced) this.#fault('lease_lost');
      this.#leave(outcome.status, true);
      this.log.close(terminal, !asItStands);
      this.#announceBegun({ kind: 'begun' });
    } catch (error) {
      this.#sealFailed(error, tries, (changes) => void this.#sealOnce(changes ? outcomes.ours : outcome, changes || asItStands, tries + 1));
    }
  }

  /**
   * Retries until the store answers. While the store may have applied the end, the same end is sent again and readers get none.
   * Once it certainly has not, the turn failed. A fault in the program is retried a few times, and then the turn is left as it is.
   */
  #sealFailed(error: unknown, tries: number, again: (changes: boolean) => void): void {
    const away = error instanceof StoreUnavailable;
    if (this.log.stored === 0) {
      this.#fault(faultOf(error), error);
      return this.#refuse();
    }
    this.#settled.announce(false);
    if (this.#effects.unsure) this.#limitWaiting();
    const certain = !this.#effects.unsure || error instanceof RangeError;
    if (certain || !away) this.#fault(faultOf(error), error);
    if (!this.#effects.unsure) this.#giveUp();
    if (away || tries + 1 < limits.faultTriesMax) this.#clock.after(retryMs(tries), () => again(certain));
    else {
      this.#leave('failed', false);
      this.log.cut();
    }
  }

  /** Readers wait for an unknown end as long as for one that another process stores. Then their streams are cut, and they learn the end when they resume. */
  #limitWaiting(): void {
    this.#cut ??= this.#clock.after(readersWaitMs, () => this.log.cut());
  }

  #withdraw(kind: 'withdrawn' | 'late' | 'unavailable' = 'withdrawn'): void {
    if (this.#withdrawing) return;
    this.#withdrawing = true;
    this.#phase = 'sealing';
    this.#timer.cancel();
    void this.#effects.withdraw().then((stored) => {
      this.#leave('withdrawn', stored);
      this.log.close({ type: 'failed', errorCode: kind === 'withdrawn' ? 'assistant_unavailable' : 'api_error' });
      this.#announceBegun({ kind: stored ? kind : 'unavailable' });
    });
  }

  /** Of several faults only the first is reported: the others follow from it. */
  #fault(reason: TurnFault, cause: unknown = null): void {
    if (this.#faulty) return;
    this.#faulty = true;
    this.#effects.ourFault(reason, cause);
  }

  /** `status`: how the turn ended; null while that is not known. */
  #leave(status: TurnOutcome['status'] | 'withdrawn' | null, stored: boolean): void {
    this.#phase = 'over';
    this.#timer.cancel();
    this.#cut?.cancel();
    this.#effects.left();
    if (status !== null) this.#effects.over(status);
    this.#settled.announce(stored);
    this.#over.announce();
  }
}

/** Whether the turn ended by request, which is no fault. */
const wasStopped = (terminal: Terminal): boolean => terminal.type === 'aborted' || (terminal.type === 'failed' && terminal.errorCode === 'session_expired');

/** The store no longer has text that is in the log: a failover lost it. */
const forgotten: Terminal = { type: 'failed', errorCode: 'api_error' };

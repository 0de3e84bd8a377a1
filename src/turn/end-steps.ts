/**
 * The end of a turn in the store: seals the turn, withdraws it, or reads the end that another process has given it. The
 * turn's machine decides which, and gets the answer as an event.
 */
import type { TurnContext, TurnEvent, TurnOutcome } from '../../machines/turn.ts';
import type { MachineInstance } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import { limits } from '../base/limits.ts';
import { retryMs } from '../base/store-retry.ts';
import { codePoints } from '../base/text.ts';
import { StoreUnavailable, type Cause } from '../store/store.ts';
import { causeOf, type TurnEventLog } from './event-log.ts';
import type { TurnEnd, TurnLog } from './log.ts';
import {
  endOfFate,
  faultOf,
  oursEnd,
  results,
  terminalFor,
  type Heard,
  type SealedTokens,
  type TurnParts,
} from './ports.ts';
import type { ModelRounds } from './rounds.ts';
import type { Writer } from './writer.ts';

/** Milliseconds for which a chat that has not begun waits for the end that another process has given its turn. */
export const fateMs = 1_000;
/** Milliseconds beyond a lease for which readers of such a turn wait for its end before their streams are cut. */
export const fateReadersMs = 10_000;
/** Tries of a turn's step that failed for a fault of our own, which time does not mend. */
export const faultTriesMax = 3;

/** Milliseconds for which readers wait for an unknown end, before their streams are cut. */
const readersWaitMs = limits.leaseMs + fateReadersMs;

export interface EndStepsOptions {
  readonly machine: Pick<MachineInstance<TurnEvent, TurnOutcome, TurnContext>, 'state' | 'context'>;
  readonly log: TurnLog;
  readonly parts: TurnParts;
  readonly rounds: ModelRounds;
  readonly writer: Writer;
  readonly events: TurnEventLog;
  /** The cause of the turn. */
  readonly cause: Cause;
  /** The turn's clock. */
  time(): number;
  /** Sends the machine an event; `error`: the error behind it. */
  send(event: TurnEvent, error?: unknown): void;
}

export class TurnEndSteps {
  readonly #options: EndStepsOptions;
  /** The end for readers; until the end is known, the one that they get if they cannot wait. */
  terminal: TurnEnd = oursEnd;
  /** The cause of the end that this process has stored; nobody before. */
  sealedBy = nobody;
  /** Whether the step that stored the end has stored all output. */
  isAllStored = false;
  /** The position of a spoken reply's listener, once the call has reported it. */
  #heard: Heard | null = null;
  /** The number of questions to the store about another process's end of the turn: only the last answer counts. */
  #questions = 0;
  /** The number of attempts to store the end that failed. */
  #tries = 0;

  constructor(options: EndStepsOptions) {
    this.#options = options;
  }

  /** The time until which an end that only the store knows is awaited: sooner for a chat, later for readers. */
  get waitUntil(): number {
    return this.#now + (this.#context.begun ? readersWaitMs : fateMs);
  }

  get #context(): TurnContext {
    return this.#options.machine.context;
  }

  get #now(): number {
    return this.#options.time();
  }

  /** Seals the turn; after failed attempts, once a pause has passed. */
  seal(): void {
    if (this.#tries === 0) void this.#seal();
    else this.#options.parts.clock.after(retryMs(this.#tries - 1), () => void this.#seal());
  }

  /**
   * Stores the end, once no write is under way. If only the stored output is sealed, that may be less than readers have
   * seen, after a failover.
   */
  async #seal(): Promise<void> {
    const { machine, log, parts, rounds, writer, events, send } = this.#options;
    if (writer.idle !== null) await writer.idle;
    if (machine.state !== 'sealing') return;
    const { ending, asStored, shared } = this.#context;
    const result = results[ending!];
    const cause = causeOf('sealed', ending, this.#options.cause, events.stoppedBy);
    if (parts.speaker !== null) this.#heard ??= await parts.speaker.heard(ending!);
    const heard = this.#heard;
    const { calls, counted: usage } = rounds;
    calls?.end(ending === 'tool_calls');
    let counted: 'fenced' | SealedTokens;
    try {
      counted = await parts.steps.finish({
        result,
        tail: asStored ? null : log.rest(),
        usage,
        log,
        past: events.past(),
        cause,
        heard,
        calls,
        model: parts.model.asked,
        isAnswered: this.#context.begun,
      });
    } catch (error) {
      this.#tries++;
      // A fault in the program is retried a few times, a store that is away until it answers.
      const last = !(error instanceof StoreUnavailable) && this.#tries >= faultTriesMax;
      const certain = !shared || error instanceof RangeError;
      return send(
        { type: 'unsealed', at: this.#now, fault: faultOf(error), certain, last, until: this.waitUntil },
        error,
      );
    }
    if (counted === 'fenced') return send({ type: 'taken', at: this.#now, until: this.waitUntil });
    this.sealedBy = cause;
    const { isSilenced = false } = counted;
    this.terminal = terminalFor(isSilenced ? results.taken : result, counted, calls?.made ?? []);
    calls?.notifyResults();
    if (isSilenced) await this.#learnStored();
    this.isAllStored = !asStored && !isSilenced;
    if (heard !== null) log.release(heard.points);
    send({ type: isSilenced ? 'silenced' : 'sealed', at: this.#now });
  }

  /** Shows readers the output that is stored although no answer said so, before the end of a turn that a take silenced. */
  async #learnStored(): Promise<void> {
    const { log, parts } = this.#options;
    const { stored } = log;
    const fate = await parts.steps.fate(stored, () => false).catch(() => null);
    if (fate !== null && fate !== 'unknown') log.commitUpTo(stored + codePoints(fate.text));
  }

  async withdraw(): Promise<void> {
    const { parts, events, cause, send } = this.#options;
    const stored = await parts.steps.withdraw(events.past());
    if (stored) this.sealedBy = cause;
    if (this.#context.refusal === 'withdrawn') this.terminal = { type: 'failed', errorCode: 'assistant_unavailable' };
    send({ type: 'withdrawn', at: this.#now, stored });
  }

  /** Reads from the store how another process ends the turn. */
  async follow(): Promise<void> {
    const { machine, log, parts, send } = this.#options;
    const { stored } = log;
    const question = ++this.#questions;
    const fate = await parts.steps
      .fate(stored, () => question === this.#questions && this.#isWanted)
      .catch(() => 'unknown' as const);
    const { state } = machine;
    if (question !== this.#questions || (state !== 'asking' && state !== 'following')) return;
    const end = endOfFate(fate);
    // A chat that gets an error shows neither text nor end.
    if (fate !== null && fate !== 'unknown' && (state === 'following' || end === 'aborted' || end === 'expired')) {
      this.terminal = fate.terminal;
      log.release(Infinity);
      log.commitUpTo(stored + codePoints(fate.text));
      if (fate.calls.length > 0) log.learn(fate.calls);
    }
    send({ type: 'fate', at: this.#now, end });
  }

  /** Whether a chat or a reader still waits for the end that another process stores. */
  get #isWanted(): boolean {
    const { machine, log } = this.#options;
    return machine.state === 'asking' || (machine.state === 'following' && log.followed);
  }
}

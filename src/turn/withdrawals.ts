/**
 * Withdraws turns whose chats were answered 503 although the store may hold part of them: the answer to a step was
 * lost, and the step may have been applied or may still be (contract 7). Each is withdrawn as soon as the store
 * answers, unless another process has sealed it by then: readers may have seen its text.
 */
import { sessionKind, type SessionEvent, type SessionOutcome } from '../../machines/session.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { firstIndexOf } from '../store/records.ts';
import { withoutEvents } from '../store/records/events.ts';
import {
  StoreUnavailable,
  type AmendedMessage,
  type Basis,
  type Cause,
  type Fence,
  type Finished,
  type IdempotencyRecord,
  type Session,
  type Store,
  type Turn,
  type TurnPast,
  type Versioned,
} from '../store/store.ts';
import { openActor, UnreadableSnapshot } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import { sessionMoveOf } from '../actors/history.ts';
import type { Inspector } from '../actors/inspector.ts';
import { pendingOf, reopened } from './pending-tool-calls.ts';
import type { Settlement } from '../host/link-budget.ts';
import { withdrawalSettlement } from './charges.ts';
import type { TurnReports } from './ports.ts';
import { tracedStep, type Span } from '../base/tracing.ts';
import { retryMs } from '../base/store-retry.ts';

/** A turn to withdraw. */
export interface Withdrawal {
  readonly workspaceId: string;
  readonly turn: Turn;
  /** The version of the session that the turn was begun on. */
  readonly basis: Basis;
  /** The fence that the turn began with. */
  readonly fence: Fence;
  readonly remember: Pick<IdempotencyRecord, 'scope' | 'key'> | null;
  /** The request that began the turn. */
  readonly cause?: Cause | undefined;
  /** The turn's events; left out for a turn that never ran. */
  readonly past?: TurnPast;
  /** Receives a fault in the program, which ends the attempts: a retry does not repair it. */
  readonly reports: Pick<TurnReports, 'ourFault'>;
  /** The turn's span; null while traces are off. */
  readonly span?: Span | null;
}

export interface WithdrawalsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly inspector: Inspector;
  /** The name of this process as an owner of turns. */
  readonly owner: string;
  mark(): string;
}

interface Pending {
  readonly withdrawal: Withdrawal;
  /**
   * The fence that the turn began with, or the one of this process's takeover: another process may have taken the turn
   * over and died.
   */
  fence: Fence;
  /**
   * The end of this process's takeover of the turn: after a lost answer the takeover is sent again with the same end.
   */
  seizedUntilMs: number;
  readonly over: Promise<void>;
  end(): void;
  timer: Timer | null;
}

export class Withdrawals {
  readonly #options: WithdrawalsOptions;
  /**
   * Turns to withdraw, by session: no other turn begins in it on this process until they are withdrawn. Rarely more
   * than one.
   */
  readonly #pending = new Map<string, Pending[]>();
  #size = 0;
  #closed = false;

  constructor(options: WithdrawalsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#size;
  }

  /** Whether the bound of waiting turns is reached: no turn may begin that might have to be withdrawn as well. */
  get full(): boolean {
    return this.#size >= limits.withdrawalsMax;
  }

  /** Whether this turn of the session waits to be withdrawn: then it must not be sealed. */
  has(sessionId: string, turnId: string): boolean {
    return this.#pending.get(sessionId)?.some(({ withdrawal }) => withdrawal.turn.id === turnId) ?? false;
  }

  /** Whether a turn of the session waits to be withdrawn. */
  isPending(sessionId: string): boolean {
    return this.#pending.has(sessionId);
  }

  /** Begins to withdraw the turn. */
  add(withdrawal: Withdrawal): void {
    let end = (): void => {};
    const over = new Promise<void>((resolve) => (end = resolve));
    const pending: Pending = { withdrawal, fence: withdrawal.fence, seizedUntilMs: 0, over, end, timer: null };
    const { sessionId } = withdrawal.turn;
    this.#pending.set(sessionId, [...(this.#pending.get(sessionId) ?? []), pending]);
    this.#size++;
    void this.#try(pending, 0);
  }

  /** Waits until no turn of the session waits to be withdrawn, at most `withinMs`; resolves with whether that is so. */
  async awaitSettled(sessionId: string, withinMs: number): Promise<boolean> {
    const pending = this.#pending.get(sessionId);
    if (pending === undefined) return true;
    let timer: Timer | undefined;
    const late = new Promise<void>((resolve) => (timer = this.#options.clock.after(withinMs, resolve)));
    await Promise.race([Promise.all(pending.map(({ over }) => over)), late]);
    timer?.cancel();
    return !this.#pending.has(sessionId);
  }

  /** Resolves when no turn waits to be withdrawn. */
  async allOver(): Promise<void> {
    while (this.#size > 0) await Promise.all([...this.#pending.values()].flat().map(({ over }) => over));
  }

  /**
   * Stops retrying. The next process that finds such a turn withdraws it if it has no output, and seals it otherwise.
   */
  close(): void {
    this.#closed = true;
    for (const { timer } of [...this.#pending.values()].flat()) timer?.cancel();
  }

  async #try(pending: Pending, tries: number): Promise<void> {
    const { clock } = this.#options;
    const again = (): void => {
      if (!this.#closed) pending.timer = clock.after(retryMs(tries), () => void this.#try(pending, tries + 1));
    };
    try {
      if (!(await this.#withdrawn(pending))) return again();
    } catch (error) {
      // If a later version has moved the session, retries continue until a process of that version has sealed the turn,
      // or the session can be read again.
      if (error instanceof StoreUnavailable || (error instanceof UnreadableSnapshot && error.later)) return again();
      const { reports, turn } = pending.withdrawal;
      reports.ourFault(turn.id, 'error', error);
    }
    this.#drop(pending);
    pending.end();
  }

  #drop(pending: Pending): void {
    const { sessionId } = pending.withdrawal.turn;
    const others = this.#pending.get(sessionId)!.filter((other) => other !== pending);
    if (others.length > 0) this.#pending.set(sessionId, others);
    else this.#pending.delete(sessionId);
    this.#size--;
  }

  /**
   * True if nothing of the turn is left and nothing can come, or if another process has sealed it. False if other
   * writers keep moving the session, or if another process may still seal the turn.
   */
  async #withdrawn(pending: Pending): Promise<boolean> {
    const { store } = this.#options;
    const { workspaceId, turn: draft, basis, remember, cause = nobody, past, span = null } = pending.withdrawal;
    for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
      const stored = await store.sessions.read(workspaceId, draft.sessionId);
      if (stored === null) return true;
      const turn = await store.turns.read(workspaceId, draft.sessionId, draft.id);
      // A turn that has not begun may still begin as long as the session has the version and mark of its basis.
      if (turn === null && (stored.version !== basis.version || stored.record.mark !== basis.mark)) return true;
      const waits = turn === null ? null : await reopened(store, workspaceId, turn);
      const { session, machine, decision, amends, ...settled } = this.#without(
        stored,
        {
          ...(turn ?? draft),
          ...(draft.link && { link: draft.link }),
          ...(draft.reserved && { reserved: draft.reserved }),
        },
        turn !== null,
        waits,
      );
      const { at } = decision.event;
      const step = {
        session,
        ...settled,
        ...(amends && { amends }),
        nowMs: at,
        version: stored.version,
        mark: stored.record.mark,
        turn: turn ?? draft,
        fence: pending.fence,
        remember,
        move: sessionMoveOf(decision, stored.version + 1, at, cause, session, past),
      };
      const answer: Finished = await tracedStep(span, 'withdraw', store, store.turns.withdraw(step));
      if (answer.outcome === 'finished') {
        machine.publish(decision, answer.version, cause);
        return true;
      }
      if (answer.outcome === 'lost' || turn === null) continue;
      if (turn.status !== 'streaming') return true;
      if (!(await this.#seize(pending, turn))) return false;
    }
    return false;
  }

  /**
   * Takes the turn over if the lease of the process that took it over before has run out; false if that process may
   * still seal the turn.
   */
  async #seize(pending: Pending, { id: turnId, sessionId }: Turn): Promise<boolean> {
    const { store, clock, owner } = this.#options;
    const nowMs = clock.now();
    // An end beyond a lease was made before the clock was set back.
    const lasts = pending.seizedUntilMs - nowMs;
    if (lasts <= 0 || lasts > limits.leaseMs) pending.seizedUntilMs = nowMs + limits.leaseMs;
    const place = { workspaceId: pending.withdrawal.workspaceId, sessionId, turnId };
    const seized = await store.turns.takeOver(place, owner, pending.seizedUntilMs, nowMs);
    if (seized === null) return false;
    pending.fence = { epoch: seized.epoch, owner: seized.owner };
    return true;
  }

  /**
   * Removes the turn from the session. The turn's messages are the last ones, unless another turn has begun since. For
   * a turn that has not begun the machine stays where it is, and no charge is refunded. `waits`: the message whose tool
   * calls the turn has answered, as before; they wait again, unless another turn has begun since.
   */
  #without({ record }: Versioned<Session>, turn: Turn, begun: boolean, waits: AmendedMessage | null) {
    const { clock, inspector, mark } = this.#options;
    const identity = { kind: 'session', id: record.id, workspaceId: record.workspaceId } as const;
    const machine = openActor<SessionEvent, SessionOutcome>(
      sessionKind,
      { snapshot: record.machine },
      identity,
      inspector,
    );
    const decision = machine.decide({ type: 'finished', at: clock.now(), turnId: turn.id });
    const last = begun && record.messageCount === turn.messageIndex + 1;
    const amends = last ? waits : null;
    // The stored end of the turn, if there was one, had removed the waiting tool calls.
    const pending = amends && {
      index: amends.index,
      calls: pendingOf(amends.message.toolCalls!.filter(({ status }) => status === 'pending')),
    };
    const session: Session = {
      ...record,
      ...(pending && { pending }),
      ...(last && { messageCount: firstIndexOf(turn) }),
      ...(begun && withoutEvents(record, turn, last)),
      mark: mark(),
      machine: machine.snapshot(),
    };
    const settled: Settlement = begun ? withdrawalSettlement(session, turn) : { session };
    return { ...settled, amends, machine, decision };
  }
}

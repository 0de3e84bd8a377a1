/** A running turn: the effects of its runner on the store and on the turn's session. */
import { secondsOf } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { limits, retryMs } from '../base/limits.ts';
import type { TurnFault } from '../base/metrics.ts';
import { estimateInputTokens, estimateTokens, type ModelFailure, type ModelUsage } from '../providers/model.ts';
import { messageOf } from '../store/records.ts';
import { StoreUnavailable } from '../store/store.ts';
import type { AppendResult, Basis, Cause, Fence, Finished, Message, IdempotencyRecord, Move, Session, Turn, TurnPlace, Versioned } from '../store/store.ts';
import { indexAfter } from '../base/text.ts';
import { terminalOf } from '../turn/turn.ts';
import type { Fate, TurnEffects, TurnResult, TurnStatus } from '../turn/outcome.ts';
import type { Pace } from '../turn/pace.ts';
import { TurnRunner } from '../turn/runner.ts';
import { UnreadableSnapshot } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import type { Histories } from '../turn/histories.ts';
import { movedSession, moveOf } from '../actors/history.ts';
import { Lease, type LeaseEvents } from '../turn/lease.ts';
import * as linkUse from '../turn/link-use.ts';
import type { Settled, VisitorUse } from '../turn/link-use.ts';
import type { SessionActor, Sessions } from './sessions.ts';

export interface WantedTurn {
  readonly message: string;
  /** The refusal of the assistant's machine to `converse`; null if it does not refuse. */
  readonly assistantRefusal: string | null;
  /** Whether the turn takes one of the workspace's slots. Turns of the link and the widget have limits of their own (contract 12). */
  readonly takesSlot: boolean;
  /** The visitor whose limits the turn takes; left out for a turn that takes none of the link's. */
  readonly use?: VisitorUse | undefined;
  readonly remember: Omit<IdempotencyRecord, 'resultId' | 'untilMs'> | null;
  /** The chat. */
  readonly cause?: Cause;
  /** How much of the conversation its model is sent at most, in estimated tokens; the default if it is left out. */
  readonly historyTokensMax?: number | null | undefined;
  /** For the log and the metrics. */
  providerFailed(reason: ModelFailure): void;
  /** The model was not sent so many messages of the conversation. */
  leftOut?(messages: number): void;
  ourFault(turnId: string, reason: TurnFault, cause: unknown): void;
  over(status: TurnStatus): void;
}

/** A turn that was begun. `before`: its session before the turn; `begunAt`: the monotonic time from which its lease runs. */
export interface LeasedTurn {
  readonly actor: SessionActor;
  readonly before: Session;
  /** The version of the session that the turn was begun on. */
  readonly basis: Basis;
  readonly turn: Turn;
  readonly fence: Fence;
  readonly history: readonly Message[];
  /** The user's message that began the turn. */
  readonly said: Message;
  readonly begunAt: number;
}

/** The parts that all turns of the process share. */
export interface TurnsParts {
  readonly sessions: Sessions;
  readonly histories: Histories;
  readonly pace: Pace;
}

export class RunningTurn implements TurnEffects {
  readonly begun: LeasedTurn;
  readonly runner: TurnRunner;
  /** The messages for the model: the newest ones, the user's last. */
  readonly conversation: readonly Message[];
  /** The cause of its end; unknown if another process has ended the turn. */
  endedBy: Cause = nobody;
  readonly #wanted: WantedTurn;
  readonly #parts: TurnsParts;
  readonly #place: TurnPlace;
  readonly #lease: Lease | null;
  readonly #left: (running: RunningTurn) => void;
  /** The number of the session's messages that were not sent to the model: at first, those that were not even read. */
  #leftOut: number;

  /** `left` is called once, when this process no longer runs the turn. */
  constructor(begun: LeasedTurn, wanted: WantedTurn, parts: TurnsParts, left: (running: RunningTurn) => void) {
    const { store, clock, inspector, turnMsMax } = parts.sessions.options;
    const { before, turn, fence, begunAt } = begun;
    this.begun = begun;
    this.#wanted = wanted;
    this.#parts = parts;
    // `concat` makes an array of the exact size; spreading does not.
    this.conversation = begun.history.concat([begun.said]);
    this.#leftOut = before.messageCount - begun.history.length;
    this.#place = { workspaceId: before.workspaceId, sessionId: before.id, turnId: turn.id };
    this.#left = left;
    const { leaseMs } = store;
    const facts = { turnId: turn.id, messageId: turn.messageId, workspaceId: before.workspaceId, cause: wanted.cause ?? nobody };
    this.runner = new TurnRunner(facts, this, { clock, pace: parts.pace, inspector, turnMsMax, shared: leaseMs !== null });
    this.#lease = leaseMs === null ? null : new Lease({ store, clock, place: this.#place, fence, leaseMs, expiresAt: before.expiresAt, begunAt }, this.#leaseEvents);
  }

  left(): void {
    this.#lease?.end();
    this.#left(this);
  }

  over(status: TurnStatus): void {
    this.#wanted.over(status);
  }

  leftOut(messages: number): void {
    this.#leftOut += messages;
  }

  get #leaseEvents(): LeaseEvents {
    return { stop: (reason) => void this.runner.stop(reason), lost: () => this.runner.lose(), fenced: () => this.runner.fenced() };
  }

  append(position: number, text: string): Promise<'stored' | 'fenced'> {
    if (this.#lease !== null) return this.#lease.append(position, text);
    // The place comes last: V8 makes new hidden classes with each object that gets further fields behind a spread.
    return this.#parts.sessions.options.store.turns.append({ fence: this.begun.fence, position, text, ...this.#place }).then(this.#heard);
  }

  readonly #heard = (answer: AppendResult): 'stored' | 'fenced' => {
    if (typeof answer === 'object') void this.runner.stop(answer.stop);
    return answer === 'fenced' ? answer : 'stored';
  };

  async finish(outcome: TurnResult, tail: { position: number; text: string } | null, usage: ModelUsage | null, length: number): Promise<'fenced' | ModelUsage> {
    const { sessions, histories } = this.#parts;
    const { store, clock } = sessions.options;
    const { history, said, fence, basis } = this.begun;
    const counted = this.#tokensOf(outcome, usage, length);
    const shortened = this.#leftOut > 0 || this.begun.before.historyLeftOut !== undefined ? { historyLeftOut: this.#leftOut } : null;
    if (this.#leftOut > 0) this.#wanted.leftOut?.(this.#leftOut);
    const nowMs = clock.now();
    const { status, stopReason, errorCode } = outcome;
    const { inputTokens, outputTokens } = counted;
    const turn: Turn = { ...linkUse.overTurn(this.begun.turn), status, stopReason, errorCode, inputTokens, outputTokens, endedAt: secondsOf(nowMs) };
    const message = messageOf(turn, turn.messageId, 'assistant', '', { status: status === 'completed' ? status : 'partial', stopReason, errorCode });
    const finished = await this.#close(linkUse.sealSettlement, (session, basis, move, settled) => store.turns.finish({ session, ...basis, move, turn, message, tail: tail ?? noTail, ...settled, fence, nowMs }), this.#causeOf(outcome), shortened);
    if (finished === 'fenced') return finished;
    // The history is kept only if all output was stored and only this turn moved the session: without `tail` the stored output may
    // be less than the log, and another writer may have withdrawn an earlier turn meanwhile.
    if (tail !== null && finished.version === basis.version + 2) histories.keep(finished, history, [said, { ...message, content: this.runner.log.pieces.join('') }], this.#wanted.historyTokensMax ?? undefined);
    return counted;
  }

  /** The provider's token counts. For a turn that was cut, the provider may not have counted all output, so the larger of count and estimate is used. */
  #tokensOf({ status }: TurnResult, usage: ModelUsage | null, length: number): ModelUsage {
    if (usage !== null && status === 'completed') return usage;
    const text = this.runner.log.pieces.join('');
    const outputTokens = estimateTokens(text.slice(0, indexAfter(text, length)));
    if (usage !== null) return { ...usage, outputTokens: Math.max(usage.outputTokens, outputTokens) };
    // Messages that were left out were cut from the front, and most of them may not even have been read.
    const { before, history } = this.begun;
    const sent = this.conversation.slice(this.#leftOut - (before.messageCount - history.length));
    return { inputTokens: estimateInputTokens(sent), outputTokens };
  }

  async withdraw(): Promise<boolean> {
    const { actor, before, turn, fence } = this.begun;
    const { store } = this.#parts.sessions.options;
    // The lease must run out, so that requests that wait for the turn in other processes can tell that its owner gave it up.
    this.#lease?.end();
    const changes = { messageCount: before.messageCount, lastActivityAt: before.lastActivityAt };
    try {
      // If another process has ended the turn, the session may have gone on, and must not be put back to its state before the turn.
      const isActive = (): boolean => actor.context.activeTurnId === turn.id;
      const withdraw = (session: Session, basis: Basis, move: Move, settled: Pick<Settled, 'settled'>) => store.turns.withdraw({ session, ...basis, move, turn, fence, ...settled, nowMs: this.#parts.sessions.options.clock.now() });
      const withdrawn = await this.#close(linkUse.withdrawn, withdraw, this.#wanted.cause ?? nobody, changes, isActive);
      if (withdrawn === 'fenced') this.#withdrawLater();
      return true;
    } catch (error) {
      // A removed session, with its workspace or by retention, has no turn left.
      if (error instanceof Failure) return true;
      if (!(error instanceof StoreUnavailable)) this.ourFault('error', error);
      this.#withdrawLater();
      return false;
    }
  }

  #withdrawLater(): void {
    const { before, basis, turn, fence } = this.begun;
    const failed = (cause: unknown): void => this.ourFault('error', cause);
    this.#parts.sessions.options.withdrawals.add({ workspaceId: before.workspaceId, turn, basis, fence, remember: this.#wanted.remember, cause: this.#wanted.cause, failed });
  }

  async fate(position: number, wanted: () => boolean): Promise<Fate | null | 'unknown'> {
    const { store, clock } = this.#parts.sessions.options;
    for (let tries = 0; ; ) {
      let pauseMs: number = limits.remoteSilentMs;
      try {
        const found = await store.turns.outputAfter(this.#place, position);
        if (found === null || found.text === null) return null;
        const terminal = terminalOf(found.turn);
        if (terminal !== null) return { terminal, text: found.text };
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        pauseMs = retryMs(tries++);
      }
      if (!wanted()) return 'unknown';
      await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
    }
  }

  providerFailed(reason: ModelFailure): void {
    this.#wanted.providerFailed(reason);
  }

  ourFault(reason: TurnFault, cause: unknown): void {
    this.#wanted.ourFault(this.begun.turn.id, reason, cause);
  }

  /** A turn that ends by itself has the cause of its beginning; an aborted turn has the cause of the abort. A deadline and a drain have none. */
  #causeOf({ status, errorCode }: TurnResult): Cause {
    if (status === 'aborted') return this.begun.actor.abortedBy;
    return status === 'completed' || errorCode === 'assistant_unavailable' ? (this.#wanted.cause ?? nobody) : nobody;
  }

  /** Sends the machine the end of its turn and stores it in one step; resolves with the session after that. `fenced` also if `isAsDue` is no longer true. */
  #close(
    settle: typeof linkUse.sealSettlement,
    step: (session: Session, basis: Basis, move: Move, settled: Pick<Settled, 'settled'>) => Promise<Finished>,
    cause: Cause,
    changes: Partial<Session> | null = null,
    isAsDue: () => boolean = () => true,
  ): Promise<Versioned<Session> | 'fenced'> {
    const { sessions } = this.#parts;
    const { actor, turn } = this.begun;
    const { clock, mark, visitors } = sessions.options;
    return actor.mailbox.post(async () => {
      for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
        if (!isAsDue()) return 'fenced';
        const at = clock.now();
        const decision = actor.machine.decide({ type: 'finished', at, turnId: turn.id });
        const moved = movedSession(actor.record, at, mark(), actor.machine.snapshot());
        const { session, ...settled } = settle(changes === null ? moved : { ...moved, ...changes }, turn, at);
        let fenced = false;
        let finished = false;
        try {
          finished = await sessions.commit(actor, session, () => {
            const answered = step(session, actor.basis, moveOf(decision, actor.version + 1, at, cause, session.machine), settled);
            return answered.then((answer) => {
              fenced = answer.outcome === 'fenced';
              return answer.outcome === 'finished' ? answer.version : null;
            });
          });
        } catch (error) {
          // If a later version has moved the session, a process of that version serves it, and seals its turn once the lease has run out.
          if (error instanceof UnreadableSnapshot) fenced = true;
          // A removed session, with its workspace or by retention, has no turn left to seal.
          if (!fenced) throw error;
        }
        if (finished) {
          actor.tell(decision, cause);
          this.endedBy = cause;
          if (turn.link !== undefined) visitors.noteMoved(session, cause);
          return { record: actor.record, version: actor.version };
        }
        if (fenced) return 'fenced';
      }
      throw new StoreUnavailable(`a session changed concurrently ${limits.decisionAttemptsMax} times`);
    });
  }
}

/** Valid at any stored length, because it adds nothing. */
const noTail = { position: 0, text: '' };

/**
 * A session's actor: its record, machine and mailbox, the turn in flight, and how a move of the session is committed.
 */
import type { AttendanceContext } from '../../machines/attendance.ts';
import { sessionKind, type SessionContext, type SessionEvent, type SessionOutcome } from '../../machines/session.ts';
import type { Timer } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type {
  AskedLimit,
  AuditEntry,
  Basis,
  Cause,
  ChargedSession,
  Move,
  Session,
  SettledLimit,
  StopRequest,
  Store,
  Versioned,
} from '../store/store.ts';
import { openActor, type MachineInstance } from '../actors/actor.ts';
import { isRefused, type ActorIdentity, type Decision, type Inspector } from '../actors/inspector.ts';
import { Mailbox } from '../actors/mailbox.ts';
import type { Population, Resident } from '../actors/population.ts';
import { Refusals } from '../actors/refusals.ts';

/** The decision of a session's machine on an event. */
export type SessionDecision = Decision<SessionEvent, SessionOutcome>;

/** A turn that this process runs for a session, as the session's moves stop it. */
export interface StoppableTurn {
  readonly turnId: string;
  /** Resolves with whether the end of the turn is stored. */
  readonly settled: Promise<boolean>;
  /** Stops the turn; resolves as `settled` does. */
  stop(reason: StopRequest, cause?: Cause): Promise<boolean>;
}

export interface SessionActorParts {
  readonly store: Store;
  readonly inspector: Inspector;
  /** The live sessions: one that turns out to be removed leaves them. */
  readonly population: Pick<Population<Resident>, 'discard'>;
}

export class SessionActor<Runner extends StoppableTurn = StoppableTurn> implements Resident {
  usedAt = 0;
  record: Session;
  version: number;
  readonly machine: MachineInstance<SessionEvent, SessionOutcome, SessionContext>;
  readonly mailbox = new Mailbox();
  readonly identity: ActorIdentity;
  /** The turn in flight, if this process runs it. */
  runner: Runner | null = null;
  /** Fires when a session with a turn in flight expires. Without a turn the clock is read instead. */
  deadline: Timer | null = null;
  /**
   * The version that an unanswered move was decided on: while the stored session still has this version, the move may
   * still be applied.
   */
  unsettledAt: number | null = null;
  /** Fires when a session with a turn in flight and an unanswered move must be read again. */
  look: Timer | null = null;
  /** Null before the first refusal. */
  refusals: Refusals | null = null;
  /**
   * The number of reads that must find the stored session unchanged before a step relies on this process's copy; 0 for
   * a new session.
   */
  looksDue: number;
  readonly #parts: SessionActorParts;

  constructor(stored: Versioned<Session>, parts: SessionActorParts) {
    const { inspector } = parts;
    this.record = stored.record;
    this.version = stored.version;
    this.looksDue = stored.version > 1 ? limits.looksAfterMove : 0;
    this.identity = { kind: 'session', id: stored.record.id, workspaceId: stored.record.workspaceId };
    this.#parts = parts;
    this.machine = openActor(sessionKind, { snapshot: stored.record.machine }, this.identity, inspector);
    inspector.life('activated', this.identity, this.machine);
  }

  get busy(): boolean {
    return this.runner !== null || this.mailbox.busy;
  }

  /** The version and mark that a decision made now is based on. */
  get basis(): Basis {
    return { version: this.version, mark: this.record.mark };
  }

  get context(): SessionContext {
    return this.machine.context;
  }

  /**
   * Whether the session has an open turn that this process does not run: another process runs it, or the process that
   * ran it has died. This is also true while this process begins a turn; a caller that then reads the session again
   * queues behind that beginning in the mailbox.
   */
  get abandoned(): boolean {
    const { activeTurnId } = this.context;
    return activeTurnId !== null && this.runner?.turnId !== activeTurnId;
  }

  get unsettled(): boolean {
    return this.unsettledAt === this.version;
  }

  /** Publishes a decision that can no longer be undone: it is committed, or there was nothing to commit. */
  publish(decision: SessionDecision, cause: Cause): void {
    const { event, from, to, outcomes } = decision;
    this.machine.publish(decision, this.version, cause);
    // A refusal that moves the session, such as a refusal by its deadline, is committed.
    if (from === to && isRefused(outcomes))
      (this.refusals ??= new Refusals()).note(this.version, event.at, decision, cause);
  }

  /** Drops a decision that was not stored. */
  undo(): void {
    this.machine.restore(this.record.machine);
  }

  /** Adopts a move that is stored. */
  committed(session: Session, version: number): void {
    this.record = session;
    this.version = version;
  }

  /**
   * Stores a move that neither begins nor ends a turn; true if it was applied. If another writer moved the session,
   * drops the decision, adopts the stored session and resolves with false. If the store is away, drops the decision and
   * rethrows the error.
   */
  async save(
    session: Session,
    move?: Move,
    settled?: readonly SettledLimit[],
    nowMs?: number,
    audit?: AuditEntry,
  ): Promise<boolean> {
    let version: number | null;
    try {
      version = await this.#parts.store.sessions.save(session, this.basis, move, settled, nowMs, audit);
    } catch (error) {
      this.undo();
      throw error;
    }
    if (version === null) await this.reload();
    else this.committed(session, version);
    return version !== null;
  }

  /**
   * Stores the session with the limits that it takes; `lost` if another writer moved it, and then adopts the stored
   * session.
   */
  async charge(session: Session, requested: readonly AskedLimit[], nowMs: number): Promise<ChargedSession> {
    const charged = await this.#parts.store.sessions.charge({ session, ...this.basis, asked: requested, nowMs });
    if (charged.outcome === 'charged') this.committed(session, charged.version);
    else if (charged.outcome === 'lost') await this.reload();
    return charged;
  }

  /**
   * Drops the decision and adopts the stored session. Throws `session_not_found` if it was removed, and
   * `UnreadableSnapshot`.
   */
  async reload(): Promise<void> {
    const { store, population } = this.#parts;
    const { workspaceId, id } = this.record;
    try {
      const stored = await store.sessions.read(workspaceId, id);
      this.looksDue = limits.looksAfterMove;
      if (stored !== null) return this.adopt(stored);
    } catch (error) {
      this.undo();
      throw error;
    }
    population.discard(id);
    throw new Failure('session_not_found');
  }

  /** Adopts the stored session. Throws `UnreadableSnapshot` and then changes nothing. */
  adopt(stored: Versioned<Session>): void {
    const { state } = this.machine;
    this.machine.restore(stored.record.machine);
    this.record = stored.record;
    this.version = stored.version;
    if (this.machine.state !== state) this.#parts.inspector.life('activated', this.identity, this.machine);
    // The session may have ended with its turn still running: the end was stored, but the store's answer was lost.
    const reason = stopsWith[this.machine.state];
    if (reason !== undefined) void this.runner?.stop(reason);
    else if (this.runner !== null && silencedTurnOf(stored.record) === this.runner.turnId)
      void this.runner.stop('taken');
  }

  passivated(): void {
    this.deadline?.cancel();
    this.look?.cancel();
    this.#parts.inspector.life('passivated', this.identity, this.machine);
  }
}

/** The turn that a person's take has silenced; null without one. */
const silencedTurnOf = ({ attendance }: Session): string | null =>
  (attendance?.context as AttendanceContext | undefined)?.silencedTurnId ?? null;

const stopsWith: Readonly<Record<string, StopRequest>> = { ended: 'aborted', expired: 'expired' };

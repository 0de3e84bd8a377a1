/** Session actors: each event is decided by the machine, committed in one step of the store, acted upon, then answered. */
import { openedSession, sessionMachine, sessionVersion, type SessionContext, type SessionEvent, type SessionOutcome } from '../../machines/session.ts';
import { secondsOf, type Timer } from '../clock.ts';
import { Failure } from '../errors.ts';
import { limits } from '../limits.ts';
import { promptly } from '../promptly.ts';
import { StoreUnavailable, type Basis, type Message, type Remembered, type Session, type StopRequest, type Versioned } from '../store.ts';
import type { TurnRunner } from '../turn/runner.ts';
import { openActor, type Stateful } from './actor.ts';
import type { ActorIdentity, Inspector } from './inspector.ts';
import { Mailbox } from './mailbox.ts';
import type { SessionsOptions } from './options.ts';
import { sealOrphan } from './orphans.ts';
import { Population, type Resident } from './population.ts';

export interface NewSession {
  readonly workspaceId: string;
  readonly assistantId: string;
  readonly channel: Session['channel'];
  readonly visitor: Session['visitor'];
  readonly metadata: Session['metadata'];
  readonly maxCallSeconds: number;
  readonly greeting: string | null;
  readonly remember: Omit<Remembered, 'resultId' | 'untilMs'> | null;
}

export class SessionActor implements Resident {
  usedAt = 0;
  record: Session;
  version: number;
  readonly machine: Stateful<SessionEvent, SessionOutcome>;
  readonly mailbox = new Mailbox();
  readonly identity: ActorIdentity;
  /** The turn in flight, if this process runs it. */
  runner: TurnRunner | null = null;
  /** Fires when a session with a turn in flight expires; without one, its deadline is read off the clock. */
  deadline: Timer | null = null;
  readonly #inspector: Inspector;

  constructor(found: Versioned<Session>, inspector: Inspector) {
    this.record = found.record;
    this.version = found.version;
    this.identity = { kind: 'session', id: found.record.id, workspaceId: found.record.workspaceId };
    this.#inspector = inspector;
    this.machine = openActor(sessionMachine, sessionVersion, { snapshot: found.record.machine }, this.identity, inspector);
    inspector.life('activated', this.identity, this.machine.state);
  }

  get busy(): boolean {
    return this.runner !== null || this.mailbox.busy;
  }

  /** What a decision that is made now is made on. */
  get basis(): Basis {
    return { version: this.version, mark: this.record.mark };
  }

  get context(): SessionContext {
    return this.machine.context as SessionContext;
  }

  /**
   * Whether a turn is open in it that this process does not run: whoever ran it has died, if it is not another process. So it
   * looks, too, while this process begins one; whoever takes it over queues behind that in the mailbox, and looks again there.
   */
  get abandoned(): boolean {
    const { activeTurnId } = this.context;
    return activeTurnId !== null && this.runner?.turnId !== activeTurnId;
  }

  passivated(): void {
    this.deadline?.cancel();
    this.#inspector.life('passivated', this.identity, this.machine.state);
  }
}

export class Sessions {
  readonly population: Population<SessionActor>;
  readonly options: SessionsOptions;

  constructor(options: SessionsOptions) {
    this.options = options;
    this.population = new Population(options.clock, limits);
  }

  /** Creates a session with its greeting; under an `Idempotency-Key` used before, answers with the session it made then. */
  async create(wanted: NewSession): Promise<{ session: Session; replayed: boolean }> {
    const { store, clock, ids } = this.options;
    const nowMs = clock.now();
    const createdAt = secondsOf(nowMs);
    const expiresAt = createdAt + wanted.maxCallSeconds;
    const { greeting, remember, ...fields } = wanted;
    const id = ids.make('ses');
    const session: Session = {
      id,
      ...fields,
      createdAt,
      expiresAt,
      lastActivityAt: createdAt,
      messageCount: greeting === null ? 0 : 1,
      mark: this.options.mark(),
      machine: { version: sessionVersion, state: 'open', context: openedSession(expiresAt) },
    };
    const created = await store.createSession({
      session,
      greeting: greeting === null ? null : greetingMessage(ids.make('msg'), greeting, createdAt),
      remember: remember && { ...remember, resultId: id, untilMs: nowMs + limits.idempotencyMsMax },
      nowMs,
    });
    if (created.outcome === 'created') return { session, replayed: false };
    return { session: await this.#made(wanted.workspaceId, created.remembered, remember!.bodyDigest), replayed: true };
  }

  /** The session that a request under this `Idempotency-Key` made before; null if there was none. */
  async remembered(workspaceId: string, remember: Pick<Remembered, 'scope' | 'key' | 'bodyDigest'>): Promise<Session | null> {
    const earlier = await this.options.store.remembered(workspaceId, remember.scope, remember.key, this.options.clock.now());
    return earlier && this.#made(workspaceId, earlier, remember.bodyDigest);
  }

  async #made(workspaceId: string, earlier: Remembered, bodyDigest: string): Promise<Session> {
    if (earlier.bodyDigest !== bodyDigest) throw new Failure('idempotency_mismatch');
    const session = await this.read(workspaceId, earlier.resultId);
    if (session === null) throw new Failure('session_not_found');
    return session;
  }

  /** The session as it is. Its actor is woken only where a turn is open in it that this process does not run: that seals a dead process's. */
  read(workspaceId: string, sessionId: string): Session | null | Promise<Session | null> {
    const live = this.population.peek(sessionId);
    if (live === undefined || this.#stale(live)) return this.#stored(workspaceId, sessionId);
    return live.record.workspaceId === workspaceId ? live.record : null;
  }

  async #stored(workspaceId: string, sessionId: string): Promise<Session | null> {
    const record = (await this.options.store.session(workspaceId, sessionId))?.record ?? null;
    const turnId = (record?.machine.context as SessionContext | undefined)?.activeTurnId ?? null;
    if (record === null || turnId === null || this.population.peek(sessionId)?.runner?.turnId === turnId) return record;
    return (await this.of(workspaceId, sessionId))?.record ?? null;
  }

  /** The live actor of a session; a turn that its process left behind is sealed on the way. */
  of(workspaceId: string, sessionId: string): SessionActor | null | Promise<SessionActor | null> {
    const load = async (): Promise<SessionActor | null> => {
      const found = await this.#settled(workspaceId, sessionId);
      return found && new SessionActor(found, this.options.inspector);
    };
    return promptly(this.population.activate(sessionId, load, workspaceId), (actor) => {
      if (actor === null || actor.record.workspaceId !== workspaceId) return null;
      return this.#stale(actor) ? this.#refreshed(actor).then((lives) => (lives ? actor : null)) : actor;
    });
  }

  /** Takes over what other processes have made of the session since it was last used; false if it is gone. */
  #refreshed(actor: SessionActor): Promise<boolean> {
    return actor.mailbox.post(async () => {
      const { workspaceId, id } = actor.record;
      const found = await this.#settled(workspaceId, id, actor.runner?.turnId);
      if (found === null) this.population.discard(id);
      else if (found.version !== actor.version || found.record.mark !== actor.record.mark) adopt(actor, found);
      return found !== null;
    });
  }

  get #shared(): boolean {
    return this.options.store.leaseMs !== null;
  }

  /** Whether the store may know more. Where one process has it to itself, that is so of a turn that could not be sealed when the session was woken. */
  #stale(actor: SessionActor): boolean {
    return this.#shared || actor.abandoned;
  }

  /** Ends the session, and with it the turn in flight; answers once that turn is sealed, or the store would not have it. */
  async end(actor: SessionActor): Promise<void> {
    await this.tell(actor, (at) => ({ type: 'end', at }));
    await this.#stopped(actor, actor.context.activeTurnId);
    await actor.runner?.settled;
  }

  /** Aborts the turn if it is the one in flight; answers once it is sealed, by whichever process. */
  async abort(actor: SessionActor, turnId: string): Promise<void> {
    const { runner } = actor;
    await this.tell(actor, (at) => ({ type: 'abort', at, turnId }));
    if (actor.context.activeTurnId === turnId) await this.#stopped(actor, turnId);
    const sealed = runner?.turnId === turnId ? await runner.settled : actor.context.activeTurnId !== turnId;
    if (!sealed) throw new StoreUnavailable('an aborted turn could not be sealed');
  }

  /**
   * Waits for a turn that another process runs and was asked to stop, whoever asked; if that one has died, until its lease, cut
   * by that, has run out, and seals it.
   */
  async #stopped(actor: SessionActor, turnId: string | null): Promise<void> {
    if (!this.#shared || turnId === null || actor.runner?.turnId === turnId) return;
    const { workspaceId, id: sessionId } = actor.record;
    for (const withinMs of [limits.stopMs + limits.foreignPollMs, limits.foreignStopMs]) {
      await this.options.foreign.stopped({ workspaceId, sessionId, turnId }, withinMs);
      await this.#refreshed(actor);
      if (actor.context.activeTurnId !== turnId) return;
    }
  }

  /** Hands the actor an event that stores no output: decides, commits if the machine moved, acts. Returns the outcomes. */
  tell(actor: SessionActor, event: (at: number) => SessionEvent): Promise<SessionOutcome[]> {
    return actor.mailbox.post(async () => {
      for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
        const at = this.options.clock.now();
        const outcomes = actor.machine.send(event(at));
        if (!(await this.settle(actor, outcomes, at))) continue;
        return outcomes;
      }
      throw new StoreUnavailable('a session would not hold still');
    });
  }

  /** Commits an end or an expiry among the outcomes and stops the turn that it cuts; false if the decision must be taken again. */
  settle(actor: SessionActor, outcomes: readonly SessionOutcome[], at: number): boolean | Promise<boolean> {
    return outcomes.some(({ type }) => cutting.has(type)) ? this.#cut(actor, outcomes, at) : true;
  }

  async #cut(actor: SessionActor, outcomes: readonly SessionOutcome[], at: number): Promise<boolean> {
    const stop = outcomes.find((outcome) => outcome.type === 'turn.stop');
    if (stop !== undefined && actor.runner?.turnId !== stop.turnId) await this.#requestStop(actor, stop);
    const over = outcomes.find((outcome) => outcome.type === 'session.ended' || outcome.type === 'session.expired');
    if (over !== undefined) {
      // Retention counts from the end itself, not from when somebody noticed.
      const endedAt = over.type === 'session.expired' ? actor.record.expiresAt : secondsOf(at);
      const session = { ...actor.record, lastActivityAt: Math.max(actor.record.lastActivityAt, endedAt), mark: this.options.mark(), machine: actor.machine.snapshot() };
      const committed = await this.commit(actor, session, async () => this.options.store.saveSession(session, actor.basis));
      if (!committed) return false;
    }
    for (const outcome of outcomes) {
      if (outcome.type === 'turn.stop' && actor.runner?.turnId === outcome.turnId) void actor.runner.stop(outcome.reason);
    }
    return true;
  }

  /** Asked for before anything is committed: who asks again after a failure must not find the session moved and its turn running on. */
  async #requestStop(actor: SessionActor, { turnId, reason }: { turnId: string; reason: StopRequest }): Promise<void> {
    const { workspaceId, id: sessionId } = actor.record;
    const nowMs = this.options.clock.now();
    // Where one process has the store to itself no lease runs out while it lives.
    const leaseUntilMs = this.#shared ? nowMs + limits.stopMs : Number.MAX_SAFE_INTEGER;
    try {
      await this.options.store.requestStop({ workspaceId, sessionId, turnId }, reason, leaseUntilMs, nowMs);
    } catch (error) {
      actor.machine.restore(actor.record.machine);
      throw error;
    }
  }

  /**
   * Runs the store's step and takes its new version: true if it held. If somebody else moved, the actor is loaded anew
   * and the answer is false; if the store is away, the decision is undone and the error goes on.
   */
  async commit(actor: SessionActor, session: Session, step: () => Promise<number | null>): Promise<boolean> {
    try {
      const version = await step();
      if (version !== null) {
        actor.record = session;
        actor.version = version;
        return true;
      }
    } catch (error) {
      actor.machine.restore(actor.record.machine);
      throw error;
    }
    await this.reload(actor);
    return false;
  }

  /** Forgets what was decided and takes the session as the store has it. */
  async reload(actor: SessionActor): Promise<void> {
    const found = await this.options.store.session(actor.record.workspaceId, actor.record.id).catch((error) => {
      actor.machine.restore(actor.record.machine);
      throw error;
    });
    if (found === null) {
      this.population.discard(actor.record.id);
      throw new Failure('session_not_found');
    }
    adopt(actor, found);
  }

  /** The session as stored, with no turn of a dead process left open in it. */
  async #settled(workspaceId: string, sessionId: string, runningTurnId?: string): Promise<Versioned<Session> | null> {
    const found = await this.options.store.session(workspaceId, sessionId);
    if (found === null) return null;
    const { activeTurnId } = found.record.machine.context as SessionContext;
    return activeTurnId === null || activeTurnId === runningTurnId ? found : sealOrphan(this.options, found, activeTurnId);
  }
}

/** The outcomes that end a turn or the session. */
const cutting: ReadonlySet<SessionOutcome['type']> = new Set(['turn.stop', 'session.ended', 'session.expired']);

function adopt(actor: SessionActor, found: Versioned<Session>): void {
  actor.record = found.record;
  actor.version = found.version;
  actor.machine.restore(found.record.machine);
}

const greetingMessage = (id: string, content: string, createdAt: number): Message => ({
  id,
  turnId: null,
  role: 'assistant',
  content,
  status: 'completed',
  stopReason: null,
  errorCode: null,
  createdAt,
});

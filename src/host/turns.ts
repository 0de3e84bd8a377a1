/** The beginnings and ends of turns. What happens between them never passes through an actor. */
import { secondsOf, type Timer } from '../clock.ts';
import { Failure } from '../errors.ts';
import { limits } from '../limits.ts';
import { estimateInputTokens, estimateTokens, type ModelFailure, type ModelUsage } from '../model.ts';
import { StoreUnavailable, type Appended, type Basis, type BegunTurn, type Fence, type Finished, type Message, type Remembered, type Session, type Turn, type Versioned } from '../store.ts';
import { Pace } from '../turn/pace.ts';
import { TurnRunner, type TurnOutcome } from '../turn/runner.ts';
import { Histories } from './histories.ts';
import { Lease, leaseUntil, type LeaseEvents } from './lease.ts';
import type { SessionsOptions } from './options.ts';
import { refusalOf } from './actor.ts';
import type { SessionActor, Sessions } from './sessions.ts';
import type { WorkspaceActor, Workspaces } from './workspaces.ts';

export interface WantedTurn {
  readonly message: string;
  /** What the assistant's machine answered to `converse`. */
  readonly assistantRefusal: string | null;
  readonly remember: Omit<Remembered, 'resultId' | 'untilMs'> | null;
  /** Calls the model with the conversation so far, the new message last. Told of the runner before anything can fail. */
  act(runner: TurnRunner, history: readonly Message[]): void;
  /** For the log and the metrics. */
  providerFailed(reason: ModelFailure): void;
  over(status: TurnOutcome['status'] | 'withdrawn'): void;
}

/** A turn that was begun; `before` is its session as it was, `begunAt` the monotonic time from which its lease runs. */
interface RunningTurn {
  readonly actor: SessionActor;
  readonly before: Session;
  readonly turn: Turn;
  readonly fence: Fence;
  readonly history: readonly Message[];
  /** The user's message that began it. */
  readonly said: Message;
  readonly begunAt: number;
}

export type StartedTurn = { kind: 'started'; runner: TurnRunner } | { kind: 'remembered'; remembered: Remembered };

/**
 * Where one process owns the store nobody renews a lease, and at that process's death every one is void. Until then it holds, wherever
 * the wall clock jumps: a slot that lapsed under a living turn would let one more begin than the ceiling allows.
 */
const forever = Number.MAX_SAFE_INTEGER;

export class Turns {
  readonly #sessions: Sessions;
  readonly #workspaces: Workspaces;
  readonly #options: SessionsOptions;
  readonly #histories: Histories;
  readonly #pace: Pace;
  readonly #running = new Set<TurnRunner>();

  constructor(sessions: Sessions, workspaces: Workspaces) {
    this.#sessions = sessions;
    this.#workspaces = workspaces;
    this.#options = sessions.options;
    this.#histories = new Histories(sessions.options.store);
    this.#pace = new Pace(sessions.options.clock);
  }

  get inFlight(): number {
    return this.#running.size;
  }

  /** Resolves when every turn has ended: what still runs after `graceMs` is stopped, and what no store would seal `sealMs` later is left to the next start. */
  async drain(graceMs: number, sealMs: number): Promise<void> {
    const { clock } = this.#options;
    const within = async (delayMs: number): Promise<void> => {
      let timer: Timer | undefined;
      const late = new Promise<void>((resolve) => (timer = clock.after(delayMs, resolve)));
      await Promise.race([late, this.#allOver()]);
      timer?.cancel();
    };
    await within(graceMs);
    for (const runner of this.#running) void runner.stop('ours');
    await within(sealMs);
  }

  async #allOver(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running].map((runner) => runner.over));
  }

  /** Begins a turn on the session: decides, commits, and calls the model. Throws the refusal. */
  begin(actor: SessionActor, wanted: WantedTurn): Promise<StartedTurn> {
    return actor.mailbox.post(async () => {
      for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
        const earlier = wanted.remember && (await this.#remembered(actor, wanted.remember));
        if (earlier) return { kind: 'remembered', remembered: earlier };
        const runner = await this.#beginOnce(actor, wanted);
        if (runner !== null) return { kind: 'started', runner };
      }
      throw new StoreUnavailable('a session would not hold still');
    });
  }

  async #remembered(actor: SessionActor, remember: { scope: string; key: string; bodyDigest: string }): Promise<Remembered | null> {
    const { store, clock } = this.#options;
    const earlier = await store.remembered(actor.record.workspaceId, remember.scope, remember.key, clock.now());
    if (earlier !== null && earlier.bodyDigest !== remember.bodyDigest) throw new Failure('idempotency_mismatch');
    return earlier;
  }

  /** The running turn, or null if somebody else moved and the decision must be taken again. */
  async #beginOnce(actor: SessionActor, wanted: WantedTurn): Promise<TurnRunner | null> {
    const { ids, clock } = this.#options;
    const at = clock.now();
    const begunAt = clock.monotonic();
    const turnId = ids.make('turn');
    const outcomes = actor.machine.send({ type: 'chat', at, turnId, assistantRefusal: wanted.assistantRefusal });
    if (!(await this.#sessions.settle(actor, outcomes, at))) return null;
    const refusal = refusalOf(outcomes);
    if (refusal !== null) {
      // The turn in progress may be the one that was remembered under the key, withdrawn between the looks at both.
      if (wanted.remember !== null && refusal === 'turn_in_progress' && (await this.#movedElsewhere(actor))) return null;
      throw new Failure(refusal);
    }

    const before = actor.record;
    let history: readonly Message[];
    let workspace: WorkspaceActor | null;
    try {
      history = await this.#histories.of(before, actor.version);
      workspace = await this.#workspaces.of(before.workspaceId);
      if (workspace === null) throw new Failure('session_not_found');
      if (!(await this.#workspaces.acquired(workspace))) throw workspaceFull();
    } catch (error) {
      actor.machine.restore(before.machine);
      if (isFull(error) && (await this.#movedElsewhere(actor))) return null;
      throw error;
    }
    const turn: Turn = {
      id: turnId,
      sessionId: before.id,
      messageId: '',
      messageIndex: before.messageCount + 1,
      status: 'streaming',
      stopReason: null,
      errorCode: null,
      inputTokens: 0,
      outputTokens: 0,
      createdAt: secondsOf(at),
      endedAt: null,
    };
    const begun = await this.#commitBegin(actor, turn, wanted, at, workspace.record.turnsInFlightMax);
    if (begun === null) {
      this.#workspaces.released(before.workspaceId);
      return null;
    }
    return this.#run({ actor, before, turn: begun.turn, fence: begun.fence, history, said: begun.userMessage, begunAt }, wanted);
  }

  /**
   * Whether another process has moved the session since it was looked at; what that means is then decided anew. A turn that it began
   * meanwhile makes this one a conflict, even where it took the workspace's last slot (contract 3).
   */
  async #movedElsewhere(actor: SessionActor): Promise<boolean> {
    if (this.#options.store.leaseMs === null) return false;
    const { version, mark } = actor.basis;
    await this.#sessions.reload(actor);
    return actor.version !== version || actor.record.mark !== mark;
  }

  async #commitBegin(actor: SessionActor, draft: Turn, wanted: WantedTurn, at: number, turnsInFlightMax: number) {
    const { store, ids, owner } = this.#options;
    const before = actor.record;
    const userMessage = message(ids.make('msg'), draft, 'user', wanted.message);
    const turn = { ...draft, messageId: ids.make('msg') };
    const moved = { messageCount: before.messageCount + 2, lastActivityAt: secondsOf(at), mark: this.#options.mark() };
    const session: Session = { ...before, ...moved, machine: actor.machine.snapshot() };
    let answer: BegunTurn | undefined;
    let held = false;
    try {
      held = await this.#sessions.commit(actor, session, async () => {
        answer = await store.beginTurn({
          session,
          ...actor.basis,
          turn,
          userMessage,
          assistantMessage: { ...message(turn.messageId, turn, 'assistant', ''), status: 'streaming' },
          turnsInFlightMax,
          owner,
          leaseUntilMs: store.leaseMs === null ? forever : leaseUntil(at, store.leaseMs, before.expiresAt),
          remember: wanted.remember && { ...wanted.remember, resultId: turn.id, untilMs: at + limits.idempotencyMsMax },
          nowMs: at,
        });
        return answer.outcome === 'begun' ? answer.version : null;
      });
    } catch (error) {
      this.#workspaces.released(before.workspaceId);
      throw error;
    }
    if (answer?.outcome === 'full') {
      await this.#workspaces.sync(before.workspaceId);
      throw workspaceFull();
    }
    return held && answer?.outcome === 'begun' ? { turn, fence: answer.fence, userMessage } : null;
  }

  #run({ actor, before, turn, fence, history, said, begunAt }: RunningTurn, wanted: WantedTurn): TurnRunner {
    const { store, clock, turnMsMax } = this.#options;
    const place = { workspaceId: before.workspaceId, sessionId: before.id, turnId: turn.id };
    const conversation = [...history, said];
    const events: LeaseEvents = { stop: (reason) => void runner.stop(reason), lost: () => runner.lose() };
    const lease = store.leaseMs === null ? null : new Lease({ store, clock, place, fence, leaseMs: store.leaseMs, expiresAt: before.expiresAt, begunAt }, events);
    const heard = (answer: Appended): 'stored' | 'fenced' => {
      if (typeof answer === 'object') events.stop(answer.stop);
      return answer === 'fenced' ? answer : 'stored';
    };
    const runner = new TurnRunner(
      { turnId: turn.id, messageId: turn.messageId },
      {
        append: (position, text) => (lease === null ? store.appendOutput({ ...place, fence, position, text }).then(heard) : lease.append(position, text)),
        finish: (outcome, tail, usage, length) => {
          const counted = tokensOf(outcome, usage, conversation, length);
          return this.#finish(actor, { ...turn, ...outcome, ...counted }, fence, tail).then((answer) => {
            if (answer === 'fenced') return answer;
            const { session, message } = answer;
            // What was sealed as the store had it may be less than was said.
            if (tail !== null) this.#histories.keep(session, history, [said, { ...message, content: runner.log.pieces.join('') }]);
            return counted;
          });
        },
        withdraw: () => this.#withdraw(actor, before, turn, fence),
        providerFailed: wanted.providerFailed,
        over: (status) => {
          lease?.end();
          this.#running.delete(runner);
          if (actor.runner === runner) {
            actor.runner = null;
            actor.deadline?.cancel();
          }
          this.#workspaces.released(before.workspaceId);
          wanted.over(status);
        },
      },
      clock,
      this.#pace,
      turnMsMax,
    );
    this.#running.add(runner);
    actor.runner = runner;
    this.#watchDeadline(actor);
    wanted.act(runner, conversation);
    return runner;
  }

  /** Expires the session to the second while its turn is in flight. */
  #watchDeadline(actor: SessionActor): void {
    const { clock } = this.#options;
    actor.deadline?.cancel();
    actor.deadline = clock.after(Math.max(0, actor.record.expiresAt * 1000 - clock.now()), () => {
      if (actor.runner === null) return;
      // The wheel and the wall clock may differ: what is not due by the machine's reading is asked again.
      const due = clock.now() >= actor.record.expiresAt * 1000;
      if (!due) this.#watchDeadline(actor);
      else this.#sessions.tell(actor, (at) => ({ type: 'tick', at })).catch(() => void actor.runner?.stop('expired'));
    });
  }

  /** The session as it is then, and the message as it was sealed but for its content. */
  #finish(
    actor: SessionActor,
    turn: Turn,
    fence: Fence,
    tail: { position: number; text: string } | null,
  ): Promise<{ session: Versioned<Session>; message: Message } | 'fenced'> {
    const nowMs = this.#options.clock.now();
    const ended: Turn = { ...turn, endedAt: secondsOf(nowMs) };
    const sealed: Message = {
      ...message(turn.messageId, turn, 'assistant', ''),
      status: turn.status === 'completed' ? 'completed' : 'partial',
      stopReason: turn.stopReason,
      errorCode: turn.errorCode,
    };
    return this.#close(actor, turn.id, (session, basis) =>
      this.#options.store.finishTurn({ session, ...basis, turn: ended, message: sealed, tail: tail ?? noTail, fence, nowMs }),
    ).then((answer) => (answer === 'fenced' ? answer : { session: answer, message: sealed }));
  }

  async #withdraw(actor: SessionActor, before: Session, turn: Turn, fence: Fence): Promise<void> {
    await this.#close(
      actor,
      turn.id,
      (session, basis) => this.#options.store.withdrawTurn({ session, ...basis, turn, fence }),
      { messageCount: before.messageCount, lastActivityAt: before.lastActivityAt },
    );
  }

  /** Tells the session that its turn is over, in one step with what that stores: the session as it is then. */
  #close(
    actor: SessionActor,
    turnId: string,
    step: (session: Session, basis: Basis) => Promise<Finished>,
    changes: Partial<Session> = {},
  ): Promise<Versioned<Session> | 'fenced'> {
    return actor.mailbox.post(async () => {
      for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
        const at = this.#options.clock.now();
        actor.machine.send({ type: 'finished', at, turnId });
        const session: Session = { ...actor.record, lastActivityAt: secondsOf(at), ...changes, mark: this.#options.mark(), machine: actor.machine.snapshot() };
        let fenced = false;
        const held = this.#sessions.commit(actor, session, async () => {
          const answer = await step(session, actor.basis);
          fenced = answer.outcome === 'fenced';
          return answer.outcome === 'finished' ? answer.version : null;
        });
        // A session that is gone, with its workspace or by retention, has no turn left to seal.
        const finished = await held.catch((error) => {
          if (fenced) return false;
          throw error;
        });
        if (finished) return { record: actor.record, version: actor.version };
        if (fenced) return 'fenced';
      }
      throw new StoreUnavailable('a session would not hold still');
    });
  }
}

/** As the provider counted. Of a turn that was cut it had perhaps not counted all that it said, so there the estimate stands in where that is more. */
function tokensOf({ status }: TurnOutcome, usage: ModelUsage | null, conversation: readonly Message[], length: number): ModelUsage {
  if (usage === null) return { inputTokens: estimateInputTokens(conversation), outputTokens: estimateTokens(length) };
  return status === 'completed' ? usage : { ...usage, outputTokens: Math.max(usage.outputTokens, estimateTokens(length)) };
}

/** Fits whatever is stored. */
const noTail = { position: 0, text: '' };

const workspaceFull = (): Failure => new Failure('rate_limited', { seconds: 1 });

const isFull = (error: unknown): boolean => error instanceof Failure && error.code === 'rate_limited';

const message = (id: string, turn: Turn, role: Message['role'], content: string): Message => ({
  id,
  turnId: turn.id,
  role,
  content,
  status: 'completed',
  stopReason: null,
  errorCode: null,
  createdAt: turn.createdAt,
});

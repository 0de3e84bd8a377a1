/**
 * Visitor actors: the visitors who talk to assistants over their links in this process. The store's limits decide, in
 * the steps that sessions and turns take; an actor receives the verdict and stores nothing.
 */
import { visitorKind, type VisitorContext, type VisitorEvent, type VisitorOutcome } from '../../machines/visitor.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Cause, Session, Store, TakenLimit } from '../store/store.ts';
import { openActor, type MachineInstance } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import { isRefused, type ActorIdentity, type Inspector } from '../actors/inspector.ts';
import { notedRefusals, refusalOfLimits, sessionAdmission, type Charge, type VisitorUse } from './link-budget.ts';
import { Population, type Resident } from '../actors/population.ts';
import type { LinkLimitName } from '../base/link-limits.ts';

/**
 * The reason why a visitor's request was refused: one of the assistant's limits, or the visitor's own turn in flight.
 */
export type VisitorLimiter = LinkLimitName | 'visitor_turn';

/** Whether a channel is one of the public link's: its visitors have not proved who they are. */
export const isVisitorChannel = (channel: Session['channel']): boolean => channel === 'link' || channel === 'widget';

/** A 429 of the link's limits. */
export class LinkRefused extends Failure {
  readonly limiters: readonly VisitorLimiter[];

  constructor(limiters: readonly VisitorLimiter[], waitMs: number) {
    super('rate_limited', { seconds: Math.max(1, Math.ceil(waitMs / 1000)) });
    this.limiters = limiters;
  }
}

class VisitorActor implements Resident {
  usedAt = 0;
  readonly identity: ActorIdentity;
  readonly machine: MachineInstance<VisitorEvent, VisitorOutcome, VisitorContext>;
  /**
   * The end of the clock of each of the visitor's sessions, as far as this process knows; the one that was moved last
   * at the end.
   */
  readonly clocks = new Map<string, number>();
  /** The latest end of the clocks. */
  clockUntil = 0;
  /** Fires at the end of a running clock. */
  timer: Timer | null = null;
  /** A visitor is not stored: its steps are the events that were not refused. */
  version = 0;
  readonly #inspector: Inspector;

  constructor(identity: ActorIdentity, inspector: Inspector) {
    this.identity = identity;
    this.#inspector = inspector;
    this.machine = openActor<VisitorEvent, VisitorOutcome, VisitorContext>(
      visitorKind,
      { input: undefined },
      identity,
      inspector,
    );
    inspector.life('activated', identity, this.machine);
  }

  /** A refused visitor whose clock does not run has no place and costs nothing: nothing is lost with the actor. */
  get busy(): boolean {
    return this.timer !== null;
  }

  get context(): VisitorContext {
    return this.machine.context;
  }

  send(event: VisitorEvent, cause: Cause): void {
    const decision = this.machine.decide(event);
    if (!isRefused(decision.outcomes)) this.version++;
    this.machine.publish(decision, this.version, cause);
  }

  /**
   * A clock that is moved later runs out later, so the expired ones come first. Only after a stopped clock all must be
   * examined.
   */
  setClock(sessionId: string, untilMs: number, at: number): void {
    const before = this.clocks.get(sessionId);
    this.clocks.delete(sessionId);
    if (untilMs > at) this.clocks.set(sessionId, untilMs);
    for (const [id, until] of this.clocks) {
      if (until > at) break;
      this.clocks.delete(id);
    }
    if (untilMs >= this.clockUntil) this.clockUntil = untilMs;
    else if (before === this.clockUntil)
      this.clockUntil = [...this.clocks.values()].reduce((last, until) => Math.max(last, until), 0);
  }

  passivated(): void {
    this.timer?.cancel();
    this.#inspector.life('passivated', this.identity, this.machine);
  }
}

export class Visitors {
  readonly population: Population<VisitorActor>;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #inspector: Inspector;

  constructor(store: Store, clock: Clock, inspector: Inspector) {
    this.#store = store;
    this.#clock = clock;
    this.#inspector = inspector;
    this.population = new Population(clock, limits);
  }

  /** Charges a new session of the visitor to the limits. Throws `LinkRefused` without taking anything. */
  async takeSession(workspaceId: string, use: VisitorUse, cause: Cause): Promise<void> {
    const nowMs = this.#clock.now();
    const wanted = sessionAdmission(use, nowMs);
    if (wanted.asked.length === 0) return;
    const answers = await this.#store.limits.take({ workspaceId, asked: wanted.asked, nowMs });
    if (answers.some(({ passed }) => !passed)) throw await this.refuse(workspaceId, use, wanted, answers, nowMs, cause);
  }

  /** Returns the refusal of limits that did not pass, after it is counted and the visitor's machine has it. */
  async refuse(
    workspaceId: string,
    use: VisitorUse,
    wanted: Pick<Charge, 'names'>,
    answers: readonly TakenLimit[],
    nowMs: number,
    cause: Cause,
  ): Promise<LinkRefused> {
    const { refusing, waitMs } = refusalOfLimits(wanted, answers, nowMs)!;
    // The count is for the console: without it the request is refused all the same.
    await this.#store.limits
      .take({ workspaceId, asked: notedRefusals(use.assistantId, refusing), nowMs })
      .catch(() => {});
    await this.#send(workspaceId, use.visitorId, cause, (at, { context }) => ({
      type: 'message',
      at,
      refusal: { limit: refusing[0]!, until: nowMs + waitMs },
      clockUntil: context.clockUntil,
    }));
    return new LinkRefused(refusing, waitMs);
  }

  /** Returns the refusal of a turn that a call requested early: it is counted when the turn is requested again. */
  refuseEarly(wanted: Pick<Charge, 'names'>, answers: readonly TakenLimit[], nowMs: number): LinkRefused {
    const { refusing, waitMs } = refusalOfLimits(wanted, answers, nowMs)!;
    return new LinkRefused(refusing, waitMs);
  }

  /** A message of the session was accepted: its clock runs until `untilMs` at least. */
  noteAccepted({ workspaceId, id, link }: Session, untilMs: number, cause: Cause): void {
    if (link === undefined) return;
    void this.#send(workspaceId, link.visitorId, cause, (at, actor) => {
      actor.setClock(id, untilMs, at);
      return { type: 'message', at, refusal: null, clockUntil: actor.clockUntil };
    });
  }

  /** The session's turn has ended, or its end has stopped the clock. */
  noteMoved({ workspaceId, id, link }: Session, cause: Cause): void {
    if (link === undefined) return;
    void this.#send(workspaceId, link.visitorId, cause, (at, actor) => {
      const ends = link.clock?.movedBy === 'end';
      actor.setClock(id, link.clock?.untilMs ?? 0, at);
      return ends && actor.clocks.size === 0
        ? { type: 'left', at }
        : { type: 'sealed', at, clockUntil: actor.clockUntil };
    });
  }

  async #send(
    workspaceId: string,
    visitorId: string,
    cause: Cause,
    eventFor: (at: number, actor: VisitorActor) => VisitorEvent,
  ): Promise<void> {
    const identity = { kind: 'visitor', id: visitorId, workspaceId } as const;
    const actor = (await this.population.activate(
      visitorId,
      async () => new VisitorActor(identity, this.#inspector),
      workspaceId,
    ))!;
    actor.send(eventFor(this.#clock.now(), actor), cause);
    this.#watch(actor);
  }

  /** Sends the machine a tick once its clock has run out, or its refusal has expired while the clock runs. */
  #watch(actor: VisitorActor): void {
    actor.timer?.cancel();
    actor.timer = null;
    const { clockUntil, refusal } = actor.context;
    const at = this.#clock.now();
    const { state } = actor.machine;
    if (state === 'away' || (state === 'limited' && clockUntil <= at)) return;
    actor.timer = this.#clock.after(Math.max(1, Math.min(clockUntil, refusal?.until ?? clockUntil) - at), () => {
      actor.send({ type: 'tick', at: this.#clock.now() }, nobody);
      this.#watch(actor);
    });
  }

  /** A refusal may expire without a message that would notify the machine. */
  levelAll(): void {
    const at = this.#clock.now();
    for (const actor of this.population.residents())
      if (isRefusalOver(actor, at)) actor.send({ type: 'tick', at }, nobody);
  }
}

const isRefusalOver = ({ context: { refusal } }: VisitorActor, at: number): boolean =>
  refusal !== null && refusal.until <= at;

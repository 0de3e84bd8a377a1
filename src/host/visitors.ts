/**
 * Visitor actors: who talks to assistants over their links in this process. The store's limits decide, in the steps that sessions
 * and turns take; an actor is told the verdict. Nothing of it is stored.
 */
import { visitorKind, type VisitorContext, type VisitorEvent, type VisitorOutcome } from '../../machines/visitor.ts';
import type { Clock, Timer } from '../clock.ts';
import { Failure } from '../errors.ts';
import { limits, type LinkLimitName } from '../limits.ts';
import type { Cause, Session, Store, TakenLimit } from '../store.ts';
import { openActor, type Stateful } from './actor.ts';
import { nobody } from './cause.ts';
import { isRefused, type ActorIdentity, type Inspector } from './inspector.ts';
import { notedRefusals, refusalOfLimits, sessionAdmission, type Admission, type VisitorUse } from './link-use.ts';
import { Population, type Resident } from './population.ts';

/** What refused a request of a visitor: some of the assistant's limits, or the visitor's own turn in flight. */
export type VisitorLimiter = LinkLimitName | 'visitor_turn';

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
  readonly machine: Stateful<VisitorEvent, VisitorOutcome>;
  /** When the clock of each of the visitor's sessions runs out, as far as this process knows. */
  readonly clocks = new Map<string, number>();
  timer: Timer | null = null;
  /** Nothing of a visitor is stored: its steps are the events that were not refused. */
  version = 0;
  readonly #inspector: Inspector;

  constructor(identity: ActorIdentity, inspector: Inspector) {
    this.identity = identity;
    this.#inspector = inspector;
    this.machine = openActor<VisitorEvent, VisitorOutcome>(visitorKind, { input: undefined }, identity, inspector);
    inspector.life('activated', identity, this.machine);
  }

  get busy(): boolean {
    return this.machine.state !== 'away';
  }

  get context(): VisitorContext {
    return this.machine.context as VisitorContext;
  }

  send(event: VisitorEvent, cause: Cause): void {
    const decision = this.machine.decide(event);
    if (!isRefused(decision.outcomes)) this.version++;
    this.machine.tell(decision, this.version, cause);
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

  /** Takes what a new session of the visitor costs. Throws `LinkRefused`. */
  async takeSession(workspaceId: string, use: VisitorUse, cause: Cause): Promise<void> {
    await this.take(workspaceId, use, sessionAdmission(use), cause);
  }

  /** Takes limits apart from any turn. Throws `LinkRefused`, and then nothing was taken. */
  async take(workspaceId: string, use: VisitorUse, wanted: Pick<Admission, 'asked' | 'names'>, cause: Cause): Promise<void> {
    if (wanted.asked.length === 0) return;
    const nowMs = this.#clock.now();
    const answers = await this.#store.limits.take({ workspaceId, asked: wanted.asked, nowMs });
    if (answers.some(({ passed }) => !passed)) throw await this.refused(workspaceId, use, wanted, answers, nowMs, cause);
  }

  /** The refusal of limits that did not pass, after it is counted and the visitor's machine has it. */
  async refused(workspaceId: string, use: VisitorUse, wanted: Pick<Admission, 'names'>, answers: readonly TakenLimit[], nowMs: number, cause: Cause): Promise<LinkRefused> {
    const { refusing, waitMs } = refusalOfLimits(wanted, answers, nowMs)!;
    // The count is for the console: without it the request is refused all the same.
    await this.#store.limits.take({ workspaceId, asked: notedRefusals(use.assistantId, refusing), nowMs }).catch(() => {});
    await this.#send(workspaceId, use.visitorId, cause, (at, { context }) => ({ type: 'message', at, refusal: { limit: refusing[0]!, until: nowMs + waitMs }, clockUntil: context.clockUntil }));
    return new LinkRefused(refusing, waitMs);
  }

  /** A message of the session was accepted: its clock runs until `untilMs` at least. */
  accepted({ workspaceId, id, link }: Session, untilMs: number, cause: Cause): void {
    if (link === undefined) return;
    void this.#send(workspaceId, link.visitorId, cause, (at, actor) => {
      actor.clocks.set(id, untilMs);
      return { type: 'message', at, refusal: null, clockUntil: lastOf(actor) };
    });
  }

  /** The session's turn is over, or its end has stopped the clock. */
  moved({ workspaceId, id, link }: Session, cause: Cause): void {
    if (link === undefined) return;
    void this.#send(workspaceId, link.visitorId, cause, (at, actor) => {
      const ends = link.clock?.movedBy === 'end';
      actor.clocks.set(id, link.clock?.untilMs ?? 0);
      for (const [session, untilMs] of actor.clocks) if (untilMs <= at) actor.clocks.delete(session);
      return ends && actor.clocks.size === 0 ? { type: 'left', at } : { type: 'sealed', at, clockUntil: lastOf(actor) };
    });
  }

  async #send(workspaceId: string, visitorId: string, cause: Cause, eventFor: (at: number, actor: VisitorActor) => VisitorEvent): Promise<void> {
    const identity = { kind: 'visitor', id: visitorId, workspaceId } as const;
    const actor = (await this.population.activate(visitorId, async () => new VisitorActor(identity, this.#inspector), workspaceId))!;
    actor.send(eventFor(this.#clock.now(), actor), cause);
    this.#watch(actor);
  }

  /** Sends the machine a tick once its clock has run out or its refusal is over. */
  #watch(actor: VisitorActor): void {
    actor.timer?.cancel();
    if (!actor.busy) return;
    const { clockUntil, refusal } = actor.context;
    const dueMs = refusal?.until ?? clockUntil;
    actor.timer = this.#clock.after(Math.max(1, dueMs - this.#clock.now()), () => {
      if (this.population.peek(actor.identity.id) !== actor) return;
      actor.send({ type: 'tick', at: this.#clock.now() }, nobody);
      this.#watch(actor);
    });
  }
}

const lastOf = ({ clocks }: VisitorActor): number => Math.max(0, ...clocks.values());

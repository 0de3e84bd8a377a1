/**
 * Runs a turn: sends its machine (`machines/turn.ts`) the events of the model (`rounds.ts`), the store, the lease and
 * requests, and carries out what the machine decides. Pieces of text do not pass through the machine: they go from the
 * model into the log, into the store and then to the readers. The turn belongs to the session, not to the request that
 * began it.
 */
import {
  begunTurn,
  turnKind,
  turnVersion,
  type TurnContext,
  type TurnEvent,
  type TurnOutcome,
  type TurnStop,
} from '../../machines/turn.ts';
import { openActor, type MachineInstance } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import type { ActorIdentity } from '../actors/inspector.ts';
import { Deferred } from './deferred.ts';
import { steadyTime, type Timer } from '../base/clock.ts';
import type { SlotListItem } from '../base/slot-list.ts';
import type { TurnFault } from '../metrics/metrics.ts';
import type { AnswerCut, ModelStream, ModelFailure } from '../providers/model.ts';
import type { Cause, StopRequest, TurnPast } from '../store/store.ts';
import type { LeaseEvents } from './lease.ts';
import { errorOf, faultOf, type Begun, type TurnFacts, type TurnParts, type TurnStatus } from './ports.ts';
import type { TurnInFlight } from './in-flight.ts';
import { TurnEndSteps } from './end-steps.ts';
import { causeOf, TurnEventLog } from './event-log.ts';
import { ModelRounds, type RoundEvents } from './rounds.ts';
import { awaitingEnd, final, listening, running, silent, storing } from './states.ts';
import { StoredPieces } from './stored-pieces.ts';
import { TurnLog } from './log.ts';
import { Writer, type WriterEvents } from './writer.ts';

export class TurnRunner implements SlotListItem, LeaseEvents, TurnInFlight, WriterEvents, RoundEvents {
  readonly turnId: string;
  readonly messageId: string;
  readonly isSpoken: boolean;
  readonly identity: ActorIdentity;
  readonly machine: MachineInstance<TurnEvent, TurnOutcome, TurnContext>;
  /**
   * The number of its newest step, as its history counts them: an end that the store rejects again, for the same fault,
   * is no new step.
   */
  version = 0;
  /** Index in the list of the turns in flight; see `SlotListItem`. */
  slot = -1;
  readonly log: TurnLog;
  /** Resolves when the stream may begin, or when it certainly never will. */
  readonly begun: Promise<Begun>;
  readonly #parts: TurnParts;
  readonly #cause: Cause;
  readonly #events: TurnEventLog;
  /** The turn's clock: starts at the wall clock's time, and then runs like the monotonic clock. */
  readonly #time: () => number;
  #announceBegun!: (begun: Begun) => void;
  readonly #over = new Deferred<Cause>();
  readonly #ended = new Deferred<void>();
  /** Whether the end of the turn is stored. */
  readonly #settled = new Deferred<boolean>();
  readonly #rounds: ModelRounds;
  readonly #supply = new StoredPieces();
  readonly #writer: Writer;
  readonly #endSteps: TurnEndSteps;
  /** The machine's deadline that the timer is set to; null without a timer. */
  #deadline: number | null = null;
  #timer: Timer | null = null;
  /** The failure of the provider. */
  #failure: ModelFailure | undefined;
  #faulty = false;

  constructor({ turnId, messageId, workspaceId, cause }: TurnFacts, parts: TurnParts) {
    const { clock, inspector, speaker, turnMsMax, shared } = parts;
    this.log = speaker === null ? new TurnLog() : TurnLog.released();
    this.turnId = turnId;
    this.messageId = messageId;
    this.isSpoken = speaker !== null;
    this.identity = { kind: 'turn', id: turnId, workspaceId };
    this.#parts = parts;
    this.#cause = cause;
    const nowMs = clock.now();
    this.#time = steadyTime(clock);
    this.begun = new Promise((resolve) => (this.#announceBegun = resolve));
    this.#events = new TurnEventLog(turnId, {
      runsUntil: nowMs + turnMsMax,
      shared,
      spoken: speaker !== null,
      fallbacks: parts.model.fallbacks,
    });
    const snapshot = { version: turnVersion, state: 'waiting', context: begunTurn(this.#events) };
    this.machine = openActor(turnKind, { snapshot }, this.identity, inspector);
    this.#guard(() => inspector.life('activated', this.identity, this.machine));
    this.#watchDeadline();
    this.#rounds = new ModelRounds(this, this.log, parts);
    this.#writer = new Writer(this.log, this, (position, text) => parts.steps.append(position, text), parts);
    this.#endSteps = new TurnEndSteps({
      machine: this.machine,
      log: this.log,
      parts,
      rounds: this.#rounds,
      writer: this.#writer,
      events: this.#events,
      cause,
      time: this.#time,
      send: (event, error) => this.#send(event, error),
    });
    parts.steps.open(this);
  }

  get traceparent(): string | null {
    return this.#parts.span?.traceparent ?? null;
  }

  /** Resolves once the turn is sealed or withdrawn, or another process owns it, with the cause. */
  get over(): Promise<Cause> {
    return this.#over.promise;
  }

  /**
   * Resolves once it is known whether the end of the turn is stored, or when the store did not answer and the end will
   * be retried.
   */
  get settled(): Promise<boolean> {
    return this.#settled.promise;
  }

  /** Resolves once the end of the turn is known. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Whether the end of the turn is known. */
  get hasEnded(): boolean {
    return final.has(this.machine.state);
  }

  /** Sends the request to the model, or first the approved tool calls. */
  start(): void {
    this.#rounds.start();
  }

  /** The turn's steps so far. */
  get past(): TurnPast {
    return this.#events.past();
  }

  /**
   * Stops the turn and its provider at once, for a request, if one is named; resolves as `settled` does. Has no effect
   * on a turn that has ended.
   */
  stop(reason: TurnStop, cause = nobody): Promise<boolean> {
    if (running.has(this.machine.state)) this.#events.stoppedBy = cause;
    this.#send({ type: 'stop', at: this.#now, reason });
    return this.settled;
  }

  /**
   * The lease is no longer renewed, because another process has taken over the turn or its slot. The store decides
   * which end the turn has.
   */
  fenced(): void {
    this.#send({ type: 'fenced', at: this.#now, until: this.#endSteps.waitUntil });
  }

  /**
   * The lease cannot be renewed: further output of the model is rejected. Readers get the end once the store has
   * answered.
   */
  lost(): void {
    this.#send({ type: 'lease.lost', at: this.#now });
  }

  /** The call supplies the text of a spoken reply as it is heard. */
  wrote(text: string): void {
    const { speaker } = this.#parts;
    if (speaker !== null) return this.#guard(() => speaker.text(text));
    this.log.append(text);
    this.#writer.note();
    if (silent.has(this.machine.state)) this.#send({ type: 'output', at: this.#now });
    else this.#writer.begin();
  }

  overflowed(): void {
    this.#send({ type: 'overflow', at: this.#now });
  }

  answered(how: 'called' | 'ended', cut?: AnswerCut): void {
    if (how === 'called') this.#send({ type: 'called', at: this.#now });
    else this.#answerEnded(cut);
  }

  /** Reports the model's refusal to clients as a filter's. */
  #answerEnded(cut: AnswerCut | undefined): void {
    this.#send({
      type: 'ended',
      at: this.#now,
      ...(cut !== undefined && { cut: cut === 'refusal' ? 'content_filter' : cut }),
    });
  }

  unasked(error: unknown): void {
    this.#send({ type: 'fault', at: this.#now, fault: faultOf(error) }, error);
  }

  /** Whether only its call knows of the turn. */
  get isHidden(): boolean {
    return this.isSpoken && !this.#context.begun && !this.hasEnded;
  }

  /** Shows readers a turn that is spoken; resolves once they can see it. */
  async announce(): Promise<void> {
    await this.#parts.steps.release(0);
    this.#send({ type: 'announced', at: this.#now });
  }

  /** Stores the next piece of a reply that is spoken, before its audio is sent; resolves with whether it is stored. */
  supply(piece: string): Promise<boolean> {
    if (!storing.has(this.machine.state)) return Promise.resolve(false);
    this.log.append(piece);
    const stored = this.#supply.stored(this.log.length);
    if (silent.has(this.machine.state)) this.#send({ type: 'output', at: this.#now });
    else this.#writer.start();
    return stored;
  }

  /** Shows readers the first `points` code points of a reply that is spoken. */
  release(points: number): void {
    this.log.release(points);
    void this.#parts.steps.release(points);
  }

  /** Ends a spoken turn: its listener heard all of it, cut it or heard none of it, or the rest cannot be spoken. */
  endSpeech(
    end: 'heard' | 'cut' | 'unheard' | { readonly dropped: 'provider' | 'voice' | 'ours' },
    cause = nobody,
  ): void {
    if (end === 'cut') this.#events.stoppedBy = cause;
    this.#send(
      typeof end === 'string' ? { type: end, at: this.#now } : { type: 'dropped', at: this.#now, reason: end.dropped },
    );
  }

  failed(reason: ModelFailure): void {
    this.#send({ type: 'failed', at: this.#now, reason, ...(this.#rounds.hasSaid && { said: true }) });
  }

  get model(): ModelStream | null {
    return this.#rounds.model;
  }

  get hasFallback(): boolean {
    return this.#context.fallbacks > 0 && !this.#rounds.hasSaid;
  }

  get stores(): boolean {
    return storing.has(this.machine.state);
  }

  get calls(): boolean {
    return this.machine.state === 'calling';
  }

  /**
   * A step whose answer was lost is retried until the lease has run out (see `lost`). The first one is not retried,
   * because a chat waits for it.
   */
  get retries(): boolean {
    return this.#context.shared && this.#context.begun;
  }

  stored(): void {
    this.#supply.keep(this.log.kept);
    if (!this.#context.begun) this.#send({ type: 'stored', at: this.#now });
  }

  unstored(error: unknown): void {
    this.#send({ type: 'unstored', at: this.#now, fault: faultOf(error) }, error);
  }

  taken(): void {
    this.#send({ type: 'taken', at: this.#now, until: this.#endSteps.waitUntil });
  }

  stopRequested(reason: StopRequest): void {
    void this.stop(reason);
  }

  noted(): void {
    this.#send({ type: 'noted', at: this.#now });
  }

  roundOver(how: 'answered' | 'awaited' | 'ended', cut?: AnswerCut): void {
    if (how === 'ended') this.#answerEnded(cut);
    else this.#send({ type: how, at: this.#now });
  }

  get #context(): TurnContext {
    return this.machine.context;
  }

  get listens(): boolean {
    return listening.has(this.machine.state);
  }

  get #now(): number {
    return this.#time();
  }

  /** Sends the machine an event; `error`: the error behind it. An event of a turn that has ended is dropped. */
  #send(event: TurnEvent, error: unknown = null): void {
    if (this.hasEnded) return;
    const decision = this.machine.decide(event);
    const { to } = decision;
    if (decision.outcomes[0]?.type !== 'unchanged' && this.#events.note(event, decision.from !== to)) this.version++;
    const { inspector, reports } = this.#parts;
    if (inspector.watched) this.#guard(() => this.machine.publish(decision, this.version, this.#causeOf(event.type)));
    for (const outcome of decision.outcomes) this.#carryOut(outcome, error);
    this.#watchDeadline();
    if (!storing.has(to)) this.#supply.end();
    if (!final.has(to)) return;
    this.#ended.resolve();
    this.#guard(() => reports.over(to as TurnStatus));
    this.#guard(() => this.#endSpan(to as TurnStatus));
    this.#guard(() => inspector.life('passivated', this.identity, this.machine));
  }

  #endSpan(status: TurnStatus): void {
    const { span } = this.#parts;
    if (span === null) return;
    this.#rounds.endSpan();
    span.end({ error: errorOf(status, this.#endSteps.terminal, this.#context.refusal) });
  }

  #causeOf(type: TurnEvent['type']): Cause {
    return causeOf(type, this.#context.ending, this.#cause, this.#events.stoppedBy);
  }

  /** A fault in the program is reported, and does not stop the rest: a chat or a drain would wait forever. */
  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#report('error', error);
    }
  }

  #carryOut(outcome: TurnOutcome, error: unknown): void {
    try {
      this.#act(outcome, error);
    } catch (fault) {
      this.#report('error', fault);
    }
  }

  #act(outcome: TurnOutcome, error: unknown): void {
    switch (outcome.type) {
      case 'append':
        return this.#writer.start();
      case 'seal':
        return this.#endSteps.seal();
      case 'withdraw':
        return void this.#endSteps.withdraw();
      case 'follow':
        return void this.#endSteps.follow();
      case 'calls.store':
        return void this.#storeCalls();
      case 'calls.send':
        return this.#rounds.calls!.send();
      case 'model.ask':
        return this.#rounds.ask();
      case 'model.next':
        return this.#rounds.askNext();
      case 'model.cancel':
        return this.#rounds.cancel();
      case 'chat.begun':
        return this.#announceBegun({ kind: 'begun' });
      case 'reply.over':
        return this.#parts.speaker?.over(outcome.reason);
      case 'chat.refused':
        return this.#announceBegun({ kind: outcome.reason, failure: this.#failure });
      case 'turn.left':
        this.#parts.steps.leave();
        return this.#over.resolve(this.#endSteps.sealedBy);
      case 'readers.end':
        return this.log.close(this.#endSteps.terminal, this.#endSteps.isAllStored);
      case 'readers.cut':
        return this.log.cut();
      case 'settled':
        return this.#settled.resolve(true);
      case 'unsettled':
        return this.#settled.resolve(false);
      case 'provider.failed':
        this.#failure = outcome.reason as ModelFailure;
        return this.#parts.reports.providerFailed(this.#failure);
      case 'faulted':
        return this.#report(outcome.reason as TurnFault, error);
      case 'unchanged':
    }
  }

  /** Reports the turn's first fault; later ones follow from it and are not reported. */
  #report(reason: TurnFault, cause: unknown): void {
    if (this.#faulty) return;
    this.#faulty = true;
    this.#parts.reports.ourFault(this.turnId, reason, cause);
  }

  /** Sets the timer to the machine's next deadline, if it has changed. */
  #watchDeadline(): void {
    const { runsUntil, waitUntil } = this.#context;
    const { state } = this.machine;
    const deadline = running.has(state) ? runsUntil : awaitingEnd.has(state) ? waitUntil : null;
    if (deadline === this.#deadline) return;
    this.#timer?.cancel();
    this.#deadline = deadline;
    this.#timer =
      deadline === null
        ? null
        : this.#parts.clock.after(Math.max(1, deadline - this.#now), () => {
            this.#deadline = null;
            this.#send({ type: 'tick', at: this.#now });
          });
  }

  /** Stores the calls of the model's round, once no write is under way. */
  async #storeCalls(): Promise<void> {
    this.#rounds.rest();
    await this.#writer.idle;
    if (this.calls) await this.#rounds.store();
  }
}

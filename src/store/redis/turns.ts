/** A turn's steps. A lease is sent to Redis as a duration, because Redis's clock decides when it ends. */
import type {
  AppendOutput,
  AppendResult,
  AuditEntry,
  BeginTurn,
  BegunTurn,
  Fence,
  Finished,
  IdempotencyRecord,
  FinishTurn,
  OutputAfter,
  RateTurn,
  Released,
  Renewed,
  StepTurn,
  TakenOver,
  Session,
  StopRequest,
  ToolCall,
  Turn,
  TurnPlace,
  TurnStore,
  WithdrawTurn,
} from '../store.ts';
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { codePoints } from '../../base/text.ts';
import { setMsMin, type StoreClock } from '../clock.ts';
import { endedCalls, hasEnded } from '../records/tools.ts';
import { packRow, unpackRow } from '../codec.ts';
import { firstIndexOf, streamingMessage, isUncounted } from '../records.ts';
import { auditFields, RedisAudit } from './audit.ts';
import type { DueWorkspaces } from './due-workspaces.ts';
import { moveField, packedTime } from './history.ts';
import { account, memoryDigest, part } from './keys.ts';
import type { Roots } from './keys.ts';
import { answersOf, askedFields, settledFields } from './limits.ts';
import type { RedisLink } from './link.ts';
import {
  amendsField,
  basisFields,
  endedFields,
  endingFields,
  feedbackFields,
  feedbackOf,
  foundFields,
  memoryFields,
  messageFields,
  messageRecord,
  sessionFields,
  versionFields,
} from './records.ts';
import type { RedisOrphans } from './orphans.ts';
import type { Registry } from './registry.ts';
import { begins, nameOf, textOfReply, bytesOfReply } from './reply.ts';
import type { Named, RedisReply } from './reply.ts';
import type { Answer, Gap } from './steps.ts';
import { callsOf, RedisTranscript } from './transcript.ts';

/**
 * The pauses before a piece is sent again that arrived before the piece it follows: a redirection or an unloaded script
 * may reorder pieces.
 */
const overtakenMs = [5, 20, 80] as const;

export class RedisTurns implements TurnStore {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #registries: readonly Registry[];
  readonly #orphans: RedisOrphans;
  readonly #due: DueWorkspaces;
  readonly #clock: Clock;
  /** The time of Redis, where it is known. */
  readonly #time: StoreClock | undefined;
  readonly #transcript: RedisTranscript;
  readonly #audit: RedisAudit;

  /** `registries`: the lists on which a workspace is registered before a turn begins in it. */
  constructor(
    link: RedisLink,
    roots: Roots,
    registries: readonly Registry[],
    orphans: RedisOrphans,
    due: DueWorkspaces,
    clock: Clock,
    time?: StoreClock,
  ) {
    this.#link = link;
    this.#due = due;
    this.#roots = roots;
    this.#registries = registries;
    this.#orphans = orphans;
    this.#clock = clock;
    this.#time = time;
    this.#transcript = new RedisTranscript(link, roots);
    this.#audit = new RedisAudit(link, roots);
  }

  async begin(step: BeginTurn): Promise<BegunTurn> {
    const { session, turn, owner, nowMs } = step;
    if (step.audit !== undefined) await this.#audit.note(step.audit);
    // Nearly always there is nothing to wait for, and each `await` delays a turn's first text.
    const missing = this.#registries.filter((registry) => !registry.has(session.workspaceId));
    if (missing.length > 0) await Promise.all(missing.map((registry) => registry.register(session.workspaceId)));
    const lease = step.leaseUntilMs - nowMs;
    const answer = await this.#link.runDurable('begin-turn', this.#roots.workspace(session.workspaceId), {
      session: part(session.id),
      turn: part(turn.id),
      owner,
      ...basisFields(step),
      lease,
      slots: step.slot === null ? '' : part(step.slot.name),
      slotsMax: step.slot === null ? '' : Math.min(step.slot.ceiling, Number.MAX_SAFE_INTEGER),
      ...sessionFields(session),
      turnRecord: packRow(turn),
      index: turn.messageIndex,
      ...messageFields(step.userMessage),
      reply: messageRecord(streamingMessage(turn)),
      ...memoryFields(step.remember, nowMs),
      ...foundFields(step.found ?? null, nowMs),
      short: lease < limits.leaseMs ? session.workspaceId : '',
      channel: this.#roots.channel('notices'),
      released: step.released ?? '',
      amends: amendsField(step.amends),
      ...moveField(step.move),
      ...auditFields(step.audit),
      assistant: part(session.assistantId),
      revision: step.release?.revision ?? '',
      asked: askedFields(step.asked, nowMs),
    });
    this.#orphans.noteLease(session.workspaceId, lease);
    if (begins(answer, 'begun')) return { outcome: 'begun', version: answer[1], fence: { epoch: answer[2], owner } };
    if (begins(answer, 'remembered'))
      return { outcome: 'remembered', remembered: unpackRow<IdempotencyRecord>(answer[1]) };
    if (begins(answer, 'limited')) {
      const [, ...answers] = answer;
      return { outcome: 'limited', answers: answersOf(answers) };
    }
    return { outcome: nameOf(answer[0]) };
  }

  async append(step: AppendOutput): Promise<AppendResult> {
    const lease = step.leaseUntilMs === undefined ? '' : step.leaseUntilMs - step.nowMs!;
    if (lease !== '') this.#orphans.noteLease(step.workspaceId, lease);
    const root = this.#roots.workspace(step.workspaceId);
    const {
      fence: { epoch, owner },
      position,
      text,
    } = step;
    const piece = {
      session: part(step.sessionId),
      turn: part(step.turnId),
      epoch,
      owner,
      position,
      count: codePoints(text),
      text,
      lease,
    };
    return stopOr(await this.#place([position], () => this.#link.runOutput('append-output', root, piece)));
  }

  async renew(
    { workspaceId, sessionId, turnId }: TurnPlace,
    { epoch, owner }: Fence,
    leaseUntilMs: number,
    nowMs: number,
  ): Promise<Renewed> {
    const lease = leaseUntilMs - nowMs;
    this.#orphans.noteLease(workspaceId, lease);
    const fields = { session: part(sessionId), turn: part(turnId), epoch, owner, lease };
    return stopOr(await this.#link.run('renew-turn', this.#roots.workspace(workspaceId), fields));
  }

  async release(
    { workspaceId, sessionId, turnId }: TurnPlace,
    { epoch, owner }: Fence,
    points: number,
  ): Promise<Released> {
    const fields = { session: part(sessionId), turn: part(turnId), epoch, owner, points };
    return nameOf(await this.#link.run('release-output', this.#roots.workspace(workspaceId), fields));
  }

  async step({
    workspaceId,
    sessionId,
    turnId,
    fence: { epoch, owner },
    from,
    calls,
    amends,
  }: StepTurn): Promise<AppendResult> {
    const ended = amends === undefined ? 0 : endedCalls(amends.message);
    const open = calls.map((call) => (hasEnded(call) ? '0' : '1')).join('');
    const fields = {
      session: part(sessionId),
      turn: part(turnId),
      epoch,
      owner,
      from,
      amends: amendsField(amends),
      ended,
      open,
      calls: calls.map((call) => packRow(call)),
    };
    const root = this.#roots.workspace(workspaceId);
    return stopOr(await this.#place([from], () => this.#link.runDurable('step-turn', root, fields)));
  }

  async requestStop(
    { workspaceId, sessionId, turnId }: TurnPlace,
    reason: StopRequest,
    leaseUntilMs: number,
    nowMs: number,
    audit?: AuditEntry,
  ): Promise<boolean> {
    if (audit !== undefined) await this.#audit.note(audit);
    const lease = leaseUntilMs - nowMs;
    const fields = {
      session: part(sessionId),
      turn: part(turnId),
      reason,
      lease,
      channel: this.#roots.channel('notices'),
      workspaceId,
      sessionId,
      turnId,
      ...auditFields(audit),
    };
    const inFlight = (await this.#link.runDurable('request-stop', this.#roots.workspace(workspaceId), fields)) === 1;
    if (inFlight) this.#orphans.noteLease(workspaceId, lease);
    return inFlight;
  }

  async finish(step: FinishTurn): Promise<Finished> {
    const { session, turn, tail, cutAt = 0 } = step;
    if (step.audit !== undefined) await this.#audit.note(step.audit);
    const answer = await this.#place([tail.position, cutAt], () =>
      this.#link.runDurable('finish-turn', this.#roots.workspace(session.workspaceId), {
        session: part(session.id),
        turn: part(turn.id),
        ...basisFields(step),
        epoch: step.fence.epoch,
        owner: step.fence.owner,
        ...sessionFields(session),
        turnRecord: packRow(turn),
        message: messageRecord(step.message),
        position: tail.position,
        count: codePoints(tail.text),
        text: tail.text,
        cut: step.cutAt ?? '',
        ...countedFields(session, turn),
        ...versionFields(session, turn.assistantVersion),
        packedTime: packedTime(step.nowMs),
        channel: this.#roots.channel('notices'),
        amends: amendsField(step.amends),
        ...moveField(step.move),
        ...auditFields(step.audit),
        ...endedFields(session, turn, step.nowMs),
        settled: settledFields(step.settled, step.nowMs),
      }),
    ).finally(() => this.#due.ended(session.workspaceId));
    return finished(answer);
  }

  async withdraw(step: WithdrawTurn): Promise<Finished> {
    const { session, turn, fence, remember } = step;
    const answer = await this.#link
      .runDurable('withdraw-turn', this.#roots.workspace(session.workspaceId), {
        session: part(session.id),
        turn: part(turn.id),
        ...basisFields(step),
        epoch: fence.epoch,
        owner: fence.owner,
        ...sessionFields(session),
        first: firstIndexOf(turn),
        index: turn.messageIndex,
        turnId: turn.id,
        given: remember ? memoryDigest(remember.scope, remember.key) : '',
        ...countedFields(session, turn),
        ...versionFields(session, turn.assistantVersion),
        packedTime: packedTime(step.nowMs ?? 0),
        channel: this.#roots.channel('notices'),
        amends: amendsField(step.amends),
        ...moveField(step.move),
        ...endingFields(session, step.nowMs ?? 0),
        settled: settledFields(step.settled, step.nowMs!),
      })
      .finally(() => this.#due.ended(session.workspaceId));
    return finished(answer);
  }

  async rate({ session, turn, feedback }: RateTurn): Promise<boolean> {
    const { ended, account: counted } = countedFields(session, turn);
    const fields = {
      session: part(session.id),
      turn: part(turn.id),
      ...feedbackFields(feedback),
      account: counted,
      ended,
      ...versionFields(session, turn.assistantVersion),
    };
    return (await this.#link.runDurable('rate-turn', this.#roots.workspace(session.workspaceId), fields)) === 1;
  }

  async claim({ workspaceId, sessionId, turnId }: TurnPlace): Promise<boolean> {
    const fields = { session: part(sessionId), turn: part(turnId) };
    return (await this.#link.runDurable('claim-turn', this.#roots.workspace(workspaceId), fields)) === 1;
  }

  async takeOver(place: TurnPlace, owner: string, leaseUntilMs: number, nowMs: number): Promise<TakenOver | null> {
    const root = this.#roots.workspace(place.workspaceId);
    const lease = leaseUntilMs - nowMs;
    this.#orphans.noteLease(place.workspaceId, lease);
    // A clock that is set ahead ends every lease at once: the owners get the time of a lease to renew theirs.
    if (this.#time?.isEven(limits.leaseMs) === false) return null;
    const latest = this.#time === undefined ? '' : this.#time.now() + setMsMin;
    const seized = await this.#link.run('take-over-turn', root, {
      session: part(place.sessionId),
      turn: part(place.turnId),
      owner,
      lease,
      token: leaseUntilMs,
      latest,
    });
    if (seized === null) return null;
    const [epoch, stop] = seized;
    return { epoch, owner, stop: stop === null ? null : nameOf(stop) };
  }

  orphans(_nowMs: number, limit: number): Promise<TurnPlace[]> {
    return this.#orphans.find(limit);
  }

  async read(workspaceId: string, sessionId: string, turnId: string): Promise<Turn | null> {
    const root = this.#roots.workspace(workspaceId);
    const [record, claimed, feedback] = (await this.#link.send(
      root,
      'HMGET',
      `${root}:turns:${part(sessionId)}`,
      part(turnId),
      `${part(turnId)}/claimed`,
      `${part(turnId)}/feedback`,
    )) as [RedisReply, RedisReply, RedisReply];
    if (record === null) return null;
    const turn = unpackRow<Turn>(bytesOfReply(record));
    return claimed === null ? turn : { ...turn, claimed: true, ...feedbackOf(feedback) };
  }

  output(place: TurnPlace): Promise<string> {
    return this.#transcript.output(place);
  }

  async calls({ workspaceId, sessionId, turnId }: TurnPlace): Promise<readonly ToolCall[]> {
    return callsOf(
      await this.#link.run('read-calls', this.#roots.workspace(workspaceId), {
        session: part(sessionId),
        turn: part(turnId),
      }),
    );
  }

  outputAfter(place: TurnPlace, position: number): Promise<OutputAfter | null> {
    return this.#transcript.outputAfter(place, position);
  }

  inFlight(workspaceId: string): Promise<number> {
    return this.#link.run('count-slots', this.#roots.workspace(workspaceId), {});
  }

  /**
   * Sends a step that names positions in the output. One beyond the end would leave a gap that no later piece could
   * fill.
   */
  async #place<A extends readonly [Named<string>, ...unknown[]]>(
    positions: readonly number[],
    send: () => Promise<A | Gap>,
  ): Promise<A> {
    for (let tries = 0; ; tries++) {
      const answer = await send();
      if (!isGap(answer)) return answer;
      const pause = overtakenMs[tries];
      const [, end] = answer;
      if (pause === undefined)
        throw new RangeError(
          `Output at ${positions.find((position) => position > end)!} would leave a gap after ${end}.`,
        );
      await new Promise<void>((resolve) => void this.#clock.after(pause, resolve));
    }
  }
}

/**
 * Returns the usage that a turn adds, its account and its second, in the form that every script takes; a trial adds
 * nothing.
 */
const countedFields = (session: Session, turn: Turn) => ({
  account: isUncounted(session) ? '' : account(session.assistantId, session.keyId),
  ended: turn.endedAt ?? '',
  failed: turn.status === 'failed' ? 1 : 0,
  input: turn.inputTokens,
  output: turn.outputTokens,
  calls: turn.calls?.sent ?? 0,
  cached: turn.cachedInputTokens ?? 0,
});

const finished = (answer: Answer<'withdraw-turn'>): Finished =>
  begins(answer, 'finished') ? { outcome: 'finished', version: answer[1] } : { outcome: nameOf(answer[0]) };

const isGap = (answer: readonly [Named<string>, ...unknown[]]): answer is Gap => textOfReply(answer[0]) === 'hole';

/** The request to stop that a step of the owner has met; without one, the name of the step's outcome. */
const stopOr = <T extends string>([outcome, stop]: readonly [Named<T>, stop?: Named<StopRequest> | null]):
  | T
  | { stop: StopRequest } => (stop === undefined || stop === null ? nameOf(outcome) : { stop: nameOf(stop) });

/** A turn's steps. A lease is given to Redis as a duration: when it ends is for Redis's clock to say. */
import type {
  AppendOutput, Appended, BeginTurn, BegunTurn, Fence, Finished, FinishTurn, Renewed, Seized, StopRequest, Turn, TurnPlace, WithdrawTurn,
} from '../../store.ts';
import type { Clock } from '../../clock.ts';
import { limits } from '../../limits.ts';
import { codePoints } from '../../text.ts';
import { packRow, unpackRow } from '../codec.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { Link } from './link.ts';
import { basisFields, memoryFields, messageFields, messageRecord, sessionFields } from './records.ts';
import type { RedisOrphans } from './orphans.ts';
import type { Registry } from './registry.ts';
import { textOf } from './reply.ts';
import type { Argument, Reply } from './reply.ts';
import type { Runner } from './runner.ts';

/** Pauses before a piece is sent again that came before the one it follows: a redirection or a lost script may let pieces overtake. */
const overtakenMs = [5, 20, 80] as const;

export class RedisTurns {
  readonly #link: Link;
  readonly #durable: Runner;
  readonly #roots: Roots;
  readonly #registries: readonly Registry[];
  readonly #orphans: RedisOrphans;
  readonly #clock: Clock;

  /** `registries`: where a workspace is entered before a turn is begun in it. */
  constructor(link: Link, durable: Runner, roots: Roots, registries: readonly Registry[], orphans: RedisOrphans, clock: Clock) {
    this.#link = link;
    this.#durable = durable;
    this.#roots = roots;
    this.#registries = registries;
    this.#orphans = orphans;
    this.#clock = clock;
  }

  async begin(step: BeginTurn): Promise<BegunTurn> {
    const { session, turn, owner, nowMs } = step;
    await Promise.all(this.#registries.map((registry) => registry.register(session.workspaceId)));
    // The link's and the widget's turns have limits of their own (contract 12).
    const slotsMax = session.channel !== 'api' ? '' : Number.isFinite(step.turnsInFlightMax) ? step.turnsInFlightMax : Number.MAX_SAFE_INTEGER;
    const [outcome, version, epoch] = (await this.#durable(
      'begin-turn',
      this.#roots.workspace(session.workspaceId),
      ...[part(session.id), part(turn.id), owner, ...basisFields(step), step.leaseUntilMs - nowMs, slotsMax],
      ...sessionFields(session),
      ...[packRow(turn), turn.messageIndex],
      ...messageFields(step.userMessage),
      messageRecord(step.assistantMessage),
      ...memoryFields(session.workspaceId, step.remember, nowMs),
      ...(step.leaseUntilMs - nowMs < limits.leaseMs ? [session.workspaceId] : []),
    )) as Reply[];
    const told = textOf(outcome) as BegunTurn['outcome'];
    this.#orphans.leased(session.workspaceId, step.leaseUntilMs - nowMs);
    return told === 'begun' ? { outcome: told, version: version as number, fence: { epoch: epoch as number, owner } } : { outcome: told };
  }

  async append(step: AppendOutput): Promise<Appended> {
    const lease = step.leaseUntilMs === undefined ? '' : step.leaseUntilMs - step.nowMs!;
    if (lease !== '') this.#orphans.leased(step.workspaceId, lease);
    const [outcome, stop] = await this.#placed(step.position, () =>
      this.#link.run('append-output', ...this.#owned(step, step.fence), step.position, codePoints(step.text), step.text, lease),
    );
    return stop === undefined || stop === null ? (textOf(outcome) as 'stored' | 'fenced') : { stop: textOf(stop) as StopRequest };
  }

  async renew(place: TurnPlace, fence: Fence, leaseUntilMs: number, nowMs: number): Promise<Renewed> {
    this.#orphans.leased(place.workspaceId, leaseUntilMs - nowMs);
    const [outcome, stop] = (await this.#link.run('renew-turn', ...this.#owned(place, fence), leaseUntilMs - nowMs)) as Reply[];
    return stop === undefined || stop === null ? (textOf(outcome) as 'renewed' | 'fenced') : { stop: textOf(stop) as StopRequest };
  }

  async requestStop({ workspaceId, sessionId, turnId }: TurnPlace, reason: StopRequest, leaseUntilMs: number, nowMs: number): Promise<boolean> {
    const given = [part(sessionId), part(turnId), reason, leaseUntilMs - nowMs, workspaceId, sessionId, turnId];
    const inFlight = (await this.#link.run('request-stop', this.#roots.workspace(workspaceId), ...given)) === 1;
    if (inFlight) this.#orphans.leased(workspaceId, leaseUntilMs - nowMs);
    return inFlight;
  }

  async finish(step: FinishTurn): Promise<Finished> {
    const { session, turn, tail } = step;
    const [outcome, version] = await this.#placed(tail.position, () =>
      this.#durable(
        'finish-turn',
        this.#roots.workspace(session.workspaceId),
        ...[part(session.id), part(turn.id), ...basisFields(step), step.fence.epoch, step.fence.owner],
        ...sessionFields(session),
        ...[packRow(turn), messageRecord(step.message), tail.position, codePoints(tail.text), tail.text],
        ...[part(session.assistantId), turn.endedAt ?? '', turn.status === 'failed' ? 1 : 0, turn.inputTokens, turn.outputTokens],
      ),
    );
    return finished(outcome, version);
  }

  async withdraw(step: WithdrawTurn): Promise<Finished> {
    const { session, turn, fence } = step;
    const place = [part(session.id), part(turn.id)];
    const [outcome, moved] = (await this.#link.run(
      'withdraw-turn',
      this.#roots.workspace(session.workspaceId),
      ...[...place, ...basisFields(step), fence.epoch, fence.owner, ...sessionFields(session), turn.messageIndex, turn.id],
    )) as Reply[];
    return finished(outcome, moved);
  }

  async seize(place: TurnPlace, owner: string, leaseUntilMs: number, nowMs: number): Promise<Seized | null> {
    const root = this.#roots.workspace(place.workspaceId);
    this.#orphans.leased(place.workspaceId, leaseUntilMs - nowMs);
    const seized = await this.#link.run('seize-turn', root, part(place.sessionId), part(place.turnId), owner, leaseUntilMs - nowMs, leaseUntilMs);
    if (seized === null) return null;
    const [epoch, stop] = seized as Reply[];
    return { epoch: epoch as number, owner, stop: stop === null ? null : (textOf(stop) as StopRequest) };
  }

  async read(workspaceId: string, sessionId: string, turnId: string): Promise<Turn | null> {
    const root = this.#roots.workspace(workspaceId);
    const record = await this.#link.send(root, 'HGET', `${root}:turns:${part(sessionId)}`, part(turnId));
    return record === null ? null : unpackRow<Turn>(record as Buffer);
  }

  async inFlight(workspaceId: string): Promise<number> {
    return (await this.#link.run('slots', this.#roots.workspace(workspaceId))) as number;
  }

  #owned(place: TurnPlace, { epoch, owner }: Fence): [string, ...Argument[]] {
    return [this.#roots.workspace(place.workspaceId), part(place.sessionId), part(place.turnId), epoch, owner];
  }

  /** Sends a step with a piece of output. A piece beyond the end would leave a hole that nobody could ever fill. */
  async #placed(position: number, send: () => Promise<Reply>): Promise<Reply[]> {
    for (let tries = 0; ; tries++) {
      const answer = (await send()) as Reply[];
      if (textOf(answer[0]) !== 'hole') return answer;
      const pause = overtakenMs[tries];
      if (pause === undefined) throw new RangeError(`Output at ${position} would leave a hole after ${answer[1] as number}.`);
      await new Promise<void>((resolve) => void this.#clock.after(pause, resolve));
    }
  }
}

const finished = (outcome: Reply | undefined, version: Reply | undefined): Finished => {
  const told = textOf(outcome) as Finished['outcome'];
  return told === 'finished' ? { outcome: told, version: version as number } : { outcome: told };
};

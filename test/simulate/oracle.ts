/**
 * The state that the store should hold, worked out from the steps that it says it took, one after the other: who owns a
 * turn, what text it has, which slots are taken, how full a bucket is. It shares the buckets' arithmetic with the store
 * and nothing else.
 */
import { isDeepStrictEqual } from 'node:util';
import * as bucketOf from '../../machines/budget.ts';
import { sessionMachine, type SessionContext } from '../../machines/session.ts';
import type {
  AppendOutput,
  Assistant,
  Basis,
  AppendResult,
  AttendedSession,
  AttendSession,
  BeginTurn,
  BegunTurn,
  CreateSession,
  Fence,
  FinishTurn,
  Key,
  IdempotencyRecord,
  Message,
  TakenOver,
  Session,
  StopRequest,
  StepTurn,
  Taken,
  Turn,
  TurnPlace,
  WithdrawTurn,
} from '../../src/store/store.ts';
import { codePoints, indexAfter } from '../../src/base/text.ts';
import { CallsOracle, type StoredCall } from './calls-oracle.ts';
import { answeringOf, type Entry, type StepEntry } from './history.ts';
import { ReleasesOracle, type Releases } from './releases-oracle.ts';

export interface TurnState {
  readonly turn: Turn;
  /** Name of the turn by its chat: the person's message, or the tool calls that it answers. */
  readonly prompt: string;
  /** The session's earlier messages, without empty ones. */
  readonly before: readonly string[];
  readonly fence: Fence;
  readonly leaseUntilMs: number;
  readonly slotUntilMs: number;
  readonly text: string;
  /** Code points that readers may see while it streams: -1 while it is hidden from all, Infinity without a gate. */
  readonly released: number;
  readonly begun: { readonly version: number; readonly fence: Fence };
  readonly finished: { readonly version: number; readonly fence: Fence } | null;
  /** Reason of the first stop request by a process that is not its owner. */
  readonly stop: StopRequest | null;
  /** The stop request that the process that seized it got: a later request may come when the turn is already sealed. */
  readonly stopSeized: StopRequest | null;
  /** Whether a person's take has silenced it. */
  readonly isSilenced: boolean;
}

export interface SessionState {
  readonly session: Session;
  readonly version: number;
  /** The turns in order. */
  readonly turnIds: readonly string[];
  /** The turns and the messages of the desk, in the order of the transcript. */
  readonly rows: readonly (string | Message)[];
  /** The versions that the desk has made: they are no steps of the session's machine. */
  readonly attended: ReadonlySet<number>;
  readonly greeting: string | null;
  /** Indexes of messages whose turn was withdrawn after another had begun. */
  readonly gaps: number;
}

/** All of it at one moment; states are replaced and never changed. */
export interface State extends Releases {
  sessions: Map<string, SessionState>;
  turns: Map<string, TurnState>;
  withdrawn: Map<string, TurnState>;
  /** Turns that were withdrawn before they began. */
  unbegun: Set<string>;
  memories: Map<string, IdempotencyRecord>;
  buckets: Map<string, bucketOf.Bucket>;
  keys: Map<string, Key>;
  calls: Map<string, StoredCall>;
}

const copyOf = (state: State): State =>
  Object.fromEntries(
    Object.entries(state).map(([name, kept]) => [name, kept instanceof Set ? new Set(kept) : new Map(kept)]),
  ) as unknown as State;

/** The transitions that the machine allows a session in one event, staying included. */
const ways = new Set(
  Object.entries(sessionMachine.config.states!).flatMap(([from, { on }]: [string, any]) =>
    Object.values(on).flatMap((transitions) =>
      [transitions].flat().map((transition: any) => `${from} → ${transition.target ?? from}`),
    ),
  ),
);

const same = (a: Fence, b: Fence): boolean => a.epoch === b.epoch && a.owner === b.owner;
const brief = ({ epoch, owner }: Fence): string => `${epoch} ${owner.slice(0, 4)}`;
const activeTurnOf = (session: Session): string | null => (session.machine.context as SessionContext).activeTurnId;

export class Oracle {
  state: State = {
    sessions: new Map(),
    turns: new Map(),
    withdrawn: new Map(),
    unbegun: new Set(),
    memories: new Map(),
    buckets: new Map(),
    keys: new Map(),
    calls: new Map(),
    assistants: new Map(),
    places: new Map(),
  };
  /** The states that failovers have undone, as they were then. */
  readonly forgotten: State[] = [];
  readonly takes: { keyId: string; taken: Taken }[] = [];
  readonly calls = new CallsOracle((rule, what) => this.#fault(rule, what));
  readonly #releases = new ReleasesOracle((rule, what) => this.#fault(rule, what));
  readonly wrong: string[] = [];
  readonly #snapshots: State[] = [];
  #heard = 0;
  /** One process has the store to itself: its turns live as long as it does, with any clock. */
  readonly #alone: boolean;
  #persisted = new Map<string, bucketOf.Bucket>();

  constructor(alone: boolean) {
    this.#alone = alone;
  }

  /** A turn as the run ended, and as it was in each state that a failover has undone. */
  versions(turnId: string): TurnState[] {
    return [this.state, ...this.forgotten].flatMap(({ turns, withdrawn }) =>
      [turns.get(turnId) ?? [], withdrawn.get(turnId) ?? []].flat(),
    );
  }

  hear(entry: Entry): void {
    this.calls.at(this.state, this.#heard++, entry);
    if (entry.type === 'snapshot') this.#snapshots[entry.id] = copyOf(this.state);
    else if (entry.type === 'failover') {
      this.forgotten.push(this.state);
      this.state = copyOf(this.#snapshots[entry.to]!);
    } else if (entry.type === 'opened') this.#opened();
    else if (entry.type === 'bucket') this.#bucket(entry);
    else this.#step(entry);
  }

  /** Forgets the budgets that were not written, and voids every lease. */
  #opened(): void {
    this.state.buckets = new Map(this.#persisted);
    for (const [id, turn] of this.state.turns)
      if (turn.finished === null) this.state.turns.set(id, { ...turn, leaseUntilMs: 0, slotUntilMs: 0 });
  }

  #bucket({ key, bucket, committed }: Entry & { type: 'bucket' }): void {
    if (committed) this.#persisted.set(key, bucket);
    else if (!isDeepStrictEqual(bucket, this.state.buckets.get(key)))
      this.#fault('limits', `${key} is written as ${JSON.stringify(bucket)}`);
  }

  #fault(rule: string, what: string): void {
    this.wrong.push(`${rule}: ${what}`);
  }

  #step(entry: StepEntry): void {
    const { verb, args, answer, atMs } = entry;
    const steps: Readonly<Record<string, () => void>> = {
      createSession: () => this.#create(args[0], answer),
      saveSession: () => answer !== null && this.#move(args[0], args[1], answer, `saved`),
      beginTurn: () => this.#begin(args[0], answer, entry.nowMs),
      attendSession: () => this.#attend(args[0], answer),
      appendOutput: () => answer !== 'fenced' && !this.#isSilent(args[0].turnId, answer) && this.#append(args[0]),
      releaseOutput: () => answer !== 'fenced' && this.#release(args[0], args[1], args[2]),
      outputAfter: () => answer !== null && this.#shown(this.state.turns.get(args[0].turnId), answer.text, args[1]),
      messages: () =>
        answer.items.forEach(({ turnId, role, content }: Message) =>
          this.#shown(this.state.turns.get(turnId!), role === 'user' ? '' : content, 0),
        ),
      stepTurn: () => answer !== 'fenced' && !this.#isSilent(args[0].turnId, answer) && this.#call(args[0]),
      renewTurn: () => answer !== 'fenced' && this.#renew(args[0], args[1], args[2]),
      requestStop: () => answer && this.#stop(args[0], args[1], args[2]),
      takeOverTurn: () => answer !== null && this.#seize(args[0], answer, args[2], args[3]),
      finishTurn: () => answer.outcome === 'finished' && this.#finish(args[0], answer.version),
      withdrawTurn: () => answer.outcome === 'finished' && this.#withdraw(args[0], answer.version),
      takeBudgets: () => this.#take(args[0], args[1], args[2], atMs, answer),
      'catalog.create': () => args[0] === 'key' && this.state.keys.set(args[1].id, args[1]),
      'catalog.replace': () => answer !== null && this.#replace(args, entry.nowMs),
    };
    steps[verb]?.();
  }

  #create(
    { session, greeting, remember, nowMs }: CreateSession,
    answer: { outcome: string; remembered?: IdempotencyRecord },
  ): void {
    const earlier = remember && this.#remembered(session.workspaceId, remember, nowMs);
    if (answer.outcome === 'remembered') {
      if (earlier?.resultId !== answer.remembered?.resultId)
        this.#fault('idempotency', `${answer.remembered?.resultId} is remembered and not ${earlier?.resultId}`);
      return;
    }
    if (answer.outcome !== 'created' || this.state.sessions.has(session.id)) return;
    if (earlier) this.#fault('idempotency', `${session.id} was made beside ${earlier.resultId}`);
    if (remember) this.#remember(session.workspaceId, remember);
    this.state.sessions.set(session.id, {
      session,
      version: 1,
      turnIds: [],
      rows: [],
      attended: new Set(),
      greeting: greeting?.content ?? null,
      gaps: 0,
    });
    this.#releases.created(this.state, session, greeting?.content ?? null);
  }

  /** Planted assistants, which no process has made. */
  plant(assistants: Iterable<Assistant>): void {
    for (const assistant of assistants) this.#releases.planted(this.state, assistant);
  }

  #replace([kind, record, basis, , , made]: readonly any[], nowMs: number): void {
    if (kind === 'key') this.#key(record);
    else if (kind === 'assistant') this.#releases.replaced(this.state, record, basis, made, nowMs);
  }

  #remembered(workspaceId: string, { scope, key }: IdempotencyRecord, nowMs: number): IdempotencyRecord | null {
    const known = this.state.memories.get(`${workspaceId} ${scope} ${key}`);
    return known !== undefined && known.untilMs > nowMs ? known : null;
  }

  #remember(workspaceId: string, remember: IdempotencyRecord): void {
    this.state.memories.set(`${workspaceId} ${remember.scope} ${remember.key}`, remember);
  }

  /** A session in its next version: made of the one before and by a way that the machine has. */
  #move(session: Session, basis: Basis, version: number, how: string): SessionState | null {
    const known = this.state.sessions.get(session.id);
    if (known === undefined) {
      this.#fault('presence', `${session.id} was ${how} and never made`);
      return null;
    }
    if (known.version !== basis.version || version !== basis.version + 1)
      this.#fault(
        'one order',
        `${session.id} was ${how} as version ${version} of ${basis.version}, and it had ${known.version}`,
      );
    // A failover makes a version come to be twice.
    if (known.session.mark !== basis.mark)
      this.#fault(
        'one order',
        `${session.id} was ${how} from the move ${basis.mark}, and it was at ${known.session.mark}`,
      );
    const way = `${known.session.machine.state} → ${session.machine.state}`;
    if (!ways.has(way)) this.#fault('states', `${session.id} went ${way}`);
    if (
      (session.machine.state === 'streaming') !== (activeTurnOf(session) !== null) &&
      session.machine.state !== 'ended' &&
      session.machine.state !== 'expired'
    ) {
      this.#fault('states', `${session.id} is ${session.machine.state} with the turn ${activeTurnOf(session)}`);
    }
    const moved = { ...known, session, version };
    this.state.sessions.set(session.id, moved);
    return moved;
  }

  #begin(step: BeginTurn, answer: BegunTurn, simulatedMs: number): void {
    const { session, turn, remember, nowMs } = step;
    const before = remember && this.#remembered(session.workspaceId, remember, nowMs);
    if (answer.outcome === 'remembered' && before?.resultId !== answer.remembered.resultId)
      this.#fault('idempotency', `${answer.remembered.resultId} is remembered and not ${before?.resultId}`);
    if (answer.outcome !== 'begun') return;
    const known = this.state.turns.get(turn.id);
    if (known !== undefined) {
      if (!isDeepStrictEqual(known.begun, { version: answer.version, fence: answer.fence }))
        this.#fault('once', `${turn.id} began twice`);
      return;
    }
    if (before) this.#fault('idempotency', `${turn.id} began beside ${before.resultId}`);
    if (this.state.unbegun.has(turn.id) || this.state.withdrawn.has(turn.id))
      this.#fault('once', `${turn.id} began after it was withdrawn`);
    const earlier = this.state.sessions.get(session.id);
    this.calls.begin(step, earlier?.session ?? null);
    if (earlier !== undefined && activeTurnOf(earlier.session) !== null)
      this.#fault('one writer', `${turn.id} began beside ${activeTurnOf(earlier.session)}`);
    if (stateOf(earlier?.session) === 'person') this.#fault('desk', `${turn.id} began while a person has the session`);
    let taken = 0;
    for (const other of this.state.turns.values())
      if (other.finished === null && other.slotUntilMs > (this.#alone ? 0 : nowMs)) taken++;
    const slot = step.slot?.name === 'api' ? step.slot : null;
    const ceiling = slot?.ceiling ?? Infinity;
    if (taken >= ceiling) this.#fault('slots', `${turn.id} began as number ${taken + 1} of ${ceiling}`);
    // Time on the clock of the process that began it; the session's end is known from its creation.
    if (earlier !== undefined && turn.createdAt >= earlier.session.createdAt + earlier.session.maxCallSeconds)
      this.#fault('states', `${turn.id} began after the time of ${session.id}`);
    const moved = this.#move(session, step, answer.version, 'begun');
    if (moved === null) return;
    if (remember) this.#remember(session.workspaceId, remember);
    this.#releases.begun(this.state, session, turn, simulatedMs);
    this.state.turns.set(turn.id, {
      turn,
      prompt: step.userMessage?.content ?? answeringOf(turn.answered?.ids ?? []),
      before: this.said(moved),
      fence: answer.fence,
      leaseUntilMs: step.leaseUntilMs,
      slotUntilMs: slot === null ? 0 : step.leaseUntilMs,
      text: '',
      released: step.released ?? Infinity,
      begun: { version: answer.version, fence: answer.fence },
      finished: null,
      stop: null,
      stopSeized: null,
      isSilenced: false,
    });
    this.state.sessions.set(session.id, {
      ...moved,
      turnIds: [...moved.turnIds, turn.id],
      rows: [...moved.rows, turn.id],
    });
  }

  /** A move at the desk. */
  #attend(step: AttendSession, answer: AttendedSession): void {
    const { session, messages, remember, silences, amends, nowMs } = step;
    const earlier = remember && this.#remembered(session.workspaceId, remember, nowMs);
    if (answer.outcome === 'remembered' && earlier?.resultId !== answer.remembered.resultId)
      this.#fault('idempotency', `${answer.remembered.resultId} is remembered and not ${earlier?.resultId}`);
    if (answer.outcome !== 'stored') return;
    const before = this.state.sessions.get(session.id);
    if (earlier) this.#fault('idempotency', `a message was accepted beside ${earlier.resultId}`);
    const who = stateOf(before?.session);
    if (who === 'assistant' && messages.some(({ role }) => role === 'user'))
      this.#fault('desk', `a message was accepted in ${session.id}, which the assistant answers`);
    const moved = this.#move(session, step, answer.version, 'attended');
    if (moved === null) return;
    if (remember) this.#remember(session.workspaceId, remember);
    this.calls.amend(amends);
    this.state.sessions.set(session.id, {
      ...moved,
      rows: [...moved.rows, ...messages],
      attended: new Set([...moved.attended, answer.version]),
    });
    const turnId = activeTurnOf(session);
    const turn = turnId === null ? undefined : this.state.turns.get(turnId);
    if (stateOf(session) !== 'person' || who === 'person' || turn === undefined) return;
    if (silences?.turnId !== turnId) this.#fault('desk', `${session.id} was taken, and ${turnId} is not silenced`);
    const leaseUntilMs = Math.min(turn.leaseUntilMs, silences?.leaseUntilMs ?? Infinity);
    this.state.turns.set(turn.turn.id, { ...turn, stop: 'taken', isSilenced: true, leaseUntilMs });
  }

  /** Whether a person's take has silenced the turn, so that a step of it stores nothing. */
  #isSilent(turnId: string, answer: AppendResult): boolean {
    const isSilenced = this.state.turns.get(turnId)?.isSilenced === true;
    const isTold = typeof answer === 'object' && (answer as { stop: string }).stop === 'taken';
    if (isSilenced !== isTold)
      this.#fault('desk', `${turnId} is ${isSilenced ? '' : 'not '}silenced, and was told otherwise`);
    return isSilenced;
  }

  /** A writer must own the turn for every write. */
  #owned(turnId: string, fence: Fence, what: string): TurnState | null {
    const known = this.state.turns.get(turnId);
    if (known !== undefined && same(known.fence, fence) && known.finished === null) return known;
    this.#fault(
      'one writer',
      `${brief(fence)} ${what} ${turnId} of ${known === undefined ? 'nobody' : brief(known.fence)}`,
    );
    return null;
  }

  #append({ turnId, fence, position, text, leaseUntilMs }: AppendOutput): void {
    const known = this.#owned(turnId, fence, 'wrote to');
    if (known === null) return;
    const lease = leaseUntilMs === undefined ? {} : this.#prolonged(known, leaseUntilMs);
    this.state.turns.set(turnId, { ...known, ...lease, text: this.#longer(known, position, text) });
  }

  #release({ turnId }: TurnPlace, fence: Fence, points: number): void {
    const known = this.#owned(turnId, fence, 'released');
    if (known !== null && points > known.released) this.state.turns.set(turnId, { ...known, released: points });
  }

  /** A reader is shown a turn, and this text of its reply from a position on. */
  #shown(known: TurnState | undefined, text: string | null, position: number): void {
    if (known === undefined || known.finished !== null) return;
    if (known.released < 0) this.#fault('releases', `${known.turn.id} is hidden, and a reader is shown it`);
    else if (text && position + codePoints(text) > known.released)
      this.#fault(
        'releases',
        `${known.turn.id} is shown up to ${position + codePoints(text)}, and ${known.released} were released`,
      );
  }

  #call(step: StepTurn): void {
    this.#owned(step.turnId, step.fence, 'stored calls of');
    this.calls.step(step);
  }

  #longer({ text, turn }: TurnState, position: number, more: string): string {
    const stored = codePoints(text);
    if (position > stored) this.#fault('one writer', `${turn.id} has a hole from ${stored} to ${position}`);
    return text + more.slice(indexAfter(more, stored - position));
  }

  #prolonged({ slotUntilMs }: TurnState, untilMs: number): { leaseUntilMs: number; slotUntilMs: number } {
    return { leaseUntilMs: untilMs, slotUntilMs: slotUntilMs === 0 ? 0 : untilMs };
  }

  #renew({ turnId }: TurnPlace, fence: Fence, untilMs: number): void {
    const known = this.#owned(turnId, fence, 'renewed');
    if (known !== null) this.state.turns.set(turnId, { ...known, ...this.#prolonged(known, untilMs) });
  }

  #stop({ turnId }: TurnPlace, reason: StopRequest, untilMs: number): void {
    const known = this.state.turns.get(turnId)!;
    this.state.turns.set(turnId, {
      ...known,
      stop: known.stop ?? reason,
      leaseUntilMs: Math.min(known.leaseUntilMs, untilMs),
    });
  }

  #seize({ turnId }: TurnPlace, { stop, ...fence }: TakenOver, untilMs: number, nowMs: number): void {
    const known = this.state.turns.get(turnId);
    if (known === undefined || known.finished !== null)
      return this.#fault('one writer', `${brief(fence)} seized ${turnId}, which is over`);
    if (same(known.fence, fence)) return;
    if (fence.epoch !== known.fence.epoch + 1)
      this.#fault('one writer', `${turnId} went from ${brief(known.fence)} to ${brief(fence)}`);
    if (known.leaseUntilMs > nowMs)
      this.#fault('one writer', `${brief(fence)} seized ${turnId} within the lease of ${brief(known.fence)}`);
    this.state.turns.set(turnId, { ...known, fence, leaseUntilMs: untilMs, slotUntilMs: 0, stopSeized: known.stop });
  }

  #finish(step: FinishTurn, moved: number): void {
    const { session, turn, fence, tail, cutAt = Infinity } = step;
    const finished = this.state.turns.get(turn.id)?.finished;
    if (finished) {
      if (!isDeepStrictEqual(finished, { version: moved, fence })) this.#fault('once', `${turn.id} was finished twice`);
      return;
    }
    const known = this.#owned(turn.id, fence, 'finished');
    if (known === null) return;
    this.calls.finish(step);
    const whole = this.#longer(known, tail.position, tail.text);
    if (cutAt !== Infinity && cutAt > codePoints(whole))
      this.#fault('one writer', `${turn.id} is cut at ${cutAt} of ${codePoints(whole)}`);
    const text = whole.slice(0, indexAfter(whole, cutAt));
    if (known.isSilenced && (text !== known.text || turn.stopReason !== 'taken'))
      this.#fault(
        'desk',
        `${turn.id} was taken with ${JSON.stringify(known.text)}, and is ${turn.stopReason} with ${JSON.stringify(text)}`,
      );
    this.#releases.sealed(this.state, session, known.turn, turn, step.message);
    this.state.turns.set(turn.id, { ...known, turn, text, finished: { version: moved, fence } });
    // The process that seals a dead process's turn must obey its stop request; the owner may decide otherwise by its
    // own clock.
    if (known.stopSeized !== null && fence.epoch > 1 && turn.stopReason !== known.stopSeized)
      this.#fault('stops', `${turn.id} was to be ${known.stopSeized} and is ${turn.stopReason}`);
    this.#move(session, step, moved, 'finished');
    if (activeTurnOf(session) !== null) this.#fault('states', `${session.id} has a turn that is finished`);
  }

  #withdraw(step: WithdrawTurn, moved: number): void {
    const { session, turn, fence } = step;
    if (this.state.withdrawn.has(turn.id) || this.state.unbegun.has(turn.id)) return;
    const known = this.state.turns.get(turn.id);
    if (known === undefined) {
      // The turn may never begin from now on.
      this.state.unbegun.add(turn.id);
      this.#move(session, step, moved, 'withdrawn');
      return;
    }
    // A finished turn is withdrawn by the owner that finished it.
    if (
      known.finished === null ? this.#owned(turn.id, fence, 'withdrew') === null : !same(known.finished.fence, fence)
    ) {
      if (known.finished !== null)
        this.#fault('one writer', `${brief(fence)} withdrew ${turn.id}, which ${brief(known.finished.fence)} finished`);
      return;
    }
    this.calls.withdraw(step);
    this.#releases.withdrawn(this.state, session, known.turn, known.finished === null ? null : known.turn);
    this.state.turns.delete(turn.id);
    this.state.withdrawn.set(turn.id, known);
    for (const [key, { resultId }] of this.state.memories) if (resultId === turn.id) this.state.memories.delete(key);
    const state = this.#move(session, step, moved, 'withdrawn');
    if (state === null) return;
    const gap = state.rows.at(-1) === turn.id ? 0 : turn.unasked ? 1 : 2;
    this.state.sessions.set(session.id, {
      ...state,
      gaps: state.gaps + gap,
      turnIds: state.turnIds.filter((id) => id !== turn.id),
      rows: state.rows.filter((row) => row !== turn.id),
    });
  }

  #take(
    workspaceId: string,
    keyId: string,
    budgets: readonly { budget: string; ceiling: number }[],
    nowMs: number,
    answer: readonly Taken[],
  ): void {
    // Every route that is asked here has one budget.
    for (const [index, { budget, ceiling }] of budgets.entries()) {
      const name = `budget/${workspaceId}/${keyId}/${budget}`;
      const { passed, bucket } = bucketOf.take(
        this.state.buckets.get(name) ?? bucketOf.full(ceiling, nowMs),
        ceiling,
        nowMs,
      );
      const told = answer[index]!;
      const due = {
        budget,
        passed,
        remaining: bucketOf.remaining(bucket),
        retryAfterSeconds: passed ? 0 : bucketOf.retryAfterSeconds(bucket, ceiling),
        restSeconds: 0,
        resetAt: bucketOf.resetAt(bucket, ceiling),
      };
      if (!isDeepStrictEqual(told, due))
        this.#fault('limits', `${keyId} was told ${JSON.stringify(told)} and is due ${JSON.stringify(due)}`);
      this.state.buckets.set(name, bucket);
      this.takes.push({ keyId, taken: told });
    }
  }

  #key(key: Key): void {
    const before = this.state.keys.get(key.id);
    if (before?.machine.state === 'revoked' && key.machine.state !== 'revoked')
      this.#fault('states', `${key.id} went revoked → ${key.machine.state}`);
    this.state.keys.set(key.id, key);
  }

  /**
   * Messages of a session that a model may be sent, without empty ones; neighbours of the assistant are one message, as a
   * reply that continues after its tool calls were answered.
   */
  said({ greeting, rows }: SessionState): string[] {
    const texts: [role: 'user' | 'assistant', text: string][] = greeting === null ? [] : [['assistant', greeting]];
    for (const row of rows) {
      if (typeof row !== 'string') texts.push(...saidAtDesk(row));
      else {
        const { turn, prompt, text } = this.state.turns.get(row)!;
        if (!turn.unasked) texts.push(['user', prompt]);
        texts.push(['assistant', text]);
      }
    }
    const joined: string[] = [];
    let last = '';
    for (const [role, text] of texts.filter(([, each]) => each.trim() !== '')) {
      if (role === 'assistant' && last === role) joined.push(joined.pop()! + text);
      else joined.push(text);
      last = role;
    }
    return joined;
  }
}

/** The message of the desk as a model is sent it. */
function saidAtDesk({ role, content, by, attendance }: Message): ['user' | 'assistant', string][] {
  if (role === 'user') return [['user', content]];
  if (role === 'person') return [['assistant', `[${by!.name}] ${content}`]];
  return [
    ...(attendance?.left === undefined ? [] : [['user', `(${attendance.left} left the conversation.)`] as const]),
    ...(attendance?.name == null ? [] : [['user', `(${attendance.name} joined the conversation.)`] as const]),
  ] as ['user', string][];
}

/** The state of a session's attendance. */
const stateOf = (session: Session | undefined): string => session?.attendance?.state ?? 'assistant';

/** A turn's steps: begins, appends to, takes over, finishes or withdraws it; and reads it. */
import { secondsOf } from '../../base/clock.ts';
import type {
  AppendOutput,
  AppendResult,
  AuditEntry,
  BeginTurn,
  BegunTurn,
  Feedback,
  Fence,
  Finished,
  FinishTurn,
  Message,
  OutputAfter,
  RateTurn,
  Released,
  Renewed,
  TakenOver,
  StepTurn,
  StopRequest,
  Session,
  ToolCall,
  Turn,
  TurnPlace,
  TurnStore,
  UsageCounts,
  WithdrawTurn,
} from '../store.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import { codePoints, indexAfter, textBehind } from '../../base/text.ts';
import { endedCalls, hasEnded } from '../records/tools.ts';
import { committedTurn, slotNameOf, turnRowOf, type Flight, type FlightRow, type Flights } from './flights.ts';
import { moveRow } from '../moves.ts';
import { amendMessage } from './amend.ts';
import { putAudit } from './audit.ts';
import { dropBehind, putMoves, turnMovesOf } from './history.ts';
import * as keys from './keys.ts';
import type { EmbeddedLimits } from './limits.ts';
import type { Memories } from './memories.ts';
import type { Notices } from './notices.ts';
import type { ExchangeRow, StoredSession, StoredTurn } from './rows.ts';
import { putSession, unmoved } from './sessions.ts';
import { EmbeddedTranscript } from './transcript.ts';
import type { UsageBook } from './usage.ts';
import type { EmbeddedReleases } from './releases.ts';
import type { EmbeddedWebhooks } from './webhooks.ts';

/** Characters of the output of a turn in flight that one row has. */
const outputRowCharactersMax = 4096;

const lost = { outcome: 'lost' } as const;
const fenced = { outcome: 'fenced' } as const;
/** A person has taken the session: nothing of the turn is stored any more. */
const silenced = { stop: 'taken' } as const;
const same = (a: Fence, b: Fence): boolean => a.epoch === b.epoch && a.owner === b.owner;
const placeOf = (workspaceId: string, { sessionId, id }: Turn): TurnPlace => ({ workspaceId, sessionId, turnId: id });

export class EmbeddedTurns implements TurnStore {
  readonly #batcher: WriteBatcher;
  readonly #flights: Flights;
  readonly #memories: Memories;
  readonly #usage: UsageBook;
  readonly #notices: Notices;
  readonly #limits: EmbeddedLimits;
  readonly #webhooks: EmbeddedWebhooks;
  readonly #releases: EmbeddedReleases;
  readonly #transcript: EmbeddedTranscript;
  /** The latest time that a step was given: a query without a time is answered as of that one. */
  #nowMs = 0;

  constructor(
    batcher: WriteBatcher,
    flights: Flights,
    memories: Memories,
    usage: UsageBook,
    notices: Notices,
    limits: EmbeddedLimits,
    webhooks: EmbeddedWebhooks,
    releases: EmbeddedReleases,
  ) {
    this.#releases = releases;
    this.#limits = limits;
    this.#webhooks = webhooks;
    this.#batcher = batcher;
    this.#flights = flights;
    this.#memories = memories;
    this.#usage = usage;
    this.#notices = notices;
    this.#transcript = new EmbeddedTranscript(batcher);
  }

  /** The session is checked first: a second turn on it is a conflict even when the workspace is full (contract 3). */
  begin(step: BeginTurn): Promise<BegunTurn> {
    const { session, turn, remember } = step;
    const place = placeOf(session.workspaceId, turn);
    // A step that is sent again gets its answer, but moves nothing.
    let hasMoved = false;
    const decided = this.#batcher.step<BegunTurn>((draft) => {
      this.#passTime(step.nowMs);
      const before = this.#batcher.get<StoredSession>(keys.session(session.workspaceId, session.id));
      const isUnmoved = unmoved(before, step);
      // If this step was applied before, it has moved its session.
      const again = isUnmoved ? null : this.#begunBefore(place, step.owner);
      if (again !== null) return again;
      const remembered =
        remember && this.#memories.newest(session.workspaceId, remember.scope, remember.key, step.nowMs);
      if (remembered) return { outcome: 'remembered', remembered };
      if (!isUnmoved) return lost;
      if (this.#releases.isOutdated(session.workspaceId, step.release)) return { outcome: 'outdated' };
      const { slot, leaseUntilMs } = step;
      if (slot !== null && this.#flights.full(session.workspaceId, slot, step.nowMs)) return { outcome: 'full' };
      const answers =
        step.asked === undefined ? [] : this.#limits.takeIn(draft, session.workspaceId, step.asked, step.nowMs);
      if (answers.some(({ passed }) => !passed)) return { outcome: 'limited', answers };

      const begun = { version: step.version + 1, fence: { epoch: 1, owner: step.owner } };
      const memory = remember === null ? null : this.#memories.put(draft, session.workspaceId, remember);
      if (step.found !== undefined) this.#memories.put(draft, session.workspaceId, step.found);
      const row: FlightRow = {
        place,
        fence: begun.fence,
        leaseUntilMs,
        slotUntilMs: slot === null ? 0 : leaseUntilMs,
        slotsMax: slot?.ceiling ?? 0,
        slotName: slot?.name ?? 'api',
        memory,
        stop: null,
        turn,
        begun,
        said: step.userMessage ?? undefined,
        move: step.move ? moveRow(step.move) : null,
        released: step.released,
      };
      putSession(draft, before, { session, version: begun.version, withdrawn: before.withdrawn });
      draft.create(keys.flight(place), row, 'flight');
      amendMessage(draft, this.#batcher, place, step.amends);
      putAudit(draft, step.audit);
      this.#flights.set({ row, position: 0, tail: null });
      hasMoved = true;
      return { outcome: 'begun', version: begun.version, fence: begun.fence };
    });
    return this.#notices.tellMove(session, decided, () => hasMoved);
  }

  /** The answer of the step that began the turn, if the owner is the same, or null. */
  #begunBefore(place: TurnPlace, owner: string): BegunTurn | null {
    const row = this.#newest(place);
    return row?.begun.fence.owner === owner ? { outcome: 'begun', ...row.begun } : null;
  }

  append(step: AppendOutput): Promise<AppendResult> {
    let moved = false;
    const decided = this.#batcher.step<AppendResult>((draft) => {
      const stored = this.#flights.get(step);
      if (stored === undefined || !same(stored.row.fence, step.fence)) return 'fenced';
      if (stored.row.stop === 'taken') return silenced;
      const text = unstored(stored, step);
      const flight =
        step.leaseUntilMs === undefined ? stored : this.#renew(draft, stored, step.leaseUntilMs, step.nowMs!);
      if (flight === null) return 'fenced';
      if (text !== '') {
        // Text that is not released moves nothing that a reader sees.
        moved = (flight.row.released ?? Infinity) > flight.position;
        const fresh = flight.tail === null || flight.tail.length >= outputRowCharactersMax;
        const { position } = flight;
        const tail = fresh ? { key: keys.outputAt(step, position), position, length: 0 } : flight.tail;
        if (fresh) draft.begin(tail.key, text);
        else draft.append(tail.key, text);
        this.#flights.set({
          row: flight.row,
          position: position + codePoints(text),
          tail: { ...tail, length: tail.length + text.length },
        });
      }
      return stopOf(flight) ?? 'stored';
    });
    return this.#telling(step, decided, () => moved);
  }

  renew(place: TurnPlace, fence: Fence, leaseUntilMs: number, nowMs: number): Promise<Renewed> {
    return this.#batcher.step<Renewed>((draft) => {
      this.#passTime(nowMs);
      const flight = this.#flights.get(place);
      if (
        flight === undefined ||
        !same(flight.row.fence, fence) ||
        this.#renew(draft, flight, leaseUntilMs, nowMs) === null
      )
        return 'fenced';
      return stopOf(flight) ?? 'renewed';
    });
  }

  release(place: TurnPlace, fence: Fence, points: number): Promise<Released> {
    let shows = false;
    const decided = this.#batcher.step<Released>((draft) => {
      const flight = this.#flights.get(place);
      if (flight === undefined || !same(flight.row.fence, fence)) return 'fenced';
      const { released } = flight.row;
      if (released === undefined || released >= points) return 'released';
      shows = released < flight.position;
      this.#change(draft, flight, { released: points });
      return 'released';
    });
    return this.#telling(place, decided, () => shows);
  }

  step(step: StepTurn): Promise<AppendResult> {
    const decided = this.#batcher.step<AppendResult>((draft) => {
      const flight = this.#flights.get(step);
      if (flight === undefined || !same(flight.row.fence, step.fence)) return 'fenced';
      if (flight.row.stop === 'taken') return silenced;
      const { calls = 0, amended = 0 } = flight.row;
      if (step.from > calls) throw gap(step.from, calls);
      const ends = Math.max(calls, step.from + step.calls.length);
      for (const [index, call] of step.calls.entries())
        if (step.from + index >= calls || hasEnded(call)) draft.put(keys.call(step, step.from + index), call);
      const ended = step.amends === undefined ? 0 : endedCalls(step.amends.message);
      if (ended >= amended) amendMessage(draft, this.#batcher, step, step.amends);
      if (ends > calls || ended > amended)
        this.#change(draft, flight, { ...(ends > 0 && { calls: ends }), ...(ended > amended && { amended: ended }) });
      return stopOf(flight) ?? 'stored';
    });
    return this.#telling(step, decided, (answer) => answer !== 'fenced' && answer !== silenced);
  }

  async requestStop(
    place: TurnPlace,
    reason: StopRequest,
    leaseUntilMs: number,
    nowMs: number,
    audit?: AuditEntry,
  ): Promise<boolean> {
    const stop = await this.#batcher.step((draft) => {
      this.#passTime(nowMs);
      const flight = this.#flights.get(place);
      if (flight === undefined) return null;
      const { row } = flight;
      const request = row.stop ?? reason;
      if (row.stop === null) putAudit(draft, audit);
      if (request !== row.stop || leaseUntilMs < row.leaseUntilMs)
        this.#change(draft, flight, { stop: request, leaseUntilMs: Math.min(row.leaseUntilMs, leaseUntilMs) });
      return request;
    });
    if (stop !== null) {
      const { workspaceId, sessionId, turnId } = place;
      this.#notices.send({ type: 'turn.stop', workspaceId, sessionId, turnId, reason: stop });
    }
    return stop !== null;
  }

  finish(step: FinishTurn): Promise<Finished> {
    const { session, turn } = step;
    const place = placeOf(session.workspaceId, turn);
    const done = { hasMoved: false, isHalted: false };
    const answer = this.#batcher.step<Finished>((draft) => {
      this.#passTime(step.nowMs);
      const flight = this.#flights.get(place);
      if (flight === undefined) return this.#finishedBefore(place, step.fence);
      if (!same(flight.row.fence, step.fence)) return fenced;
      const before = this.#batcher.get<StoredSession>(keys.session(session.workspaceId, session.id));
      if (!unmoved(before, step)) return lost;

      const content = cut(this.#takeOutput(draft, flight) + unstored(flight, step.tail), step.cutAt);
      const version = step.version + 1;
      const { begun, move } = flight.row;
      putSession(draft, before, { session, version, withdrawn: before.withdrawn });
      const moves = turnMovesOf(move, step.move);
      if (moves !== undefined) dropBehind(draft, 'session', session.workspaceId, session.id, moves);
      draft.put(
        keys.turn(place),
        { turn, begun, finished: { fence: step.fence, version }, moves } satisfies StoredTurn,
        'turn',
      );
      this.#putMessages(draft, flight.row, { ...step.message, content });
      amendMessage(draft, this.#batcher, place, step.amends);
      putAudit(draft, step.audit);
      if (flight.row.calls !== undefined) this.#removeCalls(draft, place);
      draft.remove(keys.flight(place));
      this.#usage.countIn(draft, session, turn.endedAt ?? secondsOf(step.nowMs), counted(turn, 1));
      done.isHalted = this.#releases.countTurn(draft, session, turn, step.nowMs);
      if (step.settled !== undefined) this.#limits.settleIn(draft, session.workspaceId, step.settled, step.nowMs);
      this.#webhooks.putTurnEnd(draft, session, turn, step.nowMs);
      this.#webhooks.putSessionEnd(draft, before, session, step.nowMs);
      // Last: had a read above failed, the flight must still be there for a repeat.
      this.#flights.delete(place);
      done.hasMoved = true;
      return finished(version);
    });
    return this.#tellEnd(session, place, answer, done);
  }

  /** Notifies of the session's move, the turn's end and a rollout that the step has halted, once it is committed. */
  #tellEnd(
    session: Session,
    place: TurnPlace,
    decided: Promise<Finished>,
    done: { readonly hasMoved: boolean; readonly isHalted: boolean },
  ): Promise<Finished> {
    const moved = this.#notices.tellMove(session, decided, () => done.hasMoved);
    const ended = this.#telling(place, moved, hasFinished);
    const tell = (): void => {
      if (done.isHalted) this.#notices.sendChanged('assistant', session.workspaceId, session.assistantId);
    };
    ended.then(tell, () => {});
    return ended;
  }

  #removeCalls(draft: Draft, place: TurnPlace): void {
    const prefix = keys.calls(place);
    for (const [key] of this.#batcher.range(prefix, keys.endOf(prefix))) draft.remove(key);
  }

  #putMessages(
    draft: Draft,
    { place: { workspaceId, sessionId }, turn: { messageIndex }, said }: FlightRow,
    reply: Message,
  ): void {
    if (said === undefined) draft.put(keys.message(workspaceId, sessionId, messageIndex), reply, 'message');
    else
      draft.put(
        keys.message(workspaceId, sessionId, messageIndex - 1),
        { said, reply } satisfies ExchangeRow,
        'exchange',
      );
  }

  /** The answer of the step that finished the turn, if it was finished under this fence. */
  #finishedBefore(place: TurnPlace, fence: Fence): Finished {
    const end = this.#batcher.get<StoredTurn>(keys.turn(place))?.finished;
    return end && same(end.fence, fence) ? finished(end.version) : fenced;
  }

  withdraw(step: WithdrawTurn): Promise<Finished> {
    const { session, turn, fence } = step;
    const place = placeOf(session.workspaceId, turn);
    const done = { hasMoved: false, isHalted: false };
    const answer = this.#batcher.step<Finished>((draft) => {
      const before = this.#batcher.get<StoredSession>(keys.session(session.workspaceId, session.id));
      const earlier = before?.withdrawn;
      if (earlier?.turnId === turn.id) return same(earlier.fence, fence) ? finished(earlier.version) : fenced;
      const row = this.#newest(place);
      if (row !== undefined && !this.#mayWithdraw(row, place, fence)) return fenced;
      if (!unmoved(before, step)) return row === undefined ? fenced : lost;
      if (row?.finished && turn.endedAt === null) return lost;

      const version = step.version + 1;
      putSession(draft, before, { session, version, withdrawn: { turnId: turn.id, fence, version } });
      // With the turn goes the row that its steps are in.
      for (const moves of [row?.moves, turnMovesOf(this.#flights.get(place)?.row.move, step.move)])
        if (moves !== undefined) putMoves(draft, 'session', session.workspaceId, session.id, moves);
      if (row !== undefined) {
        this.#undo(draft, row, step, place);
        done.isHalted = this.#releases.countWithdrawn(draft, session, row.turn, row.finished !== null, step.nowMs ?? 0);
        amendMessage(draft, this.#batcher, place, step.amends);
        if (step.settled !== undefined) this.#limits.settleIn(draft, session.workspaceId, step.settled, step.nowMs!);
      }
      this.#webhooks.putSessionEnd(draft, before, session, step.nowMs ?? 0);
      this.#flights.delete(place);
      done.hasMoved = true;
      return finished(version);
    });
    return this.#tellEnd(session, place, answer, done);
  }

  claim(place: TurnPlace): Promise<boolean> {
    return this.#batcher.step<boolean>((draft) => {
      const row = this.#newest(place);
      if (row === undefined || row.finished === null) return false;
      if (row.claimed !== true) draft.put(keys.turn(place), { ...row, claimed: true } satisfies StoredTurn, 'turn');
      return true;
    });
  }

  rate({ session, turn, feedback }: RateTurn): Promise<boolean> {
    const place = placeOf(session.workspaceId, turn);
    return this.#batcher.step<boolean>((draft) => {
      const row = this.#newest(place);
      if (row === undefined || row.finished === null) return false;
      const { feedback: before, ...unrated } = row;
      draft.put(
        keys.turn(place),
        { ...unrated, claimed: true, ...(feedback && { feedback }) } satisfies StoredTurn,
        'turn',
      );
      const change = (rating: Feedback['rating']): number =>
        Number(feedback?.rating === rating) - Number(before?.rating === rating);
      const counts = { feedbackUp: change('up'), feedbackDown: change('down') };
      if (feedback?.rating === before?.rating) return true;
      this.#usage.countIn(draft, session, turn.endedAt!, counts);
      this.#releases.countFeedback(draft, session, row.turn, counts);
      return true;
    });
  }

  /**
   * A turn in flight may be withdrawn only by its owner; a finished one only by the owner that finished it, unless it
   * was claimed.
   */
  #mayWithdraw({ finished: end, claimed }: StoredTurn, place: TurnPlace, fence: Fence): boolean {
    if (claimed === true) return false;
    const current = (end ?? this.#flights.get(place)?.row)?.fence;
    return current !== undefined && same(current, fence);
  }

  #undo(
    draft: Draft,
    { turn, finished: end }: StoredTurn,
    { session, remember }: WithdrawTurn,
    place: TurnPlace,
  ): void {
    const { workspaceId } = session;
    const flight = this.#flights.get(place);
    let memory = remember ? keys.memory(workspaceId, remember.scope, remember.key) : null;
    if (flight !== undefined) {
      memory = flight.row.memory;
      this.#takeOutput(draft, flight);
      if (flight.row.calls !== undefined) this.#removeCalls(draft, place);
      draft.remove(keys.flight(place));
    }
    if (flight?.row.said === undefined && !turn.unasked)
      draft.remove(keys.message(workspaceId, session.id, turn.messageIndex - 1));
    if (memory !== null) this.#memories.forget(draft, memory, turn.id);
    if (end === null) return;
    draft.remove(keys.message(workspaceId, session.id, turn.messageIndex));
    draft.remove(keys.turn(place));
    this.#webhooks.removeTurnEnd(draft, place);
    this.#usage.countIn(draft, session, turn.endedAt ?? turn.createdAt, counted(turn, -1));
  }

  takeOver(place: TurnPlace, owner: string, leaseUntilMs: number, nowMs: number): Promise<TakenOver | null> {
    return this.#batcher.step((draft) => {
      this.#passTime(nowMs);
      const flight = this.#flights.get(place);
      if (flight === undefined) return null;
      const { row } = flight;
      // A repeat gets the same answer as the first time.
      const stop = row.stop ?? null;
      if (row.fence.epoch > 1 && row.fence.owner === owner && (row.seizedUntilMs ?? row.leaseUntilMs) === leaseUntilMs)
        return { ...row.fence, stop };
      if (row.leaseUntilMs > nowMs) return null;
      const fence = { epoch: row.fence.epoch + 1, owner };
      this.#change(draft, flight, { fence, leaseUntilMs, slotUntilMs: 0, seizedUntilMs: leaseUntilMs });
      return { ...fence, stop };
    });
  }

  orphans(nowMs: number, limit: number): Promise<TurnPlace[]> {
    return this.#batcher.step(() => {
      this.#passTime(nowMs);
      return this.#flights.lapsed(nowMs, limit);
    });
  }

  async read(workspaceId: string, sessionId: string, turnId: string): Promise<Turn | null> {
    const row = committedTurn(this.#batcher, { workspaceId, sessionId, turnId });
    if (row === undefined) return null;
    const { turn, claimed, feedback } = row;
    return claimed === true ? { ...turn, claimed, ...(feedback && { feedback }) } : turn;
  }

  output(place: TurnPlace): Promise<string> {
    return this.#transcript.output(place);
  }

  async calls(place: TurnPlace): Promise<readonly ToolCall[]> {
    return this.#transcript.calls(place);
  }

  async outputAfter(place: TurnPlace, position: number): Promise<OutputAfter | null> {
    const output = this.#transcript.outputAfter(place, position);
    if (output?.text === '' && output.turn.status === 'streaming') this.#notices.awaitMove(place);
    return output;
  }

  inFlight(workspaceId: string): Promise<number> {
    return this.#batcher.step(() => this.#flights.taken(workspaceId, 'api', this.#nowMs));
  }

  /** The newest state of a turn, for decisions. */
  #newest(place: TurnPlace): StoredTurn | undefined {
    const flight = this.#flights.get(place);
    return flight === undefined ? this.#batcher.get<StoredTurn>(keys.turn(place)) : turnRowOf(flight.row);
  }

  /** Prolongs the flight's lease; null if its slot has lapsed and was taken by another turn. */
  #renew(draft: Draft, flight: Flight, leaseUntilMs: number, nowMs: number): Flight | null {
    const { slotUntilMs, place } = flight.row;
    const slot = { name: slotNameOf(flight.row), ceiling: flight.row.slotsMax };
    const takesSlot = slotUntilMs > 0;
    if (takesSlot && slotUntilMs <= nowMs && this.#flights.full(place.workspaceId, slot, nowMs)) return null;
    return this.#change(draft, flight, { leaseUntilMs, slotUntilMs: takesSlot ? leaseUntilMs : 0 });
  }

  #change(draft: Draft, { row, ...output }: Flight, change: Partial<FlightRow>): Flight {
    const flight = { row: { ...row, ...change }, ...output };
    draft.put(keys.flight(row.place), flight.row, 'flight');
    this.#flights.set(flight);
    return flight;
  }

  /**
   * Notifies readers before the caller has the answer, which is returned unchanged: answers come in the order of their
   * steps, and one callback more would let a later one pass.
   */
  #telling<Answer>(place: TurnPlace, decided: Promise<Answer>, shows: (answer: Answer) => boolean): Promise<Answer> {
    decided.then(
      (answer) => shows(answer) && this.#notices.sendMoved(place),
      () => {},
    );
    return decided;
  }

  #passTime(nowMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, nowMs);
  }

  /** Returns the output and removes the rows of its pieces. */
  #takeOutput(draft: Draft, { row: { place }, position, tail }: Flight): string {
    if (position === 0) return '';
    if (tail?.position === 0) {
      draft.remove(tail.key);
      return this.#batcher.get<string>(tail.key) ?? '';
    }
    const prefix = keys.output(place);
    let text = '';
    for (const [key, piece] of this.#batcher.range<string>(prefix, keys.endOf(prefix))) {
      draft.remove(key);
      text += piece;
    }
    return text;
  }
}

const hasFinished = ({ outcome }: Finished): boolean => outcome === 'finished';

const stopOf = ({ row }: Flight): { stop: StopRequest } | null => (row.stop ? { stop: row.stop } : null);

/** Returns the usage that a finished turn adds; with the sign -1, the usage that its withdrawal takes off again. */
const counted = (turn: Turn, sign: 1 | -1): Partial<UsageCounts> => ({
  turns: sign,
  failedTurns: turn.status === 'failed' ? sign : 0,
  inputTokens: sign * turn.inputTokens,
  outputTokens: sign * turn.outputTokens,
  ...(turn.calls && { toolCalls: sign * turn.calls.sent }),
  ...(turn.cachedInputTokens && { cachedInputTokens: sign * turn.cachedInputTokens }),
});

const finished = (version: number): Finished => ({ outcome: 'finished', version });

/**
 * The part of a piece that is not stored yet. A piece beyond the end would leave a gap that no later piece could fill.
 */
function unstored(flight: Flight, { position, text }: { position: number; text: string }): string {
  if (position > flight.position) throw gap(position, flight.position);
  return text.slice(indexAfter(text, flight.position - position));
}

/** The text up to the cut, if there is one. */
function cut(text: string, cutAt: number | undefined): string {
  if (cutAt === undefined) return text;
  const rest = textBehind(text, cutAt);
  if (rest === null) throw gap(cutAt, codePoints(text));
  return text.slice(0, text.length - rest.length);
}

const gap = (position: number, end: number): RangeError =>
  new RangeError(`Output at ${position} would leave a gap after ${end}.`);

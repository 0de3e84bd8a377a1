/**
 * The stream of a session's events (contract 23). An event has no row: a reader derives it from the messages and the
 * turns that are stored (`store/records/events.ts`), from its cursor on. So a reader holds one page, a slow one falls
 * behind, and one that comes back to any process continues where it was. Nobody pays for a session without a reader.
 */
import { sessionKind, type SessionContext } from '../../machines/session.ts';
import { migratedSnapshot } from '../actors/actor.ts';
import { Failure } from '../base/errors.ts';
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { retryMs } from '../base/store-retry.ts';
import type { SessionFollowers } from '../host/session-followers.ts';
import { firstIndexOf } from '../store/records.ts';
import { attendanceOf, type AttendanceChange } from '../store/records/attendance.ts';
import {
  endEvents,
  endNumberOf,
  eventCountOf,
  eventsOfMessage,
  isNumbered,
  numbersOf,
  shownNumber,
  storedNumber,
  turnEvents,
} from '../store/records/events.ts';
import { StoreUnavailable, type Message, type Session, type Store, type Turn } from '../store/store.ts';
import { remoteBegunMs, type RemoteTurns } from './remote-turns.ts';
import type { Sessions } from './sessions.ts';
import type { Withdrawals } from './withdrawals.ts';

/** Messages that are read at a time. */
const pageMessages = 8;
/** Milliseconds after which a session is read again without a notice. */
const pollMs = limits.heartbeatMs;

/** An event with the number that clients see. */
export type SessionEvent = { readonly number: number } & (
  | { readonly type: 'message.created'; readonly message: Message }
  | { readonly type: 'turn.started'; readonly turn: Turn }
  | { readonly type: 'turn.ended'; readonly turn: Turn }
  | { readonly type: 'attendance.changed'; readonly attendance: AttendanceChange }
  | { readonly type: 'session.ended'; readonly status: 'ended' | 'expired' }
);

interface SessionStreamsParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly sessions: Pick<Sessions, 'of' | 'send' | 'population'>;
  readonly remote: Pick<RemoteTurns, 'follow' | 'awaitBeginning'>;
  readonly withdrawals: Pick<Withdrawals, 'has'>;
  readonly followers: SessionFollowers;
}

type SessionPlace = Pick<Session, 'workspaceId' | 'id'>;

export class SessionStreams {
  readonly parts: SessionStreamsParts;
  /** Whether turns have begun, by turn: asked once for all readers. */
  readonly #beginnings = new Map<string, Promise<boolean>>();

  constructor(parts: SessionStreamsParts) {
    this.parts = parts;
  }

  /** A reader of the session's events. Throws `rate_limited` while the session or the process has too many. */
  open(place: SessionPlace): SessionReader {
    const reader = new SessionReader(place, this);
    if (!reader.follow()) throw new Failure('rate_limited', { seconds: limits.sessionStreamRetrySeconds });
    return reader;
  }

  /** Resolves with whether the turn has begun, so that no process withdraws it any more. */
  beginning(place: SessionPlace, turn: Turn): Promise<boolean> {
    const asked = this.#beginnings.get(turn.id);
    if (asked !== undefined) return asked;
    const beginning = this.#awaitBeginning(place, turn).finally(() => this.#beginnings.delete(turn.id));
    this.#beginnings.set(turn.id, beginning);
    return beginning;
  }

  async #awaitBeginning({ workspaceId, id: sessionId }: SessionPlace, turn: Turn): Promise<boolean> {
    const { store, sessions, remote, withdrawals } = this.parts;
    const runner = sessions.population.peek(sessionId)?.runner;
    if (runner?.turnId === turn.id) return (await runner.begun).kind === 'begun';
    // The next process that finds a turn of a dead process seals or withdraws it.
    if (withdrawals.has(sessionId, turn.id) || store.leaseMs === null) return false;
    const place = { workspaceId, sessionId, turnId: turn.id };
    return remote.awaitBeginning(place, await remote.follow(place), turn.endedAt);
  }
}

export class SessionReader {
  readonly #place: SessionPlace;
  readonly #streams: SessionStreams;
  /** The number of the event read last. */
  #position = 0;
  /** The index of the first message whose events are not all read. */
  #index = 0;
  /** The index of the next message that the desk may have stored before the end of the turn in flight. */
  #ahead = 0;
  /** The turn that is known to have begun, and the turn for which that is asked. */
  #begun: string | null = null;
  #asked: string | null = null;
  #hasEnded = false;
  #leave: (() => void) | null = null;
  #timer: Timer | null = null;
  #isMoved = false;
  /** Called when the reader is closed. */
  onClose: () => void = () => {};
  #wake: (() => void) | null = null;

  constructor(place: SessionPlace, streams: SessionStreams) {
    this.#place = { workspaceId: place.workspaceId, id: place.id };
    this.#streams = streams;
  }

  /** Begins to follow the session; false if it has too many readers here. */
  follow(): boolean {
    this.#leave = this.#parts.followers.follow(this.#place.id, () => this.#moved());
    return this.#leave !== null;
  }

  /**
   * Begins after the event of this number; null: after the newest. Resolves with `beyond` if there is no such event
   * yet, and with `over` if the session has ended and no event is left. Throws `session_not_found`.
   */
  async begin(after: number | null): Promise<'begun' | 'beyond' | 'over'> {
    const session = await this.#read();
    if (session === null) throw new Failure('session_not_found');
    const isOver = endOf(session) !== null;
    const active = await this.#activeTurn(session);
    const newest = active === null ? eventCountOf(session) : beforeEnd(active, session);
    const end = shownNumber(session, newest) + (isOver ? lastEvents(session) : 0);
    if (after !== null && after > end) return 'beyond';
    if (isOver && (after ?? end) === end) return 'over';
    this.#position = after ?? Math.min(end, await this.#certainEnd(session));
    this.#index = await this.#locate(session, this.#position);
    return 'begun';
  }

  /**
   * Resolves with the next events, once there are any; empty after the session's end and after `close`; null if the
   * session is gone, or the store has lost events that were read.
   */
  async next(): Promise<readonly SessionEvent[] | null> {
    for (let tries = 0; this.#leave !== null && !this.#hasEnded;) {
      this.#isMoved = false;
      const [from, ahead] = [this.#index, this.#ahead];
      let waitMs: number = pollMs;
      try {
        const session = await this.#read();
        if (session === null || this.#position > shownNumber(session, eventCountOf(session)) + lastEvents(session))
          return null;
        const events = await this.#collect(session);
        if (events.length > 0) {
          await this.#parts.store.confirm(this.#place.workspaceId);
          this.#position = events.at(-1)!.number;
          return events;
        }
        if (this.#index > from || this.#ahead > ahead) continue;
        waitMs = Math.min(waitMs, Math.max(1, 1000 * session.expiresAt - this.#parts.clock.now()));
        if (endOf(session) !== null) waitMs = pollMs;
        tries = 0;
      } catch (error) {
        // The session was removed between two reads.
        if (error instanceof Failure) return null;
        // A reader waits for the store as long as its client does, and reads again what it has not returned.
        if (!(error instanceof StoreUnavailable)) throw error;
        [this.#index, this.#ahead, this.#hasEnded] = [from, ahead, false];
        waitMs = retryMs(tries++);
      }
      await this.#rest(waitMs);
    }
    return none;
  }

  /** The number of the event read last; where it begins, before the first. */
  get position(): number {
    return this.#position;
  }

  get isClosed(): boolean {
    return this.#leave === null;
  }

  close(): void {
    if (this.#leave === null) return;
    this.#leave();
    this.#leave = null;
    this.#moved();
    this.onClose();
  }

  get #parts(): SessionStreamsParts {
    return this.#streams.parts;
  }

  #moved(): void {
    this.#isMoved = true;
    this.#wake?.();
  }

  /** Waits for a notice, or at most so long. */
  async #rest(waitMs: number): Promise<void> {
    if (this.#isMoved) return;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      this.#timer = this.#parts.clock.after(waitMs, resolve);
    });
    this.#wake = null;
    this.#timer?.cancel();
  }

  /** The session as it is stored, expired if its deadline has passed; its next move wakes the reader. */
  async #read(): Promise<Session | null> {
    const { store, sessions, clock } = this.#parts;
    const { workspaceId, id } = this.#place;
    const stored = await store.sessions.awaitMove(workspaceId, id);
    if (stored === null || clock.now() < 1000 * stored.record.expiresAt || stateOf(stored.record).isClosed)
      return stored && stored.record;
    const actor = await sessions.of(workspaceId, id);
    if (actor === null) return null;
    await sessions.send(actor, (at) => ({ type: 'tick', at }));
    return (await store.sessions.awaitMove(workspaceId, id))?.record ?? null;
  }

  async #turn(turnId: string): Promise<Turn | null> {
    return this.#parts.store.turns.read(this.#place.workspaceId, this.#place.id, turnId);
  }

  /** The turn in flight. */
  async #activeTurn(session: Session): Promise<Turn | null> {
    const { activeTurnId } = stateOf(session);
    const turn = activeTurnId === null ? null : await this.#turn(activeTurnId);
    return turn?.status === 'streaming' ? turn : null;
  }

  #messages(after: number, limit: number, order: 'asc' | 'desc' = 'asc') {
    const cursor = order === 'desc' || after < 0 ? null : String(after);
    return this.#parts.store.sessions.messages(this.#place.workspaceId, this.#place.id, {
      limit,
      after: cursor,
      order,
    });
  }

  /**
   * The number after which the events of turns begin that may still be withdrawn. Only the newest turns can be; one that
   * ended long ago is claimed, so that its number stays.
   */
  async #certainEnd(session: Session): Promise<number> {
    const { store, clock } = this.#parts;
    let end = Infinity;
    const { items } = await this.#messages(-1, pageMessages, 'desc');
    for (const turnId of new Set(items.map((message) => message.turnId))) {
      const turn = turnId === null ? null : await this.#turn(turnId);
      if (turn === null || (await this.#isCertainNow(turn))) continue;
      const endedMs = turn.endedAt === null ? 0 : clock.now() - 1000 * (turn.endedAt + 1);
      const place = { workspaceId: this.#place.workspaceId, sessionId: this.#place.id, turnId: turn.id };
      if (endedMs < remoteBegunMs || !(await store.turns.claim(place)))
        end = Math.min(end, shownNumber(session, numbersOf(turn, session).from - 1));
    }
    return end;
  }

  /** Whether the turn has begun, as far as this process knows without waiting. */
  async #isCertainNow(turn: Turn): Promise<boolean> {
    const { store, sessions } = this.#parts;
    const { workspaceId, id: sessionId } = this.#place;
    if (turn.status !== 'streaming') return this.#isCertain(turn);
    const runner = sessions.population.peek(sessionId)?.runner;
    if (runner?.turnId === turn.id)
      return (await Promise.race([runner.begun, Promise.resolve(null)]))?.kind === 'begun';
    const output = await store.turns.outputAfter({ workspaceId, sessionId, turnId: turn.id }, 0);
    return output !== null && (output.text !== '' || output.calls !== undefined);
  }

  /** Whether no process withdraws the turn any more, as it is stored. */
  #isCertain(turn: Turn): boolean {
    if (turn.id === this.#begun) return true;
    if (turn.status === 'streaming') return false;
    return this.#parts.store.leaseMs === null || turn.certain === true || turn.claimed === true;
  }

  /** Wakes the reader once the turn has begun. */
  #ask(turn: Turn): void {
    if (this.#asked === turn.id) return;
    this.#asked = turn.id;
    this.#streams.beginning(this.#place, turn).then(
      (hasBegun) => {
        this.#asked = null;
        if (!hasBegun) return;
        this.#begun = turn.id;
        this.#moved();
      },
      // The next poll asks again.
      () => (this.#asked = null),
    );
  }

  /**
   * The index of the message with the event after a position. Numbers grow evenly with the index in most sessions, so
   * that a guess finds it at once; every other guess halves what is left.
   */
  async #locate(session: Session, position: number): Promise<number> {
    const wanted = storedNumber(session, position + 1);
    let [low, high] = [0, session.messageCount];
    let [lowNumber, highNumber] = [1, eventCountOf(session) + 1];
    for (let tries = 0; low < high && wanted > lowNumber; tries++) {
      const share = tries % 2 === 0 ? (wanted - lowNumber) / Math.max(1, highNumber - lowNumber) : 0.5;
      const guess = Math.min(high - 1, low + Math.floor(share * (high - low)));
      const [message] = (await this.#messages(guess - 1, 1)).items;
      const turnId = message?.turnId ?? message?.duringTurnId ?? null;
      const turn = turnId === null ? null : await this.#turn(turnId);
      // A turn that was withdrawn meanwhile: reading from an earlier message only takes longer.
      if (message === undefined || (message.turnId !== null && turn === null)) return low;
      const first = turn === null ? guess : firstIndexOf(turn);
      const { from, count } =
        turn === null
          ? { from: message.sequence ?? guess + 1, count: eventsOfMessage(message) }
          : numbersOf(turn, session);
      if (wanted < from) [high, highNumber] = [first, from];
      else if (wanted < from + count) return first;
      else [low, lowNumber] = [Math.max(guess, turn?.messageIndex ?? first) + 1, from + count];
    }
    return low;
  }

  /** The events after the position, of one page at most. */
  async #collect(session: Session): Promise<SessionEvent[]> {
    const events: SessionEvent[] = [];
    const add = (event: SessionEvent): void => {
      const shown = shownNumber(session, event.number);
      if (shown > this.#position) events.push({ ...event, number: shown });
    };
    const { items, next } = await this.#messages(this.#index - 1, pageMessages);
    let turn: Turn | null = null;
    for (const message of items) {
      const { turnId } = message;
      if (turnId === null) {
        // The reply of the turn before is added, with the messages of the desk before it.
        if (turn !== null && message.duringTurnId === turn.id) continue;
        // After a withdrawn turn the index is larger: then messages are read again, and left out by their numbers.
        this.#index++;
        addAlone(message, message.sequence ?? this.#index, add);
        continue;
      }
      if (turn?.id !== turnId) turn = await this.#turn(turnId);
      if (turn === null) return events;
      if (!(await this.#addOf(session, turn, message, add))) return events;
    }
    const status = endOf(session);
    if (status === null || next !== null) return events;
    const last = eventCountOf(session) + lastEvents(session);
    // The end of the session ends its attendance.
    if (isAttended(session))
      add({
        number: last - 1,
        type: 'attendance.changed',
        attendance: attendanceOf(session, this.#parts.clock.now()),
      });
    add({ number: last, type: 'session.ended', status });
    this.#hasEnded = true;
    return events;
  }

  /** Adds the events that the desk has stored before the end of the turn; false if there may be more. */
  async #addAhead(turn: Turn, add: (event: SessionEvent) => void): Promise<boolean> {
    this.#ahead = Math.max(this.#ahead, turn.messageIndex + 1);
    const { items, next } = await this.#messages(this.#ahead - 1, pageMessages);
    for (const message of items) {
      if (message.duringTurnId !== turn.id) return true;
      addAlone(message, message.sequence!, add);
      this.#ahead++;
    }
    return next === null;
  }

  /** Adds the events of a turn's message; false if later ones are not certain, or not stored yet. */
  async #addOf(session: Session, turn: Turn, message: Message, add: (event: SessionEvent) => void): Promise<boolean> {
    const isReply = message.id === turn.messageId;
    if (!isNumbered(turn)) {
      if (message.status === 'streaming') return false;
      const { from } = numbersOf(turn, session);
      add({ number: from + (isReply && !turn.unasked ? 1 : 0), type: 'message.created', message });
      if (isReply) this.#index = turn.messageIndex + 1;
      return true;
    }
    if (!isReply || turn.unasked) {
      if (!this.#isCertain(turn)) {
        this.#ask(turn);
        return false;
      }
      if (!isReply) add({ number: turn.sequence, type: 'message.created', message });
      add({ number: startNumberOf(turn), type: 'turn.started', turn });
    }
    if (!isReply) return true;
    const end = endNumberOf(turn, session);
    if (end > startNumberOf(turn) + 1 && !(await this.#addAhead(turn, add))) return false;
    if (message.status === 'streaming') {
      // The turn has ended since the message was read.
      if (turn.status !== 'streaming') this.#moved();
      return false;
    }
    add({ number: end, type: 'message.created', message });
    add({ number: end + 1, type: 'turn.ended', turn });
    this.#index = Math.max(turn.messageIndex + 1, this.#ahead);
    return true;
  }
}

const none: readonly SessionEvent[] = [];

const isAttended = ({ attendance }: Session): boolean => attendance !== undefined && attendance.state !== 'assistant';

/** Number of the events of a session's end. */
const lastEvents = (session: Session): number => (isAttended(session) ? 2 : 1);

/** Adds the events of a message outside of a turn, from a number on. */
function addAlone(message: Message, from: number, add: (event: SessionEvent) => void): void {
  const { attendance, content } = message;
  if (attendance !== undefined) add({ number: from, type: 'attendance.changed', attendance });
  if (attendance === undefined || content !== '')
    add({ number: from + (attendance === undefined ? 0 : 1), type: 'message.created', message });
}

/** The number of a turn's last event before its end. */
function beforeEnd(turn: Turn, session: Session): number {
  if (isNumbered(turn)) return endNumberOf(turn, session) - 1;
  const { from, count } = numbersOf(turn, session);
  return from + count - 2;
}

/** The number of a turn's `turn.started`. */
const startNumberOf = (turn: Turn & { readonly sequence: number }): number =>
  turn.sequence + turnEvents(turn) - endEvents - 1;

function stateOf({ machine }: Session) {
  const { state, context } = migratedSnapshot(sessionKind, machine);
  const { activeTurnId } = context as SessionContext;
  return { state, activeTurnId, isClosed: state === 'ended' || state === 'expired' };
}

/** The status of a session that has ended and has no turn in flight; null for any other. */
function endOf(session: Session): 'ended' | 'expired' | null {
  const { state, activeTurnId } = stateOf(session);
  return activeTurnId === null && (state === 'ended' || state === 'expired') ? state : null;
}

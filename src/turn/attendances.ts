/**
 * The attendance of sessions (contract 23), which says who answers. The attendance machine decides, and each decision is
 * one step of the store with the session: its notes, the messages that no turn answers, and the silence of a turn in
 * flight. The store decides races: a step that another writer has overtaken is decided again.
 */
import {
  attendanceKind,
  attendanceVersion,
  unattended,
  type Attendant,
  type AttendanceContext,
  type AttendanceEvent,
  type AttendanceOutcome,
} from '../../machines/attendance.ts';
import { openActor, refusalOf, type MachineInstance } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import { movedSession, noteOpening } from '../actors/history.ts';
import type { Decision } from '../actors/inspector.ts';
import { noteFor } from '../assistant/texts.ts';
import { secondsOf, type Timer } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Assistants } from '../host/assistants.ts';
import { admission, linkOf, type ClockCharge, type VisitorUse } from '../host/link-budget.ts';
import type { Unsealed } from '../store/records.ts';
import { attendanceOf, defaultDesk, type AttendanceChange, type DeskText } from '../store/records/attendance.ts';
import { endEvents, eventCountOf, eventsOfMessage } from '../store/records/events.ts';
import {
  type Assistant,
  type AttendSession,
  type AuditEntry,
  type Cause,
  type IdempotencyRecord,
  type Message,
  type Page,
  type PageRequest,
  type Session,
} from '../store/store.ts';
import { manyWriters } from '../store/parts/change-record.ts';
import { AttendedSessions } from './attended.ts';
import type { LiveSession } from './in-flight.ts';
import { declinedCalls } from './pending-tool-calls.ts';
import { sameBody, type Sessions } from './sessions.ts';

type AttendanceState = AttendanceChange['state'];
type Remember = Omit<IdempotencyRecord, 'resultId' | 'untilMs'>;
type AttendanceDecision = Decision<AttendanceEvent, AttendanceOutcome>;
type NewMessage = Pick<Message, 'role' | 'content'> &
  Partial<Pick<Message, 'by' | 'attendance' | 'visitorId' | 'voice'>>;

/** A message of the visitor, for a person. */
export interface AcceptedChat {
  readonly message: string | null;
  readonly use?: VisitorUse | undefined;
  readonly remember: Remember | null;
  readonly cause?: Cause;
  /** The sound of a spoken message. */
  readonly voice?: Message['voice'];
  /** Whether a call sends words that may change: they are refused. */
  readonly isEarly?: boolean;
  /** Whether a take has ended the call that sends the words: they are accepted in every state. */
  readonly isHandedOver?: boolean;
}

/** The message that was accepted; or the request with the same key, whose result a repeat gets. */
export type AcceptedMessage =
  | { readonly kind: 'accepted'; readonly messageId: string }
  | { readonly kind: 'remembered'; readonly remembered: IdempotencyRecord };

/** The notes that the changes of who answers leave for the visitor; the others leave none. */
const notes: Partial<Record<AttendanceOutcome['type'], DeskText>> = {
  asked: 'waiting',
  taken: 'joined',
  returned: 'left',
  lapsed: 'nobody',
};
/** The outcomes that change who answers. */
const changes: ReadonlySet<string> = new Set(['asked', 'taken', 'returned', 'released', 'lost', 'lapsed']);
/** The acts of people that the audit has. */
const audited = { taken: 'take', returned: 'return', released: 'release' } as const;

/** Milliseconds between two searches of the sessions at the desk. */
const sweepMs = 5_000;
/** Milliseconds by which a person's presence is prolonged at least. */
const presenceStepMs = 15_000;
/** The longest wait of a timer; deadlines beyond it are found by sweeps. */
const longestTimerMs = 2 ** 31 - 1;

/** Numbers of open sessions at the desk. */
export type DeskCounts = Readonly<Record<'waiting' | 'person', number>>;

export interface AttendancesParts {
  readonly sessions: Sessions;
  readonly assistants: Pick<Assistants, 'of'>;
  /** Milliseconds since the epoch until which the person counts as present. */
  readonly presentUntilMs: (person: Attendant) => number | Promise<number>;
  /** Called for each session that a person takes after the visitor has waited for one. */
  readonly onTaken: (waitedMs: number) => void;
  /** Called now and then with the numbers of sessions at the desk. */
  readonly onCounted: (counts: DeskCounts) => void;
}

export class Attendances {
  readonly population: AttendedSessions;
  readonly #parts: AttendancesParts;
  /** The deadlines of sessions whose attendance this process has moved, by session. */
  readonly #timers = new Map<string, Timer>();
  #sweep: Timer | null = null;
  /** The numbers of the last sweep, moved by what this process has decided since. */
  #counts: DeskCounts = { waiting: 0, person: 0 };
  #closed = false;

  constructor(parts: AttendancesParts) {
    this.#parts = parts;
    this.population = new AttendedSessions(parts.sessions.population);
  }

  /** Asks for a person. Throws 404 `route_not_found` while the desk is closed. */
  ask(actor: LiveSession, reason: string | null, cause: Cause): Promise<void> {
    return this.#send(actor, cause, (at, { desk }) => {
      if (!desk.enabled) throw new Failure('route_not_found');
      return { type: 'ask', at, reason, untilMs: at + 1000 * desk.waitSeconds };
    });
  }

  /** Asks for a person on behalf of the model of a turn in flight. */
  async askOf({ workspaceId, id }: Pick<Session, 'workspaceId' | 'id'>, reason: string): Promise<void> {
    const actor = await this.#parts.sessions.of(workspaceId, id);
    if (actor === null) throw new Failure('session_not_found');
    await this.ask(actor, reason || null, nobody);
  }

  /** Gives the session to the person, and resolves once its turn in flight is sealed. Throws 409 `session_taken`. */
  async take(actor: LiveSession, by: Attendant, cause: Cause): Promise<void> {
    const presentUntilMs = await this.#parts.presentUntilMs(by);
    await this.#send(actor, cause, (at) => ({
      type: 'take',
      at,
      by,
      untilMs: Math.max(at + limits.deskPresenceMs, presentUntilMs),
      turnId: actor.context.activeTurnId,
    }));
    const { silencedTurnId } = contextOf(actor.record);
    if (silencedTurnId !== null) await this.#parts.sessions.awaitStopped(actor, silencedTurnId);
  }

  return(actor: LiveSession, by: Attendant, cause: Cause): Promise<void> {
    return this.#send(actor, cause, (at) => ({ type: 'return', at, by }));
  }

  release(actor: LiveSession, by: Attendant, cause: Cause): Promise<void> {
    return this.#send(actor, cause, (at, { desk }) => ({
      type: 'release',
      at,
      by,
      untilMs: at + 1000 * desk.waitSeconds,
    }));
  }

  /** Stores the person's message, and resolves with it. A repeat under the same key gets the id of the same message. */
  say(
    actor: LiveSession,
    by: Attendant,
    text: string,
    remember: Remember | null,
    cause: Cause,
  ): Promise<Message | { readonly repeatOf: string }> {
    return this.#inOrder(actor, async (at) => {
      const earlier = remember && (await this.#parts.sessions.earlier(actor.record.workspaceId, remember));
      if (earlier) return { repeatOf: earlier.resultId };
      const machine = this.#open(actor);
      checkOpen(actor, at);
      const decision = machine.decide({ type: 'say', at, by });
      refuse(decision);
      const stored = await this.#commit(actor, { decision, machine, at, cause, remember }, [
        { role: 'person', content: text, by },
      ]);
      if (stored === null) return null;
      return 'remembered' in stored ? { repeatOf: stored.remembered.resultId } : stored.messages[0]!;
    });
  }

  /**
   * Accepts a chat for a person, in the session's mailbox; `assistant` if the assistant answers it, and null if another
   * writer moved the session and the caller must decide again.
   */
  async accept(actor: LiveSession, chat: AcceptedChat, at: number): Promise<AcceptedMessage | 'assistant' | null> {
    const { attendance } = actor.record;
    if (attendance === undefined || isClosed(actor, at)) return 'assistant';
    if (attendance.state === 'assistant' && chat.isHandedOver !== true) return 'assistant';
    const { remember, cause = nobody } = chat;
    const earlier = remember && (await this.#parts.sessions.earlier(actor.record.workspaceId, remember));
    if (earlier) return { kind: 'remembered', remembered: earlier };
    const terms = await this.#termsOf(actor.record);
    if (attendance.state === 'waiting' && chat.isHandedOver !== true) {
      if (isDue(actor.record, at)) {
        await this.#tickOnce(actor, at, terms);
        return null;
      }
      if (terms.desk.whileWaiting === 'assistant') return 'assistant';
    }
    if (chat.isEarly) throw new Failure('session_taken');
    if (chat.message === null) throw new Failure('invalid_field', { field: 'tool_results' });
    const { use, voice } = chat;
    const visitorId = use?.isSigned ? use.visitorId : undefined;
    const message: NewMessage = {
      role: 'user',
      content: chat.message,
      ...(visitorId !== undefined && { visitorId }),
      ...(voice !== undefined && { voice }),
    };
    const stored = await this.#commit(actor, { decision: null, machine: null, at, cause, remember, use }, [message]);
    if (stored === null) return null;
    return 'remembered' in stored
      ? { kind: 'remembered', remembered: stored.remembered }
      : { kind: 'accepted', messageId: stored.messages[0]!.id };
  }

  /** Moves the session whose deadline has passed. */
  async tick(actor: LiveSession): Promise<void> {
    await this.#inOrder(actor, async (at) => {
      if (isClosed(actor, at)) return true;
      return this.#tickOnce(actor, at, await this.#termsOf(actor.record));
    });
  }

  /** Searches the sessions at the desk for deadlines now and then, until `close`. */
  start(): void {
    if (!this.#closed) this.#sweep = this.#parts.sessions.options.clock.after(sweepMs, () => void this.#sweepAll());
  }

  close(): void {
    this.#closed = true;
    this.#sweep?.cancel();
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  async #tickOnce(actor: LiveSession, at: number, terms: DeskTerms): Promise<true | null> {
    const { person, untilMs: deadline } = contextOf(actor.record);
    const presentUntilMs = person === null ? 0 : await this.#parts.presentUntilMs(person);
    // Another process may know that the person is present, and says so within two sweeps.
    const isUnknown = this.#parts.sessions.options.store.leaseMs !== null && presentUntilMs === 0;
    if (person !== null && isUnknown && at < deadline! + 4 * sweepMs) {
      this.#watch(actor.record, 4 * sweepMs);
      return true;
    }
    const untilMs = at + 1000 * terms.desk.waitSeconds;
    return this.#decide(actor, { type: 'tick', at, presentUntilMs, untilMs }, at, terms, nobody);
  }

  /** Sends the attendance of a session that is open an event. */
  async #send(
    actor: LiveSession,
    cause: Cause,
    eventAt: (at: number, terms: DeskTerms) => AttendanceEvent,
  ): Promise<void> {
    await this.#inOrder(actor, async (at) => {
      checkOpen(actor, at);
      const terms = await this.#termsOf(actor.record);
      if (actor.record.attendance?.state === 'waiting' && isDue(actor.record, at)) {
        await this.#tickOnce(actor, at, terms);
        return null;
      }
      return this.#decide(actor, eventAt(at, terms), at, terms, cause);
    });
  }

  /** Decides and stores; null if another writer moved the session. */
  async #decide(
    actor: LiveSession,
    event: AttendanceEvent,
    at: number,
    terms: DeskTerms,
    cause: Cause,
  ): Promise<true | null> {
    const machine = this.#open(actor);
    const before = attendanceOf(actor.record, at);
    const decision = machine.decide(event);
    refuse(decision);
    const outcome = decision.outcomes[0]!.type;
    if (outcome === 'unchanged') return true;
    const messages = changes.has(outcome) ? [changeOf(actor.record, machine, terms, outcome, at)] : [];
    const stored = await this.#commit(actor, { decision, machine, at, cause, remember: null }, messages);
    if (stored === null) return null;
    if (outcome === 'taken' && before.state === 'waiting') this.#parts.onTaken(at - 1000 * before.since);
    this.#count(before.state, attendanceOf(actor.record, at).state);
    this.#watch(actor.record);
    return true;
  }

  /** Runs the step in the session's mailbox; again while other writers move the session. */
  #inOrder<T extends object | true>(actor: LiveSession, step: (at: number) => Promise<T | null>): Promise<T> {
    const { clock } = this.#parts.sessions.options;
    return actor.mailbox.post(async () => {
      for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
        const done = await step(clock.now());
        if (done !== null) return done;
      }
      throw manyWriters('session');
    });
  }

  #open({ record }: LiveSession): MachineInstance<AttendanceEvent, AttendanceOutcome> {
    const { id, workspaceId, createdAt, attendance } = record;
    const snapshot = attendance ?? { version: attendanceVersion, state: 'assistant', context: unattended(createdAt) };
    const { inspector } = this.#parts.sessions.options;
    return openActor(attendanceKind, { snapshot }, { kind: 'attendance', id, workspaceId }, inspector);
  }

  async #commit(
    actor: LiveSession,
    { decision, machine, at, cause, remember, use }: DeskStep,
    wanted: readonly NewMessage[],
  ): Promise<{ readonly messages: readonly Message[] } | { readonly remembered: IdempotencyRecord } | null> {
    const { store, ids, mark, visitors } = this.#parts.sessions.options;
    const { record: before, basis } = actor;
    const { activeTurnId } = actor.context;
    const taken = decision?.outcomes[0]?.type === 'taken';
    const during = taken ? null : speakingTurnOf(actor);
    const messages = numbered(before, wanted, at, during, () => ids.make('msg'));
    const session = movedBy(before, messages, at, mark(), during);
    if (machine !== null && decision?.outcomes[0]?.type !== 'said') session.attendance = machine.snapshot();
    const amends = taken && activeTurnId === null ? await declinedCalls(store, before, at) : null;
    if (amends !== null) delete session.pending;
    const admitted = use === undefined ? null : this.#admission(actor, use, at);
    if (admitted !== null) session.link = linkOf(use!, admitted.clock, session.link?.signedFields);
    const step: Unsealed<AttendSession> = {
      ...basis,
      session,
      messages,
      remember: remember && {
        ...remember,
        resultId: messages[0]!.id,
        untilMs: at + limits.idempotencyMsMax,
      },
      nowMs: at,
    };
    if (amends !== null) step.amends = amends;
    if (admitted !== null) step.asked = admitted.asked;
    if (taken && activeTurnId !== null)
      step.silences = {
        turnId: activeTurnId,
        leaseUntilMs: store.leaseMs === null ? Number.MAX_SAFE_INTEGER : at + limits.stopMs,
      };
    const counts = {
      personMessages: messages.filter(({ role }) => role === 'person').length,
      handovers: taken ? 1 : 0,
    };
    if (counts.personMessages + counts.handovers > 0) step.counts = counts;
    const reported = messages.find(({ attendance }) => attendance !== undefined);
    if (reported !== undefined) step.reports = reported.id;
    const audit = auditOf(cause, decision, before, session);
    if (audit !== undefined) step.audit = audit;
    const answer = await store.desk.attend(step);
    if (answer.outcome === 'lost') {
      await actor.reload();
      return null;
    }
    if (answer.outcome === 'remembered') return { remembered: sameBody(answer.remembered, remember!) };
    if (answer.outcome === 'limited')
      throw await visitors.refuse(before.workspaceId, use!, admitted!, answer.answers, at, cause);
    actor.committed(session, answer.version);
    if (machine !== null) machine.publish(decision!, answer.version, cause);
    if (admitted !== null) visitors.noteAccepted(session, session.link!.clock!.untilMs, cause);
    if (step.silences !== undefined && actor.runner?.turnId === activeTurnId) void actor.runner.stop('taken', cause);
    return { messages };
  }

  #admission({ record, context }: LiveSession, use: VisitorUse, at: number): ClockCharge {
    const { activeTurnId } = context;
    const turnRuns = activeTurnId !== null && record.link?.clock?.movedBy === activeTurnId;
    return admission(use, record, at, limits.linkHoldMs, turnRuns ? activeTurnId : 'desk', turnRuns);
  }

  async #termsOf({ workspaceId, assistantId }: Session): Promise<DeskTerms> {
    const assistant = (await this.#parts.assistants.of(workspaceId, assistantId))?.record ?? null;
    return { desk: assistant?.desk ?? defaultDesk, assistant };
  }

  /** Moves the sessions whose deadlines have passed, or whose people are present, and counts those at the desk. */
  async #sweepAll(): Promise<void> {
    const { sessions, presentUntilMs, onCounted } = this.#parts;
    const { store, clock } = sessions.options;
    const counts = { waiting: 0, person: 0 };
    const before = this.#counts;
    try {
      for (const workspaceId of await store.desk.workspaces()) {
        for (let page: PageRequest | null = { limit: limits.listMax, after: null, order: 'asc' }; page !== null;) {
          const { items, next }: Page<Session> = await store.desk.list(workspaceId, page);
          for (const session of items) {
            const { state } = attendanceOf(session, clock.now());
            if (state !== 'assistant') counts[state]++;
            const { person, untilMs } = contextOf(session);
            const longer = person === null ? 0 : (await presentUntilMs(person)) - untilMs!;
            const isOver = clock.now() >= 1000 * session.expiresAt;
            if (isOver || isDue(session, clock.now()) || longer >= presenceStepMs)
              await this.#tickStored(workspaceId, session.id).catch(() => {});
          }
          page = next === null ? null : { ...page, after: next };
        }
      }
      // Numbers that a decision has moved meanwhile are newer than those that were read.
      if (this.#counts === before) onCounted((this.#counts = counts));
    } catch {
      // The next sweep tries again.
    }
    this.start();
  }

  #count(before: AttendanceState, after: AttendanceState): void {
    const counts = { ...this.#counts };
    if (before !== 'assistant') counts[before] = Math.max(0, counts[before] - 1);
    if (after !== 'assistant') counts[after]++;
    this.#counts = counts;
    this.#parts.onCounted(counts);
  }

  /** Sets the timer to the deadline of the session's attendance, or a while after it. */
  #watch(record: Session, laterMs = 0): void {
    const { clock } = this.#parts.sessions.options;
    this.#timers.get(record.id)?.cancel();
    this.#timers.delete(record.id);
    const { untilMs } = contextOf(record);
    if (untilMs === null || record.machine.state === 'ended' || record.machine.state === 'expired') return;
    const { id, workspaceId } = record;
    const waitMs = untilMs + laterMs - clock.now();
    if (waitMs > longestTimerMs) return;
    const timer = clock.after(Math.max(1, waitMs), () => {
      this.#timers.delete(id);
      // The next sweep tries again.
      void this.#tickStored(workspaceId, id).catch(() => {});
    });
    this.#timers.set(id, timer);
  }

  async #tickStored(workspaceId: string, id: string): Promise<void> {
    const actor = await this.#parts.sessions.of(workspaceId, id);
    if (actor === null) return;
    const isExpired = this.#parts.sessions.options.clock.now() >= 1000 * actor.record.expiresAt;
    if (isExpired) await this.#parts.sessions.send(actor, (at) => ({ type: 'tick', at }));
    else await this.tick(actor);
  }
}

/** The settings of the session's assistant, which are effective at once; `assistant`: null if it is deleted. */
interface DeskTerms {
  readonly desk: typeof defaultDesk;
  readonly assistant: Assistant | null;
}

/** A step of the desk that was decided; no decision for a chat that is accepted. */
interface DeskStep {
  readonly decision: AttendanceDecision | null;
  readonly machine: MachineInstance<AttendanceEvent, AttendanceOutcome> | null;
  readonly at: number;
  readonly cause: Cause;
  readonly remember: Remember | null;
  readonly use?: VisitorUse | undefined;
}

const contextOf = ({ attendance, createdAt }: Session): AttendanceContext =>
  attendance === undefined ? unattended(createdAt) : (attendance.context as AttendanceContext);

const isDue = (record: Session, at: number): boolean => {
  const { untilMs } = contextOf(record);
  return untilMs !== null && at >= untilMs;
};

const isClosed = ({ record, machine }: LiveSession, at: number): boolean =>
  machine.state === 'ended' || machine.state === 'expired' || at >= 1000 * record.expiresAt;

/** Throws the 409 of a session that has ended or expired. */
function checkOpen(actor: LiveSession, at: number): void {
  if (isClosed(actor, at)) throw new Failure(actor.machine.state === 'ended' ? 'session_ended' : 'session_expired');
}

/** Throws what the machine refuses. */
function refuse({ outcomes }: AttendanceDecision): void {
  const refusal = refusalOf(outcomes);
  if (refusal !== null) throw new Failure(refusal);
}

/** The row of a change of who answers, with its note to the visitor. */
function changeOf(
  session: Session,
  { state, context }: MachineInstance<AttendanceEvent, AttendanceOutcome>,
  { desk, assistant }: DeskTerms,
  outcome: AttendanceOutcome['type'],
  at: number,
): NewMessage {
  const before = attendanceOf(session, at);
  const { since, person } = context as AttendanceContext;
  const name = person?.name ?? null;
  const attendance: AttendanceChange = {
    state: state as AttendanceChange['state'],
    since,
    name,
    ...(before.name !== null && { left: before.name }),
  };
  const text = notes[outcome];
  const template = text === undefined ? null : desk.texts[text];
  const note =
    assistant === null ? null : noteFor(template, assistant, session, secondsOf(at), name ?? before.name ?? '');
  return { role: 'notice', content: note ?? '', attendance };
}

/** The turn in flight, whose end comes after the events of the desk; null without one, and after a take. */
function speakingTurnOf({ record, context: { activeTurnId } }: LiveSession): string | null {
  // A turn of a version without events has no numbers.
  const isSilent = contextOf(record).silencedTurnId === activeTurnId || record.eventCount === undefined;
  return isSilent ? null : activeTurnId;
}

/** The number of the session's next event of the desk; `during`: the turn whose end comes after it. */
const nextNumber = (session: Session, during: string | null): number =>
  during === null
    ? eventCountOf(session) + 1
    : session.turnEnd?.turnId === during
      ? session.turnEnd.number
      : eventCountOf(session) + 1 - endEvents;

/** The messages as the session's next, with the numbers of their events. */
function numbered(
  session: Session,
  wanted: readonly NewMessage[],
  at: number,
  during: string | null,
  makeId: () => string,
): Message[] {
  let sequence = nextNumber(session, during);
  return wanted.map((fields) => {
    const message: Message = {
      id: makeId(),
      turnId: null,
      status: 'completed',
      stopReason: null,
      errorCode: null,
      createdAt: secondsOf(at),
      sequence,
      ...(during !== null && { duringTurnId: during }),
      ...fields,
    };
    sequence += eventsOfMessage(message);
    return message;
  });
}

/** The session after the messages. */
function movedBy(
  before: Session,
  messages: readonly Message[],
  at: number,
  mark: string,
  during: string | null,
): Unsealed<Session> {
  const session: Unsealed<Session> = movedSession(
    before,
    at,
    mark,
    before.machine,
    before.messageCount + messages.length,
  );
  const events = messages.reduce((count, message) => count + eventsOfMessage(message), 0);
  session.eventCount = eventCountOf(before) + events;
  if (during !== null && events > 0) session.turnEnd = { turnId: during, number: nextNumber(before, during) + events };
  for (const [index, { role, content }] of messages.entries())
    if (role === 'user') noteOpening(session, before.messageCount + index, content);
  return session;
}

/** The row in the audit of a person's act, and of a message in a trial. */
function auditOf(
  { auditStep }: Cause,
  decision: AttendanceDecision | null,
  before: Session,
  session: Session,
): AuditEntry | undefined {
  const outcome = decision?.outcomes[0]?.type;
  if (outcome === undefined || outcome === 'said') return auditStep?.({ action: 'message', session, turnId: null });
  const action = (audited as Partial<Record<string, 'take' | 'return' | 'release'>>)[outcome];
  const stateOf = ({ attendance }: Session): string => attendance?.state ?? 'assistant';
  const attendance = { before: stateOf(before), after: stateOf(session) };
  return action && auditStep?.({ action, session, turnId: null, attendance });
}

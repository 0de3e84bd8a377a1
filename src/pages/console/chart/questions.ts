/** The simulation: for each event the cases to try on a copy of the machine, with the fields of the event. */
import type { ActorKind } from '../../../../machines/all.ts';
import type { AttendanceContext } from '../../../../machines/attendance.ts';
import type { SessionContext } from '../../../../machines/session.ts';
import type { ReleaseContext } from '../../../../machines/release.ts';
import { decide, eventsOf, type AnyEvent, type TriedEvent, type Standing } from './copy.ts';

export interface Question {
  readonly event: string;
  /** The circumstance; null for the plain case. */
  readonly when: string | null;
  readonly make: (standing: Standing, at: number) => AnyEvent;
}

type Make = Question['make'];

/** The fields of every kind's context that the cases use. */
const fieldsOf = (context: unknown) => (context ?? {}) as Partial<SessionContext & AttendanceContext & ReleaseContext>;

const turnOf = ({ context }: Standing): string => fieldsOf(context).activeTurnId ?? 'turn_none';
const deadlineOf = ({ context }: Standing, at: number): number => {
  const expiresAt = fieldsOf(context).expiresAt;
  return expiresAt == null ? at : Math.max(at, expiresAt * 1000);
};
/**
 * Returns a time before the deadline: the plain question is about "now", although the actor may have ended long ago.
 */
const inTime = (standing: Standing, at: number): number => {
  const expiresAt = fieldsOf(standing.context).expiresAt;
  return expiresAt == null ? at : Math.min(at, expiresAt * 1000 - 1);
};

const currentIn = (context: unknown): number => fieldsOf(context).current ?? 1;
const candidateIn = (context: unknown): number => fieldsOf(context).candidate ?? 1;
/** A version that is neither current nor rolled out. */
const newVersionIn = (context: unknown): number => Math.max(currentIn(context), candidateIn(context)) + 1;
const newcomer = { id: 'prs_new', name: 'Somebody' };
const holderOf = ({ context }: Standing): { readonly id: string; readonly name: string } =>
  fieldsOf(context).person ?? newcomer;
const dueOf = ({ context }: Standing, at: number): number => fieldsOf(context).untilMs ?? at;

const chat =
  (assistantRefusal: string | null): Make =>
  (standing, at) => ({ type: 'chat', at: inTime(standing, at), turnId: 'turn_new', assistantRefusal });

const cases: Readonly<Record<string, readonly (readonly [when: string | null, make: Make])[]>> = {
  'session chat': [
    [null, chat(null)],
    ['the assistant is disabled', chat('assistant_disabled')],
    [
      'the session is past its seconds',
      (standing, at) => ({ type: 'chat', at: deadlineOf(standing, at), turnId: 'turn_new', assistantRefusal: null }),
    ],
  ],
  'session abort': [
    [null, (standing, at) => ({ type: 'abort', at: inTime(standing, at), turnId: turnOf(standing) })],
    ['it names another turn', (standing, at) => ({ type: 'abort', at: inTime(standing, at), turnId: 'turn_other' })],
  ],
  'session finished': [
    [null, (standing, at) => ({ type: 'finished', at: inTime(standing, at), turnId: turnOf(standing) })],
    [
      'the session is past its seconds',
      (standing, at) => ({ type: 'finished', at: deadlineOf(standing, at), turnId: turnOf(standing) }),
    ],
  ],
  'session end': [[null, (standing, at) => ({ type: 'end', at: inTime(standing, at) })]],
  'session tick': [
    [null, (standing, at) => ({ type: 'tick', at: inTime(standing, at) })],
    ['the deadline is due', (standing, at) => ({ type: 'tick', at: deadlineOf(standing, at) })],
  ],
  'attendance take': [
    [null, (_, at) => ({ type: 'take', at, by: newcomer, untilMs: at + 60_000, turnId: null })],
    [
      'by the person who has it',
      (standing, at) => ({ type: 'take', at, by: holderOf(standing), untilMs: at + 60_000, turnId: null }),
    ],
  ],
  ...Object.fromEntries(
    (['say', 'return', 'release'] as const).map((type) => [
      `attendance ${type}`,
      [
        [null, (standing: Standing, at: number) => ({ type, at, by: holderOf(standing), untilMs: at + 60_000 })],
        ['by somebody else', (_: Standing, at: number) => ({ type, at, by: newcomer, untilMs: at + 60_000 })],
      ] as const,
    ]),
  ),
  'attendance ask': [[null, (_, at) => ({ type: 'ask', at, reason: null, untilMs: at + 60_000 })]],
  'attendance tick': [
    [null, (standing, at) => ({ type: 'tick', at: dueOf(standing, at) - 1, presentUntilMs: 0, untilMs: at })],
    [
      'the deadline is due',
      (standing, at) => ({ type: 'tick', at: dueOf(standing, at), presentUntilMs: 0, untilMs: at + 60_000 }),
    ],
    [
      'the person is present',
      (standing, at) => ({
        type: 'tick',
        at: dueOf(standing, at),
        presentUntilMs: dueOf(standing, at) + 60_000,
        untilMs: at + 60_000,
      }),
    ],
  ],
  'turn stop': [
    ['it is aborted', (_, at) => ({ type: 'stop', at, reason: 'aborted' })],
    ['its session expires', (_, at) => ({ type: 'stop', at, reason: 'expired' })],
    ['a person takes its session', (_, at) => ({ type: 'stop', at, reason: 'taken' })],
    ['the server drains', (_, at) => ({ type: 'stop', at, reason: 'drain' })],
  ],
  'turn unstored': [['the store is away', (_, at) => ({ type: 'unstored', at, fault: 'store_away' })]],
  'turn failed': [['its connection is cut', (_, at) => ({ type: 'failed', at, reason: 'cut' })]],
  'turn fault': [['a fault of ours', (_, at) => ({ type: 'fault', at, fault: 'error' })]],
  'turn fenced': [[null, (_, at) => ({ type: 'fenced', at, until: at + 2000 })]],
  'turn taken': [[null, (_, at) => ({ type: 'taken', at, until: at + 2000 })]],
  'turn unsealed': [
    [
      'the store is away',
      (_, at) => ({ type: 'unsealed', at, fault: 'store_away', certain: false, last: false, until: at + 20_000 }),
    ],
    [
      'the store has lost text',
      (_, at) => ({ type: 'unsealed', at, fault: 'store_forgot', certain: true, last: false, until: at + 20_000 }),
    ],
    [
      'a fault of ours, for the last time',
      (_, at) => ({ type: 'unsealed', at, fault: 'error', certain: false, last: true, until: at + 20_000 }),
    ],
  ],
  'turn withdrawn': [
    [null, (_, at) => ({ type: 'withdrawn', at, stored: true })],
    ['the store is away', (_, at) => ({ type: 'withdrawn', at, stored: false })],
  ],
  'turn fate': [
    ['it was aborted', (_, at) => ({ type: 'fate', at, end: 'aborted' })],
    ['its session expired', (_, at) => ({ type: 'fate', at, end: 'expired' })],
    ['it was completed', (_, at) => ({ type: 'fate', at, end: 'completed' })],
    ['it failed', (_, at) => ({ type: 'fate', at, end: 'failed' })],
    ['the store does not say', (_, at) => ({ type: 'fate', at, end: 'unknown' })],
  ],
  'turn tick': [
    [null, (_, at) => ({ type: 'tick', at })],
    ['a deadline is due', (_, at) => ({ type: 'tick', at: Math.max(at, 9e15) })],
  ],
  'key request': [
    [null, (standing, at) => ({ type: 'request', at: inTime(standing, at), debt: null })],
    [
      'a budget is used up',
      (standing, at) => ({
        type: 'request',
        at: inTime(standing, at),
        debt: { budget: 'requests', until: at + 60_000 },
      }),
    ],
    ['the key is past its date', (standing, at) => ({ type: 'request', at: deadlineOf(standing, at), debt: null })],
  ],
  'key configure': [
    ['without an expiry', (_, at) => ({ type: 'configure', at, expiresAt: null })],
    ['with an expiry that is past', (_, at) => ({ type: 'configure', at, expiresAt: Math.floor(at / 1000) - 1 })],
  ],
  'key tick': [
    [null, (_, at) => ({ type: 'tick', at })],
    ['the expiry is due', (standing, at) => ({ type: 'tick', at: deadlineOf(standing, at) })],
  ],
  'workspace configure': [
    ['one slot', () => ({ type: 'configure', max: 1 })],
    ['a thousand slots', () => ({ type: 'configure', max: 1000 })],
  ],
  'workspace sync': [
    ['no turn is in flight', () => ({ type: 'sync', inFlight: 0 })],
    ['a thousand turns are in flight', () => ({ type: 'sync', inFlight: 1000 })],
  ],
  'assistant configure': [
    ['with a voice', () => ({ type: 'configure', voice: true })],
    ['without a voice', () => ({ type: 'configure', voice: false })],
  ],
  'release publish': [
    [null, ({ context }) => ({ type: 'publish', version: newVersionIn(context) })],
    ['the draft equals the current version', ({ context }) => ({ type: 'publish', version: currentIn(context) })],
    ['the draft equals the candidate', ({ context }) => ({ type: 'publish', version: candidateIn(context) })],
  ],
  'release rollback': [
    [null, ({ context }) => ({ type: 'rollback', version: newVersionIn(context) })],
    ['to the current version', ({ context }) => ({ type: 'rollback', version: currentIn(context) })],
    ['to the candidate', ({ context }) => ({ type: 'rollback', version: candidateIn(context) })],
  ],
  'release rollout': [
    [null, ({ context }) => ({ type: 'rollout', version: newVersionIn(context) })],
    ['of the current version', ({ context }) => ({ type: 'rollout', version: currentIn(context) })],
    ['of the candidate', ({ context }) => ({ type: 'rollout', version: candidateIn(context) })],
  ],
  'run finish': [
    ['every part has passed', () => ({ type: 'finish', passed: true })],
    ['a part has not passed', () => ({ type: 'finish', passed: false })],
  ],
  'socket open': [
    [null, (_, at) => ({ type: 'open', at, refusal: null })],
    ['the assistant is disabled', (_, at) => ({ type: 'open', at, refusal: 'assistant_disabled' })],
  ],
  'socket speech': [
    [null, (_, at) => ({ type: 'speech', at, refusal: null })],
    ['its voice was switched off', (_, at) => ({ type: 'speech', at, refusal: 'voice_disabled' })],
  ],
  'socket fault': [
    ['a message breaks a rule', (_, at) => ({ type: 'fault', at, code: 'invalid_request', close: 1008 })],
  ],
  'reply cut': [
    ['by speech', (_, at) => ({ type: 'cut', at, by: 'speech', closing: false })],
    ['the connection is lost', (_, at) => ({ type: 'cut', at, by: 'lost', closing: true })],
  ],
  'reply failed': [[null, (_, at) => ({ type: 'failed', at, code: 'voice_unavailable' })]],
  'reply fail': [[null, (_, at) => ({ type: 'fail', at, reports: true })]],
  'reply withdraw': [
    [null, (_, at) => ({ type: 'withdraw', at, called: false, fails: false, by: 'client', reports: true })],
    [
      'its tool calls are stored',
      (_, at) => ({ type: 'withdraw', at, called: true, fails: false, by: 'client', reports: true }),
    ],
  ],
  'reply settled': [
    ['nothing was heard', (_, at) => ({ type: 'settled', at, points: 0, called: false, stopped: false })],
    ['some of it was heard', (_, at) => ({ type: 'settled', at, points: 12, called: false, stopped: false })],
  ],
  'visitor message': [
    [null, (_, at) => ({ type: 'message', at, refusal: null, clockUntil: at + 60_000 })],
    [
      'a limit refuses it',
      (_, at) => ({ type: 'message', at, refusal: { limit: 'minutes_per_day', until: at + 60_000 }, clockUntil: 0 }),
    ],
  ],
  'visitor sealed': [
    ['its clock runs on', (_, at) => ({ type: 'sealed', at, clockUntil: at + 60_000 })],
    ['its turn was withdrawn', (_, at) => ({ type: 'sealed', at, clockUntil: at })],
  ],
};

export const questionsOf = (kind: ActorKind): Question[] =>
  eventsOf(kind).flatMap((event) => {
    const plain: readonly (readonly [string | null, Make])[] = [[null, (_, at) => ({ type: event, at })]];
    return (cases[`${kind} ${event}`] ?? plain).map(([when, make]) => ({ event, when, make }));
  });

/** The copy's answer; null where it cannot be told, since the context is not known. */
export function answerTo(kind: ActorKind, standing: Standing, { make }: Question, at: number): TriedEvent | null {
  try {
    return decide(kind, { state: standing.state, context: standing.context ?? {} }, make(standing, at));
  } catch {
    return null;
  }
}

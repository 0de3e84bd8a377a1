/**
 * The use of an assistant's limits by conversations of the public link (contract 9). Each session has a clock, which runs from an
 * accepted message to a while after the message's turn is sealed, or to the session's end, and while a voice socket is open. A step that moves the clock charges
 * the difference to the day on which that happens. Nothing is stored here: the steps of the store apply the decisions.
 */
import { linkLimitNames, linkLimits, limits, type LinkLimitName } from '../base/limits.ts';
import type { AskedLimit, LinkClock, LinkSettings, LookedLimit, Session, SettledLimit, TakenLimit, Turn, TurnLink } from '../store/store.ts';

const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
const beginOfDay = (at: number): number => at - (at % dayMs);
export const nextDay = (at: number): number => beginOfDay(at) + dayMs;

/** A visitor, as the limits of an assistant know one. */
export interface VisitorUse {
  readonly assistantId: string;
  readonly visitorId: string;
  /** A keyed digest of the address that the request came from. */
  readonly addressKey: string;
  /** As the assistant has them. */
  readonly limits: LinkSettings['limits'];
}

/** A message's request to the limits. */
export interface MessageCharge {
  readonly asked: readonly AskedLimit[];
  /** The names of the requested limits, in the same order. */
  readonly names: readonly LinkLimitName[];
  readonly clock: LinkClock;
  readonly link: TurnLink;
}

/** A refusal by limits: their names, and the milliseconds until all of them may let the next request pass. */
export interface LimitsRefusal {
  readonly refusing: readonly LinkLimitName[];
  readonly waitMs: number;
}

const names = {
  minutes: (assistantId: string) => `${assistantId}/minutes`,
  visitors: (assistantId: string) => `${assistantId}/visitors`,
  messages: (assistantId: string, visitorId: string) => `${assistantId}/messages/${visitorId}`,
  address: (assistantId: string, addressKey: string) => `${assistantId}/address/${addressKey}`,
  refused: (assistantId: string, limit: LinkLimitName) => `${assistantId}/refused/${limit}`,
};

/** The ceiling of a limit; null for none. */
export const ceilingOf = (given: LinkSettings['limits'], name: LinkLimitName): number | null => given[name] === undefined ? linkLimits[name] : given[name];

/** The name of the slots of which a visitor has one: a visitor has one turn at a time (contract 9). */
export const visitorSlot = (visitorId: string): string => `visitor/${visitorId}`;

const isRunning = (clock: LinkClock | null, at: number, turnRuns: boolean): clock is LinkClock => clock !== null && (turnRuns || clock.untilMs > at);

/** Returns the clock with a later end, and the milliseconds that this charges to the day of `at`. */
function movedTo(clock: LinkClock | null, untilMs: number, at: number, from: number, movedBy: string): { clock: LinkClock; costMs: number } {
  const costMs = Math.max(0, untilMs - from);
  const day = beginOfDay(at);
  const before = clock?.dayMs === day ? clock.chargedMs : 0;
  return { clock: { untilMs: from + costMs, dayMs: day, chargedMs: before + costMs, movedBy }, costMs };
}

const charge = ({ assistantId }: Pick<Session, 'assistantId'>, sinceMs: number, cost: number): SettledLimit => ({ kind: 'counter', name: names.minutes(assistantId), periodMs: dayMs, sinceMs, cost });

const seat = ({ assistantId, link, id }: Session, untilMs: number): SettledLimit => ({ kind: 'place', name: names.visitors(assistantId), holder: link!.visitorId, seat: id, untilMs });

/** The end of a clock that is moved at `at`: no clock runs beyond its session. */
const holdUntil = ({ expiresAt }: Session, at: number): number => Math.min(at + limits.linkHoldMs, expiresAt * 1000);

/**
 * Returns a message's request to the limits. `placeMs`: for how long its place is taken, unless its end is settled before; `movedBy` names
 * the turn, or the kind of another request. `turnRuns`: whether a turn of the session is in flight, so that its clock runs.
 */
export function admission(use: VisitorUse, session: Session, at: number, placeMs: number, movedBy: string, turnRuns = false): MessageCharge {
  const { assistantId, visitorId } = use;
  const before = session.link?.clock ?? null;
  const from = isRunning(before, at, turnRuns) ? before.untilMs : at;
  const { clock, costMs } = movedTo(before, Math.max(from, holdUntil(session, at)), at, from, movedBy);
  const ceiling = (name: LinkLimitName): number => ceilingOf(use.limits, name) ?? Infinity;
  const all: Record<LinkLimitName, AskedLimit> = {
    minutes_per_day: { kind: 'counter', name: names.minutes(assistantId), ceiling: ceiling('minutes_per_day') * 60_000, periodMs: dayMs, cost: costMs },
    concurrent_visitors: { kind: 'place', name: names.visitors(assistantId), ceiling: ceiling('concurrent_visitors'), holder: visitorId, seat: session.id, untilMs: at + placeMs },
    messages_per_visitor_per_day: { kind: 'counter', name: names.messages(assistantId, visitorId), ceiling: ceiling('messages_per_visitor_per_day'), periodMs: dayMs, cost: 1 },
    messages_per_address_per_hour: address(use),
  };
  // Minutes are counted and places are taken where there is no ceiling as well: the console shows them.
  const shown: readonly LinkLimitName[] = ['minutes_per_day', 'concurrent_visitors'];
  const taken = linkLimitNames.filter((name) => shown.includes(name) || ceilingOf(use.limits, name) !== null);
  const link: TurnLink = { before, taken: taken.filter((name) => !shown.includes(name)).map((name) => givenBack(all[name], at)) };
  return { asked: taken.map((name) => all[name]), names: taken, clock, link };
}

const address = ({ assistantId, addressKey, limits: given }: VisitorUse): AskedLimit => ({
  kind: 'bucket',
  name: names.address(assistantId, addressKey),
  ceiling: ceilingOf(given, 'messages_per_address_per_hour') ?? Infinity,
  periodMs: hourMs,
  cost: 1,
});

function givenBack(limit: AskedLimit, at: number): SettledLimit {
  if (limit.kind === 'place') throw new TypeError('A place is not given back but ends.');
  const { name, ceiling, periodMs, cost } = limit;
  return limit.kind === 'bucket' ? { kind: 'bucket', name, ceiling, periodMs, cost: -cost } : { kind: 'counter', name, periodMs, sinceMs: at - (at % periodMs), cost: -cost };
}

/** Returns a new session's request to the limits (contract 9): one of its address's messages. */
export const sessionAdmission = (use: VisitorUse): Pick<MessageCharge, 'asked' | 'names'> =>
  ceilingOf(use.limits, 'messages_per_address_per_hour') === null ? { asked: [], names: [] } : { asked: [address(use)], names: ['messages_per_address_per_hour'] };

/** Null if all limits pass. */
export function refusalOfLimits({ names: asked }: Pick<MessageCharge, 'names'>, answers: readonly TakenLimit[], at: number): LimitsRefusal | null {
  const refusing = asked.filter((_, index) => !answers[index]!.passed);
  const waits = asked.flatMap((name, index) => (answers[index]!.passed ? [] : [waitOf(name, answers[index]!.waitMs, at)]));
  return refusing.length === 0 ? null : { refusing, waitMs: Math.max(...waits) };
}

/** A limit of 0 may be another one tomorrow. A place falls free at any time, so its wait is at most the time that a clock runs on by itself. */
function waitOf(name: LinkLimitName, waitMs: number | null, at: number): number {
  if (waitMs === null) return nextDay(at) - at;
  return name === 'concurrent_visitors' ? Math.min(waitMs, limits.linkHoldMs) : waitMs;
}

/** A session after a step, and the charges that the step settles; the unchanged session if there is nothing to settle. */
export interface Settled {
  readonly session: Session;
  readonly settled?: readonly SettledLimit[];
}

/** The end of a turn: its clock runs on for a while, unless the session's end has stopped it. */
export function sealSettlement(session: Session, turn: Pick<Turn, 'id' | 'link'>, at: number): Settled {
  const clock = session.link?.clock;
  if (turn.link === undefined || clock?.movedBy !== turn.id) return { session };
  const moved = movedTo(clock, Math.max(clock.untilMs, holdUntil(session, at)), at, clock.untilMs, turn.id);
  return { session: { ...session, link: { ...session.link!, clock: moved.clock } }, settled: [charge(session, moved.clock.dayMs, moved.costMs), seat(session, moved.clock.untilMs)] };
}

/** A voice socket of the session is open at `at`: its clock is kept a little ahead, as nobody knows when the socket closes. While a turn runs the clock is the turn's. */
export function speechSettlement(session: Session, activeTurnId: string | null, at: number): Settled {
  const before = session.link?.clock ?? null;
  if (session.link === undefined || (before !== null && before.movedBy === activeTurnId)) return { session };
  const from = isRunning(before, at, false) ? before.untilMs : at;
  const { clock, costMs } = movedTo(before, Math.min(at + limits.linkSocketAheadMs, session.expiresAt * 1000), at, from, 'voice');
  if (costMs === 0) return { session };
  return { session: { ...session, link: { ...session.link, clock } }, settled: [charge(session, clock.dayMs, costMs), seat(session, clock.untilMs)] };
}

/** Gives back the charges of a withdrawn turn, and puts the clock back. A day that is over is left alone. */
export function withdrawn(session: Session, turn: Pick<Turn, 'id' | 'link'>): Settled {
  const clock = session.link?.clock;
  if (turn.link === undefined) return { session };
  if (clock?.movedBy !== turn.id) return { session, settled: turn.link.taken };
  const { before, taken } = turn.link;
  const charged = clock.chargedMs - (before?.dayMs === clock.dayMs ? before.chargedMs : 0);
  return { session: { ...session, link: { ...session.link!, clock: before } }, settled: [...taken, charge(session, clock.dayMs, -charged), seat(session, before?.untilMs ?? 0)] };
}

/** The end of a session at `at`: time charged beyond `at` is given back. A turn in flight has moved the clock on since it was charged. */
export function endSettlement(session: Session, activeTurnId: string | null, at: number): Settled {
  const clock = session.link?.clock ?? null;
  if (!isRunning(clock, at, clock?.movedBy === activeTurnId)) return { session };
  const day = beginOfDay(at);
  const charged = clock.dayMs === day ? clock.chargedMs : 0;
  const costMs = Math.max(-charged, at - clock.untilMs);
  const stopped: LinkClock = { untilMs: at, dayMs: day, chargedMs: charged + costMs, movedBy: 'end' };
  return { session: { ...session, link: { ...session.link!, clock: stopped } }, settled: [charge(session, day, costMs), seat(session, 0)] };
}

/** Removes the charges from the record of a turn that is over. */
export function overTurn(turn: Turn): Turn {
  if (turn.link === undefined) return turn;
  const { link: _, ...over } = turn;
  return over;
}

/** The counts of refusals, one more for each of these limits. */
export const notedRefusals = (assistantId: string, refusing: readonly LinkLimitName[]): AskedLimit[] =>
  refusing.map((limit) => ({ kind: 'counter', name: names.refused(assistantId, limit), ceiling: Infinity, periodMs: dayMs, cost: 1 }));

/** Returns the limits of an assistant's link that the console shows: milliseconds used, visitors present, and refusals in the order of `linkLimitNames`. */
export const shownUse = (assistantId: string): LookedLimit[] => [
  { kind: 'counter', name: names.minutes(assistantId), periodMs: dayMs },
  { kind: 'place', name: names.visitors(assistantId) },
  ...linkLimitNames.map((limit): LookedLimit => ({ kind: 'counter', name: names.refused(assistantId, limit), periodMs: dayMs })),
];

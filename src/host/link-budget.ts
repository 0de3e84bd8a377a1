/**
 * The use of an assistant's limits by conversations of the public link (contract 9). Each session has a clock, which
 * runs from an accepted message to a while after the message's turn is sealed, or to the session's end, and while
 * somebody speaks on a voice socket. A step that moves the clock charges the difference to the day on which that
 * happens, for the link and for the visitor's address. Nothing is stored here: the steps of the store apply the
 * decisions.
 */
import { limits } from '../base/limits.ts';
import type {
  AddressDay,
  AskedLimit,
  LinkClock,
  LinkSettings,
  LookedLimit,
  Session,
  SessionLink,
  SettledLimit,
  TakenLimit,
  Turn,
  TurnLink,
} from '../store/store.ts';
import {
  isAddressLimit,
  linkAddressLimits,
  linkLimitNames,
  linkLimits,
  type LinkLimitName,
} from '../base/link-limits.ts';

const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
const beginOfDay = (at: number): number => at - (at % dayMs);
export const nextDay = (at: number): number => beginOfDay(at) + dayMs;

/** A visitor, as an assistant's limits identify one. */
export interface VisitorUse {
  readonly assistantId: string;
  readonly visitorId: string;
  /** Whether the site has signed who the visitor is. */
  readonly isSigned: boolean;
  /** Returns a digest of the visitor's address under a key of the UTC day of this time. */
  readonly addressKey: (atMs: number) => string;
  /** The assistant's own limits. */
  readonly limits: LinkSettings['limits'];
  /** Milliseconds for which a message takes a place: a turn's, and those that the clock runs after it. */
  readonly placeMsMax: number;
}

/** A request to the limits: each limit with its name. A name may occur twice, with an address on two days. */
export interface Charge {
  readonly asked: readonly AskedLimit[];
  /** The names of the requested limits, in the same order. */
  readonly names: readonly LinkLimitName[];
}

/** A charge that moves the session's clock. */
export interface ClockCharge extends Charge {
  readonly clock: LinkClock;
}

/** A message's request to the limits. */
export interface MessageCharge extends ClockCharge {
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
  addressMinutes: (assistantId: string, addressKey: string) => `${assistantId}/address/${addressKey}/minutes`,
  addressVisitors: (assistantId: string, addressKey: string) => `${assistantId}/address/${addressKey}/visitors`,
  refused: (assistantId: string, limit: LinkLimitName) => `${assistantId}/refused/${limit}`,
};

/** The names of an assistant's limits that name a visitor, without places. */
export const visitorLimits = (assistantId: string, visitorId: string): string[] => [
  names.messages(assistantId, visitorId),
];

/** The ceiling of a limit; null for none. */
export function ceilingOf(ceilings: LinkSettings['limits'], name: LinkLimitName): number | null {
  const own = ceilings[name];
  if (own !== undefined) return own;
  if (!isAddressLimit(name)) return linkLimits[name];
  const { of, least } = linkAddressLimits[name];
  const whole = ceilingOf(ceilings, of);
  return whole === null ? null : Math.max(least, Math.floor(whole / 2));
}

/** The visitor of a session, and its clock. The fields that are signed are those with which the session was opened. */
export const linkOf = (
  { visitorId, isSigned }: VisitorUse,
  clock: LinkClock | null,
  signedFields: readonly string[] = [],
): SessionLink => ({
  visitorId,
  clock,
  ...(isSigned && { signed: true }),
  ...(signedFields.length > 0 && { signedFields }),
});

/** The name of the slot of a visitor, who has one turn at a time (contract 9). */
export const visitorSlot = (visitorId: string): string => `visitor/${visitorId}`;

const isRunning = (clock: LinkClock | null, at: number, turnRuns: boolean): clock is LinkClock =>
  clock !== null && (turnRuns || clock.untilMs > at);

/**
 * The time from which a later end of the clock is charged. A clock runs ahead by `linkHoldMs` at most, unless the wall
 * clock was set back.
 */
const chargedUntil = (clock: LinkClock | null, at: number, turnRuns: boolean): number =>
  isRunning(clock, at, turnRuns) && clock.untilMs <= at + limits.linkHoldMs ? clock.untilMs : at;

/** Returns the clock with a later end, and the milliseconds that this charges to the day of `at`. */
function movedClock(
  clock: LinkClock | null,
  untilMs: number,
  at: number,
  from: number,
  movedBy: string,
): { clock: LinkClock; costMs: number } {
  const costMs = Math.max(0, untilMs - from);
  const day = beginOfDay(at);
  const before = clock?.dayMs === day ? clock.chargedMs : 0;
  return { clock: { untilMs: from + costMs, dayMs: day, chargedMs: before + costMs, movedBy }, costMs };
}

/**
 * Charges time to a day, of the link and of an address of that day, and moves the end of the session's seat at both.
 */
function settlement(
  { assistantId, link, id }: Session,
  addresses: readonly AddressDay[],
  sinceMs: number,
  cost: number,
  untilMs: number,
): SettledLimit[] {
  const today = addresses.filter((address) => address.dayMs === sinceMs);
  const minutes = [names.minutes(assistantId), ...today.map(({ key }) => names.addressMinutes(assistantId, key))];
  const places = [names.visitors(assistantId), ...addresses.map(({ key }) => names.addressVisitors(assistantId, key))];
  return [
    ...minutes.map((name): SettledLimit => ({ kind: 'counter', name, periodMs: dayMs, sinceMs, cost })),
    ...places.map((name): SettledLimit => ({ kind: 'place', name, holder: link!.visitorId, seat: id, untilMs })),
  ];
}

/** The end of a clock that is moved at `at`: a clock never runs beyond its session. */
const holdUntil = ({ expiresAt }: Session, at: number): number => Math.min(at + limits.linkHoldMs, expiresAt * 1000);

/**
 * The visitor's address on the day of `at`, and on the next day if a place is held until then (`untilMs`): the next
 * visitor's step counts the places of an address under the key of its day. Empty if the assistant has no limit by
 * address.
 */
function addressesOf({ limits: ceilings, addressKey }: VisitorUse, at: number, untilMs: number): AddressDay[] {
  if (linkLimitNames.filter(isAddressLimit).every((name) => ceilingOf(ceilings, name) === null)) return [];
  const days = untilMs > nextDay(at) ? [at, untilMs] : [at];
  return days.map((ms) => ({ dayMs: beginOfDay(ms), key: addressKey(ms) }));
}

/** The time that a request charges, and the place that it takes. */
interface TimeCharge {
  readonly at: number;
  readonly costMs: number;
  readonly placeUntilMs: number;
  readonly addresses: readonly AddressDay[];
}

/**
 * The limits of minutes and places, of the link and of the visitor's address; `ceiling`: of each. Minutes are counted
 * and places are taken where there is no ceiling as well: the console shows them.
 */
function presence(
  { assistantId, visitorId, placeMsMax }: VisitorUse,
  session: Session,
  { at, costMs, placeUntilMs, addresses }: TimeCharge,
  ceiling: (name: LinkLimitName) => number,
): Partial<Record<LinkLimitName, readonly AskedLimit[]>> {
  const minutes = (limit: LinkLimitName, name: string): AskedLimit => ({
    kind: 'counter',
    name,
    ceiling: ceiling(limit) * 60_000,
    periodMs: dayMs,
    cost: costMs,
  });
  const place = (limit: LinkLimitName, name: string): AskedLimit => ({
    kind: 'place',
    name,
    ceiling: ceiling(limit),
    holder: visitorId,
    seat: session.id,
    untilMs: placeUntilMs,
    leaseMsMax: placeMsMax + limits.linkHoldMs,
  });
  const today = addresses.filter((address) => address.dayMs === beginOfDay(at));
  return {
    minutes_per_day: [minutes('minutes_per_day', names.minutes(assistantId))],
    concurrent_visitors: [place('concurrent_visitors', names.visitors(assistantId))],
    places_per_address: addresses.map(({ key }) =>
      place('places_per_address', names.addressVisitors(assistantId, key)),
    ),
    minutes_per_address: today.map(({ key }) => minutes('minutes_per_address', names.addressMinutes(assistantId, key))),
  };
}

function chargeOf(wanted: Partial<Record<LinkLimitName, readonly AskedLimit[]>>): Charge {
  const all = linkLimitNames.flatMap((name) => (wanted[name] ?? []).map((limit) => ({ name, asked: limit })));
  return { asked: all.map(({ asked: limit }) => limit), names: all.map(({ name }) => name) };
}

/**
 * Returns a message's request to the limits. `placeMs`: for how long its place is taken, unless its end is settled
 * before; `movedBy` names the turn, or the kind of another request. `turnRuns`: whether a turn of the session is in
 * flight, so that its clock runs.
 */
export function admission(
  use: VisitorUse,
  session: Session,
  at: number,
  placeMs: number,
  movedBy: string,
  turnRuns = false,
): MessageCharge {
  const { assistantId, visitorId } = use;
  const before = session.link?.clock ?? null;
  const from = chargedUntil(before, at, turnRuns);
  const { clock, costMs } = movedClock(before, Math.max(from, holdUntil(session, at)), at, from, movedBy);
  const addresses = addressesOf(use, at, at + placeMs);
  const messages: Partial<Record<LinkLimitName, readonly AskedLimit[]>> = {};
  const ofVisitor = ceilingOf(use.limits, 'messages_per_visitor_per_day');
  if (ofVisitor !== null)
    messages.messages_per_visitor_per_day = [
      { kind: 'counter', name: names.messages(assistantId, visitorId), ceiling: ofVisitor, periodMs: dayMs, cost: 1 },
    ];
  messages.messages_per_address_per_hour = sessionAdmission(use, at).asked;
  const ceiling = (name: LinkLimitName): number => ceilingOf(use.limits, name) ?? Infinity;
  const charge = chargeOf({
    ...presence(use, session, { at, costMs, placeUntilMs: at + placeMs, addresses }, ceiling),
    ...messages,
  });
  const link: TurnLink = {
    before,
    taken: Object.values(messages)
      .flat()
      .map((limit) => givenBack(limit, at)),
    ...(addresses.length > 0 && { addresses }),
  };
  return { ...charge, clock, link };
}

/**
 * Milliseconds for which a voice socket keeps its visitor present whose last speech ended so long ago; 0 in a long
 * silence.
 */
export const presenceMs = (silentMs: number): number =>
  Math.max(0, Math.min(limits.linkSocketAheadMs, limits.linkSilenceMs - silentMs));

/**
 * Returns the request of a voice socket, to keep a visitor who speaks present until `untilMs`; null if that moves
 * nothing, because the clock runs as long already, or is the clock of the turn in flight. A stopped clock begins as
 * with a message. The minutes of the day refuse nothing while it runs (as they end no turn); the address's minutes do.
 */
export function speechAdmission(
  use: VisitorUse,
  session: Session,
  activeTurnId: string | null,
  at: number,
  untilMs: number,
): ClockCharge | null {
  const before = session.link?.clock ?? null;
  if (before !== null && before.movedBy === activeTurnId) return null;
  const runs = isRunning(before, at, false);
  const { clock, costMs } = movedClock(
    before,
    Math.min(untilMs, session.expiresAt * 1000),
    at,
    chargedUntil(before, at, false),
    'voice',
  );
  if (costMs === 0) return null;
  const addresses = addressesOf(use, at, clock.untilMs);
  const ceiling = (name: LinkLimitName): number =>
    (runs && name === 'minutes_per_day' ? null : ceilingOf(use.limits, name)) ?? Infinity;
  return {
    ...chargeOf(presence(use, session, { at, costMs, placeUntilMs: clock.untilMs, addresses }, ceiling)),
    clock,
  };
}

function givenBack(limit: AskedLimit, at: number): SettledLimit {
  if (limit.kind === 'place') throw new TypeError('A place cannot be refunded: it ends by itself.');
  const { name, ceiling, periodMs, cost } = limit;
  return limit.kind === 'bucket'
    ? { kind: 'bucket', name, ceiling, periodMs, cost: -cost }
    : { kind: 'counter', name, periodMs, sinceMs: at - (at % periodMs), cost: -cost };
}

/** Returns a new session's request to the limits (contract 9): one of its address's messages. */
export function sessionAdmission({ assistantId, addressKey, limits: ceilings }: VisitorUse, at: number): Charge {
  const ceiling = ceilingOf(ceilings, 'messages_per_address_per_hour');
  if (ceiling === null) return { asked: [], names: [] };
  return chargeOf({
    messages_per_address_per_hour: [
      { kind: 'bucket', name: names.address(assistantId, addressKey(at)), ceiling, periodMs: hourMs, cost: 1 },
    ],
  });
}

/** Null if all limits pass. */
export function refusalOfLimits(
  { names: charged }: Pick<Charge, 'names'>,
  answers: readonly TakenLimit[],
  at: number,
): LimitsRefusal | null {
  const refusing = charged.filter((_, index) => !answers[index]!.passed);
  const waits = charged.flatMap((name, index) =>
    answers[index]!.passed ? [] : [waitOf(name, answers[index]!.waitMs, at)],
  );
  return refusing.length === 0 ? null : { refusing: [...new Set(refusing)], waitMs: Math.max(...waits) };
}

const placeLimits: ReadonlySet<LinkLimitName> = new Set(['concurrent_visitors', 'places_per_address']);

/**
 * A limit of 0 may change by tomorrow. A place may be freed at any time, so the wait for one is at most the time that a
 * clock runs without a message.
 */
function waitOf(name: LinkLimitName, waitMs: number | null, at: number): number {
  if (waitMs === null) return nextDay(at) - at;
  return placeLimits.has(name) ? Math.min(waitMs, limits.linkHoldMs) : waitMs;
}

/**
 * A session after a step, and the charges that the step settles; the unchanged session if there is nothing to settle.
 */
export interface Settlement {
  readonly session: Session;
  readonly settled?: readonly SettledLimit[];
}

/** The end of a turn: its clock continues for a while, unless the session's end has stopped it. */
export function sealSettlement(session: Session, turn: Pick<Turn, 'id' | 'link'>, at: number): Settlement {
  const { link } = session;
  const clock = link?.clock;
  const { addresses = [] } = turn.link ?? {};
  if (turn.link === undefined || link === undefined || clock === null || clock === undefined) return { session };
  if (clock.movedBy !== turn.id) return { session, ...endOfTurn(session, clock, addresses) };
  const { clock: moved, costMs } = movedClock(
    clock,
    Math.max(clock.untilMs, holdUntil(session, at)),
    at,
    clock.untilMs,
    turn.id,
  );
  return {
    session: { ...session, link: { ...link, clock: moved } },
    settled: settlement(session, addresses, moved.dayMs, costMs, moved.untilMs),
  };
}

/**
 * The charges of a turn whose session has ended: the end has settled the link's, but only the turn knows the visitor's
 * address.
 */
function endOfTurn(
  session: Session,
  { dayMs: day, endMs }: LinkClock,
  addresses: readonly AddressDay[],
): Pick<Settlement, 'settled'> {
  if (endMs === undefined || addresses.length === 0) return {};
  const ofLink: ReadonlySet<string> = new Set([
    names.minutes(session.assistantId),
    names.visitors(session.assistantId),
  ]);
  return { settled: settlement(session, addresses, day, endMs, 0).filter(({ name }) => !ofLink.has(name)) };
}

/** Refunds the charges of a withdrawn turn, and puts the clock back. A day that has passed is left alone. */
export function withdrawn(session: Session, turn: Pick<Turn, 'id' | 'link'>): Settlement {
  const clock = session.link?.clock;
  if (turn.link === undefined) return { session };
  const { before, taken, addresses = [] } = turn.link;
  if (clock?.movedBy !== turn.id)
    return { session, settled: [...taken, ...(clock ? (endOfTurn(session, clock, addresses).settled ?? []) : [])] };
  const charged = clock.chargedMs - (before?.dayMs === clock.dayMs ? before.chargedMs : 0);
  return {
    session: { ...session, link: { ...session.link!, clock: before } },
    settled: [...taken, ...settlement(session, addresses, clock.dayMs, -charged, before?.untilMs ?? 0)],
  };
}

/**
 * The end of a session at `at`: time charged beyond `at` is given back. A turn in flight has moved the clock on since
 * it was charged, and its seal settles the charges of its address. `use`: of the visitor who ends the session; without
 * one the place of the address ends by itself, and its minutes stay charged.
 */
export function endSettlement(session: Session, activeTurnId: string | null, at: number, use?: VisitorUse): Settlement {
  const clock = session.link?.clock ?? null;
  const turnRuns = activeTurnId !== null && clock?.movedBy === activeTurnId;
  if (!isRunning(clock, at, turnRuns)) return { session };
  const day = beginOfDay(at);
  const charged = clock.dayMs === day ? clock.chargedMs : 0;
  const costMs = Math.max(-charged, at - clock.untilMs);
  const stopped: LinkClock = {
    untilMs: at,
    dayMs: day,
    chargedMs: charged + costMs,
    movedBy: 'end',
    ...(turnRuns && { endMs: costMs }),
  };
  const addresses = turnRuns || use === undefined ? [] : addressesOf(use, at, clock.untilMs);
  return {
    session: { ...session, link: { ...session.link!, clock: stopped } },
    settled: settlement(session, addresses, day, costMs, 0),
  };
}

/** The counts of refusals, one more for each of these limits. */
export const notedRefusals = (assistantId: string, refusing: readonly LinkLimitName[]): AskedLimit[] =>
  refusing.map((limit) => ({
    kind: 'counter',
    name: names.refused(assistantId, limit),
    ceiling: Infinity,
    periodMs: dayMs,
    cost: 1,
  }));

/**
 * Returns the limits of an assistant's link that the console shows: milliseconds used, visitors present, and refusals
 * in the order of `linkLimitNames`.
 */
export const shownUse = (assistantId: string): LookedLimit[] => [
  { kind: 'counter', name: names.minutes(assistantId), periodMs: dayMs },
  { kind: 'place', name: names.visitors(assistantId) },
  ...linkLimitNames.map((limit): LookedLimit => ({
    kind: 'counter',
    name: names.refused(assistantId, limit),
    periodMs: dayMs,
  })),
];

/**
 * The versions of assistants, worked out from the steps of the store by the rules of contract 20: who is on which
 * version, and how many sessions and turns each has. Only the hash of a rollout is the product's.
 */
import { isDeepStrictEqual } from 'node:util';
import { rolloutPlace } from '../../src/host/release.ts';
import type { Assistant, AssistantVersion, HaltRule, Message, Release, Session, Turn } from '../../src/store/store.ts';

export interface Counted {
  readonly turns: number;
  readonly failedTurns: number;
}

interface VersionState extends Counted {
  /** Null before it is stored: version 1 of an assistant from before versions existed. */
  readonly stored: AssistantVersion | null;
  readonly sessions: number;
}

interface Candidate extends Counted {
  readonly version: number;
  readonly percent: number;
  readonly halt: HaltRule | null;
  readonly isHalted: boolean;
}

export interface ReleaseState {
  /** The assistant as it was stored last, without what halts have changed in it. */
  readonly record: Assistant;
  /** Number of the record's moves. */
  readonly moves: number;
  readonly current: number;
  readonly earlier: readonly number[];
  readonly candidate: Candidate | null;
  readonly retired: readonly number[];
  readonly recalls: number;
  readonly versions: ReadonlyMap<number, VersionState>;
  /** Simulated time of the last change of the session policy: no step is compared with it. */
  readonly policyMs: number;
}

/** The version that a session was created on, the one that it is on, and the recalls before its last move. */
interface Place {
  readonly created: number;
  readonly version: number;
  readonly recalls: number;
}

export interface Releases {
  /** The states by the ids of their assistants. */
  readonly assistants: Map<string, ReleaseState>;
  /** The places by the ids of the sessions. */
  readonly places: Map<string, Place>;
}

type Fault = (rule: string, what: string) => void;

const rule = 'versions';
/** Milliseconds in which a turn may begin that was decided by the session policy before. */
const policyMs = 5000;
const none: VersionState = { stored: null, sessions: 0, turns: 0, failedTurns: 0 };

const sorted = (numbers: readonly number[]): number[] => [...new Set(numbers)].toSorted((a, b) => a - b);
const without = (numbers: readonly number[], one: number): number[] => numbers.filter((number) => number !== one);

export class ReleasesOracle {
  readonly #fault: (what: string) => void;

  constructor(fault: Fault) {
    this.#fault = (what) => fault(rule, what);
  }

  planted({ assistants }: Releases, record: Assistant): void {
    const parts = { earlier: [], candidate: null, retired: [], recalls: 0, versions: new Map() };
    assistants.set(record.id, { record, moves: 1, current: 1, policyMs: -Infinity, ...parts });
  }

  /** A change of an assistant; `made`: the version that the same step stores. */
  replaced(
    { assistants }: Releases,
    record: Assistant,
    basis: number,
    made: AssistantVersion | undefined,
    nowMs: number,
  ): void {
    const before = assistants.get(record.id);
    if (before === undefined) return;
    const { id } = record;
    if (before.moves !== basis) this.#fault(`${id} was changed from move ${basis}, and it had ${before.moves}`);
    const versions = new Map(before.versions);
    if (made !== undefined) this.#made(before, versions, record, made);
    const after = record.release;
    const hasSamePolicy = record.sessionPolicy === before.record.sessionPolicy;
    const next = { ...before, record, moves: basis + 1, versions, ...(!hasSamePolicy && { policyMs: nowMs }) };
    if (after == null) return void assistants.set(id, next);
    const changed = this.#changed(next, after);
    if (changed === null) this.#fault(`${id} went from ${shown(before)} to ${JSON.stringify(after)}`);
    const state = changed ?? { ...next, current: after.current };
    const known = [state.current, state.candidate?.version ?? state.current];
    for (const number of known)
      if (versions.get(number)?.stored == null) this.#fault(`version ${number} of ${id} is given and not stored`);
    assistants.set(id, state);
  }

  #made(before: ReleaseState, versions: Map<number, VersionState>, record: Assistant, made: AssistantVersion): void {
    const { number, settings } = made;
    if (versions.get(number)?.stored) this.#fault(`version ${number} of ${record.id} was made twice`);
    // The first version of an assistant from before versions existed is the assistant before the change.
    const draft = before.record.release === undefined ? before.record : record;
    if (settings.model.systemPrompt !== draft.model.systemPrompt || settings.greeting !== draft.greeting)
      this.#fault(`version ${number} of ${record.id} is another than its draft`);
    versions.set(number, { ...(versions.get(number) ?? none), stored: made });
  }

  /** The state after the one change that leads to the release; null if none does. */
  #changed(before: ReleaseState, after: Release): ReleaseState | null {
    const ways = [before, { ...before, recalls: before.recalls + 1 }, ...this.#ways(before, after)];
    return ways.find((state) => isDeepStrictEqual(partsOf(state), partsAfter(after))) ?? null;
  }

  #ways(before: ReleaseState, after: Release): ReleaseState[] {
    const { current, candidate } = before;
    const retired = candidate === null ? before.retired : sorted([...before.retired, candidate.version]);
    const ways: ReleaseState[] = [{ ...before, candidate: null, retired }];
    // Another version becomes current: of a publication, a rollback or a promotion.
    const earlier = sorted([...before.earlier, current]);
    const changed = { ...before, current: after.current, earlier, candidate: null };
    if (after.current !== current) ways.push({ ...changed, retired: without(retired, after.current) });
    if (after.candidate == null || after.candidate.version === current) return ways;
    const { version, percent, halt } = after.candidate;
    const isSame = candidate?.version === version;
    const counts = isSame && !candidate.isHalted ? candidate : { turns: 0, failedTurns: 0 };
    const { turns, failedTurns } = counts;
    const rolling = { version, percent, halt, isHalted: false, turns, failedTurns };
    ways.push({ ...before, candidate: rolling, retired: without(isSame ? before.retired : retired, version) });
    return ways;
  }

  /** A session was created, with this greeting. */
  created({ assistants, places }: Releases, session: Session, greeting: string | null): void {
    const state = assistants.get(session.assistantId);
    if (state === undefined) return;
    const due = versionOfNew(state, session.id);
    const { assistantVersion: version } = session;
    // A simulated speaker has made it, as sessions were made before versions existed.
    if (version === undefined) return void places.set(session.id, { created: 1, version: 1, recalls: 0 });
    if (version !== due) this.#fault(`${session.id} was created on ${version}, and ${due} was due in ${shown(state)}`);
    const stored = state.versions.get(due)?.stored?.settings ?? state.record;
    if (greeting !== (stored.greeting ?? null))
      this.#fault(`${session.id} on version ${due} is greeted ${JSON.stringify(greeting)}`);
    places.set(session.id, { created: due, version: due, recalls: state.recalls });
    this.#count({ assistants, places }, session.assistantId, due, { sessions: 1 });
  }

  /** A turn began. */
  begun({ assistants, places }: Releases, session: Session, turn: Turn, nowMs: number): void {
    const state = assistants.get(session.assistantId);
    const place = places.get(session.id);
    // A simulated speaker begins its turns without an assistant.
    if (state === undefined || place === undefined || turn.assistantVersion === undefined) return;
    const isNewPolicy = nowMs - state.policyMs < policyMs;
    const ways = isNewPolicy ? (['pin', 'follow'] as const) : [state.record.sessionPolicy];
    const dues = ways.map((policy) => versionOfTurn(state, session.id, place, policy));
    const due = dues.find((version) => version === turn.assistantVersion) ?? dues[0]!;
    if (turn.assistantVersion !== due || session.assistantVersion !== due)
      this.#fault(
        `${turn.id} is on ${turn.assistantVersion}, its session on ${session.assistantVersion}, and ${due} was due after ${place.version} in ${shown(state)}`,
      );
    places.set(session.id, { ...place, version: due, recalls: state.recalls });
  }

  /** A turn was sealed: it is counted, and may halt its rollout. */
  sealed(releases: Releases, session: Session, begun: Turn, turn: Turn, message: Message): void {
    const { assistantVersion: version } = begun;
    if (turn.assistantVersion !== version || message.assistantVersion !== version)
      this.#fault(`${turn.id} began on ${version} and is sealed on ${turn.assistantVersion}`);
    if (version === undefined) return;
    const failedTurns = turn.status === 'failed' ? 1 : 0;
    this.#count(releases, session.assistantId, version, { turns: 1, failedTurns });
    this.#candidate(releases, session.assistantId, version, { turns: 1, failedTurns });
  }

  /** A turn was withdrawn; `sealed`: as it was sealed before. */
  withdrawn(releases: Releases, session: Session, begun: Turn, sealed: Turn | null): void {
    const { assistantVersion: version } = begun;
    if (version === undefined) return;
    const hadFailed = sealed?.status === 'failed' ? 1 : 0;
    if (sealed !== null) this.#count(releases, session.assistantId, version, { turns: -1, failedTurns: -hadFailed });
    this.#candidate(releases, session.assistantId, version, {
      turns: sealed === null ? 1 : 0,
      failedTurns: 1 - hadFailed,
    });
  }

  #count({ assistants }: Releases, id: string, version: number, more: Partial<VersionState>): void {
    const state = assistants.get(id);
    if (state === undefined) return;
    const known = state.versions.get(version) ?? none;
    const { sessions, turns, failedTurns } = known;
    const counted = {
      ...known,
      sessions: sessions + (more.sessions ?? 0),
      turns: turns + (more.turns ?? 0),
      failedTurns: failedTurns + (more.failedTurns ?? 0),
    };
    assistants.set(id, { ...state, versions: new Map([...state.versions, [version, counted]]) });
  }

  #candidate({ assistants }: Releases, id: string, version: number, more: Counted): void {
    const state = assistants.get(id);
    if (state?.candidate?.version !== version) return;
    const { candidate } = state;
    const turns = candidate.turns + more.turns;
    const failedTurns = candidate.failedTurns + more.failedTurns;
    const { halt } = candidate;
    const halts =
      halt !== null &&
      !candidate.isHalted &&
      turns >= halt.afterTurns &&
      failedTurns > (halt.failedPercent / 100) * turns;
    assistants.set(id, {
      ...state,
      moves: state.moves + (halts ? 1 : 0),
      candidate: { ...candidate, turns, failedTurns, isHalted: candidate.isHalted || halts },
    });
  }
}

/** The parts of a release that a change may change. */
function partsOf({ current, earlier, candidate, retired, recalls }: ReleaseState): object {
  const { turns: _, failedTurns: __, ...rolled } = candidate ?? { turns: 0, failedTurns: 0 };
  return { current, earlier, candidate: candidate && rolled, retired, recalls };
}

function partsAfter({ current, earlier, candidate, retired = [], recalls = 0 }: Release): object {
  const { version, percent, halt, isHalted } = candidate ?? {};
  return { current, earlier, candidate: candidate ? { version, percent, halt, isHalted } : null, retired, recalls };
}

const shown = (state: ReleaseState): string => JSON.stringify(partsOf(state));

function versionOfNew({ record, current, candidate }: ReleaseState, subject: string): number {
  const isOffered = candidate !== null && !candidate.isHalted;
  return isOffered && rolloutPlace(record.id, candidate.version, subject) < candidate.percent
    ? candidate.version
    : current;
}

function versionOfTurn(
  state: ReleaseState,
  sessionId: string,
  { version, recalls }: Place,
  policy: Assistant['sessionPolicy'],
): number {
  const { current, candidate, retired } = state;
  if (policy === 'follow') return versionOfNew(state, sessionId);
  const isHalted = candidate?.version === version && candidate.isHalted;
  const isRetired = retired.includes(version) && version !== current;
  return recalls < state.recalls || isHalted || isRetired ? current : version;
}

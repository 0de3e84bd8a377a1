/** The versions that an assistant answers with, as its machine decides on them, and the version that a session gets. */
import { createHash } from 'node:crypto';
import { releaseKind, type ReleaseEvent, type ReleaseOutcome } from '../../machines/release.ts';
import { openActor, refusalOf } from '../actors/actor.ts';
import { Inspector, type Decision } from '../actors/inspector.ts';
import { Failure } from '../base/errors.ts';
import { revisionOf } from '../store/records/versions.ts';
import type { Assistant, AssistantVersion, HaltRule, Release, Session, Snapshot } from '../store/store.ts';

/** Numbers of earlier versions, and of retired candidates, that an assistant has. */
const numbersMax = 200;

/** An event of the release's machine, with the fields that the record keeps of it. */
export type ReleaseChange = ReleaseEvent & {
  readonly percent?: number;
  /** Absent: the candidate keeps its rule. */
  readonly halt?: HaltRule | null | undefined;
};

export interface Released {
  /** The release after the change: the given one if nothing changed. */
  readonly release: Release | null;
  readonly decision: Decision<ReleaseEvent, ReleaseOutcome>;
}

const unwatched = new Inspector();

/** The state of the release's machine, which follows from the record. */
export const releaseSnapshot = (release: Release | null): Snapshot => {
  const candidate = release?.candidate ?? null;
  const rolling = candidate?.isHalted ? 'halted' : 'rolling';
  return {
    version: releaseKind.version,
    state: release === null ? 'unpublished' : candidate === null ? 'released' : rolling,
    context: { current: release?.current ?? null, candidate: candidate?.version ?? null },
  };
};

/**
 * Decides on a change of the versions that people get; `version`: the version that the event names, unless it is the
 * current one or the candidate. Throws the refusal.
 */
export function changeRelease(
  release: Release | null,
  event: ReleaseChange,
  version: Pick<AssistantVersion, 'number' | 'digest'> | null,
): Released {
  const machine = openActor<ReleaseEvent, ReleaseOutcome>(
    releaseKind,
    { snapshot: releaseSnapshot(release) },
    { kind: releaseKind.name, id: '', workspaceId: '' },
    unwatched,
  );
  const decision = machine.decide(event);
  const refusal = refusalOf(decision.outcomes);
  if (refusal !== null)
    throw refusal === 'version_not_found'
      ? new Failure('version_not_found')
      : new Failure('invalid_field', { field: 'version' });
  const digest = (number: number): string => (version?.number === number ? version.digest : digestOf(release, number)!);
  let after: Release | null = release && { ...release, revision: revisionOf(release) + 1 };
  for (const outcome of decision.outcomes) after = withOutcome(after, outcome, event, digest);
  const isSame = decision.outcomes.every(({ type }) => type === 'unchanged');
  return { release: isSame ? release : after, decision };
}

function withOutcome(
  release: Release | null,
  outcome: ReleaseOutcome,
  { percent = 0, halt }: ReleaseChange,
  digest: (version: number) => string,
): Release | null {
  if (outcome.type === 'released') return current(release, outcome.version, digest(outcome.version));
  if (release === null) return null;
  const { candidate = null } = release;
  switch (outcome.type) {
    case 'retired':
      return { ...release, candidate: null, retired: sorted([...(release.retired ?? []), outcome.version]) };
    case 'started': {
      const isAgain = candidate?.version === outcome.version;
      const retired = (release.retired ?? []).filter((number) => number !== outcome.version);
      return {
        ...release,
        newest: Math.max(release.newest, outcome.version),
        retired,
        candidate: {
          version: outcome.version,
          digest: digest(outcome.version),
          percent,
          halt: halt === undefined && isAgain ? candidate.halt : (halt ?? null),
          isHalted: false,
          since: revisionOf(release),
        },
      };
    }
    case 'adjusted':
      return { ...release, candidate: { ...candidate!, percent, halt: halt === undefined ? candidate!.halt : halt } };
    case 'halted':
      return { ...release, candidate: { ...candidate!, isHalted: true } };
    case 'recalled':
      return { ...release, recalls: (release.recalls ?? 0) + 1 };
    default:
      return release;
  }
}

/** The digest of a version that new sessions get; undefined for any other. */
export function digestOf(release: Release | null | undefined, version: number): string | undefined {
  if (release?.candidate?.version === version) return release.candidate.digest;
  return release?.current === version ? release.digest : undefined;
}

/** The release with another current version. */
function current(before: Release | null, version: number, digest: string): Release {
  if (before === null) return { current: version, newest: version, digest, earlier: [], revision: 1 };
  const { candidate: _, ...release } = before;
  return {
    ...release,
    current: version,
    newest: Math.max(before.newest, version),
    digest,
    earlier: sorted([...before.earlier, before.current]),
    ...(before.retired && { retired: before.retired.filter((number) => number !== version) }),
  };
}

const sorted = (numbers: readonly number[]): number[] =>
  [...new Set(numbers)].toSorted((one, other) => one - other).slice(-numbersMax);

/** The place of a visitor, or of a session without one, in a rollout: from 0, below 100, and the same everywhere. */
export function rolloutPlace(assistantId: string, version: number, subject: string): number {
  const hash = createHash('sha256').update(`${assistantId}/${version}/${subject}`).digest();
  return (hash.readUIntBE(0, 6) / 2 ** 48) * 100;
}

/** The number of the version that a new session of the visitor gets; `subject`: the visitor's id, else the session's. */
export function versionOfNew({ id }: Pick<Assistant, 'id'>, release: Release, subject: string): number {
  const { current, candidate = null } = release;
  if (candidate === null || candidate.isHalted) return current;
  return rolloutPlace(id, candidate.version, subject) < candidate.percent ? candidate.version : current;
}

/** The visitor's id, else the session's: a rollout gives all sessions of a visitor the same version. */
export const rolloutSubject = ({ id, link }: Pick<Session, 'id' | 'link'>): string => link?.visitorId ?? id;

/** The part of a session that its next turn's version follows from. */
export type SessionRelease = Pick<Session, 'assistantVersion' | 'recalls'>;

/** Whether a session has moved to another version, by another turn or process. */
export const hasMoved = (before: SessionRelease, { assistantVersion, recalls }: SessionRelease): boolean =>
  before.assistantVersion !== assistantVersion || before.recalls !== recalls;

/** The number of the version that the session's next turn gets. `onVersion`: the version that it is on. */
export function versionOfNextTurn(
  assistant: Pick<Assistant, 'id' | 'sessionPolicy'>,
  release: Release,
  session: Pick<Session, 'id' | 'link' | 'recalls'>,
  onVersion: number,
): number {
  const { current, candidate = null, retired = [], recalls = 0 } = release;
  if (assistant.sessionPolicy === 'follow') return versionOfNew(assistant, release, rolloutSubject(session));
  const isRecalled = recalls > (session.recalls ?? 0);
  const isHalted = candidate?.isHalted === true && candidate.version === onVersion;
  return isRecalled || isHalted || (retired.includes(onVersion) && onVersion !== current) ? current : onVersion;
}

/** The releases of assistants: what the steps of sessions and turns compare, and the counts of versions. */
import { evictOldest } from '../../base/evict-oldest.ts';
import type {
  Assistant,
  CandidateCounts,
  ReleaseBasis,
  ReleaseCounts,
  Session,
  Turn,
  VersionCounts,
  Versioned,
} from '../store.ts';
import {
  candidateCountsOf,
  countedVersion,
  haltedAssistant,
  haltMove,
  isHalting,
  releaseRow,
  versionCountFields,
  versionCountsOf,
  type ReleaseRow,
} from '../releases.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import { putMove } from './history.ts';
import * as keys from './keys.ts';

/** Assistants whose keys are kept, and versions of each. */
const assistantsMax = 1024;
const versionsMax = 8;

/** The keys of the rows of an assistant that the steps of sessions and turns read. */
interface ReleaseKeys {
  readonly workspaceId: string;
  readonly release: string;
  readonly candidateCounts: string;
  readonly counts: Map<number, string>;
}

export class EmbeddedReleases {
  readonly #batcher: WriteBatcher;
  /** Keys by assistant: a text that is made once is hashed once, and these are long and read by each step. */
  readonly #keys = new Map<string, ReleaseKeys>();

  constructor(batcher: WriteBatcher) {
    this.#batcher = batcher;
  }

  /** Stores the release of a replaced assistant. */
  put(draft: Draft, assistant: Assistant): void {
    const { id, workspaceId, release } = assistant;
    if (release == null) return;
    const before = this.#batcher.get<ReleaseRow>(keys.release(workspaceId, id));
    const after = releaseRow(release);
    putRelease(draft, assistant);
    if (before?.since !== after.since) draft.count(keys.candidateCounts(workspaceId, id), [0, 0]);
  }

  /** Whether the versions that people get have changed since the step was decided. */
  isOutdated(workspaceId: string, basis: ReleaseBasis | undefined): boolean {
    if (basis === undefined) return false;
    const row = this.#batcher.getKept<ReleaseRow>(this.#keysOf(workspaceId, basis.assistantId).release);
    return (row?.revision ?? 0) !== basis.revision;
  }

  countSession(draft: Draft, session: Session, sign: 1 | -1): void {
    const { workspaceId, assistantId } = session;
    const assistantVersion = countedVersion(session, session.assistantVersion);
    if (assistantVersion !== undefined)
      this.#add(draft, workspaceId, assistantId, assistantVersion, { sessions: sign });
  }

  /** Counts a sealed turn, and halts its rollout if the rule says so. */
  countTurn(draft: Draft, session: Session, { assistantVersion: version, status }: Turn, nowMs: number): boolean {
    const assistantVersion = countedVersion(session, version);
    if (assistantVersion === undefined) return false;
    const { workspaceId, assistantId } = session;
    const failedTurns = status === 'failed' ? 1 : 0;
    this.#add(draft, workspaceId, assistantId, assistantVersion, { turns: 1, failedTurns });
    return this.#countOfCandidate(draft, session, assistantVersion, { turns: 1, failedTurns }, nowMs);
  }

  /** Counts a withdrawn turn as failed; `wasCounted`: it was sealed before. */
  countWithdrawn(draft: Draft, session: Session, turn: Turn, wasCounted: boolean, nowMs: number): boolean {
    const { status } = turn;
    const assistantVersion = countedVersion(session, turn.assistantVersion);
    if (assistantVersion === undefined) return false;
    const hadFailed = wasCounted && status === 'failed' ? 1 : 0;
    if (wasCounted)
      this.#add(draft, session.workspaceId, session.assistantId, assistantVersion, {
        turns: -1,
        failedTurns: -hadFailed,
      });
    const counts = { turns: wasCounted ? 0 : 1, failedTurns: 1 - hadFailed };
    return this.#countOfCandidate(draft, session, assistantVersion, counts, nowMs);
  }

  countFeedback(draft: Draft, session: Session, turn: Turn, counts: Partial<VersionCounts>): void {
    const version = countedVersion(session, turn.assistantVersion);
    if (version !== undefined) this.#add(draft, session.workspaceId, session.assistantId, version, counts);
  }

  async read(workspaceId: string, assistantId: string): Promise<ReleaseCounts> {
    const prefix = keys.versionCounts(workspaceId, assistantId);
    const versions = new Map<number, VersionCounts>();
    for (const [key, row] of this.#batcher.scan<number[]>(prefix, keys.endOf(prefix)))
      versions.set(Number(keys.lastPart(key)), versionCountsOf(row));
    const candidate = this.#batcher.committed<number[]>(keys.candidateCounts(workspaceId, assistantId));
    return { candidate: candidateCountsOf(candidate), versions };
  }

  remove(draft: Draft, workspaceId: string, assistantId: string): void {
    draft.remove(keys.release(workspaceId, assistantId));
    draft.remove(keys.candidateCounts(workspaceId, assistantId));
    const prefix = keys.versionCounts(workspaceId, assistantId);
    for (const [key] of this.#batcher.range(prefix, keys.endOf(prefix))) draft.remove(key);
  }

  /** Returns whether the turn has halted the rollout. */
  #countOfCandidate(
    draft: Draft,
    { workspaceId, assistantId }: Session,
    version: number,
    added: CandidateCounts,
    nowMs: number,
  ): boolean {
    const { release, candidateCounts: key } = this.#keysOf(workspaceId, assistantId);
    const row = this.#batcher.getKept<ReleaseRow>(release);
    if (row?.candidate !== version) return false;
    const { turns, failedTurns } = candidateCountsOf(this.#batcher.get<number[]>(key));
    const counts = { turns: turns + added.turns, failedTurns: failedTurns + added.failedTurns };
    draft.count(key, [counts.turns, counts.failedTurns]);
    return isHalting(row, counts) && this.#halt(draft, workspaceId, assistantId, nowMs);
  }

  #halt(draft: Draft, workspaceId: string, assistantId: string, nowMs: number): boolean {
    const key = keys.catalog('assistant', workspaceId) + keys.part(assistantId);
    const stored = this.#batcher.get<Versioned<Assistant>>(key);
    if (stored === undefined) return false;
    const record = haltedAssistant(stored.record);
    const version = stored.version + 1;
    draft.put(key, { record, version });
    putRelease(draft, record);
    putMove(draft, 'assistant', workspaceId, assistantId, haltMove(record, version, nowMs));
    return true;
  }

  #add(draft: Draft, workspaceId: string, assistantId: string, version: number, counts: Partial<VersionCounts>): void {
    const key = this.#countsKey(workspaceId, assistantId, version);
    const before = this.#batcher.getKept<number[]>(key);
    draft.count(
      key,
      versionCountFields.map((field, index) => Math.max(0, (before?.[index] ?? 0) + (counts[field] ?? 0))),
    );
  }

  #keysOf(workspaceId: string, assistantId: string): ReleaseKeys {
    const made = this.#keys.get(assistantId);
    if (made?.workspaceId === workspaceId) return made;
    const release = keys.release(workspaceId, assistantId);
    const candidateCounts = keys.candidateCounts(workspaceId, assistantId);
    const making = { workspaceId, release, candidateCounts, counts: new Map<number, string>() };
    this.#keys.set(assistantId, making);
    evictOldest(this.#keys, assistantsMax);
    return making;
  }

  #countsKey(workspaceId: string, assistantId: string, version: number): string {
    const { counts } = this.#keysOf(workspaceId, assistantId);
    let key = counts.get(version);
    if (key === undefined) {
      key = keys.versionCountsAt(workspaceId, assistantId, version);
      counts.set(version, key);
      evictOldest(counts, versionsMax);
    }
    return key;
  }
}

/** Stores what the steps of sessions and turns read of an assistant's release. */
export function putRelease(draft: Draft, { id, workspaceId, release }: Assistant): void {
  if (release != null) draft.keep(keys.release(workspaceId, id), releaseRow(release));
}

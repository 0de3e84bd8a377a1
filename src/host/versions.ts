/**
 * The versions that assistants answer with (contract 20). A version never changes, so that a turn finds its own without
 * a read of the store.
 */
import { isUncounted } from '../store/records.ts';
import { assistantKind } from '../../machines/assistant.ts';
import { migratedSnapshot } from '../actors/actor.ts';
import { limits } from '../base/limits.ts';
import { withSettings } from '../store/records/settings.ts';
import { revisionOf, versionId } from '../store/records/versions.ts';
import { digestOf, versionOfNew, versionOfNextTurn } from './release.ts';
import {
  StoreUnavailable,
  type Assistant,
  type AssistantVersion,
  type Catalog,
  type ReleaseBasis,
  type Session,
  type VersionedTool,
} from '../store/store.ts';

/** Versions that a process keeps, and bytes of their JSON. */
const versionsKeptMax = 1000;
const versionBytesKeptMax = 32 * 1024 * 1024;

/** An assistant as it answers: with the settings of a version, or with its draft. */
export interface AnsweringAssistant extends Assistant {
  /** Absent for the draft. */
  readonly version?: {
    readonly number: number;
    /** Null for an assistant from before versions existed that has not been changed since: its tools as they are. */
    readonly tools: readonly VersionedTool[] | null;
  };
}

/** Whether an assistant has answered before versions existed, and has not been changed since: it is its version 1. */
export const isUnversioned = ({ release, machine }: Pick<Assistant, 'release' | 'machine'>): boolean =>
  release === undefined && migratedSnapshot(assistantKind, machine).state !== 'draft';

/** The number of the version that new sessions get; null before the first version. */
export const currentVersion = (assistant: Pick<Assistant, 'release' | 'machine'>): number | null =>
  assistant.release?.current ?? (isUnversioned(assistant) ? 1 : null);

/** The release that gives sessions of an answering assistant their versions; undefined for a draft. */
export const releaseBasis = ({ id, version, release }: AnsweringAssistant): ReleaseBasis | undefined =>
  version && { assistantId: id, revision: revisionOf(release) };

/** The number of the version that a session is on; null for a trial and in a run of tests, whose session counts for no version. */
export const versionOfSession = (session: Session): number | null =>
  isUncounted(session) ? null : (session.assistantVersion ?? 1);

/** A version with the assistant that has it. */
interface Kept {
  readonly version: AssistantVersion;
  /** The record that `answering` is made of. */
  readonly record: Assistant;
  readonly answering: AnsweringAssistant;
  /** Bytes of the version's JSON. */
  readonly bytes: number;
}

const missing = (): never => {
  throw new StoreUnavailable('The current version of the assistant is not stored. Repeat the request.');
};

export class Versions {
  readonly #catalog: Pick<Catalog, 'read'>;
  /** The versions by id, oldest first; beside them those that are being read. */
  readonly #kept = new Map<string, Kept>();
  readonly #reading = new Map<string, Promise<AssistantVersion | null>>();
  /** Bytes of all that are kept. */
  #bytes = 0;
  /** Unversioned assistants, by their records. */
  readonly #unversioned = new WeakMap<Assistant, AnsweringAssistant>();

  constructor(catalog: Pick<Catalog, 'read'>) {
    this.#catalog = catalog;
  }

  /** The assistant as it answers new sessions; its draft before its first version. */
  current(record: Assistant): AnsweringAssistant | Promise<AnsweringAssistant> {
    const { release } = record;
    if (release == null) return isUnversioned(record) ? this.#asItIs(record) : record;
    const found = this.#find(record, release.current);
    return found instanceof Promise ? found.then((answering) => answering ?? missing()) : found;
  }

  /** The assistant as it answers a new session; `subject`: the visitor's id, else the session's. */
  ofNew(record: Assistant, subject: string): AnsweringAssistant | Promise<AnsweringAssistant> {
    const { release } = record;
    return release?.candidate ? this.#numbered(record, versionOfNew(record, release, subject)) : this.current(record);
  }

  /** The assistant as it answers the session: on the session's version, and in a trial on the draft. */
  ofSession(record: Assistant, session: Session): AnsweringAssistant | Promise<AnsweringAssistant> {
    const number = versionOfSession(session);
    return number === null ? record : this.#numbered(record, number);
  }

  /** The assistant as it answers the next turn of the session, which may be on another version than the session. */
  ofNextTurn(record: Assistant, session: Session): AnsweringAssistant | Promise<AnsweringAssistant> {
    const number = versionOfSession(session);
    if (number === null) return record;
    const { release } = record;
    return this.#numbered(record, release == null ? number : versionOfNextTurn(record, release, session, number));
  }

  #numbered(record: Assistant, number: number): AnsweringAssistant | Promise<AnsweringAssistant> {
    if (number === 1 && isUnversioned(record)) return this.#asItIs(record);
    const found = this.#find(record, number);
    // A store that lost its newest steps may have lost the version: its sessions are on the current one.
    return found instanceof Promise ? found.then((answering) => answering ?? this.current(record)) : found;
  }

  /** Drops the versions: a store that lost its newest steps may give their numbers to others. */
  forget(): void {
    this.#kept.clear();
    this.#reading.clear();
    this.#bytes = 0;
  }

  #asItIs(record: Assistant): AnsweringAssistant {
    let answering = this.#unversioned.get(record);
    if (answering === undefined) {
      answering = { ...record, version: { number: 1, tools: null } };
      this.#unversioned.set(record, answering);
    }
    return answering;
  }

  #find(record: Assistant, number: number): AnsweringAssistant | Promise<AnsweringAssistant | null> {
    const id = versionId(record.id, number);
    const kept = this.#kept.get(id);
    if (kept?.record === record) return kept.answering;
    // The number of a version that a failover has lost belongs to another one.
    if (kept !== undefined && kept.version.digest === (digestOf(record.release, number) ?? kept.version.digest))
      return this.#keep(record, kept.version, kept.bytes);
    // Each caller has the assistant as it is now: its name may have changed since another one began the read.
    return this.#read(record.workspaceId, id).then(
      (version) => version && this.#keep(record, version, bytesOf(version)),
    );
  }

  #read(workspaceId: string, id: string): Promise<AssistantVersion | null> {
    const begun = this.#reading.get(id);
    if (begun !== undefined) return begun;
    const reading = this.#catalog
      .read('assistant_version', workspaceId, id)
      .then((stored) => stored?.record ?? null)
      .finally(() => this.#reading.get(id) === reading && this.#reading.delete(id));
    this.#reading.set(id, reading);
    return reading;
  }

  #keep(record: Assistant, version: AssistantVersion, bytes: number): AnsweringAssistant {
    const { id, number, settings, tools } = version;
    const answering = { ...withSettings(record, settings), version: { number, tools } };
    this.#drop(id);
    this.#kept.set(id, { version, record, answering, bytes });
    this.#bytes += bytes;
    if (!this.#fits(1)) this.#dropOldest();
    return answering;
  }

  #fits(share: number): boolean {
    return this.#kept.size <= versionsKeptMax * share && this.#bytes <= versionBytesKeptMax * share;
  }

  /** Drops many at a time (see `evictOldest`). */
  #dropOldest(): void {
    for (const oldest of this.#kept.keys()) {
      if (this.#fits(limits.cacheShareKept)) return;
      this.#drop(oldest);
    }
  }

  #drop(id: string): void {
    this.#bytes -= this.#kept.get(id)?.bytes ?? 0;
    this.#kept.delete(id);
  }
}

const bytesOf = (version: AssistantVersion): number => Buffer.byteLength(JSON.stringify(version));

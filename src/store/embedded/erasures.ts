/**
 * Erasures. Each has a row until it is finished. A session that has more rows than one step removes gets a row below
 * it, from which an erasure that was cut continues.
 */
import { limits } from '../../base/limits.ts';
import {
  nothingErased,
  type ErasedCounts,
  type ErasedKind,
  type ErasedTraces,
  type Erasure,
  type ErasureStore,
} from '../parts/erasures.ts';
import type { AuditEntry, IdempotencyRecord, TurnPlace } from '../store.ts';
import { sessionsNamedIn, type Unsealed } from '../records.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import { dropDelivery } from './deliveries.ts';
import type { FlightRow, Flights } from './flights.ts';
import { putAudit } from './audit.ts';
import * as keys from './keys.ts';
import type { EmbeddedLimits } from './limits.ts';
import type { Memories } from './memories.ts';
import type { Notices } from './notices.ts';
import type { StoredSession, StoredTurn } from './rows.ts';
import { hideSession } from './sessions.ts';

interface ErasureRow extends Erasure {
  readonly counts: ErasedCounts;
}

interface Parts {
  readonly flights: Flights;
  readonly memories: Memories;
  readonly limits: EmbeddedLimits;
  readonly notices: Notices;
}

/** The answer of a step that removes rows of a session. */
interface Removed {
  readonly isDone: boolean;
  /** The turns in flight that ended with it. */
  readonly ended: readonly TurnPlace[];
}

export class EmbeddedErasures implements ErasureStore {
  readonly #batcher: WriteBatcher;
  readonly #parts: Parts;

  constructor(batcher: WriteBatcher, parts: Parts) {
    this.#batcher = batcher;
    this.#parts = parts;
  }

  begin(erasure: Erasure, _nowMs: number, audit?: AuditEntry): Promise<boolean> {
    const { workspaceId, kind, id } = erasure;
    return this.#batcher.step((draft) => {
      if (this.#batcher.get(keys.erasure(erasure)) !== undefined) return true;
      draft.put(keys.erasure(erasure), { workspaceId, kind, id, counts: nothingErased } satisfies ErasureRow);
      putAudit(draft, audit);
      return false;
    });
  }

  async eraseSession(erasure: Erasure, sessionId: string): Promise<void> {
    for (let isDone = false; !isDone;) {
      const removed: Removed = await this.#batcher.step((draft) => this.#removeIn(draft, erasure, sessionId));
      for (const place of removed.ended) this.#parts.notices.sendMoved(place);
      ({ isDone } = removed);
      if (!isDone) await this.#batcher.pause();
    }
    const { workspaceId } = erasure;
    this.#parts.notices.sendSessionMoved(workspaceId, sessionId);
    this.#parts.notices.send({ type: 'erased', workspaceId, kind: 'session', id: sessionId });
  }

  eraseRecord(erasure: Erasure, kind: ErasedKind, id: string): Promise<void> {
    return this.#batcher.step((draft) => {
      const key = keys.catalog(kind, erasure.workspaceId) + keys.part(id);
      if (this.#batcher.get(key) === undefined) return;
      draft.remove(key);
      if (kind === 'assistant_test') this.#count(draft, erasure, { ...nothingErased, tests: 1 });
    });
  }

  async forget(workspaceId: string, { sessionIds, places, limits: names }: ErasedTraces): Promise<void> {
    const { memories, limits: stored } = this.#parts;
    await this.#eachSlice<IdempotencyRecord>(keys.memories(workspaceId), (draft, rows) => {
      for (const [key, record] of rows)
        if (sessionsNamedIn(record).some((id) => sessionIds.has(id))) memories.forget(draft, key, record.resultId);
    });
    if (places.length === 0 && names.length === 0) return;
    const seats = new Set(
      places.map(({ holder, seat }) => seatKey(keys.part(holder), seat === null ? null : keys.part(seat))),
    );
    const named = new Set(names.map((name) => keys.limit(workspaceId, name)));
    await this.#eachSlice<unknown>(keys.limits(workspaceId), (draft, rows) => {
      const meant = rows
        .map(([key]) => key)
        .filter((key) => {
          const [, , , holder, seat] = key.split('/');
          return (
            named.has(key) ||
            (holder !== undefined && (seats.has(seatKey(holder, null)) || seats.has(seatKey(holder, seat!))))
          );
        });
      if (meant.length > 0) stored.removeIn(draft, workspaceId, meant);
    });
  }

  async finish(erasure: Erasure): Promise<ErasedCounts> {
    const prefix = keys.erasing(erasure);
    for (const [, sessionId] of [...this.#batcher.scan<string>(prefix, keys.endOf(prefix))])
      await this.eraseSession(erasure, sessionId);
    const counts = await this.#batcher.step((draft) => {
      const row = this.#batcher.get<ErasureRow>(keys.erasure(erasure));
      if (row !== undefined) draft.remove(keys.erasure(erasure));
      return { ...nothingErased, ...row?.counts };
    });
    if (erasure.kind === 'visitor') this.#parts.notices.send({ type: 'erased', ...erasure });
    return counts;
  }

  async unfinished(): Promise<Erasure[]> {
    const rows = [...this.#batcher.scan<ErasureRow | string>(keys.erasures, keys.endOf(keys.erasures))];
    return rows.flatMap(([, row]) =>
      typeof row === 'string' ? [] : [{ workspaceId: row.workspaceId, kind: row.kind, id: row.id }],
    );
  }

  /** Removes the session's own rows first, then others up to the bound of a step. */
  #removeIn(draft: Draft, erasure: Erasure, sessionId: string): Removed {
    const { workspaceId } = erasure;
    const { flights } = this.#parts;
    const row = this.#batcher.get<StoredSession>(keys.session(workspaceId, sessionId));
    const counts = { ...nothingErased } as Unsealed<ErasedCounts>;
    if (row !== undefined) {
      hideSession(draft, row);
      counts.sessions = 1;
    }
    const ended: TurnPlace[] = [];
    let left: number = limits.removalRowsMax;
    for (const prefix of keys.belongings(workspaceId, sessionId)) {
      if (left === 0) break;
      for (const [key, value] of this.#batcher.range<object>(prefix, keys.endOf(prefix), left)) {
        draft.remove(key);
        left--;
        if (prefix.startsWith('delivery-of/')) dropDelivery(draft, this.#batcher, value as unknown as string);
        if (prefix.startsWith('message/')) counts.messages += 'said' in value ? 2 : 1;
        if (prefix.startsWith('turn/')) counts.turns++;
        if (prefix.startsWith('turn/') && (value as StoredTurn).feedback !== undefined) counts.feedback++;
        if (!prefix.startsWith('flight/')) continue;
        const { place, said } = value as FlightRow;
        counts.turns++;
        counts.messages += said === undefined ? 1 : 2;
        ended.push(place);
      }
    }
    const isDone = left > 0;
    const rest = keys.erasing(erasure) + keys.part(sessionId);
    if (!isDone) draft.put(rest, sessionId);
    else if (this.#batcher.get(rest) !== undefined) draft.remove(rest);
    this.#count(draft, erasure, counts);
    draft.whenApplied(() => {
      for (const place of ended) flights.delete(place);
    });
    return { isDone, ended };
  }

  #count(draft: Draft, erasure: Erasure, counts: ErasedCounts): void {
    const stored = this.#batcher.get<ErasureRow>(keys.erasure(erasure));
    if (stored !== undefined) draft.put(keys.erasure(erasure), { ...stored, counts: summed(stored.counts, counts) });
  }

  /** Offers the rows of a prefix to one step after another, a bounded number at a time. */
  async #eachSlice<Row>(
    prefix: string,
    decide: (draft: Draft, rows: readonly [key: string, row: Row][]) => void,
  ): Promise<void> {
    for (let from = prefix; ;) {
      const rows = await this.#batcher.step((draft) => {
        const slice = this.#batcher.range<Row>(from, keys.endOf(prefix), limits.scanRowsMax);
        decide(draft, slice);
        return slice;
      });
      if (rows.length < limits.scanRowsMax) return;
      from = keys.justAfter(rows.at(-1)![0]);
      await this.#batcher.pause();
    }
  }
}

const seatKey = (holder: string, seat: string | null): string => (seat === null ? `${holder}/` : `${holder}/${seat}`);

const summed = (one: ErasedCounts, other: ErasedCounts): ErasedCounts => ({
  sessions: one.sessions + other.sessions,
  messages: one.messages + other.messages,
  turns: one.turns + other.turns,
  feedback: (one.feedback ?? 0) + other.feedback,
  tests: (one.tests ?? 0) + other.tests,
});

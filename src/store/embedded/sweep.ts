/** Retention (contract 6): sessions are deleted with their contents when their last activity is too long ago. */
import { secondsOf } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Versioned, Workspace } from '../store.ts';
import type { WriteBatcher } from '../write-batcher.ts';
import * as keys from './keys.ts';
import type { Notices } from './notices.ts';
import type { StoredSession } from './rows.ts';
import { removeSession } from './sessions.ts';

const daySeconds = 86_400;

export class Sweep {
  readonly #batcher: WriteBatcher;
  readonly #notices: Notices;

  constructor(batcher: WriteBatcher, notices: Notices) {
    this.#batcher = batcher;
    this.#notices = notices;
  }

  /** Deletes at most `limit` sessions; returns how many. */
  async sessions(nowMs: number, limit: number): Promise<number> {
    let deleted = 0;
    for (let from = keys.activity; ;) {
      const [row] = this.#batcher.scan(from, keys.endOf(keys.activity));
      if (row === undefined || deleted === limit) return deleted;
      const workspaceId = row[0].split('/', 2)[1]!;
      const prefix = `${keys.activity}${workspaceId}/`;
      const aged = secondsOf(nowMs) - this.#retentionSeconds(workspaceId);
      deleted += await this.#workspace(prefix, workspaceId, aged, limit - deleted);
      from = keys.endOf(prefix);
    }
  }

  /**
   * A workspace has no record if it was removed while a session was being created: its sessions get the default
   * retention.
   */
  #retentionSeconds(workspaceId: string): number {
    const row = this.#batcher.committed<Versioned<Workspace>>(keys.workspaces + workspaceId);
    return (row?.record.retentionDays ?? limits.retentionDaysDefault) * daySeconds;
  }

  async #workspace(prefix: string, workspaceId: string, aged: number, limit: number): Promise<number> {
    let deleted = 0;
    const to = keys.activeAt(workspaceId, Math.max(0, aged));
    for (let from = prefix; deleted < limit;) {
      const slice: [string, string][] = [];
      for (const row of this.#batcher.scan<string>(from, to)) {
        slice.push(row);
        if (slice.length === Math.min(limits.scanRowsMax, limit - deleted)) break;
      }
      if (slice.length === 0) break;
      const gone = await Promise.all(slice.map(([key, sessionId]) => this.#session(key, workspaceId, sessionId)));
      deleted += gone.filter(Boolean).length;
      from = keys.justAfter(slice.at(-1)![0]);
      await this.#batcher.pause();
    }
    return deleted;
  }

  /** Deletes a session unless it has moved since it was found or has a turn in flight. */
  #session(active: string, workspaceId: string, sessionId: string): Promise<boolean> {
    const decided = this.#batcher.step((draft) => {
      const row = this.#batcher.get<StoredSession>(keys.session(workspaceId, sessionId));
      const flights = keys.sessionFlights(workspaceId, sessionId);
      if (row === undefined || this.#batcher.get(active) === undefined) return false;
      if (this.#batcher.range(flights, keys.endOf(flights), 1).length > 0) return false;
      removeSession(draft, this.#batcher, row);
      return true;
    });
    return this.#notices.tellMove({ workspaceId, id: sessionId }, decided, Boolean);
  }
}

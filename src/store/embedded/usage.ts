/**
 * Usage, counted for each account (an assistant, with the API key if there is one) and second, and again for each hour:
 * a window's whole hours are read from the hours, the rest at its ends from the seconds.
 */
import { isUncounted } from '../records.ts';
import { limits } from '../../base/limits.ts';
import type { CountUsage, Session, UsageBucket, UsageCounts, UsageQuery, UsageStore } from '../store.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import { usageFields, floorTo, hourSeconds, stretches, Sums } from '../usage.ts';
import type { Stretch } from '../usage.ts';
import * as keys from './keys.ts';

export class UsageBook implements UsageStore {
  readonly #batcher: WriteBatcher;
  #last: {
    workspaceId: string;
    assistantId: string;
    keyId: string | null | undefined;
    at: number;
    keys: readonly string[];
  } = { workspaceId: '', assistantId: '', keyId: null, at: 0, keys: [] };

  constructor(batcher: WriteBatcher) {
    this.#batcher = batcher;
  }

  count({
    id,
    workspaceId,
    assistantId,
    keyId,
    at,
    speechCharacters,
    transcriptionSeconds,
  }: CountUsage): Promise<void> {
    return this.#batcher.step((draft) => {
      // A place of this id marks the step: a repeat finds it taken, and the sweep removes it with other past places.
      const key = keys.limit(workspaceId, `counted/${id}`);
      if (this.#batcher.get(key) !== undefined) return;
      const endMs = at * 1000 + limits.redisStepKeptMs;
      draft.put(key, { state: endMs, endMs });
      draft.put(keys.memoryEnd(endMs, key), key);
      this.#add(draft, this.#keysOf(workspaceId, assistantId, keyId, at), { speechCharacters, transcriptionSeconds });
    });
  }

  /**
   * Counts a session's usage within the step that causes it; a trial of the console and a session of a test count nothing. Call it at most
   * once in a step, because a draft does not see its own writes.
   */
  countIn(draft: Draft, session: Session, at: number, counts: Partial<UsageCounts>): void {
    const { workspaceId, assistantId, keyId } = session;
    if (!isUncounted(session)) this.#add(draft, this.#keysOf(workspaceId, assistantId, keyId, at), counts);
  }

  /**
   * The keys of the second's and the hour's row. The keys of the last call are reused: mostly many turns of an account
   * end in one second.
   */
  #keysOf(workspaceId: string, assistantId: string, keyId: string | null | undefined, at: number): readonly string[] {
    const last = this.#last;
    if (last.at === at && last.assistantId === assistantId && last.keyId === keyId && last.workspaceId === workspaceId)
      return last.keys;
    const account = keys.account(assistantId, keyId);
    const made = [
      keys.usageAt('second', workspaceId, account, at),
      keys.usageAt('hour', workspaceId, account, floorTo(at, hourSeconds)),
    ];
    this.#last = { workspaceId, assistantId, keyId, at, keys: made };
    return made;
  }

  #add(draft: Draft, keysOfRows: readonly string[], counts: Partial<UsageCounts>): void {
    for (const key of keysOfRows) {
      const before = this.#batcher.get<number[]>(key);
      draft.count(
        key,
        usageFields.map((field, index) => Math.max(0, (before?.[index] ?? 0) + (counts[field] ?? 0))),
      );
    }
  }

  async read(workspaceId: string, query: UsageQuery): Promise<UsageBucket[]> {
    if (query.end <= query.start) return [];
    const sums = new Sums(query);
    for (const account of await this.#accounts(workspaceId, query)) {
      for (const stretch of stretches(query.start, query.end)) await this.#sum(workspaceId, account, stretch, sums);
    }
    return sums.buckets;
  }

  async #sum(workspaceId: string, account: string, stretch: Stretch, sums: Sums): Promise<void> {
    const to = keys.usageAt(stretch.grain, workspaceId, account, stretch.to);
    let from = keys.usageAt(stretch.grain, workspaceId, account, stretch.from);
    for (let more = stretch.from < stretch.to; more;) {
      more = false;
      let looked = 0;
      for (const [key, counts] of this.#batcher.scan<number[]>(from, to)) {
        sums.add(Number(keys.lastPart(key)), counts);
        if (++looked < limits.scanRowsMax) continue;
        from = keys.justAfter(key);
        more = true;
        break;
      }
      if (more) await this.#batcher.pause();
    }
  }

  /** The accounts with usage that a query wants; finds each with one step over the index. */
  async #accounts(workspaceId: string, query: UsageQuery): Promise<string[]> {
    const prefix = keys.usageOf('hour', workspaceId);
    const accounts: string[] = [];
    for (const [first, to] of keys.accountSpans(prefix, query.assistantIds)) {
      for (let [from, looked] = [first, 0]; ; looked++) {
        const [row] = this.#batcher.scan(from, to);
        if (row === undefined) break;
        const account = row[0].slice(prefix.length, row[0].lastIndexOf('/'));
        if (keys.isAsked(account, query)) accounts.push(account);
        from = keys.endOf(`${prefix}${account}/`);
        if (looked % limits.scanRowsMax === limits.scanRowsMax - 1) await this.#batcher.pause();
      }
    }
    return accounts;
  }
}

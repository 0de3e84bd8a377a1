/**
 * Usage, counted for each assistant and second, and again for each hour: a window's whole hours are read from the hours, the rest
 * at its ends from the seconds.
 */
import { limits } from '../../limits.ts';
import type { CountUsage, Session, UsageBucket, UsageCounts, UsageQuery, UsageStore } from '../../store.ts';
import type { Draft, Ledger } from '../ledger.ts';
import { fields, floor, hourSeconds, stretches, Sums } from '../usage.ts';
import type { Stretch } from '../usage.ts';
import * as keys from './keys.ts';

export class UsageBook implements UsageStore {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  count({ id, workspaceId, assistantId, at, speechCharacters, transcriptionSeconds }: CountUsage): Promise<void> {
    return this.#ledger.step((draft) => {
      // As a place of this id: a repeat of the step finds it taken, and the sweep that takes away past places takes it away.
      const key = keys.limit(workspaceId, `counted/${id}`);
      if (this.#ledger.get(key) !== undefined) return;
      const endMs = at * 1000 + limits.redisStepKeptMs;
      draft.put(key, { state: endMs, endMs });
      draft.put(keys.memoryEnd(endMs, key), key);
      this.#add(draft, workspaceId, assistantId, at, { speechCharacters, transcriptionSeconds });
    });
  }

  /**
   * Counts what a session causes within the step that causes it; a trial of the console counts nothing. At most once in a step,
   * because a draft does not see its own writes.
   */
  countIn(draft: Draft, { workspaceId, assistantId, channel }: Session, at: number, counts: Partial<UsageCounts>): void {
    if (channel !== 'console') this.#add(draft, workspaceId, assistantId, at, counts);
  }

  #add(draft: Draft, workspaceId: string, assistantId: string, at: number, counts: Partial<UsageCounts>): void {
    for (const [grain, start] of [['second', at], ['hour', floor(at, hourSeconds)]] as const) {
      const key = keys.usageAt(grain, workspaceId, assistantId, start);
      const before = this.#ledger.get<number[]>(key);
      draft.keep(key, fields.map((field, index) => Math.max(0, (before?.[index] ?? 0) + (counts[field] ?? 0))));
    }
  }

  async read(workspaceId: string, query: UsageQuery): Promise<UsageBucket[]> {
    if (query.end <= query.start) return [];
    const sums = new Sums(query);
    const assistants = query.assistantIds === null ? this.#assistants(workspaceId) : new Set(query.assistantIds);
    for (const assistantId of assistants) {
      for (const stretch of stretches(query.start, query.end)) await this.#sum(workspaceId, assistantId, stretch, sums);
    }
    return sums.buckets;
  }

  async #sum(workspaceId: string, assistantId: string, stretch: Stretch, sums: Sums): Promise<void> {
    const to = keys.usageAt(stretch.grain, workspaceId, assistantId, stretch.to);
    let from = keys.usageAt(stretch.grain, workspaceId, assistantId, stretch.from);
    for (let more = stretch.from < stretch.to; more; ) {
      more = false;
      let looked = 0;
      for (const [key, counts] of this.#ledger.scan<number[]>(from, to)) {
        sums.add(Number(keys.lastPart(key)), counts);
        if (++looked < limits.scanRowsMax) continue;
        from = keys.justAfter(key);
        more = true;
        break;
      }
      if (more) await this.#ledger.pause();
    }
  }

  /** Every assistant with usage; finds each with one step over the index. */
  #assistants(workspaceId: string): Set<string> {
    const prefix = keys.usageOf('hour', workspaceId);
    const found = new Set<string>();
    for (let from = prefix; ; ) {
      const [row] = this.#ledger.scan(from, keys.endOf(prefix));
      if (row === undefined) return found;
      const assistant = row[0].slice(prefix.length, row[0].lastIndexOf('/'));
      found.add(assistant);
      from = keys.endOf(`${prefix}${assistant}/`);
    }
  }
}

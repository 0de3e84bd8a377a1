/**
 * What was used, counted per assistant and second, and once more per hour: a window's whole hours are read from the
 * hours, its ragged edges from the seconds.
 */
import { limits } from '../../limits.ts';
import type { UsageBucket, UsageCounts, UsageQuery } from '../../store.ts';
import type { Draft, Ledger } from '../ledger.ts';
import * as keys from './keys.ts';

const hourSeconds = 3600;

/** The order in which a row holds its counts. A new count goes to the end: it is absent in older rows. */
const fields = [
  'sessions',
  'turns',
  'failedTurns',
  'inputTokens',
  'outputTokens',
  'speechCharacters',
  'transcriptionSeconds',
] as const satisfies readonly (keyof UsageCounts)[];

const zeros = (): number[] => fields.map(() => 0);

interface Stretch {
  readonly grain: keys.UsageGrain;
  readonly from: number;
  readonly to: number;
}

export class UsageBook {
  readonly #ledger: Ledger;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Counts within the step that gives cause for it. Once per step: a draft does not see itself. */
  count(draft: Draft, workspaceId: string, assistantId: string, at: number, counts: Partial<UsageCounts>): void {
    for (const [grain, start] of [['second', at], ['hour', floor(at, hourSeconds)]] as const) {
      const key = keys.usageAt(grain, workspaceId, assistantId, start);
      const before = this.#ledger.get<number[]>(key);
      draft.put(key, fields.map((field, index) => (before?.[index] ?? 0) + (counts[field] ?? 0)));
    }
  }

  async query(workspaceId: string, query: UsageQuery): Promise<UsageBucket[]> {
    if (query.end <= query.start) return [];
    const first = floor(query.start, query.bucketSeconds);
    const sums: number[][] = [];
    for (let start = first; start < query.end; start += query.bucketSeconds) sums.push(zeros());
    const add = (at: number, counts: readonly number[]): void => {
      const sum = sums[Math.floor((at - first) / query.bucketSeconds)]!;
      for (let index = 0; index < sum.length; index++) sum[index]! += counts[index] ?? 0;
    };
    const assistants = query.assistantIds === null ? this.#assistants(workspaceId) : new Set(query.assistantIds);
    for (const assistantId of assistants) {
      for (const stretch of stretches(query.start, query.end)) await this.#sum(workspaceId, assistantId, stretch, add);
    }
    return sums.map((sum, index) => bucket(first + index * query.bucketSeconds, sum));
  }

  async #sum(workspaceId: string, assistantId: string, stretch: Stretch, add: (at: number, counts: number[]) => void): Promise<void> {
    const to = keys.usageAt(stretch.grain, workspaceId, assistantId, stretch.to);
    let from = keys.usageAt(stretch.grain, workspaceId, assistantId, stretch.from);
    for (let more = stretch.from < stretch.to; more; ) {
      more = false;
      let looked = 0;
      for (const [key, counts] of this.#ledger.scan<number[]>(from, to)) {
        add(Number(keys.lastPart(key)), counts);
        if (++looked < limits.scanRowsMax) continue;
        from = keys.justAfter(key);
        more = true;
        break;
      }
      if (more) await this.#ledger.pause();
    }
  }

  /** Every assistant that was ever used, found by one step of the index each. */
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

const floor = (at: number, unit: number): number => Math.floor(at / unit) * unit;

const bucket = (start: number, sum: readonly number[]): UsageBucket =>
  Object.fromEntries([['start', start], ...fields.map((field, index) => [field, sum[index]])]) as unknown as UsageBucket;

function stretches(start: number, end: number): Stretch[] {
  const firstHour = floor(start + hourSeconds - 1, hourSeconds);
  const lastHour = floor(end, hourSeconds);
  if (firstHour >= lastHour) return [{ grain: 'second', from: start, to: end }];
  return [
    { grain: 'second', from: start, to: firstHour },
    { grain: 'hour', from: firstHour, to: lastHour },
    { grain: 'second', from: lastHour, to: end },
  ];
}

/**
 * The common part of the stores' usage counters: the order of the counts, and how a window is divided into hours and
 * seconds.
 */
import type { UsageBucket, UsageCounts, UsageQuery } from './store.ts';

export const hourSeconds = 3600;

/** The order of the counts in a row. A new count is added at the end, and is absent in older rows. */
export const usageFields = [
  'sessions',
  'turns',
  'failedTurns',
  'inputTokens',
  'outputTokens',
  'speechCharacters',
  'transcriptionSeconds',
  'toolCalls',
  'cachedInputTokens',
  'feedbackUp',
  'feedbackDown',
  'personMessages',
  'handovers',
] as const satisfies readonly (keyof UsageCounts)[];

export type Grain = 'second' | 'hour';

/** A part of a window that is read in one unit, hours or seconds: its first second, and the second after its last. */
export interface Stretch {
  readonly grain: Grain;
  readonly from: number;
  readonly to: number;
}

export const floorTo = (at: number, unit: number): number => Math.floor(at / unit) * unit;

/** A window's whole hours, and its rest at both ends by the second. */
export function stretches(start: number, end: number): Stretch[] {
  const firstHour = floorTo(start + hourSeconds - 1, hourSeconds);
  const lastHour = floorTo(end, hourSeconds);
  if (firstHour >= lastHour) return [{ grain: 'second', from: start, to: end }];
  return [
    { grain: 'second', from: start, to: firstHour },
    { grain: 'hour', from: firstHour, to: lastHour },
    { grain: 'second', from: lastHour, to: end },
  ];
}

/** The sums of a window's buckets while its rows are read. */
export class Sums {
  readonly #first: number;
  readonly #seconds: number;
  readonly #sums: number[][] = [];

  constructor({ start, end, bucketSeconds }: UsageQuery) {
    this.#first = floorTo(start, bucketSeconds);
    this.#seconds = bucketSeconds;
    for (let at = this.#first; at < end; at += bucketSeconds) this.#sums.push(usageFields.map(() => 0));
  }

  /** Adds the counts of the second or hour that begins at `at`. */
  add(at: number, counts: readonly number[]): void {
    const sum = this.#sums[Math.floor((at - this.#first) / this.#seconds)]!;
    for (let index = 0; index < sum.length; index++) sum[index]! += counts[index] ?? 0;
  }

  get buckets(): UsageBucket[] {
    return this.#sums.map((sum, index) => bucket(this.#first + index * this.#seconds, sum));
  }
}

const bucket = (start: number, sum: readonly number[]): UsageBucket =>
  Object.fromEntries([['start', start], ...usageFields.map((field, index) => [field, sum[index]])]);

/**
 * A Redis that has just started answers LOADING until it has read its data; a cluster refuses steps for some seconds
 * after that.
 */
import type { Clock } from '../../base/clock.ts';
import { StoreRefused } from '../store.ts';
import { isLoading } from './connection/client.ts';

const againMs = 250;
/** Milliseconds between two reports. */
const reportMs = 30_000;
/**
 * After LOADING was last seen, other failures may pass for this long: connections are replaced, and a cluster finds its
 * members.
 */
const settledMs = 30_000;

/**
 * Repeats an attempt to open the store for as long as Redis reads its data; rejects as the attempt does if it fails
 * otherwise.
 */
export async function afterLoading(clock: Clock, report: () => void, attempt: () => Promise<void>): Promise<void> {
  let [loadingAt, reportedAt] = [-Infinity, -Infinity];
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const now = clock.monotonic();
      if (causesOf(error).some(isLoading)) loadingAt = now;
      if (error instanceof StoreRefused || now - loadingAt > settledMs) throw error;
      if (now - reportedAt > reportMs) {
        reportedAt = now;
        report();
      }
    }
    await new Promise<void>((resolve) => void clock.after(againMs, resolve));
  }
}

/** An error with its causes. */
function causesOf(error: unknown): Error[] {
  const all: Error[] = [];
  for (let one = error; one instanceof Error; one = one.cause) all.push(one);
  return all;
}

/** SIGTERM and SIGINT: the first one requests an orderly end, a later one ends the process at once. */
import type { Clock } from './clock.ts';

/**
 * Calls `end` at the first signal and `insist` at a later one. A signal within half a second counts as the same request: under npm
 * a signal to the process group arrives twice, from the terminal and from npm.
 */
export function onEndingSignal(clock: Clock, end: (signal: NodeJS.Signals) => void, insist: () => void): void {
  let askedAt: number | null = null;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      const now = clock.monotonic();
      if (askedAt !== null && now - askedAt > sameWishMs) insist();
      if (askedAt !== null) return;
      askedAt = now;
      end(signal);
    });
  }
}

const sameWishMs = 500;

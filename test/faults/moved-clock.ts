/** Wrong clocks: libfaketime gives a server another wall-clock time; its monotonic clock goes on as it does. */
import { whyMissing } from '../installed.ts';
import { faketime } from '../run/programs.mjs';

/** Why no clock can be moved here, or null. */
export const lackingFaketime = (): string | null => whyMissing('libfaketime');

/** For a server whose wall clock is so many seconds ahead, and goes so many times as fast. */
export const clockAhead = (seconds: number, pace = 1): Record<string, string> => ({
  LD_PRELOAD: faketime()!,
  FAKETIME: `${seconds < 0 ? '' : '+'}${seconds}s${pace === 1 ? '' : ` x${pace}`}`,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
});

/** The same for a Redis: its allocator, jemalloc, asks the clock before libfaketime is ready, so it gets that of the C library. */
export const redisClockAhead = (seconds: number): Record<string, string> => ({ ...clockAhead(seconds), LD_PRELOAD: `${faketime()!} libc.so.6` });

/** Wrong clocks: libfaketime gives a server another wall-clock time; its monotonic clock stays right. */
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { whyMissing } from '../installed.ts';
import { faketime } from '../run/programs.mjs';

/** Reason for which no clock can be moved here, or null. */
export const lackingFaketime = (): string | null => whyMissing('libfaketime');

/** For a server whose wall clock is so many seconds ahead, and goes so many times as fast. */
export const clockAhead = (seconds: number, pace = 1): Record<string, string> => ({
  LD_PRELOAD: faketime()!,
  FAKETIME: `${seconds < 0 ? '' : '+'}${seconds}s${pace === 1 ? '' : ` x${pace}`}`,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
});

/**
 * Moves the clock of a Redis. Its allocator, jemalloc, reads the clock before libfaketime is ready, so Redis gets the C
 * library's allocator.
 */
export const redisClockAhead = (seconds: number): Record<string, string> => ({
  ...clockAhead(seconds),
  LD_PRELOAD: `${faketime()!} libc.so.6`,
});

/** A wall clock that is set while its process runs. */
export interface SettableClock {
  /** The environment of the process. */
  readonly env: Record<string, string>;
  /** Sets it to so many seconds ahead of the machine's. */
  set(seconds: number): void;
}

/**
 * `folder` is where the clock's file is; `library`: of the process's kind, as `clockAhead` or `redisClockAhead` names
 * it.
 */
export function settableClock(folder: string, library: string = clockAhead(0)['LD_PRELOAD']!): SettableClock {
  const file = join(folder, 'clock');
  const set = (seconds: number): void => {
    writeFileSync(`${file}-new`, `${seconds < 0 ? '' : '+'}${seconds}s`);
    renameSync(`${file}-new`, file);
  };
  set(0);
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
    set,
  };
}

/** The same for a Redis. */
export const settableRedisClock = (folder: string): SettableClock =>
  settableClock(folder, redisClockAhead(0)['LD_PRELOAD']);

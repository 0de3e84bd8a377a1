/** Wrong clocks: libfaketime gives a server another wall-clock time; its monotonic clock goes on as it does. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const places = ['x86_64-linux-gnu', 'aarch64-linux-gnu', '.'].map((machine) => `/usr/lib/${machine}/faketime/libfaketime.so.1`);
const library = (): string | undefined => places.find((path) => existsSync(path));

let reason: string | null | undefined;

/** Why no clock can be moved here, or null. Where packages may be installed, it is installed. */
export function lackingFaketime(): string | null {
  if (reason !== undefined) return reason;
  if (library() === undefined && process.getuid?.() === 0) spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'libfaketime'], { stdio: 'ignore' });
  return (reason = library() === undefined ? 'libfaketime is not installed and cannot be installed here' : null);
}

/** For a server whose wall clock is so many seconds ahead, and goes so many times as fast. */
export const clockAhead = (seconds: number, pace = 1): Record<string, string> => ({
  LD_PRELOAD: library()!,
  FAKETIME: `${seconds < 0 ? '' : '+'}${seconds}s${pace === 1 ? '' : ` x${pace}`}`,
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
});

/** The same for a Redis: its allocator, jemalloc, asks the clock before libfaketime is ready, so it gets that of the C library. */
export const redisClockAhead = (seconds: number): Record<string, string> => ({ ...clockAhead(seconds), LD_PRELOAD: `${library()!} libc.so.6` });

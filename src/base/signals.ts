/** Signals that this process is sent, and those that it sends to its children. */
import type { ChildProcess } from 'node:child_process';
import type { Clock } from './clock.ts';

/**
 * SIGTERM and SIGINT: the first one requests an orderly end, a later one ends the process at once. Calls `end` at the
 * first signal and `insist` at a later one. A signal within half a second counts as the same request: under npm a
 * signal to the process group arrives twice, from the terminal and from npm.
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

/**
 * Ends the process at SIGTERM or SIGINT, until the returned function is called. The first process of a container would
 * otherwise never receive them.
 */
export function endWhileStarting(): () => void {
  const end = (_: NodeJS.Signals, number: number): never => process.exit(128 + number);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, end);
  return () => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.removeListener(signal, end);
  };
}

/**
 * Sends a child a signal, if the system could start it. Node reports a failed start only after this iteration of the
 * event loop; until then `kill` would send the signal to the process id in uninitialised memory, where 0 is this
 * process's whole group.
 */
export function signalChild(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid !== undefined) child.kill(signal);
}

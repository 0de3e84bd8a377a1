/** Logs: one JSON line per request and per event of the process; never a key, a message's text or a credential. */
import { destination, pino, type Logger } from 'pino';
import type { Clock, Timer } from './clock.ts';
import { limits } from './limits.ts';

export type Log = Logger;

/** `worker`: the number of a process among others whose lines go to the same place. */
export function openLog(level: string, clock: Clock, worker: number | null = null): Log {
  const out = destination({ dest: 1, sync: false, maxWrite: pipeBytesMax, minLength: limits.logHeldBytes });
  // A timer of the first line that waits: pino's own writes nothing twenty times a second for as long as nothing is logged.
  let waiting: Timer | null = null;
  const leave = (): void => {
    waiting = null;
    out.flush();
  };
  const held = {
    write(line: string): void {
      out.write(line);
      waiting ??= clock.after(limits.logHeldMs, leave);
    },
    flush: (written: (error?: Error) => void): void => out.flush(written),
    flushSync: (): void => out.flushSync(),
  };
  const log = pino({ level, base: worker === null ? null : { worker }, formatters: { level: (label) => ({ level: label }) } }, held);
  // Who reads the log may leave before the server does: then there is nobody to write for, and nothing to wait for.
  out.on('error', () => {
    log.level = 'silent';
    waiting?.cancel();
    out.destroy();
  });
  return log;
}

/** A pipe takes so much in one piece (PIPE_BUF): lines of several processes do not run into each other. */
const pipeBytesMax = 4096;

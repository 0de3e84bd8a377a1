/** Logs: one JSON line per request and per event of the process; never a key, a message's text or a credential. */
import { destination, pino, type Logger } from 'pino';
import type { Clock, Timer } from './clock.ts';
import { limits } from './limits.ts';

export type Log = Logger;

/** `worker`: the number of this process among several that log to the same place. */
export function openLog(level: string, clock: Clock, worker: number | null = null): Log {
  const maxWrite = worker === null ? limits.logWriteBytesMax : pipeBytesMax;
  const out = destination({ dest: 1, sync: false, maxWrite, minLength: maxWrite * limits.logHeldShare });
  // Set by the first line that waits: pino's own timer fires twenty times a second even while nothing is logged.
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
  // The reader of the log may end before the server does: then logging stops.
  out.on('error', () => {
    log.level = 'silent';
    waiting?.cancel();
    out.destroy();
  });
  return log;
}

/** The size that a pipe takes in one piece (PIPE_BUF), so that lines of several processes are not mixed. */
const pipeBytesMax = 4096;

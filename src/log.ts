/** Logs: one JSON line per request and per event of the process; never a key, a message's text or a credential. */
import { destination, pino, type Logger } from 'pino';
import { limits } from './limits.ts';

export type Log = Logger;

/** `worker`: the number of a process among others whose lines go to the same place. */
export function openLog(level: string, worker: number | null = null): Log {
  const out = destination({ dest: 1, sync: false, maxWrite: pipeBytesMax, minLength: limits.logHeldBytes, periodicFlush: limits.logHeldMs });
  const log = pino({ level, base: worker === null ? null : { worker }, formatters: { level: (label) => ({ level: label }) } }, out);
  // Who reads the log may leave before the server does: then there is nobody to write for, and nothing to wait for.
  out.on('error', () => {
    log.level = 'silent';
    out.destroy();
  });
  return log;
}

/** A pipe takes so much in one piece (PIPE_BUF): lines of several processes do not run into each other. */
const pipeBytesMax = 4096;

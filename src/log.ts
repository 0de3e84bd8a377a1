/** Logs: one JSON line per request and per event of the process; never a key, a message's text or a credential. */
import { destination, pino, type Logger } from 'pino';

export type Log = Logger;

export function openLog(level: string): Log {
  const out = destination({ dest: 1, sync: false });
  const log = pino({ level, base: null, formatters: { level: (label) => ({ level: label }) } }, out);
  // Who reads the log may leave before the server does: then there is nobody to write for, and nothing to wait for.
  out.on('error', () => {
    log.level = 'silent';
    out.destroy();
  });
  return log;
}

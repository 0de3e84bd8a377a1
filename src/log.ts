/** Logs: one JSON line per request and per event of the process; never a key, a message's text or a credential. */
import { destination, pino, type Logger } from 'pino';

export type Log = Logger;

export function openLog(level: string): Log {
  return pino(
    { level, base: null, formatters: { level: (label) => ({ level: label }) } },
    destination({ dest: 1, sync: false }),
  );
}

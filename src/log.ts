/** Logs: one JSON line per request and per event of the process; never a key, a message's text or a credential. */
import { destination, pino, type Logger } from 'pino';
import type { Clock, Timer } from './clock.ts';
import { limits } from './limits.ts';

export type Log = Logger;

/** `worker`: the number of this process among several that log to the same place. */
export function openLog(level: string, clock: Clock, worker: number | null = null): Log {
  const maxWrite = worker === null ? limits.logWriteBytesMax : pipeBytesMax;
  const out = destination({ dest: 1, sync: false, maxWrite, minLength: maxWrite - 1 });
  // Lines are held here and not by the destination, which makes one flat text of all that it holds with each line that comes.
  let held = '';
  let heldBytes = 0;
  // Set by the first line that waits: pino's own timer fires twenty times a second even while nothing is logged.
  let waiting: Timer | null = null;
  let handedOver = 0;
  let written = 0;
  const handOver = (): void => {
    waiting?.cancel();
    waiting = null;
    if (heldBytes > 0) out.write(held);
    handedOver += heldBytes;
    held = '';
    heldBytes = 0;
  };
  const leave = (): void => {
    handOver();
    out.flush();
  };
  const lines = {
    write(line: string): void {
      const bytes = Buffer.byteLength(line);
      if (heldBytes > 0 && heldBytes + bytes > maxWrite) leave();
      held += line;
      heldBytes += bytes;
      waiting ??= clock.after(limits.logHeldMs, leave);
    },
    flush(done: (error?: Error) => void): void {
      handOver();
      out.flush(done);
    },
  };
  // A flush during a write does nothing, so what came during the write is flushed after it.
  out.on('write', (bytes: number) => (written += bytes));
  out.on('drain', () => {
    if (handedOver > written) out.flush();
  });
  // Before the destination's own listener, which writes what it holds.
  process.prependListener('exit', handOver);
  const log = pino({ level, base: worker === null ? null : { worker }, formatters: { level: (label) => ({ level: label }) } }, lines);
  // The reader of the log may end before the server does: then logging stops.
  out.on('error', () => {
    log.level = 'silent';
    process.removeListener('exit', handOver);
    waiting?.cancel();
    heldBytes = 0;
    out.destroy();
  });
  return log;
}

/** The size that a pipe takes in one piece (PIPE_BUF), so that lines of several processes are not mixed. */
const pipeBytesMax = 4096;

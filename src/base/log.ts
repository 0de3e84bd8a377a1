/** Logs: one JSON line per request and per event of the process; never a key, a message's text or a credential. */
import { destination, pino, type Logger } from 'pino';
import type { Clock, Timer } from './clock.ts';
import type { Config } from './config.ts';

/** Bytes of one write: each write wakes a thread, which costs as much as an answer. */
const logWriteBytesMax = 32_768;
/** Milliseconds for which a line waits for others, and a tick of the clock's wheel. */
const logHeldMs = 30;

export type Log = Logger;

/**
 * `worker`: the number of this process, for its lines; `shared`: whether other processes log to the same place, as
 * workers and their supervisor do.
 */
export function openLog(
  level: string,
  clock: Clock,
  { worker = null, shared = worker !== null }: { worker?: number | null; shared?: boolean } = {},
): Log {
  const maxWrite = shared ? pipeBytesMax : logWriteBytesMax;
  const out = destination({ dest: 1, sync: false, maxWrite, minLength: maxWrite - 1 });
  // Lines are held here and not by the destination, which makes one flat text of all that it holds with each line that
  // comes.
  let held = '';
  let heldBytes = 0;
  // Set by the first line that waits: pino's own timer fires twenty times a second even while nothing is logged.
  let waiting: Timer | null = null;
  let handedOver = 0;
  let written = 0;
  let broken = false;
  const drop = (): void => {
    waiting?.cancel();
    waiting = null;
    held = '';
    heldBytes = 0;
  };
  const handOver = (): void => {
    if (heldBytes > 0) out.write(held);
    handedOver += heldBytes;
    drop();
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
      waiting ??= clock.after(logHeldMs, leave);
    },
    flush(done: (error?: Error) => void): void {
      handOver();
      // The destination calls back after one write, also where it holds more.
      const flushed = (): void => (written < handedOver && !broken ? out.flush(flushed) : done());
      flushed();
    },
  };
  // A flush during a write does nothing, so lines that came during the write are flushed after it.
  out.on('write', (bytes: number) => (written += bytes));
  out.on('drain', () => {
    if (handedOver > written) out.flush();
  });
  // Before the destination's own listener, which writes its buffer.
  process.prependListener('exit', handOver);
  const log = pino(
    { level, base: worker === null ? null : { worker }, formatters: { level: (label) => ({ level: label }) } },
    lines,
  );
  // The reader of the log may end before the server does: then logging stops.
  out.on('error', () => {
    broken = true;
    log.level = 'silent';
    process.removeListener('exit', handOver);
    drop();
    out.destroy();
  });
  return log;
}

/** Logs one line that names the variables which look like settings and were ignored. */
export function warnOfIgnored({ ignoredVariables: variables }: Pick<Config, 'ignoredVariables'>, log: Log): void {
  if (variables.length > 0)
    log.warn(
      { variables },
      'variables ignored: Kubernetes sets them for a service; a separate port for health and metrics is PARLEY_MANAGEMENT_PORT',
    );
}

/** The size that a pipe takes in one piece (PIPE_BUF), so that lines of several processes are not mixed. */
const pipeBytesMax = 4096;

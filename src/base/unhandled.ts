/** Errors that nothing in the program has caught, as lines of the log (contract 11) and as a metric. */
import type { Log } from './log.ts';
import { codeOfThrown } from './thrown.ts';

/** An error without its message, which may quote what a client sent: its name, its code and where it was thrown. */
function known(error: unknown): { name: string; code: string | null; at: string[] } {
  if (!(error instanceof Error)) return { name: typeof error, code: null, at: [] };
  const at = (error.stack ?? '')
    .split('\n')
    .filter((line) => line.startsWith('    at '))
    .map((line) => line.trim());
  return { name: error.name, code: codeOfThrown(error) ?? null, at };
}

/**
 * Watches until the process ends. A promise that rejects unheard is the work of one request, one socket or one timer.
 * Only that work has ended, with its functions left in order, so the process and its turns continue. An uncaught
 * exception has left a callback of the event loop half way: others may hold the data that it was changing, such as a
 * batch of the store, and would wait for ever or commit half of it. Everything that was answered is stored, and a
 * successor takes the turns over, so the process ends, as Node does by default, after a line in the log.
 */
export function watchUnhandled(log: Log, rejections: { inc(): void }): void {
  process.on('unhandledRejection', (reason) => {
    rejections.inc();
    log.error(known(reason), 'unhandled rejection');
  });
  process.on('uncaughtExceptionMonitor', (error) => log.fatal(known(error), 'uncaught exception: the process ends'));
}

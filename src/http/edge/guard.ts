/** Guards the engine's calls into our code: an error there ends one connection, never the process. */

/** Runs a call; if it throws or its promise rejects, calls `cut`, so that the error does not reach the engine. */
export function runGuarded(call: () => unknown, cut: () => void): void {
  try {
    const result = call();
    if (result instanceof Promise) result.catch((error: unknown) => fail(error, cut));
  } catch (error) {
    fail(error, cut);
  }
}

function fail(error: unknown, cut: () => void): void {
  // An error's message may quote what a client sent, so only the place where it was thrown is logged.
  const where =
    error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at ')) : [];
  const name = error instanceof Error ? error.name : typeof error;
  process.emitWarning(`A listener of the edge failed with ${name}; its connection was ended.`, {
    type: 'EdgeWarning',
    detail: where.join('\n'),
  });
  cut();
}

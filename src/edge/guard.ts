/** The border to the house: what it throws ends one connection, never the process. */

/** Calls into the house; a throw or a rejected promise calls `cut` instead of reaching the engine. */
export function guarded(call: () => unknown, cut: () => void): void {
  try {
    const result = call();
    if (result instanceof Promise) result.catch((error: unknown) => fail(error, cut));
  } catch (error) {
    fail(error, cut);
  }
}

function fail(error: unknown, cut: () => void): void {
  // An error's message can quote what a client sent; where it was thrown is enough to find it.
  const where = error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at ')) : [];
  const name = error instanceof Error ? error.name : typeof error;
  process.emitWarning(`A listener of the edge failed with ${name}; its connection was ended.`, {
    type: 'EdgeWarning',
    detail: where.join('\n'),
  });
  cut();
}

/** Values that are present now or later. */

/**
 * Calls `next` with the value: synchronously if it is no promise, because a promise costs more than most steps do; else
 * when it has resolved. `failed` is called with the reason of a promise that rejects. In an async function that every
 * turn passes, `value instanceof Promise ? await value : value` says the same: `await` makes 330 bytes of objects for a
 * value that is present too.
 */
export const promptly = <T, R>(
  value: T | Promise<T>,
  next: (value: T) => R | Promise<R>,
  failed?: (reason: unknown) => never,
): R | Promise<R> => (value instanceof Promise ? value.then(next, failed) : next(value));

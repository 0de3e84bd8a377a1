/** Steps that may answer at once or later. */

/** Hands a value on: at once if it is there, since a promise costs more than most steps do; else when it has come. */
export const promptly = <T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> =>
  value instanceof Promise ? value.then(next) : next(value);

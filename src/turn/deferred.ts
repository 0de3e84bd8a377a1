/**
 * A promise with its resolver. The promise is created when it is first read: with its functions a promise is 300 bytes,
 * and mostly nobody reads it.
 */
export class Deferred<T> {
  #value: T | undefined;
  #isResolved = false;
  #promise: Promise<T> | null = null;
  #resolve: ((value: T) => void) | null = null;

  /** Only the first value counts. */
  resolve(value: T): void {
    if (this.#isResolved) return;
    this.#isResolved = true;
    this.#value = value;
    this.#resolve?.(value);
  }

  /** Resolves with the value. */
  get promise(): Promise<T> {
    return (this.#promise ??= this.#isResolved
      ? Promise.resolve(this.#value as T)
      : new Promise((resolve) => (this.#resolve = resolve)));
  }
}

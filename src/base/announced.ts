/**
 * A value that is announced once. Its promise is created when it is first read: with its functions a promise is 300
 * bytes, and mostly nobody reads it.
 */
export class Announced<T> {
  #value: T | undefined;
  #known = false;
  #promise: Promise<T> | null = null;
  #resolve: ((value: T) => void) | null = null;

  /** Only the first announcement counts. */
  announce(value: T): void {
    if (this.#known) return;
    this.#known = true;
    this.#value = value;
    this.#resolve?.(value);
  }

  /** Resolves once the value is announced. */
  get promise(): Promise<T> {
    return (this.#promise ??= this.#known
      ? Promise.resolve(this.#value as T)
      : new Promise((resolve) => (this.#resolve = resolve)));
  }
}

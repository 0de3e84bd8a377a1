/** A value that is loaded once, when it is first wanted; a load that fails is tried again. */
export class Coming<T> {
  readonly #load: () => Promise<T>;
  #value: Promise<T> | null = null;

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  get(): Promise<T> {
    if (this.#value === null) {
      const loading = (this.#value = this.#load());
      loading.catch(() => {
        if (this.#value === loading) this.#value = null;
      });
    }
    return this.#value;
  }
}

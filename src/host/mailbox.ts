/** One event at a time: jobs run in the order they were posted, each after the one before has settled. */
export class Mailbox {
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  get busy(): boolean {
    return this.#waiting > 0;
  }

  post<T>(job: () => Promise<T>): Promise<T> {
    this.#waiting++;
    // The tail never rejects: a job that failed is its poster's affair, not the next one's.
    const result = this.#tail.then(job);
    this.#tail = result.then(
      () => this.#waiting--,
      () => this.#waiting--,
    );
    return result;
  }
}

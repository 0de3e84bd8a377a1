/** One event at a time: jobs run in the order they were posted, each after the one before has settled. */
export class Mailbox {
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  get busy(): boolean {
    return this.#waiting > 0;
  }

  post<T>(job: () => Promise<T>): Promise<T> {
    this.#waiting++;
    // The tail never rejects: a failed job is handled by its poster, and the next job runs all the same.
    const result = this.#tail.then(job);
    this.#tail = result.then(
      () => this.#waiting--,
      () => this.#waiting--,
    );
    return result;
  }
}

/** The end of an audio stream. Positions count samples from the stream's beginning. */

const chunkSamples = 16_000;

export class AudioHistory {
  #samples = new Int16Array(0);
  /** Position of the first sample kept. */
  #from = 0;
  #length = 0;

  /** Position of the next sample. */
  get end(): number {
    return this.#from + this.#length;
  }

  append(samples: Int16Array): void {
    const length = this.#length + samples.length;
    if (length > this.#samples.length) {
      const grown = new Int16Array(Math.ceil(length / chunkSamples) * chunkSamples);
      grown.set(this.#samples.subarray(0, this.#length));
      this.#samples = grown;
    }
    this.#samples.set(samples, this.#length);
    this.#length = length;
  }

  /** Copies the samples between two positions. */
  slice(from: number, to: number): Int16Array {
    return this.#samples.slice(Math.max(0, from - this.#from), Math.max(0, Math.min(to - this.#from, this.#length)));
  }

  /** Makes the samples from the position on silent. */
  silence(from: number): void {
    this.#samples.fill(0, Math.max(0, from - this.#from), this.#length);
  }

  /** Drops the samples before the position; memory is freed when little is left. */
  forget(before: number): void {
    const dropped = Math.min(before - this.#from, this.#length);
    if (dropped < chunkSamples / 4) return;
    const left = this.#length - dropped;
    const room = Math.ceil(left / chunkSamples) * chunkSamples;
    if (room < this.#samples.length) this.#samples = this.#samples.slice(dropped, dropped + Math.max(left, room / 4));
    else this.#samples.copyWithin(0, dropped, this.#length);
    this.#from += dropped;
    this.#length = left;
  }
}

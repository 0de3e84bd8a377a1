/** Audio on its way from a provider to a reader: the provider pauses while the reader is slower. */

/** Bytes of a provider's audio that its reader has not taken. */
export const speechAheadBytesMax = 512 * 1024;

export class AudioPieces implements AsyncIterable<Int16Array> {
  /** Whether any audio has come. */
  begun = false;
  #pieces: Int16Array[] = [];
  readonly #hold: () => void;
  readonly #resume: () => void;
  #bytes = 0;
  #isHeld = false;
  #over: 'ended' | Error | null = null;
  #wake: () => void = () => {};

  constructor(hold: () => void, resume: () => void) {
    this.#hold = hold;
    this.#resume = resume;
  }

  push(samples: Int16Array): void {
    this.begun = true;
    this.#pieces.push(samples);
    this.#bytes += samples.byteLength;
    if (!this.#isHeld && this.#bytes > speechAheadBytesMax) {
      this.#isHeld = true;
      this.#hold();
    }
    this.#wake();
  }

  end(): void {
    this.#over ??= 'ended';
    this.#wake();
  }

  fail(error: Error): void {
    this.#over ??= error;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Int16Array> {
    for (;;) {
      const taken = this.#pieces;
      this.#pieces = [];
      for (const piece of taken) {
        this.#bytes -= piece.byteLength;
        if (this.#isHeld && this.#bytes < speechAheadBytesMax / 2) {
          this.#isHeld = false;
          this.#resume();
        }
        yield piece;
      }
      if (this.#pieces.length > 0) continue;
      if (this.#over === 'ended') return;
      if (this.#over !== null) throw this.#over;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

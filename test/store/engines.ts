/** Engines that misbehave on demand. */
import type { Engine, Write } from '../../src/store/engine.ts';
import { MemoryEngine } from '../../src/store/memory.ts';

/** A memory engine whose commits wait for their release, and fail if told so. */
export class HeldEngine extends MemoryEngine implements Engine {
  /** Batches that were handed over, in order, as their keys. */
  readonly batches: string[][] = [];
  held = false;
  /** The engine yields to all other ready work until `go` is called, if true. */
  waits = false;
  #paused: (() => void)[] = [];
  #waiting: { settle: (error: Error | null) => void }[] = [];

  override async write(rows: Iterable<Write>): Promise<void> {
    const batch = [...rows];
    this.batches.push(batch.map(([key]) => key));
    if (this.held) {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push({ settle: (error) => (error === null ? resolve() : reject(error)) });
      });
    }
    await super.write(batch);
  }

  override pause(): Promise<void> {
    return this.waits ? new Promise((resolve) => this.#paused.push(resolve)) : super.pause();
  }

  /** Ends the pauses, as if no other work were ready. */
  go(): void {
    for (const resolve of this.#paused.splice(0)) resolve();
  }

  /** Settles the batch in flight: committed, or failed with this error. */
  settle(error: Error | null = null): void {
    this.#waiting.shift()!.settle(error);
  }
}

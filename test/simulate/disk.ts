/** The disk beneath an embedded store: it takes its time, fails, and outlives the process that had it open. */
import { unpackRow } from '../../src/store/codec.ts';
import type { Engine, Row, Write } from '../../src/store/engine.ts';
import type { MemoryEngine } from '../../src/store/memory.ts';
import type { World } from './world.ts';

const never = new Promise<never>(() => {});

/** One process's hold of the disk. Writes pending when it died are lost, or reached the disk in the last moment. */
export class Disk implements Engine {
  readonly name = 'memory';
  readonly #world: World;
  readonly #rows: MemoryEngine;
  #writing: { rows: Write[]; done: () => void } | null = null;
  readonly #unsafe: { safeMs: number; before: readonly Write[] }[] = [];
  #dead = false;

  constructor(world: World, rows: MemoryEngine) {
    this.#world = world;
    this.#rows = rows;
  }

  async open(): Promise<void> {}
  async close(): Promise<void> {}
  async pause(): Promise<void> {}

  get(key: string): Uint8Array | undefined {
    return this.#rows.get(key);
  }

  range(from: string, to: string, reverse: boolean): Iterable<Row> {
    return this.#rows.range(from, to, reverse);
  }

  write(rows: Iterable<Write>): Promise<void> {
    if (this.#dead) return never;
    const { scheduler, weather, bug } = this.#world;
    if (bug?.answersEarly) return this.#writeEarly([...rows]);
    const writing = { rows: [...rows], done: () => {} };
    this.#writing = writing;
    this.#buckets(writing.rows, false);
    const written = new Promise<void>((resolve, reject) => {
      writing.done = resolve;
      const fails = scheduler.random.chance(weather.diskFails);
      scheduler.after(scheduler.random.delay(weather.diskMs, 2000), () => {
        if (this.#writing !== writing) return;
        if (fails) {
          this.#writing = null;
          reject(new Error('The disk is full.'));
        } else this.#commit();
      });
    });
    return written;
  }

  die(): void {
    this.#dead = true;
    if (this.#writing !== null && this.#world.scheduler.random.chance(0.5)) this.#commit();
    this.#writing = null;
    for (const { safeMs, before } of this.#unsafe.reverse())
      if (safeMs > this.#world.scheduler.now) void this.#rows.write(before);
  }

  /** Writes like a disk that acknowledges early: unsafe rows are as before if the process dies. */
  #writeEarly(rows: readonly Write[]): Promise<void> {
    const { scheduler } = this.#world;
    const before = rows.map(([key]): Write => [key, this.#rows.get(key) ?? null]);
    this.#unsafe.push({ safeMs: scheduler.now + scheduler.random.between(0, 3000), before });
    this.#buckets(rows, true);
    return this.#rows.write(rows);
  }

  #commit(): void {
    const { rows, done } = this.#writing!;
    this.#writing = null;
    void this.#rows.write(rows);
    this.#buckets(rows, true);
    done();
  }

  #buckets(rows: readonly Write[], committed: boolean): void {
    for (const [key, change] of rows) {
      if (key.startsWith('budget/') && change instanceof Uint8Array) {
        this.#world.history.entries.push({ type: 'bucket', key, bucket: unpackRow(change), committed });
      }
    }
  }
}

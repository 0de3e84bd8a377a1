/**
 * A folder that an import fills, without a journal, because whole batches need none. A journal that an earlier process
 * left is applied first.
 */
import { JournaledEngine } from '../journal.ts';
import { LmdbEngine } from '../lmdb.ts';

export class LmdbFilling extends LmdbEngine {
  readonly #path: string;

  constructor(folder: string) {
    super(folder);
    this.#path = folder;
  }

  override async open(): Promise<void> {
    const journaled = new JournaledEngine(new LmdbEngine(this.#path), this.#path, { flushes: false });
    await journaled.open();
    await journaled.close();
    await super.open();
  }

  override async close(): Promise<void> {
    await this.awaitFlush();
    await super.close();
  }
}

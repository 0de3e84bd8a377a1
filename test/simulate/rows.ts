/** Rows of a shared store in memory, which can be copied and so come back to. */
import type { Write } from '../../src/store/engine.ts';
import { MemoryEngine } from '../../src/store/memory.ts';

/**
 * An embedded store makes leases void when it opens, because it has one process; here, while it is deaf, that write
 * goes nowhere.
 */
export class SharedRows extends MemoryEngine {
  deaf = false;

  override async write(rows: Iterable<Write>): Promise<void> {
    if (!this.deaf) await super.write(rows);
  }

  async copy(): Promise<SharedRows> {
    const copy = new SharedRows();
    await copy.write([...this.range('', '\uffff', false)]);
    return copy;
  }
}

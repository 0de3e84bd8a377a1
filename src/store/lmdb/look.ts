/** Reads a folder without changing it and without a lock: LMDB lets any process read beside the one that writes. */
import { open } from 'lmdb';
import type { Records } from '../store.ts';
import { EmbeddedCatalog } from '../embedded/catalog.ts';
import { EmbeddedBudgets } from '../embedded/budgets.ts';
import { EmbeddedLimits } from '../embedded/limits.ts';
import { Memories } from '../embedded/memories.ts';
import { Notices } from '../embedded/notices.ts';
import { EmbeddedSessions } from '../embedded/sessions.ts';
import { UsageBook } from '../embedded/usage.ts';
import { Ledger } from '../ledger.ts';
import { livingOwner, ownerKey } from './owner.ts';
import type { Owner } from './owner.ts';
import { LmdbSnapshot } from './snapshot.ts';

/** The living process that has the folder's store open; null if there is none. The store must exist. */
export async function ownerOf(folder: string): Promise<Owner | null> {
  const database = open<Buffer, string>({ path: folder, noSubdir: false, encoding: 'binary', readOnly: true });
  try {
    return livingOwner(database.get(ownerKey));
  } finally {
    await database.close();
  }
}

/** Opens the folder's contents for as long as `run` takes, including the records that its last process left in the journal. */
export async function lookInto<T>(folder: string, run: (records: Records) => Promise<T>): Promise<T> {
  const ledger = new Ledger(new LmdbSnapshot(folder));
  await ledger.open();
  try {
    const sessions = new EmbeddedSessions(ledger, new Memories(ledger), new UsageBook(ledger), new EmbeddedLimits(ledger, new EmbeddedBudgets(ledger)));
    return await run({ catalog: new EmbeddedCatalog(ledger, new Notices(), () => []), sessions });
  } finally {
    await ledger.close();
  }
}

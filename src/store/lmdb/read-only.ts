/** Reads a folder without changing it and without a lock: LMDB lets any process read beside the one that writes. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { open } from 'lmdb';
import type { Clock } from '../../base/clock.ts';
import type { Records } from '../store.ts';
import { EmbeddedCatalog } from '../embedded/catalog.ts';
import { examinedDeliveries } from '../embedded/deliveries.ts';
import { EmbeddedBudgets } from '../embedded/budgets.ts';
import { EmbeddedLimits } from '../embedded/limits.ts';
import { Memories } from '../embedded/memories.ts';
import { Notices } from '../embedded/notices.ts';
import { EmbeddedReleases } from '../embedded/releases.ts';
import { EmbeddedSessions } from '../embedded/sessions.ts';
import { UsageBook } from '../embedded/usage.ts';
import { EmbeddedWebhooks } from '../embedded/webhooks.ts';
import { WriteBatcher } from '../write-batcher.ts';
import { dataFile, lockFile } from './files.ts';
import { livingOwner, ownerKey } from './owner.ts';
import { findOwner } from './ownership.ts';
import { LmdbSnapshot } from './snapshot.ts';

/**
 * An owner that has the folder's store open now; `pid` is null if it runs in another container or on another machine.
 */
export interface FolderOwner {
  readonly pid: number | null;
}

/** The owner of the folder; null if nobody has its store open. The store must exist. */
export async function findLivingOwner(folder: string, clock: Clock): Promise<FolderOwner | null> {
  const owner = await findOwner(folder, clock);
  return owner === undefined ? withDatabase(folder, earlierOwner) : owner;
}

/** The owner of a version that knows no file `owner`. */
async function earlierOwner(place: string): Promise<FolderOwner | null> {
  const database = open<Buffer, string>({ path: place, noSubdir: false, encoding: 'binary', readOnly: true });
  try {
    return livingOwner(database.get(ownerKey));
  } finally {
    await database.close();
  }
}

/**
 * Opens the folder's contents for as long as `run` takes, including the records that its last process left in the
 * journal.
 */
export const readFolder = <T>(folder: string, run: (records: Records) => Promise<T>): Promise<T> =>
  withDatabase(folder, async (place) => {
    const batcher = new WriteBatcher(new LmdbSnapshot(folder, { place }));
    await batcher.open();
    try {
      const webhooks = new EmbeddedWebhooks(batcher);
      const notices = new Notices();
      const releases = new EmbeddedReleases(batcher);
      const sessions = new EmbeddedSessions(
        batcher,
        new Memories(batcher),
        new UsageBook(batcher),
        new EmbeddedLimits(batcher, new EmbeddedBudgets(batcher)),
        webhooks,
        notices,
        releases,
      );
      return await run({
        catalog: new EmbeddedCatalog(batcher, notices, webhooks, releases, () => []),
        sessions,
        deliveries: (workspaceId) => examinedDeliveries(batcher, workspaceId),
      });
    } finally {
      await batcher.close();
    }
  });

/**
 * LMDB creates a missing lock file. For a folder without one, it is created elsewhere, beside a link to the database:
 * a look changes nothing.
 */
async function withDatabase<T>(folder: string, use: (place: string) => Promise<T>): Promise<T> {
  if (existsSync(lockFile(folder))) return use(folder);
  const place = await mkdtemp(join(tmpdir(), 'parley-look-'));
  try {
    await symlink(resolve(dataFile(folder)), dataFile(place));
    return await use(place);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

/** Seals credentials again that were sealed under the previous `PARLEY_SECRET`, or by a version that did not bind them to their provider and origin. */
import { limits } from '../base/limits.ts';
import type { Services } from '../conversation/services.ts';
import type { CatalogKind, CatalogRecords, Page, Store } from '../store/store.ts';

/**
 * Whether a start reseals. A resealed credential cannot be opened by a process that does not know the new secret, or whose version
 * does not bind. On a shared store such processes may still run; `PARLEY_SECRET_PREVIOUS` states that none does.
 */
export const isToReseal = ({ store, config }: Pick<Services, 'store' | 'config'>): boolean => store.leaseMs === null || config.secretPrevious !== null;

/**
 * Visits every credential while the server serves. Any number of processes may do so at once: each compares before it replaces,
 * and leaves a credential that another writer has changed. Logs the result; never rejects.
 */
export async function resealCredentials({ store, vault, log, config }: Pick<Services, 'store' | 'vault' | 'log' | 'config'>): Promise<void> {
  const counts = { present: 0, resealed: 0, shut: 0 };
  try {
    for await (const workspace of all(store, 'workspace', '')) {
      for await (const { workspaceId, id } of all(store, 'credential', workspace.id)) {
        const found = await store.catalog.read('credential', workspaceId, id);
        if (found === null) continue;
        const { record, version } = found;
        const sealing = vault.sealing(record);
        if (sealing === null) counts.shut++;
        else if (sealing.secret === 'present' && sealing.bound) counts.present++;
        else {
          if ((await store.catalog.replace('credential', { ...record, sealed: vault.seal(record, vault.open(record)!) }, version)) !== null) counts.resealed++;
          vault.forget(workspaceId, id);
        }
      }
    }
    if (config.secretPrevious !== null) log.info(counts, `${done}; PARLEY_SECRET_PREVIOUS can go once all servers have started with both`);
    else if (counts.resealed > 0) log.info(counts, done);
  } catch (error) {
    log.error({ err: error, ...counts }, 'some credentials may still be encrypted under PARLEY_SECRET_PREVIOUS or as an earlier version did; the next start goes on');
  }
}

const done = 'every credential that opens is encrypted under PARLEY_SECRET and bound to its provider and the origin of its base URL';

async function* all<K extends CatalogKind>({ catalog }: Store, kind: K, workspaceId: string): AsyncGenerator<CatalogRecords[K]> {
  for (let after: string | null = null; ; ) {
    const page: Page<CatalogRecords[K]> = await catalog.list(kind, workspaceId, { limit: limits.listMax, after, order: 'asc' });
    yield* page.items;
    if (page.next === null) return;
    after = page.next;
  }
}

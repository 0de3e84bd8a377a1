/** The rotation of `PARLEY_SECRET`: what is sealed under the one before is sealed under the present one. */
import { limits } from './limits.ts';
import type { Services } from './services.ts';
import type { CatalogKind, CatalogRecords, Page, Store } from './store.ts';

/**
 * Goes over every credential while the server serves. As many processes as like may do it at once: each compares before it
 * replaces, and what somebody else has moved is left alone. Tells the log how it went; never rejects.
 */
export async function resealCredentials({ store, vault, log }: Pick<Services, 'store' | 'vault' | 'log'>): Promise<void> {
  const counts = { present: 0, resealed: 0, shut: 0 };
  try {
    for await (const workspace of all(store, 'workspace', '')) {
      for await (const { workspaceId, id } of all(store, 'credential', workspace.id)) {
        const found = await store.catalog.read('credential', workspaceId, id);
        if (found === null) continue;
        const { sealed } = found.record;
        const under = vault.sealedUnder(workspaceId, id, sealed);
        if (under === 'present') counts.present++;
        else if (under === null) counts.shut++;
        else {
          const record = { ...found.record, sealed: vault.seal(workspaceId, id, vault.open(workspaceId, id, sealed)!) };
          if ((await store.catalog.replace('credential', record, found.version)) !== null) counts.resealed++;
          vault.forget(workspaceId, id);
        }
      }
    }
    log.info(counts, 'every credential that opens is encrypted under PARLEY_SECRET; PARLEY_SECRET_PREVIOUS can go once all servers have started with both');
  } catch (error) {
    log.error({ err: error, ...counts }, 'some credentials are still encrypted under PARLEY_SECRET_PREVIOUS; the next start goes on');
  }
}

async function* all<K extends CatalogKind>({ catalog }: Store, kind: K, workspaceId: string): AsyncGenerator<CatalogRecords[K]> {
  for (let after: string | null = null; ; ) {
    const page: Page<CatalogRecords[K]> = await catalog.list(kind, workspaceId, { limit: limits.listMax, after, order: 'asc' });
    yield* page.items;
    if (page.next === null) return;
    after = page.next;
  }
}

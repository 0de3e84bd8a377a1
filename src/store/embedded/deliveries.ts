/** The rows of deliveries to webhooks. */
import { limits } from '../../base/limits.ts';
import type { ExaminedDelivery, StoredDelivery } from '../store.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import * as keys from './keys.ts';

/** Stores a delivery with its index rows. */
export function putDelivery(draft: Draft, row: StoredDelivery): void {
  const { workspaceId, webhookId, id, sessionId, sourceId } = row;
  const key = keys.delivery(workspaceId, webhookId, id);
  draft.put(key, row);
  if (row.nextAtMs !== null) draft.put(keys.dueDelivery(row), key);
  draft.put(keys.deliveriesOf(workspaceId, sessionId, sourceId) + keys.part(webhookId), key);
}

/** Removes a delivery by the key of its row, with its index rows. */
export function dropDelivery(draft: Draft, batcher: WriteBatcher, key: string): void {
  const row = batcher.get<StoredDelivery>(key);
  if (row === undefined) return;
  draft.remove(key);
  draft.remove(keys.deliveriesOf(row.workspaceId, row.sessionId, row.sourceId) + keys.part(row.webhookId));
  if (row.nextAtMs !== null) draft.remove(keys.dueDelivery(row));
}

/** Deliveries of a workspace with the entries of the index in which claims find them. */
export async function* examinedDeliveries(
  batcher: WriteBatcher,
  workspaceId: string,
): AsyncGenerator<ExaminedDelivery> {
  for await (const [key, record] of pagesOf<Partial<StoredDelivery> | null>(batcher, keys.deliveriesIn(workspaceId))) {
    const [, , webhookId, id] = key.split('/') as [string, string, string, string];
    const dueMs = Number.isSafeInteger(record?.nextAtMs) ? record!.nextAtMs! : null;
    const isDue =
      dueMs !== null && batcher.get(keys.dueDelivery({ workspaceId, webhookId, id, nextAtMs: dueMs })) === key;
    yield { webhookId, id, record, dueMs: isDue ? dueMs : null };
  }
  for await (const [entry, key] of pagesOf<string>(batcher, keys.dueDeliveriesIn(workspaceId))) {
    const [, , webhookId, time, id] = entry.split('/') as [string, string, string, string, string];
    const dueMs = Number(time);
    if (batcher.get<StoredDelivery>(key)?.nextAtMs !== dueMs) yield { webhookId, id, record: null, dueMs };
  }
}

/** Rows with a prefix, read in pages. */
async function* pagesOf<T>(batcher: WriteBatcher, prefix: string): AsyncGenerator<[string, T]> {
  for (let from = prefix; ;) {
    const page = batcher.range<T>(from, keys.endOf(prefix), limits.scanRowsMax);
    yield* page;
    if (page.length < limits.scanRowsMax) return;
    from = keys.justAfter(page.at(-1)![0]);
    await batcher.pause();
  }
}

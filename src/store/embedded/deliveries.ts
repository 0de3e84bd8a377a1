/** The rows of deliveries to webhooks. */
import type { StoredDelivery } from '../store.ts';
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

/** The rows of deliveries to webhooks. */
import type { WebhookDelivery } from '../store.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import * as keys from './keys.ts';

export interface DeliveryRow extends WebhookDelivery {
  readonly sessionId: string;
  /** The turn or the session whose end the event reports. */
  readonly sourceId: string;
}

/** Removes a delivery by the key of its row, with its index rows. */
export function dropDelivery(draft: Draft, batcher: WriteBatcher, key: string): void {
  const row = batcher.get<DeliveryRow>(key);
  if (row === undefined) return;
  draft.remove(key);
  draft.remove(keys.deliveriesOf(row.workspaceId, row.sessionId, row.sourceId) + keys.part(row.webhookId));
  if (row.nextAtMs !== null) draft.remove(keys.dueDelivery(row));
}

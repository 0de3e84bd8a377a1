/** Webhooks of a workspace (contract 17). */
import type { WebhookEvent } from '../../base/webhook-events.ts';

/** An endpoint that receives events of its workspace. */
export interface Webhook {
  readonly id: string;
  readonly workspaceId: string;
  readonly url: string;
  readonly events: readonly WebhookEvent[];
  readonly enabled: boolean;
  /** The secret that signs the deliveries, sealed as a credential is. */
  readonly sealed: Uint8Array;
  /** Time of the first failure since the last 2xx. Absent without one. */
  readonly failingSinceMs?: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/**
 * The part of a store that keeps the events of webhooks until they are delivered (contract 17). No verb writes an
 * event: the step that stores the end of a turn or a session (`TurnStore.finish`, `SessionStore.save`, and
 * `TurnStore.withdraw` if the session ends with it) also stores one delivery for each enabled webhook of the workspace
 * that wants the event. Sent twice, the step stores it once. A withdrawn turn takes its deliveries along; so do an
 * erased session, a removed webhook and a removed workspace. Trials have no events.
 */
import type { WebhookEvent } from '../../base/webhook-events.ts';

/** One event on its way to one webhook. */
export interface WebhookDelivery {
  /** `dlv_…`, the `webhook-id` of each attempt. */
  readonly id: string;
  readonly workspaceId: string;
  readonly webhookId: string;
  readonly type: WebhookEvent;
  /** The body of each attempt, JSON. */
  readonly body: string;
  /** The span of the turn (contract 16); absent without one. */
  readonly traceparent?: string;
  readonly status: 'pending' | 'delivered' | 'failed';
  /** Number of attempts that were made. */
  readonly attempts: number;
  /** When the next attempt is due; null unless the delivery is pending. */
  readonly nextAtMs: number | null;
}

/** A delivery as a store keeps it. */
export interface StoredDelivery extends WebhookDelivery {
  readonly sessionId: string;
  /** The turn or the session whose end the event reports. */
  readonly sourceId: string;
}

/** A delivery as an examination finds it, sound or damaged. */
export interface ExaminedDelivery {
  readonly webhookId: string;
  readonly id: string;
  /** The record as it is stored, of any shape; null if it is missing. */
  readonly record: unknown;
  /** Time in milliseconds from which claims find the delivery; null if they do not find it. */
  readonly dueMs: number | null;
}

export interface ClaimDeliveries {
  readonly owner: string;
  readonly nowMs: number;
  /** End of the lease: afterwards another process may claim the deliveries. */
  readonly leaseUntilMs: number;
  readonly limit: number;
  /** The ids of webhooks whose deliveries stay where they are. */
  readonly skip: ReadonlySet<string>;
}

export interface SettleDelivery extends Pick<WebhookDelivery, 'status' | 'attempts' | 'nextAtMs'> {
  readonly delivery: Pick<WebhookDelivery, 'id' | 'workspaceId' | 'webhookId'>;
  readonly owner: string;
}

export interface SessionPlace {
  readonly workspaceId: string;
  readonly sessionId: string;
}

export interface WebhookStore {
  /**
   * Leases due deliveries of any workspace to the owner; the oldest of a webhook first. A lost answer: the deliveries
   * are claimed again after the lease. Where one process owns the store, its leases end with it.
   */
  claim(step: ClaimDeliveries): Promise<WebhookDelivery[]>;
  /**
   * Stores the result of an attempt and ends the lease. False if the owner has lost the lease or the delivery is gone;
   * then nothing changes. The newest `webhookDeliveriesMax` deliveries of a webhook are kept, and all pending ones. A
   * lost answer: the result may be stored; otherwise the delivery is sent again after the lease.
   */
  settle(step: SettleDelivery): Promise<boolean>;
  /** Ends all pending deliveries of a webhook as failed. A lost answer: a repeat ends the rest. */
  failPending(workspaceId: string, webhookId: string): Promise<void>;
  /** The deliveries of a webhook, newest first: at most `webhookDeliveriesMax`. */
  list(workspaceId: string, webhookId: string): Promise<WebhookDelivery[]>;
  /**
   * Makes a delivery of any status due now; null if it is unknown. An attempt in progress loses its lease. A lost answer:
   * the delivery may be sent once more.
   */
  retry(workspaceId: string, webhookId: string, id: string, nowMs: number): Promise<WebhookDelivery | null>;
  /**
   * Sessions past their deadline that have not expired, of workspaces with an enabled webhook, also sessions that are
   * older than the webhook: at most `limit` of each workspace, earliest deadline first. A session is found again until
   * it has expired. A lost answer: the next search finds the same sessions.
   */
  overdueSessions(nowMs: number, limit: number): Promise<SessionPlace[]>;
}

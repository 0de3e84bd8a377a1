/** Decides what follows an attempt to deliver an event to a webhook (contract 17). Pure: no clock, no chance. */
import type { Webhook } from '../../store/store.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** Waits after the first failed attempt, the second and so on; none is left after the last. */
const waitsMs = [5_000, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs] as const;
/** Share of a wait by which chance makes it shorter or longer. */
const spreadShare = 0.1;
const retryAfterMsMax = 24 * hourMs;
/** Time of failures after which a webhook is disabled. */
const failingMsMax = 24 * hourMs;

/** The answer to an attempt. */
export interface WebhookAnswer {
  readonly status: number;
  /** The header `Retry-After`, empty if absent. */
  readonly retryAfter: string;
}

export interface Attempt {
  /** The number of attempts at this delivery, this one included. */
  readonly attempts: number;
  /** Null if no answer came: no connection, a guarded address, a timeout. */
  readonly answer: WebhookAnswer | null;
  /** Time of the first failure since the webhook last answered 2xx; null without a failure. */
  readonly failingSinceMs: number | null;
  readonly nowMs: number;
  /** A random number of [0, 1). */
  readonly chance: number;
}

export type Outcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly atMs: number }
  /** `disables`: the webhook gets no further event, and its waiting deliveries have failed too. */
  | { readonly kind: 'failed'; readonly disables: boolean };

const gone = 410;

/** Returns the outcome of an attempt. */
export function outcomeOf({ attempts, answer, failingSinceMs, nowMs, chance }: Attempt): Outcome {
  if (answer !== null && isSuccess(answer.status)) return { kind: 'delivered' };
  const failsTooLong = failingSinceMs !== null && nowMs - failingSinceMs >= failingMsMax;
  if (answer?.status === gone || failsTooLong) return { kind: 'failed', disables: true };
  const waitMs = waitsMs[attempts - 1];
  if (waitMs === undefined) return { kind: 'failed', disables: false };
  const spread = 1 + spreadShare * (2 * chance - 1);
  const askedMs = answer === null ? 0 : Math.min(retryAfterMs(answer.retryAfter, nowMs), retryAfterMsMax);
  return { kind: 'retry', atMs: nowMs + Math.max(Math.round(waitMs * spread), askedMs) };
}

export const isSuccess = (status: number): boolean => status >= 200 && status < 300;

/**
 * The webhook after an outcome: since when it fails, and whether it is disabled. Returns the same object if nothing has
 * changed.
 */
export function webhookAfter<W extends Pick<Webhook, 'enabled' | 'failingSinceMs'>>(
  webhook: W,
  outcome: Outcome,
  nowMs: number,
): W {
  const { failingSinceMs, ...rest } = webhook;
  if (outcome.kind === 'delivered') return failingSinceMs === undefined ? webhook : (rest as W);
  const enabled = webhook.enabled && !(outcome.kind === 'failed' && outcome.disables);
  if (enabled === webhook.enabled && failingSinceMs !== undefined) return webhook;
  return { ...webhook, enabled, failingSinceMs: failingSinceMs ?? nowMs };
}

/** A date of HTTP in its preferred form (RFC 9110, 5.6.7). */
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Milliseconds that a header `Retry-After` asks for, as seconds or as a date; 0 if it asks for none. */
export function retryAfterMs(text: string, nowMs: number): number {
  if (/^\d{1,15}$/.test(text)) return Number(text) * 1000;
  return httpDate.test(text) ? Math.max(0, (Date.parse(text) || nowMs) - nowMs) : 0;
}

/**
 * Delivers the events of webhooks (contract 17). Each process claims deliveries that are due, one lease for each, and
 * sends them; a delivery whose process died is claimed by another once its lease has run out. So an event is delivered
 * at least once, in no order.
 */
import type { Clock, Timer } from '../base/clock.ts';
import type { Ids } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Tracer } from '../base/tracing.ts';
import { webhookHolder, type Vault } from '../access/vault.ts';
import type { ProviderHttp } from '../providers/client.ts';
import { StoreUnavailable, type Store, type Webhook, type WebhookDelivery } from '../store/store.ts';
import { sendWebhook } from './webhooks/request.ts';
import { isSuccess, outcomeOf, webhookAfter, type Outcome, type WebhookAnswer } from './webhooks/schedule.ts';

/** Milliseconds of a lease on a delivery: for an attempt and for its outcome in the store. */
const leaseMs = limits.webhookAnswerMs + 10_000;
/** Milliseconds between looks for deliveries that are due. */
const lookMs = 500;
/** Attempts in flight of a process, and those to one webhook. */
const atOnce = { all: 64, each: 8 } as const;
/** Deliveries that are claimed at a time. */
const claimedMax = 4;

export interface WebhooksOptions {
  readonly store: Pick<Store, 'catalog' | 'webhooks'>;
  readonly vault: Vault;
  readonly http: ProviderHttp;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'bytes' | 'secret'>;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'webhookAttempts' | 'webhookSeconds'>;
  /** Null while traces are off. */
  readonly tracer: Tracer | null;
}

export class Webhooks {
  readonly #options: WebhooksOptions;
  readonly #owner: string;
  /** The attempts in flight of each webhook. */
  readonly #inFlight = new Map<string, number>();
  readonly #attempts = new Set<Promise<void>>();
  readonly #cut = new AbortController();
  #timer: Timer | null = null;
  #look: Promise<void> | null = null;
  #isStopped = false;

  constructor(options: WebhooksOptions) {
    this.#options = options;
    this.#owner = options.ids.secret();
  }

  /** Begins to look for deliveries that are due, until `stop`. */
  start(): void {
    this.wake();
  }

  /** Looks for deliveries that are due without waiting for the next regular look. */
  wake(): void {
    if (this.#isStopped || this.#look !== null) return;
    this.#timer?.cancel();
    this.#look = this.#claim().then((mayBeMore) => {
      this.#look = null;
      if (!this.#isStopped) this.#timer = this.#options.clock.after(mayBeMore ? 0 : lookMs, () => this.wake());
    });
  }

  /** Claims nothing more, waits `graceMs` for attempts in flight, and releases the others. */
  async stop(graceMs: number): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#look;
    const cut = this.#options.clock.after(graceMs, () => this.#cut.abort());
    await Promise.all(this.#attempts);
    cut.cancel();
  }

  /** Claims a few deliveries that may be sent now; resolves with whether more may be due. Never rejects. */
  async #claim(): Promise<boolean> {
    const { store, clock, log } = this.#options;
    const limit = Math.min(claimedMax, atOnce.all - this.#attempts.size);
    if (limit <= 0) return false;
    const nowMs = clock.now();
    // All that are claimed may be of one webhook.
    const isFull = (count: number): boolean => count + limit > atOnce.each;
    const skip = new Set([...this.#inFlight].filter(([, count]) => isFull(count)).map(([id]) => id));
    try {
      const leaseUntilMs = nowMs + leaseMs;
      const claimed = await store.webhooks.claim({ owner: this.#owner, nowMs, leaseUntilMs, limit, skip });
      for (const delivery of claimed) this.#begin(delivery);
      return claimed.length === limit;
    } catch (err) {
      // The host reports a store that is away.
      if (!(err instanceof StoreUnavailable)) log.warn({ err }, 'Deliveries of webhooks could not be claimed.');
      return false;
    }
  }

  #begin(delivery: WebhookDelivery): void {
    const { webhookId } = delivery;
    this.#inFlight.set(webhookId, (this.#inFlight.get(webhookId) ?? 0) + 1);
    const attempt = this.#attempt(delivery)
      .catch((err) => {
        // The lease runs out, and the delivery is claimed again.
        if (!(err instanceof StoreUnavailable)) this.#options.log.warn({ err }, 'An attempt at a delivery failed.');
      })
      .finally(() => {
        this.#attempts.delete(attempt);
        const left = this.#inFlight.get(webhookId)! - 1;
        if (left === 0) this.#inFlight.delete(webhookId);
        else this.#inFlight.set(webhookId, left);
        this.wake();
      });
    this.#attempts.add(attempt);
  }

  async #attempt(delivery: WebhookDelivery): Promise<void> {
    const { store, vault, clock, ids } = this.#options;
    const { workspaceId, webhookId } = delivery;
    const found = await store.catalog.read('webhook', workspaceId, webhookId);
    // The deletion removes the delivery too.
    if (found === null) return;
    const webhook = found.record;
    const secret = vault.open({ ...webhookHolder(webhook), sealed: webhook.sealed });
    // A delivery is never sent unsigned: it fails like one without an answer.
    const answer = secret === null ? null : await this.#send(delivery, webhook.url, secret);
    if (this.#cut.signal.aborted && answer === null) return this.#release(delivery);
    const nowMs = clock.now();
    const attempts = delivery.attempts + 1;
    const chance = Buffer.from(ids.bytes(4)).readUInt32LE() / 2 ** 32;
    const failingSinceMs = webhook.failingSinceMs ?? null;
    const outcome = outcomeOf({ attempts, answer, failingSinceMs, nowMs, chance });
    this.#options.metrics.webhookAttempts.inc({ outcome: outcome.kind });
    await this.#note(webhook, outcome, nowMs);
    await store.webhooks.settle({
      delivery,
      owner: this.#owner,
      attempts,
      status: outcome.kind === 'retry' ? 'pending' : outcome.kind,
      nextAtMs: outcome.kind === 'retry' ? outcome.atMs : null,
    });
  }

  /** Sends the delivery once, within a span of its turn's trace, and measures the time until its answer. */
  async #send(delivery: WebhookDelivery, url: string, secret: string): Promise<WebhookAnswer | null> {
    const { http, clock, metrics, tracer } = this.#options;
    const { id, type, body, attempts, traceparent = null } = delivery;
    const span = tracer?.begin(
      { kind: 'delivery', deliveryId: id, event: type, attempt: attempts + 1, address: new URL(url).hostname },
      { parent: traceparent },
    );
    const startedAt = clock.monotonic();
    const request = { id, url, body, secret, traceparent: span?.sentTraceparent };
    const answer = await sendWebhook(http, clock, request, this.#cut.signal);
    metrics.webhookSeconds.observe((clock.monotonic() - startedAt) / 1000);
    span?.end({
      ...(answer !== null && { answeredStatus: answer.status }),
      error: answer === null ? 'unreachable' : isSuccess(answer.status) ? null : 'refused',
    });
    return answer;
  }

  /** A drain cut the attempt: another process, or the next one, need not wait for the lease. */
  async #release(delivery: WebhookDelivery): Promise<void> {
    const { store, clock } = this.#options;
    const { attempts } = delivery;
    await store.webhooks.settle({
      delivery,
      owner: this.#owner,
      attempts,
      status: 'pending',
      nextAtMs: clock.now(),
    });
  }

  /** Stores in the webhook what the outcome says of it; other writers may change it meanwhile. */
  async #note({ workspaceId, id }: Webhook, outcome: Outcome, nowMs: number): Promise<void> {
    const { catalog, webhooks } = this.#options.store;
    for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
      const found = await catalog.read('webhook', workspaceId, id);
      if (found === null) return;
      const after = webhookAfter(found.record, outcome, nowMs);
      if (after === found.record || (await catalog.replace('webhook', after, found.version)) !== null) break;
    }
    if (outcome.kind === 'failed' && outcome.disables) await webhooks.failPending(workspaceId, id);
  }
}

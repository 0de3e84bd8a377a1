/**
 * Events of webhooks (contract 17). The enabled webhooks of each workspace are also in memory, so that a step of a
 * workspace without one looks up a map and nothing else. Leases are in memory only: they end with the process.
 */
import { isUncounted } from '../records.ts';
import { secondsOf } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type {
  ClaimDeliveries,
  Session,
  SessionPlace,
  SettleDelivery,
  StoredDelivery,
  TurnPlace,
  Turn,
  Versioned,
  Webhook,
  WebhookDelivery,
  WebhookStore,
} from '../store.ts';
import {
  attendanceEvent,
  deliveryHead,
  deliveryId,
  hasEnd,
  sessionEvent,
  turnEvent,
  type StoredEvent,
} from '../webhook-events.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import * as keys from './keys.ts';
import { dropDelivery, putDelivery } from './deliveries.ts';
import type { StoredSession } from './rows.ts';

interface Lease {
  readonly owner: string;
  readonly untilMs: number;
}

export class EmbeddedWebhooks implements WebhookStore {
  readonly #batcher: WriteBatcher;
  /** The enabled webhooks by workspace; a workspace without one has no entry. */
  readonly #enabled = new Map<string, readonly Webhook[]>();
  /** Leases by the key of the delivery's row. */
  readonly #leases = new Map<string, Lease>();
  /** Number of deliveries of each webhook that have ended since the old ones were removed last. */
  readonly #ended = new Map<string, number>();
  /** Key from which the next claim looks, so that every webhook has its turn. */
  #claimFrom: string = keys.dueDeliveries;

  constructor(batcher: WriteBatcher) {
    this.#batcher = batcher;
    batcher.onDropped(() => this.load());
  }

  /** Reads the webhooks of every workspace. */
  load(): void {
    this.#enabled.clear();
    for (const [, { record }] of [...this.#batcher.scan<Versioned<Webhook>>(keys.webhooks, keys.endOf(keys.webhooks))])
      this.note(record.workspaceId, record.id, record);
  }

  /** Replaces a webhook in memory; null if it is removed. */
  note(workspaceId: string, id: string, webhook: Webhook | null): void {
    const others = (this.#enabled.get(workspaceId) ?? []).filter((each) => each.id !== id);
    const enabled = webhook?.enabled ? [...others, webhook] : others;
    if (enabled.length > 0) this.#enabled.set(workspaceId, enabled);
    else this.#enabled.delete(workspaceId);
  }

  /** Notes a webhook that a step stores; with the first enabled one, the deadlines of the open sessions are wanted. */
  putIn(draft: Draft, webhook: Webhook): void {
    const { workspaceId, id, enabled } = webhook;
    if (enabled && !this.#enabled.has(workspaceId)) draft.put(keys.deadlineFill(workspaceId), '');
    draft.whenApplied(() => this.note(workspaceId, id, webhook));
  }

  /** Stores the deadline of a new session. */
  putDeadline(draft: Draft, session: Session): void {
    if (this.#enabled.has(session.workspaceId) && !isUncounted(session)) draft.put(keys.deadline(session), session.id);
  }

  /** Removes the webhooks of a workspace from memory. */
  forget(workspaceId: string): void {
    this.#enabled.delete(workspaceId);
  }

  /** Stores the event of a turn's end. */
  putTurnEnd(draft: Draft, session: Session, turn: Turn, nowMs: number): void {
    if (this.#enabled.has(session.workspaceId))
      this.#put(draft, session, turnEvent(session, turn, nowMs), turn.id, nowMs);
  }

  /** Stores the event of a session's end, if the step ends it. */
  putSessionEnd(draft: Draft, before: StoredSession, session: Session, nowMs: number): void {
    if (this.#enabled.has(session.workspaceId) && hasEnd(session) && !hasEnd(before.session))
      this.#put(draft, session, sessionEvent(session, nowMs), session.id, nowMs);
  }

  /** Stores the event of a session whose attendance moves; `messageId`: the message that has the change. */
  putAttendance(draft: Draft, session: Session, messageId: string, nowMs: number): void {
    if (this.#enabled.has(session.workspaceId))
      this.#put(draft, session, attendanceEvent(session, nowMs), messageId, nowMs);
  }

  /** Removes the deliveries of a turn that is withdrawn. */
  removeTurnEnd(draft: Draft, { workspaceId, sessionId, turnId }: TurnPlace): void {
    const prefix = keys.deliveriesOf(workspaceId, sessionId, turnId);
    for (const [key, delivery] of this.#batcher.range<string>(prefix, keys.endOf(prefix))) {
      draft.remove(key);
      dropDelivery(draft, this.#batcher, delivery);
    }
  }

  /**
   * Removes the deliveries of a removed webhook in bounded steps. If the process dies in between, the next claim that
   * meets one of them removes the rest.
   */
  async removeDeliveries(workspaceId: string, webhookId: string): Promise<void> {
    const prefix = keys.deliveries(workspaceId, webhookId);
    for (let done = false; !done;) {
      done = await this.#batcher.step((draft) => this.#removeSome(draft, prefix));
      await this.#batcher.pause();
    }
  }

  claim({ owner, nowMs, leaseUntilMs, limit, skip }: ClaimDeliveries): Promise<WebhookDelivery[]> {
    const skipped = new Set([...skip].map(keys.part));
    return this.#batcher.step((draft) => {
      const claimed: [key: string, row: StoredDelivery][] = [];
      const start = this.#claimFrom;
      const spans = [
        [start, keys.endOf(keys.dueDeliveries)],
        [keys.dueDeliveries, start],
      ] as const;
      for (const [first, end] of spans) {
        for (let from = first; claimed.length < limit;) {
          const [next] = this.#batcher.range<string>(from, end, 1);
          if (next === undefined) break;
          const [, workspace, webhook] = next[0].split('/') as [string, string, string];
          const prefix = keys.dueOfWebhook(workspace, webhook);
          from = keys.endOf(prefix);
          if (this.#batcher.get(keys.catalog('webhook', workspace) + webhook) === undefined)
            this.#removeSome(draft, keys.deliveries(workspace, webhook));
          else if (!skipped.has(webhook)) claimed.push(...this.#dueOf(prefix, nowMs, limit - claimed.length));
          this.#claimFrom = from;
        }
      }
      draft.whenApplied(() => {
        for (const [key] of claimed) this.#leases.set(key, { owner, untilMs: leaseUntilMs });
      });
      return claimed.map(([, row]) => viewOf(row));
    });
  }

  settle({ delivery, owner, status, attempts, nextAtMs }: SettleDelivery): Promise<boolean> {
    const { workspaceId, webhookId, id } = delivery;
    const key = keys.delivery(workspaceId, webhookId, id);
    return this.#batcher.step((draft) => {
      const row = this.#batcher.get<StoredDelivery>(key);
      const isHeld = this.#leases.get(key)?.owner === owner;
      draft.whenApplied(() => isHeld && this.#leases.delete(key));
      if (row === undefined || !isHeld) return false;
      this.#replace(draft, row, { status, attempts, nextAtMs });
      if (status !== 'pending') this.#removeOld(draft, workspaceId, webhookId);
      return true;
    });
  }

  async failPending(workspaceId: string, webhookId: string): Promise<void> {
    const prefix = keys.dueOfWebhook(keys.part(workspaceId), keys.part(webhookId));
    for (let done = false; !done;) {
      done = await this.#batcher.step((draft) => {
        const due = this.#batcher.range<string>(prefix, keys.endOf(prefix), limits.removalRowsMax);
        for (const [, key] of due) {
          this.#replace(draft, this.#batcher.get<StoredDelivery>(key)!, { status: 'failed', nextAtMs: null });
          draft.whenApplied(() => this.#leases.delete(key));
        }
        return due.length < limits.removalRowsMax;
      });
      await this.#batcher.pause();
    }
    await this.#batcher.step((draft) => this.#removeOld(draft, workspaceId, webhookId, 0));
  }

  async list(workspaceId: string, webhookId: string): Promise<WebhookDelivery[]> {
    const prefix = keys.deliveries(workspaceId, webhookId);
    const found: WebhookDelivery[] = [];
    for (const [, row] of this.#batcher.scan<StoredDelivery>(prefix, keys.endOf(prefix), true)) {
      found.push(viewOf(row));
      if (found.length === limits.webhookDeliveriesMax) break;
    }
    return found;
  }

  retry(workspaceId: string, webhookId: string, id: string, nowMs: number): Promise<WebhookDelivery | null> {
    const key = keys.delivery(workspaceId, webhookId, id);
    return this.#batcher.step((draft) => {
      const row = this.#batcher.get<StoredDelivery>(key);
      if (row === undefined) return null;
      draft.whenApplied(() => this.#leases.delete(key));
      return viewOf(this.#replace(draft, row, { status: 'pending', nextAtMs: nowMs }));
    });
  }

  /** The deliveries of a webhook that are due and not leased. */
  #dueOf(prefix: string, nowMs: number, limit: number): [key: string, row: StoredDelivery][] {
    const [to, looks] = [keys.dueAfter(prefix, nowMs), limit + this.#leases.size];
    return this.#batcher
      .range<string>(prefix, to, looks)
      .filter(([, key]) => (this.#leases.get(key)?.untilMs ?? 0) <= nowMs)
      .slice(0, limit)
      .map(([, key]) => [key, this.#batcher.get<StoredDelivery>(key)!]);
  }

  /** Removes a bounded number of deliveries; true once none is left. */
  #removeSome(draft: Draft, prefix: string): boolean {
    const rows = this.#batcher.range(prefix, keys.endOf(prefix), limits.removalRowsMax);
    for (const [key] of rows) dropDelivery(draft, this.#batcher, key);
    return rows.length < limits.removalRowsMax;
  }

  async overdueSessions(nowMs: number, limit: number): Promise<SessionPlace[]> {
    await this.#fillDeadlines();
    const found: SessionPlace[] = [];
    for (const workspaceId of [...this.#enabled.keys()]) {
      found.push(...(await this.#batcher.step((draft) => this.#overdueOf(draft, workspaceId, nowMs, limit))));
      await this.#batcher.pause();
    }
    return found;
  }

  /** The overdue sessions of a workspace; removes the deadlines of those that have ended. */
  #overdueOf(draft: Draft, workspaceId: string, nowMs: number, limit: number): SessionPlace[] {
    const from = keys.deadlines(workspaceId);
    const to = keys.deadlineAt(workspaceId, secondsOf(nowMs) + 1);
    return this.#batcher.range<string>(from, to, limit).flatMap(([key, sessionId]) => {
      const row = this.#batcher.get<StoredSession>(keys.session(workspaceId, sessionId));
      if (row !== undefined && !hasEnd(row.session)) return [{ workspaceId, sessionId }];
      draft.remove(key);
      return [];
    });
  }

  #put(draft: Draft, session: Session, event: StoredEvent | null, sourceId: string, nowMs: number): void {
    if (event === null) return;
    const { workspaceId, id: sessionId } = session;
    for (const { id: webhookId, events } of this.#enabled.get(workspaceId)!) {
      if (!events.includes(event.type)) continue;
      const id = deliveryId(deliveryHead(nowMs), sourceId, webhookId);
      putDelivery(draft, {
        id,
        workspaceId,
        webhookId,
        ...event,
        status: 'pending',
        attempts: 0,
        nextAtMs: nowMs,
        sessionId,
        sourceId,
      });
    }
  }

  /** Stores the deadlines of sessions that are older than the workspace's first webhook, in bounded steps. */
  async #fillDeadlines(): Promise<void> {
    for (let more = true; more;) {
      more = await this.#batcher.step((draft) => {
        const [fill] = this.#batcher.range<string>(keys.deadlineFills, keys.endOf(keys.deadlineFills), 1);
        if (fill === undefined) return false;
        const prefix = keys.sessions(fill[0].split('/', 2)[1]!);
        const from = fill[1] === '' ? prefix : keys.justAfter(fill[1]);
        const rows = this.#batcher.range<StoredSession>(from, keys.endOf(prefix), limits.scanRowsMax);
        for (const [, { session }] of rows)
          if (!hasEnd(session) && !isUncounted(session)) draft.put(keys.deadline(session), session.id);
        if (rows.length < limits.scanRowsMax) draft.remove(fill[0]);
        else draft.put(fill[0], rows.at(-1)![0]);
        return true;
      });
      if (more) await this.#batcher.pause();
    }
  }

  #replace(draft: Draft, row: StoredDelivery, change: Partial<StoredDelivery>): StoredDelivery {
    const next = { ...row, ...change };
    const key = keys.delivery(row.workspaceId, row.webhookId, row.id);
    if (row.nextAtMs !== null) draft.remove(keys.dueDelivery(row));
    if (next.nextAtMs !== null) draft.put(keys.dueDelivery(next), key);
    draft.put(key, next);
    return next;
  }

  /** Removes ended deliveries beyond the newest ones, each time that as many more have ended. */
  #removeOld(draft: Draft, workspaceId: string, webhookId: string, every: number = limits.webhookDeliveriesMax): void {
    const prefix = keys.deliveries(workspaceId, webhookId);
    const ended = (this.#ended.get(prefix) ?? every) + 1;
    this.#ended.set(prefix, ended > every ? 0 : ended);
    if (ended <= every) return;
    const rows = this.#batcher.range<StoredDelivery>(prefix, keys.endOf(prefix));
    for (const [key, { nextAtMs }] of rows.slice(0, -limits.webhookDeliveriesMax))
      if (nextAtMs === null) dropDelivery(draft, this.#batcher, key);
  }
}

const viewOf = ({ sessionId: _, sourceId: __, ...delivery }: StoredDelivery): WebhookDelivery => delivery;

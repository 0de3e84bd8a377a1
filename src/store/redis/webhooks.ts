/**
 * Deliveries to webhooks, by any number of processes. A workspace is registered before its first webhook is stored, so
 * that the sweep of every process finds its deliveries. Between sweeps a claim asks only the workspaces that
 * `DueWorkspaces` names.
 */
import { secondsOf } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { ClaimDeliveries, SessionPlace, SettleDelivery, WebhookDelivery, WebhookStore } from '../store.ts';
import { eventOf } from '../webhook-events.ts';
import type { DueWorkspaces } from './due-workspaces.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { Registered, Registry } from './registry.ts';
import { textOfReply } from './reply.ts';

/** Milliseconds between two sweeps of all workspaces with webhooks. */
const sweepMs = 30_000;
/** Workspaces of a sweep that are asked at the same time. */
const sweptAtOnce = 16;
/** Milliseconds until a workspace is asked again that did not answer. */
const unansweredMs = 5_000;

type Place = Pick<WebhookDelivery, 'id' | 'workspaceId' | 'webhookId'>;
/** The arguments of `claim-deliveries` that are the same for each workspace. */
interface Asking {
  readonly owner: string;
  readonly nowMs: number;
  readonly untilMs: number;
  readonly skipped: readonly string[];
}

/** The answer of a workspace: how many webhooks it has, and the claimed deliveries. */
interface Asked {
  readonly webhooks: number;
  readonly deliveries: WebhookDelivery[];
}

type State = Pick<WebhookDelivery, 'status' | 'attempts' | 'nextAtMs'>;

export class RedisWebhooks implements WebhookStore {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #registry: Registry;
  readonly #ids: Ids;
  readonly #due: DueWorkspaces;
  /** Time of the last sweep in milliseconds. */
  #sweptAtMs = -Infinity;

  /** `registry`: the list of workspaces with webhooks. */
  constructor(link: RedisLink, roots: Roots, registry: Registry, ids: Ids, due: DueWorkspaces) {
    this.#link = link;
    this.#roots = roots;
    this.#registry = registry;
    this.#ids = ids;
    this.#due = due;
  }

  async claim({ owner, nowMs, leaseUntilMs, limit, skip }: ClaimDeliveries): Promise<WebhookDelivery[]> {
    const asking = { owner, nowMs, untilMs: leaseUntilMs, skipped: [...skip].map(part) };
    if (Math.abs(nowMs - this.#sweptAtMs) >= sweepMs) await this.#sweep(asking);
    await this.#noteEnded();
    const claimed: WebhookDelivery[] = [];
    for (const workspaceId of this.#due.dueAt(nowMs)) {
      if (claimed.length === limit) break;
      try {
        const { deliveries } = await this.#ask(workspaceId, { ...asking, limit: limit - claimed.length });
        claimed.push(...deliveries);
      } catch (error) {
        this.#due.note(workspaceId, nowMs + unansweredMs);
        // The claimed deliveries are sent; the others wait for the next claim.
        if (claimed.length === 0) throw error;
        break;
      }
    }
    return claimed;
  }

  /** Asks a workspace for due deliveries, and notes when its next one is due. */
  async #ask(workspaceId: string, asking: Asking & { readonly limit: number }): Promise<Asked> {
    this.#due.forget(workspaceId);
    const fields = { ...asking, write: this.#ids.secret() };
    const root = this.#roots.workspace(workspaceId);
    const [webhooks, next, found] = await this.#link.run('claim-deliveries', root, fields);
    if (next !== null) this.#due.note(workspaceId, Number(textOfReply(next)));
    const deliveries: WebhookDelivery[] = [];
    for (let at = 0; at < found.length; at += 4) {
      const [webhookId, id] = [textOfReply(found[at]), textOfReply(found[at + 1])];
      deliveries.push(deliveryOf({ id, workspaceId, webhookId }, found[at + 2]!, found[at + 3]!));
    }
    return { webhooks, deliveries };
  }

  /** Asks all workspaces with webhooks when their next delivery is due. One that does not answer is asked again soon. */
  async #sweep(asking: Asking): Promise<void> {
    const all = await this.#registry.all();
    this.#sweptAtMs = asking.nowMs;
    const ask = async ({ workspaceId, stale }: Registered): Promise<void> => {
      try {
        const { webhooks } = await this.#ask(workspaceId, { ...asking, limit: 0 });
        if (webhooks === 0 && stale) await this.#registry.unregister(workspaceId);
      } catch {
        this.#due.note(workspaceId, asking.nowMs + unansweredMs);
      }
    };
    for (let first = 0; first < all.length; first += sweptAtOnce)
      await Promise.all(all.slice(first, first + sweptAtOnce).map(ask));
  }

  /** Notes the workspaces with webhooks among those in which this process has stored an end. */
  async #noteEnded(): Promise<void> {
    const ended = this.#due.takeEnded();
    try {
      for (const workspaceId of await this.#registry.among(ended)) this.#due.note(workspaceId, -Infinity);
    } catch (error) {
      for (const workspaceId of ended) this.#due.ended(workspaceId);
      throw error;
    }
  }

  async settle({ delivery, owner, ...state }: SettleDelivery): Promise<boolean> {
    const { workspaceId, webhookId, id } = delivery;
    const settled = this.#link.runDurable('settle-delivery', this.#roots.workspace(workspaceId), {
      webhook: part(webhookId),
      id: part(id),
      owner,
      write: this.#ids.secret(),
      state: textOfState(state),
      next: state.nextAtMs ?? '',
    });
    const answer = await settled.finally(() => state.nextAtMs !== null && this.#due.note(workspaceId, state.nextAtMs));
    return answer === 1;
  }

  async failPending(workspaceId: string, webhookId: string): Promise<void> {
    const root = this.#roots.workspace(workspaceId);
    const fields = { webhook: part(webhookId), limit: limits.removalRowsMax };
    while ((await this.#link.runDurable('fail-deliveries', root, fields)) === limits.removalRowsMax);
  }

  async list(workspaceId: string, webhookId: string): Promise<WebhookDelivery[]> {
    const root = this.#roots.workspace(workspaceId);
    const found = await this.#link.run('list-deliveries', root, { webhook: part(webhookId) });
    const deliveries: WebhookDelivery[] = [];
    for (let at = 0; at < found.length; at += 3)
      deliveries.push(
        deliveryOf({ id: textOfReply(found[at]), workspaceId, webhookId }, found[at + 1]!, found[at + 2]!),
      );
    return deliveries;
  }

  async retry(workspaceId: string, webhookId: string, id: string, nowMs: number): Promise<WebhookDelivery | null> {
    const root = this.#roots.workspace(workspaceId);
    const fields = { webhook: part(webhookId), id: part(id), nowMs };
    const found = await this.#link
      .runDurable('retry-delivery', root, fields)
      .finally(() => this.#due.note(workspaceId, nowMs));
    return found && deliveryOf({ id, workspaceId, webhookId }, ...found);
  }

  async overdueSessions(nowMs: number, limit: number): Promise<SessionPlace[]> {
    const fields = { time: secondsOf(nowMs), limit, count: limits.scanRowsMax };
    const found: SessionPlace[] = [];
    for (const { workspaceId } of await this.#registry.all()) {
      const root = this.#roots.workspace(workspaceId);
      for (let more = true; more;) {
        const [filling, sessions] = await this.#link.run('find-overdue', root, fields);
        more = filling === 1;
        for (const each of sessions) found.push({ workspaceId, sessionId: textOfReply(each) });
      }
    }
    return found;
  }
}

export const textOfState = ({ status, attempts, nextAtMs }: State): string => `${status} ${attempts} ${nextAtMs ?? ''}`;

export function deliveryOf(place: Place, event: Buffer, state: Buffer): WebhookDelivery {
  const [status, attempts, next] = textOfReply(state).split(' ') as [WebhookDelivery['status'], string, string];
  return {
    ...place,
    ...eventOf(textOfReply(event)),
    status,
    attempts: Number(attempts),
    nextAtMs: next === '' ? null : Number(next),
  };
}

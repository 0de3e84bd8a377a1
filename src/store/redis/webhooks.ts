/**
 * Deliveries to webhooks, by any number of processes. A workspace is registered before its first webhook is stored, so
 * that every process finds its deliveries.
 */
import { secondsOf } from '../../base/clock.ts';
import type { Ids } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { ClaimDeliveries, SessionPlace, SettleDelivery, WebhookDelivery, WebhookStore } from '../store.ts';
import { eventOf } from '../webhook-events.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { Registry } from './registry.ts';
import { textOfReply } from './reply.ts';

type Place = Pick<WebhookDelivery, 'id' | 'workspaceId' | 'webhookId'>;
type State = Pick<WebhookDelivery, 'status' | 'attempts' | 'nextAtMs'>;

export class RedisWebhooks implements WebhookStore {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #registry: Registry;
  readonly #ids: Ids;

  /** `registry`: the list of workspaces with webhooks. */
  constructor(link: RedisLink, roots: Roots, registry: Registry, ids: Ids) {
    this.#link = link;
    this.#roots = roots;
    this.#registry = registry;
    this.#ids = ids;
  }

  async claim({ owner, nowMs, leaseUntilMs, limit, skip }: ClaimDeliveries): Promise<WebhookDelivery[]> {
    const claimed: WebhookDelivery[] = [];
    for (const { workspaceId, stale } of shuffledFrom(await this.#registry.all(), nowMs)) {
      if (claimed.length === limit) break;
      const [webhooks, found] = await this.#link.run('claim-deliveries', this.#roots.workspace(workspaceId), {
        owner,
        write: this.#ids.secret(),
        nowMs,
        untilMs: leaseUntilMs,
        limit: limit - claimed.length,
        skipped: [...skip].map(part),
      });
      if (webhooks === 0 && stale) await this.#registry.unregister(workspaceId);
      for (let at = 0; at < found.length; at += 4) {
        const [webhookId, id] = [textOfReply(found[at]), textOfReply(found[at + 1])];
        claimed.push(deliveryOf({ id, workspaceId, webhookId }, found[at + 2]!, found[at + 3]!));
      }
    }
    return claimed;
  }

  async settle({ delivery, owner, ...state }: SettleDelivery): Promise<boolean> {
    const { workspaceId, webhookId, id } = delivery;
    const answer = await this.#link.runDurable('settle-delivery', this.#roots.workspace(workspaceId), {
      webhook: part(webhookId),
      id: part(id),
      owner,
      write: this.#ids.secret(),
      state: textOfState(state),
      next: state.nextAtMs ?? '',
    });
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
    const found = await this.#link.runDurable('retry-delivery', root, fields);
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

/** The list, begun at another place each time: no workspace is always the last. */
function shuffledFrom<T>(list: readonly T[], number: number): T[] {
  const at = list.length === 0 ? 0 : Math.floor(number) % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
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

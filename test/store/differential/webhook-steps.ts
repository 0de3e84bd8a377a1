/** Calls of the steps of webhooks and their deliveries. */
import type { ClaimDeliveries, Store, WebhookDelivery } from '../../../src/store/store.ts';
import type { Drawn } from './drawn.ts';
import { Known, chosen, picked } from './known.ts';
import { type Make, call, leases } from './making.ts';

const webhookOf = (known: Known, { pick, which }: Drawn): [workspaceId: string, webhookId: string] => [
  known.workspaceId(pick),
  known.catalogId('webhook', which),
];

/** Claims all that is due, in one order, since the stores have none among several webhooks. */
export const claimDeliveries: Make = (known, { which, lasts }) => {
  const owner = known.name();
  const leaseUntilMs = known.nowMs + chosen(leases, lasts);
  const skip = new Set(which % 3 === 0 ? [known.catalogId('webhook', which)] : []);
  const step: ClaimDeliveries = { owner, nowMs: known.nowMs, leaseUntilMs, limit: 1000, skip };
  const run = async (store: Store): Promise<WebhookDelivery[]> =>
    (await store.webhooks.claim(step)).sort((one, other) => (one.id < other.id ? -1 : 1));
  return {
    verb: 'claimDeliveries',
    args: [step],
    timed: true,
    run,
    learn(claimed: WebhookDelivery[]) {
      if (claimed.length > 0) known.leaseUntilMs = Math.max(known.leaseUntilMs, leaseUntilMs);
      known.claims.push(...claimed.map((delivery) => ({ owner, delivery })));
    },
  };
};

export const settleDelivery: Make = (known, drawn) => {
  const claim = picked(known.claims, drawn.pick);
  if (claim === undefined) return claimDeliveries(known, drawn);
  const { delivery } = claim;
  const status = chosen(['pending', 'delivered', 'failed'] as const, drawn.which);
  const nextAtMs = status === 'pending' ? known.nowMs + chosen(leases, drawn.lasts) : null;
  const owner = drawn.near === 3 ? 'nobody' : claim.owner;
  return call('settleDelivery', true, [{ delivery, owner, status, attempts: delivery.attempts + 1, nextAtMs }]);
};

export const deliveries: Make = (known, drawn) => call('deliveries', false, webhookOf(known, drawn));
export const failDeliveries: Make = (known, drawn) => call('failDeliveries', true, webhookOf(known, drawn));

export const retryDelivery: Make = (known, drawn) => {
  const claim = picked(known.claims, drawn.pick);
  if (claim === undefined) return failDeliveries(known, drawn);
  const { workspaceId, webhookId, id } = claim.delivery;
  return call('retryDelivery', true, [workspaceId, webhookId, drawn.near === 3 ? 'dlv_unknown' : id, known.nowMs]);
};

/** Broken stores: faults of events, webhooks and deliveries. */
import { type Steps, takeStep } from '../../../src/store/steps.ts';
import { RecordsFull, type Store, type WebhookDelivery } from '../../../src/store/store.ts';
import { page } from '../fixtures.ts';
import type { BrokenStores } from './broken-stores.ts';

/** A store that still lists the deliveries that a step removes. */
function outlasting(store: Store, step: 'withdrawTurn' | 'eraseSession' | 'catalog.remove'): Partial<Steps> {
  const listed = new Map<string, WebhookDelivery[]>();
  return {
    [step]: async (...given: any[]) => {
      for (const [name, deliveries] of listed) {
        const [workspaceId, webhookId] = name.split(' ') as [string, string];
        listed.set(name, [...deliveries, ...(await store.webhooks.list(workspaceId, webhookId))]);
      }
      return takeStep(store, step, given);
    },
    async deliveries(workspaceId, webhookId) {
      const found = await store.webhooks.list(workspaceId, webhookId);
      const name = `${workspaceId} ${webhookId}`;
      const lasting = (listed.get(name) ?? []).filter(({ id }) => !found.some((each) => each.id === id));
      listed.set(name, listed.get(name) ?? []);
      return [...found, ...lasting];
    },
  };
}

export const brokenWebhooks: BrokenStores = {
  'a withdrawn turn whose event stays': (store) => outlasting(store, 'withdrawTurn'),
  'an erased session whose events stay': (store) => outlasting(store, 'eraseSession'),
  'a removed webhook whose deliveries stay': (store) => outlasting(store, 'catalog.remove'),
  'an event for each time that a step is sent': (store) => {
    const again = new Map<string, number>();
    return {
      finishTurn(step) {
        again.set(step.session.workspaceId, (again.get(step.session.workspaceId) ?? 0) + 1);
        return store.turns.finish(step);
      },
      async deliveries(workspaceId, webhookId) {
        const found = await store.webhooks.list(workspaceId, webhookId);
        return found.length > 0 ? [...found, ...Array(again.get(workspaceId)! - 1).fill(found[0])] : found;
      },
    };
  },
  'a trial that has events': (store) => ({
    finishTurn: (step) => store.turns.finish({ ...step, session: { ...step.session, channel: 'api' } }),
  }),
  'a disabled webhook that has events': (store) => ({
    'catalog.create': (kind, record, ...given) =>
      store.catalog.create(kind, kind === 'webhook' ? { ...record, enabled: true } : record, ...given),
  }),
  'a session that ends twice for its webhooks': (store) => {
    const ends: WebhookDelivery[] = [];
    return {
      async saveSession(session, basis, ...given) {
        const answer = await store.sessions.save(session, basis, ...given);
        for (const { id } of (await store.catalog.list('webhook', session.workspaceId, page())).items)
          ends.push(...(await store.webhooks.list(session.workspaceId, id)));
        return answer;
      },
      async deliveries(workspaceId, webhookId) {
        const found = await store.webhooks.list(workspaceId, webhookId);
        const again = ends.filter((each) => each.webhookId === webhookId && each.type === 'session.ended');
        return again.length > 1 ? [...found, again[0]!] : found;
      },
    };
  },
  'a delivery that two processes claim': (store) => ({
    claimDeliveries: (step) => store.webhooks.claim({ ...step, leaseUntilMs: step.nowMs }),
  }),
  'a claim that skips nothing': (store) => ({
    claimDeliveries: (step) => store.webhooks.claim({ ...step, skip: new Set() }),
  }),
  'a claim without a limit': (store) => ({
    claimDeliveries: (step) => store.webhooks.claim({ ...step, limit: 1000 }),
  }),
  'a result that any process stores': (store) => {
    const owners = new Map<string, string>();
    return {
      async claimDeliveries(step) {
        const claimed = await store.webhooks.claim(step);
        for (const { id } of claimed) owners.set(id, step.owner);
        return claimed;
      },
      settleDelivery: (step) => store.webhooks.settle({ ...step, owner: owners.get(step.delivery.id) ?? step.owner }),
    };
  },
  'a failure that leaves deliveries pending': () => ({ failDeliveries: async () => {} }),
  'a retry that leaves the lease': (store) => ({
    async retryDelivery(workspaceId, webhookId, id, nowMs) {
      const found = (await store.webhooks.list(workspaceId, webhookId)).find((each) => each.id === id);
      if (found?.status === 'pending') return { ...found, nextAtMs: nowMs };
      return store.webhooks.retry(workspaceId, webhookId, id, nowMs);
    },
  }),
  'an overdue session that is found too early': (store) => ({
    overdueSessions: (nowMs, limit) => store.webhooks.overdueSessions(nowMs + 60_000, limit),
  }),
  'an overdue session that is found once': (store) => {
    const found = new Set<string>();
    return {
      overdueSessions: async (...given) =>
        (await store.webhooks.overdueSessions(...given)).filter(
          ({ sessionId }) => !found.has(sessionId) && found.add(sessionId),
        ),
    };
  },
  'deliveries listed oldest first': (store) => ({
    deliveries: async (...given) => (await store.webhooks.list(...given)).toReversed(),
  }),
  'a webhook beyond the bound that is taken': (store) => ({
    'catalog.create': (...given) =>
      store.catalog.create(...given).catch((error: unknown) => {
        if (!(error instanceof RecordsFull)) throw error;
      }),
  }),
};

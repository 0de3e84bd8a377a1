/** The events of webhooks: stored by the step that stores an end, claimed, settled, and removed (contract 17). */
import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict';
import type { Session, Turn, Webhook, WebhookDelivery } from '../../../src/store/store.ts';
import type { WebhookEvent } from '../../../src/base/webhook-events.ts';
import type { Case } from '../contract.ts';
import { at, ids, sessionState, webhook, workspace, type Begun, type Scene } from '../fixtures.ts';

const all: readonly WebhookEvent[] = ['turn.completed', 'turn.failed', 'session.ended', 'session.expired'];

async function registered(scene: Scene, over: Partial<Webhook> = {}): Promise<Webhook> {
  const made = webhook(scene.workspaceId, { events: all, ...over });
  await scene.store.catalog.create('webhook', made);
  return made;
}

const listed = (scene: Scene, { id }: Webhook): Promise<WebhookDelivery[]> =>
  scene.store.webhooks.list(scene.workspaceId, id);

const typesOf = async (scene: Scene, each: Webhook): Promise<string[]> =>
  (await listed(scene, each)).map(({ type }) => type).sort();

const bodyOf = ({ body }: WebhookDelivery): any => JSON.parse(body);

/** Claims deliveries of the scene's workspace. */
async function claimed(
  scene: Scene,
  owner: string,
  { nowMs = scene.nowMs, limit = 1000, skip = new Set<string>(), leaseMs = 60_000 } = {},
): Promise<WebhookDelivery[]> {
  const step = { owner, nowMs, leaseUntilMs: nowMs + leaseMs, limit, skip };
  return (await scene.store.webhooks.claim(step)).filter(({ workspaceId }) => workspaceId === scene.workspaceId);
}

/** The session after its turn, or without one, in an end state. */
const over = (session: Session, state: 'ended' | 'expired', endedAt: number): Session => ({
  ...session,
  machine: {
    ...sessionState(state, session.expiresAt),
    context: { expiresAt: session.expiresAt, endedAt, activeTurnId: null },
  },
});

async function finished(scene: Scene, turn: Partial<Turn> = {}, session: Partial<Session> = {}): Promise<Begun> {
  const begun = await scene.streaming({}, session);
  equal((await scene.store.turns.finish(begun.finishStep({}, turn))).outcome, 'finished');
  return begun;
}

export const webhookCases: readonly Case[] = [
  {
    name: 'each end of a turn stores one event for each webhook that wants it',
    async run(scene) {
      const [first, second, failures] = [
        await registered(scene),
        await registered(scene),
        await registered(scene, { events: ['turn.failed', 'session.ended'] }),
      ];
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      const one = await finished(scene, { traceparent });
      const two = await finished(scene, { status: 'aborted', stopReason: 'aborted' });
      const three = await finished(scene, { status: 'failed', stopReason: 'error', errorCode: 'provider_error' });
      deepEqual(await typesOf(scene, failures), ['turn.failed']);
      for (const each of [first, second]) {
        const deliveries = await listed(scene, each);
        deepEqual(deliveries.map(({ type }) => type).sort(), ['turn.completed', 'turn.completed', 'turn.failed']);
        for (const delivery of deliveries) {
          match(delivery.id, /^dlv_[0-9a-z]{26}$/);
          deepEqual(
            { ...delivery, id: '', type: '', body: '', traceparent: '' },
            {
              id: '',
              workspaceId: scene.workspaceId,
              webhookId: each.id,
              type: '',
              body: '',
              traceparent: '',
              status: 'pending',
              attempts: 0,
              nextAtMs: scene.nowMs,
            },
          );
        }
        const reports = deliveries.map(bodyOf).sort((a, b) => (a.data.turn_id < b.data.turn_id ? -1 : 1));
        const expected = [
          [one, 'turn.completed', 'completed', null],
          [two, 'turn.completed', 'aborted', null],
          [three, 'turn.failed', 'failed', 'provider_error'],
        ] as const;
        deepEqual(
          reports,
          expected.map(([begun, type, status, errorCode]) => ({
            type,
            timestamp: new Date(scene.now * 1000).toISOString(),
            data: {
              session_id: begun.before.id,
              assistant_id: scene.assistantId,
              turn_id: begun.place.turnId,
              channel: 'api',
              status,
              error_code: errorCode,
              metadata: begun.before.metadata,
            },
          })),
        );
        const spans = deliveries.map((delivery) => [bodyOf(delivery).data.turn_id, delivery.traceparent]);
        equal(new Map(spans as [string, string][]).get(one.place.turnId), traceparent);
      }
      const everyId = (await Promise.all([first, second, failures].map((each) => listed(scene, each)))).flat();
      equal(new Set(everyId.map(({ id }) => id)).size, 7, 'each delivery has an id of its own');
    },
  },
  {
    name: 'the step of an end that is sent again stores no second event',
    async run(scene) {
      const hook = await registered(scene);
      const begun = await scene.streaming();
      const step = begun.finishStep();
      const answers = [await scene.store.turns.finish(step), await scene.store.turns.finish(step)];
      deepEqual(answers[0], answers[1]);
      equal((await listed(scene, hook)).length, 1);
      const [before] = await listed(scene, hook);
      await scene.store.turns.finish({ ...step, nowMs: step.nowMs + 5000 });
      deepEqual(await listed(scene, hook), [before]);
    },
  },
  {
    name: 'a step that is refused stores no event',
    async run(scene) {
      const hook = await registered(scene);
      const begun = await scene.streaming();
      equal((await scene.store.turns.finish(begun.finishStep({ version: 7 }))).outcome, 'lost');
      const fence = { ...begun.fence, owner: 'another' };
      equal((await scene.store.turns.finish(begun.finishStep({ fence }))).outcome, 'fenced');
      equal(await scene.store.sessions.save(over(begun.before, 'ended', scene.now), at(7)), null);
      deepEqual(await listed(scene, hook), []);
    },
  },
  {
    name: 'a finished turn that is withdrawn takes its event along, and no other',
    async run(scene) {
      const hook = await registered(scene);
      const other = await finished(scene);
      const begun = await scene.streaming();
      await scene.store.turns.finish(begun.finishStep());
      equal((await listed(scene, hook)).length, 2);
      const turn = { ...begun.step.turn, endedAt: scene.now };
      const step = begun.withdrawStep({ turn, version: begun.version + 1, remember: null });
      equal((await scene.store.turns.withdraw(step)).outcome, 'finished');
      deepEqual(
        (await listed(scene, hook)).map((each) => bodyOf(each).data.turn_id),
        [other.place.turnId],
      );
      deepEqual(
        (await claimed(scene, 'p')).map((each) => bodyOf(each).data.turn_id),
        [other.place.turnId],
      );
    },
  },
  {
    name: 'the end of a session stores one event, whichever step ends it',
    async run(scene) {
      const { store, now, nowMs } = scene;
      const hook = await registered(scene, { events: ['session.ended', 'session.expired'] });
      const saved = await scene.created();
      const ended = over(saved, 'ended', now);
      equal(await store.sessions.save(ended, at(1), undefined, [], nowMs), 2);
      equal(await store.sessions.save({ ...ended, lastActivityAt: now + 1 }, at(2), undefined, [], nowMs), 3);

      const sealed = await scene.streaming();
      const step = sealed.finishStep();
      await store.turns.finish({ ...step, session: over(step.session, 'expired', now - 1) });

      const withdrawn = await scene.streaming();
      const withdrawal = withdrawn.withdrawStep({ session: over(withdrawn.before, 'expired', now - 2), nowMs });
      for (const _ of [1, 2]) equal((await store.turns.withdraw(withdrawal)).outcome, 'finished');

      const reports = (await listed(scene, hook)).map(bodyOf);
      deepEqual(
        reports.sort((a, b) => (a.data.session_id < b.data.session_id ? -1 : 1)),
        [
          [saved, 'ended', now],
          [sealed.before, 'expired', now - 1],
          [withdrawn.before, 'expired', now - 2],
        ].map(([session, status, endedAt]) => ({
          type: `session.${String(status)}`,
          timestamp: new Date((endedAt as number) * 1000).toISOString(),
          data: {
            session_id: (session as Session).id,
            assistant_id: scene.assistantId,
            turn_id: null,
            channel: 'api',
            status,
            error_code: null,
            metadata: { plan: 'gold' },
          },
        })),
      );
    },
  },
  {
    name: 'a session that ends while its turn is in flight has its event, and the turn has another one later',
    async run(scene) {
      const hook = await registered(scene);
      const begun = await scene.streaming();
      const ended = {
        ...begun.step.session,
        machine: { ...sessionState('ended', begun.before.expiresAt, begun.place.turnId) },
      };
      equal(await scene.store.sessions.save(ended, at(begun.version), undefined, [], scene.nowMs), begun.version + 1);
      deepEqual(await typesOf(scene, hook), ['session.ended']);
      const step = begun.finishStep({ session: ended, version: begun.version + 1 }, { status: 'aborted' });
      equal((await scene.store.turns.finish(step)).outcome, 'finished');
      deepEqual(await typesOf(scene, hook), ['session.ended', 'turn.completed']);
    },
  },
  {
    name: 'a trial, a disabled webhook, and a webhook of another workspace have no events',
    async run(scene) {
      const hook = await registered(scene);
      const disabled = await registered(scene, { enabled: false });
      const elsewhere = webhook(ids.make('wks'), { events: all });
      await scene.store.catalog.create('webhook', elsewhere);
      const trial = await finished(scene, {}, { channel: 'console' });
      const ended = over(trial.finishStep().session, 'ended', scene.now);
      equal(await scene.store.sessions.save(ended, at(3), undefined, [], scene.nowMs), 4);
      deepEqual(await listed(scene, hook), []);
      await finished(scene);
      deepEqual(await listed(scene, disabled), []);
      deepEqual(await scene.store.webhooks.list(elsewhere.workspaceId, elsewhere.id), []);
      equal((await listed(scene, hook)).length, 1);
    },
  },
  {
    name: 'a change of a webhook counts from the next end on',
    async run(scene) {
      const { catalog } = scene.store;
      const hook = await registered(scene, { enabled: false });
      await finished(scene);
      await catalog.replace('webhook', { ...hook, enabled: true, events: ['turn.failed'] }, 1);
      await finished(scene);
      deepEqual(await typesOf(scene, hook), []);
      await catalog.replace('webhook', { ...hook, enabled: true, events: ['turn.completed'] }, 2);
      await finished(scene);
      deepEqual(await typesOf(scene, hook), ['turn.completed']);
      await catalog.replace('webhook', { ...hook, enabled: false }, 3);
      await finished(scene);
      deepEqual(await typesOf(scene, hook), ['turn.completed']);
    },
  },
  {
    name: 'a delivery is claimed by one process until its lease ends, and settled by that one alone',
    async run(scene) {
      const { nowMs, store } = scene;
      const hook = await registered(scene);
      await finished(scene);
      deepEqual(await claimed(scene, 'one', { nowMs: nowMs - 1 }), [], 'it is not due yet');
      const [delivery] = await claimed(scene, 'one');
      ok(delivery);
      deepEqual(await listed(scene, hook), [delivery]);
      deepEqual(await claimed(scene, 'two'), []);
      deepEqual(await claimed(scene, 'one'), []);
      const later = nowMs + 60_000;
      deepEqual(await claimed(scene, 'two', { nowMs: later }), [delivery]);
      const result = { delivery, status: 'delivered', attempts: 1, nextAtMs: null } as const;
      equal(await store.webhooks.settle({ ...result, owner: 'one' }), false);
      deepEqual(await listed(scene, hook), [delivery]);
      equal(await store.webhooks.settle({ ...result, owner: 'two' }), true);
      const settled = { ...delivery, status: 'delivered', attempts: 1, nextAtMs: null };
      deepEqual(await listed(scene, hook), [settled]);
      equal(await store.webhooks.settle({ ...result, owner: 'two', attempts: 2 }), false);
      deepEqual(await claimed(scene, 'one', { nowMs: later + 86_400_000 }), []);
      deepEqual(await listed(scene, hook), [settled]);
    },
  },
  {
    name: 'a delivery that is settled as pending is due again at its time',
    async run(scene) {
      const { nowMs, store } = scene;
      await registered(scene);
      await finished(scene);
      const [delivery] = await claimed(scene, 'one');
      const nextAtMs = nowMs + 5000;
      const result = { delivery: delivery!, status: 'pending', attempts: 1, nextAtMs } as const;
      equal(await store.webhooks.settle({ ...result, owner: 'one' }), true);
      deepEqual(await claimed(scene, 'two', { nowMs: nextAtMs - 1 }), []);
      deepEqual(await claimed(scene, 'two', { nowMs: nextAtMs }), [{ ...delivery, attempts: 1, nextAtMs }]);
    },
  },
  {
    name: 'a claim takes at most its limit, the oldest due first, and leaves out the webhooks that it skips',
    async run(scene) {
      const { nowMs } = scene;
      const [first, second] = [await registered(scene), await registered(scene)];
      for (const each of [3, 1, 2]) {
        const begun = await scene.streaming();
        await scene.store.turns.finish(begun.finishStep({ nowMs: nowMs - each * 1000 }));
      }
      const older = await claimed(scene, 'one', { limit: 2, skip: new Set([first.id]) });
      deepEqual(
        older.map(({ webhookId, nextAtMs }) => [webhookId, nextAtMs]),
        [
          [second.id, nowMs - 3000],
          [second.id, nowMs - 2000],
        ],
      );
      const rest = await claimed(scene, 'one');
      deepEqual(
        new Set(rest.map(({ webhookId, nextAtMs }) => `${webhookId} ${nextAtMs}`)),
        new Set([
          ...[3000, 2000, 1000].map((before) => `${first.id} ${nowMs - before}`),
          `${second.id} ${nowMs - 1000}`,
        ]),
      );
      equal(rest.length, 4);
    },
  },
  {
    name: 'deliveries are listed newest first, at most 100, and all pending ones are kept',
    async run(scene) {
      const { nowMs, store } = scene;
      const hook = await registered(scene);
      const end = async (time: number): Promise<void> => {
        const begun = await scene.streaming({ slot: null });
        await store.turns.finish(begun.finishStep({ nowMs: time }));
      };
      for (let each = 0; each < 130; each++) await end(nowMs + each);
      const deliveries = await listed(scene, hook);
      deepEqual(
        deliveries.map(({ nextAtMs }) => nextAtMs),
        Array.from({ length: 100 }, (_, each) => nowMs + 129 - each),
      );
      const pending = await claimed(scene, 'one', { nowMs: nowMs + 200 });
      equal(pending.length, 130);
      for (const delivery of pending.slice(1)) {
        const result = { delivery, owner: 'one', attempts: 1, nextAtMs: null } as const;
        equal(await store.webhooks.settle({ ...result, status: 'delivered' }), true);
      }
      equal((await listed(scene, hook)).length, 100);
      const [oldest] = pending;
      deepEqual(await claimed(scene, 'two', { nowMs: nowMs + 60_200 }), [oldest]);
    },
  },
  {
    name: 'the pending deliveries of one webhook are failed, and a lease on them is lost',
    async run(scene) {
      const { nowMs, store, workspaceId } = scene;
      const [hook, other] = [await registered(scene), await registered(scene)];
      await finished(scene);
      await finished(scene);
      const [delivery] = await claimed(scene, 'one', { limit: 1, skip: new Set([other.id]) });
      await store.webhooks.failPending(workspaceId, hook.id);
      deepEqual(
        (await listed(scene, hook)).map(({ status, attempts, nextAtMs }) => [status, attempts, nextAtMs]),
        [
          ['failed', 0, null],
          ['failed', 0, null],
        ],
      );
      const result = { delivery: delivery!, owner: 'one', attempts: 1, nextAtMs: null } as const;
      equal(await store.webhooks.settle({ ...result, status: 'delivered' }), false);
      const left = await claimed(scene, 'two', { nowMs: nowMs + 60_000 });
      deepEqual(
        left.map(({ webhookId }) => webhookId),
        [other.id, other.id],
      );
    },
  },
  {
    name: 'a delivery of any status is due again when it is retried, and an unknown one is not found',
    async run(scene) {
      const { nowMs, store, workspaceId } = scene;
      const hook = await registered(scene);
      await finished(scene);
      const [delivery] = await claimed(scene, 'one');
      const result = { delivery: delivery!, status: 'failed', attempts: 7, nextAtMs: null } as const;
      await store.webhooks.settle({ ...result, owner: 'one' });
      const again = { ...delivery, attempts: 7, nextAtMs: nowMs + 9 };
      deepEqual(await store.webhooks.retry(workspaceId, hook.id, delivery!.id, nowMs + 9), again);
      deepEqual(await claimed(scene, 'two', { nowMs: nowMs + 9 }), [again]);
      await store.webhooks.retry(workspaceId, hook.id, delivery!.id, nowMs + 10);
      equal(await store.webhooks.settle({ ...result, owner: 'two' }), false, 'a retry ends the lease');
      deepEqual(await claimed(scene, 'three', { nowMs: nowMs + 10 }), [{ ...again, nextAtMs: nowMs + 10 }]);
      for (const [workspace, webhookId, id] of [
        [workspaceId, hook.id, ids.make('dlv')],
        [workspaceId, ids.make('whk'), delivery!.id],
        [ids.make('wks'), hook.id, delivery!.id],
      ] as const)
        equal(await store.webhooks.retry(workspace, webhookId, id, nowMs), null);
    },
  },
  {
    name: 'a removed webhook leaves no delivery',
    async run(scene) {
      const { nowMs, store, workspaceId } = scene;
      const [hook, other] = [await registered(scene), await registered(scene)];
      const begun = await finished(scene);
      const [delivery] = await claimed(scene, 'one', { limit: 1, skip: new Set([other.id]) });
      equal((await listed(scene, hook)).length, 1);
      equal(await store.catalog.remove('webhook', workspaceId, hook.id), true);
      deepEqual(await listed(scene, hook), []);
      const result = { delivery: delivery!, owner: 'one', attempts: 1, nextAtMs: null } as const;
      equal(await store.webhooks.settle({ ...result, status: 'delivered' }), false);
      equal(await store.webhooks.retry(workspaceId, hook.id, delivery!.id, nowMs), null);
      await finished(scene);
      deepEqual(await listed(scene, hook), []);
      const left = await claimed(scene, 'two', { nowMs: nowMs + 60_000 });
      deepEqual(
        left.map(({ webhookId }) => webhookId),
        [other.id, other.id],
      );
      // The removed webhook's rows are not missed when the session is erased.
      const erasure = { workspaceId, kind: 'session', id: begun.before.id } as const;
      await store.erasures.begin(erasure, nowMs);
      await store.erasures.eraseSession(erasure, begun.before.id);
      await store.erasures.finish(erasure);
      equal((await listed(scene, other)).length, 1);
    },
  },
  {
    name: 'an erased and a discarded session leave no delivery',
    async run(scene) {
      const { nowMs, now, store, workspaceId } = scene;
      const hook = await registered(scene);
      const begun = await finished(scene);
      const ended = over(begun.finishStep().session, 'ended', now);
      equal(await store.sessions.save(ended, at(begun.version + 1), undefined, [], nowMs), begun.version + 2);
      const kept = await finished(scene);
      equal((await listed(scene, hook)).length, 3);
      const erasure = { workspaceId, kind: 'session', id: begun.before.id } as const;
      await store.erasures.begin(erasure, nowMs);
      await store.erasures.eraseSession(erasure, begun.before.id);
      await store.erasures.finish(erasure);
      deepEqual(
        (await listed(scene, hook)).map((each) => bodyOf(each).data.session_id),
        [kept.before.id],
      );
      const created = await scene.created();
      await store.sessions.save(over(created, 'ended', now), at(1), undefined, [], nowMs);
      equal((await listed(scene, hook)).length, 2);
      equal(await store.sessions.discard(created, at(2), null), true);
      deepEqual(
        (await claimed(scene, 'one')).map((each) => bodyOf(each).data.session_id),
        [kept.before.id],
      );
    },
  },
  {
    name: 'open sessions past their deadline are found where a webhook is enabled, also those that are older than it',
    async run(scene) {
      const { store, workspaceId, now, nowMs } = scene;
      const overdue = async (atMs = nowMs, limit = 1000): Promise<string[]> =>
        (await store.webhooks.overdueSessions(atMs, limit))
          .filter((each) => each.workspaceId === workspaceId)
          .map(({ sessionId }) => sessionId);
      const older = await scene.created({ expiresAt: now - 5 });
      await scene.created({ expiresAt: now - 5, channel: 'console' });
      const ended = await scene.created({ expiresAt: now - 5 });
      await store.sessions.save(over(ended, 'ended', now - 6), at(1), undefined, [], nowMs);
      deepEqual(await overdue(), []);
      const hook = await registered(scene, { enabled: false });
      await scene.created({ expiresAt: now - 4 });
      deepEqual(await overdue(), []);
      await store.catalog.replace('webhook', { ...hook, enabled: true }, 1);
      const late = await scene.created({ expiresAt: now - 3 });
      const trial = await scene.created({ expiresAt: now - 3, channel: 'console' });
      const streaming = await scene.streaming({}, { expiresAt: now });
      const later = await scene.created({ expiresAt: now + 1 });
      const found = await overdue();
      equal(found.length, 4);
      equal(found[0], older.id, 'the earliest deadline first');
      deepEqual(found.slice(2), [late.id, streaming.before.id]);
      deepEqual(await overdue(nowMs, 1), [older.id]);
      deepEqual(await overdue(), found, 'they are found again until they have expired');
      for (const id of [older.id, found[1]!, late.id]) {
        const { record, version } = (await store.sessions.read(workspaceId, id))!;
        await store.sessions.save(over(record, 'expired', record.expiresAt), at(version), undefined, [], nowMs);
      }
      deepEqual(await overdue(), [streaming.before.id]);
      const erasure = { workspaceId, kind: 'session', id: streaming.before.id } as const;
      await store.erasures.begin(erasure, nowMs);
      await store.erasures.eraseSession(erasure, streaming.before.id);
      await store.erasures.finish(erasure);
      deepEqual(await overdue(), []);
      deepEqual(await overdue(nowMs + 1000), [later.id]);
      equal((await typesOf(scene, hook)).filter((type) => type === 'session.expired').length, 3);
      notEqual((await store.sessions.read(workspaceId, trial.id))!.record.machine.state, 'expired');
      await store.catalog.remove('webhook', workspaceId, hook.id);
      deepEqual(await overdue(nowMs + 1000), []);
    },
  },
  {
    name: 'a removed workspace leaves no delivery',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      await store.catalog.create('workspace', workspace({ id: workspaceId }));
      const hook = await registered(scene);
      await finished(scene);
      notEqual((await listed(scene, hook)).length, 0);
      equal(await store.catalog.remove('workspace', workspaceId, workspaceId), true);
      deepEqual(await listed(scene, hook), []);
      deepEqual(await claimed(scene, 'one', { nowMs: nowMs + 60_000 }), []);
    },
  },
];

/** Retention. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import type { Case } from '../contract.ts';
import { at, message, page, workspace } from '../fixtures.ts';

const daySeconds = 86_400;

export const sweepCases: readonly Case[] = [
  {
    name: 'sessions past retention go with all they hold, and no others',
    async run(scene) {
      const { store, workspaceId, now, nowMs } = scene;
      await store.catalog.create('workspace', workspace({ id: workspaceId, retentionDays: 2 }));
      const aged = now - 2 * daySeconds - 60;
      const old = scene.session({ lastActivityAt: aged, messageCount: 1 });
      await store.sessions.create(scene.createStep({ session: old, greeting: message() }));
      const turned = await scene.streaming({}, { lastActivityAt: aged });
      await store.turns.finish(turned.finishStep({ tail: { position: 0, text: 'text' } }));
      const young = await scene.created({ lastActivityAt: now - 2 * daySeconds + 60 });
      const revived = await scene.created({ lastActivityAt: aged });
      equal(await store.sessions.save({ ...revived, lastActivityAt: now }, at(1)), 2);
      const flying = await scene.streaming({}, { lastActivityAt: aged });

      while ((await store.sweep(nowMs, 1)) > 0);
      for (const { id } of [old, turned.before]) {
        equal(await store.sessions.read(workspaceId, id), null);
        deepEqual(await scene.transcript(id), []);
      }
      equal(await store.turns.read(workspaceId, turned.before.id, turned.place.turnId), null);
      for (const { id } of [young, revived, flying.before]) ok(await store.sessions.read(workspaceId, id));
      for (const assistantIds of [null, [scene.assistantId]]) {
        const { items } = await store.sessions.list(workspaceId, scene.filter({ assistantIds }), page());
        deepEqual(
          items.map(({ id }) => id),
          [young.id, revived.id, flying.before.id],
        );
      }
      equal(await flying.append(0, 'still there'), 'stored');
      deepEqual(await store.turns.finish(flying.finishStep()), { outcome: 'finished', version: 3 });
      while ((await store.sweep(nowMs, 100)) > 0);
      equal(await store.sessions.read(workspaceId, flying.before.id), null);
    },
  },
  {
    name: 'a sweep deletes as many sessions as it may and tells how many',
    callersTime: true,
    async run(scene) {
      const { store, workspaceId, now, nowMs } = scene;
      await store.catalog.create('workspace', workspace({ id: workspaceId, retentionDays: 1 }));
      for (let count = 0; count < 5; count++) await scene.created({ lastActivityAt: now - daySeconds });
      equal(await store.sweep(nowMs, 10), 0, 'the last second still counts');
      const later = nowMs + 1000;
      equal(await store.sweep(later, 2), 2);
      equal(await store.sweep(later, 2), 2);
      equal(await store.sweep(later, 2), 1);
      equal(await store.sweep(later, 2), 0);
    },
  },
];

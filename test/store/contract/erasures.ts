/** Erasing what a person left behind (contract 22). */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { nothingErased } from '../../../src/store/parts/erasures.ts';
import type { ErasedTraces, Erasure } from '../../../src/store/store.ts';
import type { Case } from '../contract.ts';
import { at, ids, message, page, remembered, toolCall, usageQuery, type Scene } from '../fixtures.ts';
import { move } from './history.ts';

const none = nothingErased;

const erasureOf = ({ workspaceId }: Scene, kind: Erasure['kind'], id: string): Erasure => ({ workspaceId, kind, id });

const traces = (over: Partial<ErasedTraces> = {}): ErasedTraces => ({
  sessionIds: new Set(),
  places: [],
  limits: [],
  ...over,
});

/** A session with a greeting, a finished turn and a turn in flight that has output and a tool call. */
async function conversation(scene: Scene) {
  const { store } = scene;
  const session = scene.session({ messageCount: 1 });
  await store.sessions.create(scene.createStep({ session, greeting: message(), move: move(1) }));
  const first = await scene.begun(session, 1);
  await first.append(0, 'a reply');
  await store.turns.finish(first.finishStep({ tail: { position: 7, text: '.' } }));
  const second = await scene.begun(first.step.session, 3);
  await second.append(0, 'half a re');
  await store.turns.step({ ...second.place, fence: second.fence, from: 0, calls: [toolCall()] });
  return { session, first, second };
}

export const erasureCases: readonly Case[] = [
  {
    name: 'an erased session leaves nothing that can be read, and no step applies to it',
    async run(scene) {
      const { store, workspaceId, assistantId, now, nowMs } = scene;
      const { session, first, second } = await conversation(scene);
      const other = await conversation(scene);
      const window = usageQuery(now - 60, now + 60);
      const used = await store.usage.read(workspaceId, window);
      equal((await store.history.read('session', workspaceId, session.id)).length, 1);
      const erasure = erasureOf(scene, 'session', session.id);
      await store.erasures.begin(erasure, nowMs);
      await store.erasures.eraseSession(erasure, session.id);

      equal(await store.sessions.read(workspaceId, session.id), null);
      deepEqual(await scene.transcript(session.id), []);
      deepEqual(await store.history.read('session', workspaceId, session.id), []);
      for (const assistantIds of [null, [assistantId]]) {
        const { items } = await store.sessions.list(workspaceId, scene.filter({ assistantIds }), page());
        deepEqual(
          items.map(({ id }) => id),
          [other.session.id],
        );
      }
      for (const { place } of [first, second]) {
        equal(await store.turns.read(workspaceId, session.id, place.turnId), null);
        equal(await store.turns.output(place), '');
        deepEqual(await store.turns.calls(place), []);
        equal(await store.turns.outputAfter(place, 0), null);
      }
      equal(await store.turns.inFlight(workspaceId), 1, 'the slot is free');
      deepEqual(await store.usage.read(workspaceId, window), used, 'usage stays');

      const { place, fence } = second;
      equal(await second.append(9, 'ply'), 'fenced');
      equal(await store.turns.renew(place, fence, nowMs + 60_000, nowMs), 'fenced');
      equal(await store.turns.step({ ...place, fence, from: 1, calls: [toolCall()] }), 'fenced');
      deepEqual(await store.turns.finish(second.finishStep()), { outcome: 'fenced' });
      deepEqual(await store.turns.withdraw(second.withdrawStep()), { outcome: 'fenced' });
      equal(await store.turns.takeOver(place, 'another', nowMs + 60_000, nowMs + 61_000), null);
      equal(await store.turns.requestStop(place, 'aborted', nowMs, nowMs), false);
      equal(await store.turns.claim(first.place), false);
      equal(await store.sessions.save({ ...session, messageCount: 9 }, at(4)), null);
      deepEqual(await store.turns.begin(scene.beginStep(session, 4)), { outcome: 'lost' });
      equal(await store.sessions.read(workspaceId, session.id), null);
      deepEqual(await scene.transcript(session.id), []);

      equal(await other.second.append(9, 'ply'), 'stored', 'other sessions continue');
      equal((await scene.transcript(other.session.id)).length, 5);
    },
  },
  {
    name: 'an erasure counts each session, message and turn once, however often it is repeated',
    async run(scene) {
      const { store, nowMs, now } = scene;
      const { session, first } = await conversation(scene);
      const visitor = erasureOf(scene, 'visitor', 'vis_1');
      const created = await scene.created();
      const turn = (await store.turns.read(session.workspaceId, session.id, first.place.turnId))!;
      equal(await store.turns.rate({ session, turn, feedback: { rating: 'up', comment: null, at: now } }), true);
      await store.erasures.begin(visitor, nowMs);
      for (const id of [session.id, session.id, created.id, 'ses_unknown'])
        await store.erasures.eraseSession(visitor, id);
      await store.erasures.begin(visitor, nowMs);
      deepEqual(await store.erasures.finish(visitor), { ...none, sessions: 2, messages: 5, turns: 2, feedback: 1 });
      deepEqual(await store.erasures.finish(visitor), none);
      await store.erasures.begin(visitor, nowMs);
      deepEqual(await store.erasures.finish(visitor), none);
    },
  },
  {
    name: 'an erasure is listed from its beginning to its end',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const session = erasureOf(scene, 'session', ids.make('ses'));
      const visitor = erasureOf(scene, 'visitor', `${'a long name of a visitor/ '.repeat(9)}👋`);
      const listed = async (): Promise<string[]> =>
        (await store.erasures.unfinished())
          .filter((each) => each.workspaceId === workspaceId)
          .map(({ kind, id }) => `${kind} ${id}`)
          .sort();
      await store.erasures.begin(session, nowMs);
      await store.erasures.begin(visitor, nowMs);
      await store.erasures.begin(visitor, nowMs);
      deepEqual(await listed(), [`session ${session.id}`, `visitor ${visitor.id}`]);
      await store.erasures.finish(session);
      deepEqual(await listed(), [`visitor ${visitor.id}`]);
      await store.erasures.finish(visitor);
      deepEqual(await listed(), []);
    },
  },
  {
    name: 'a session of more messages than one step removes is erased whole',
    async run(scene) {
      const { store, nowMs } = scene;
      const session = scene.session({ messageCount: 1200 });
      const earlier = Array.from({ length: 1200 }, (_, index) => message({ content: `message ${index}` }));
      await store.sessions.create(scene.createStep({ session, earlier }));
      const erasure = erasureOf(scene, 'session', session.id);
      await store.erasures.begin(erasure, nowMs);
      await store.erasures.eraseSession(erasure, session.id);
      deepEqual(await store.erasures.finish(erasure), { ...none, sessions: 1, messages: 1200 });
      deepEqual(await scene.transcript(session.id), []);
    },
  },
  {
    name: 'requests, places and limits that name an erased session or visitor are forgotten, and no others',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const [erased, kept] = [ids.make('ses'), ids.make('ses')];
      const until = nowMs + 86_400_000;
      const requests = (sessionId: string) => [
        remembered(sessionId, until, { key: `opened ${sessionId}` }),
        remembered(ids.make('turn'), until, { scope: `key_1 /sessions/${sessionId}/chat` }),
        remembered(ids.make('turn'), until, {
          scope: 'responses',
          key: sessionId,
          bodyDigest: `{"sessionId":"${sessionId}"}`,
        }),
      ];
      for (const remember of [...requests(erased), ...requests(kept)])
        await store.sessions.create(scene.createStep({ session: scene.session(), remember }));
      const place = { kind: 'place', name: 'asst_1/visitors', ceiling: 9, untilMs: nowMs + 60_000 } as const;
      const count = { kind: 'counter', ceiling: 9, periodMs: 86_400_000, cost: 1 } as const;
      for (const asked of [
        { ...place, holder: 'vis_1', seat: erased },
        { ...place, holder: 'vis_2', seat: erased },
        { ...place, holder: 'vis_2', seat: kept },
        { ...place, holder: 'vis_3', seat: erased },
        { ...count, name: 'asst_1/messages/vis_1' },
        { ...count, name: 'asst_1/messages/vis_2' },
      ])
        await store.limits.take({ workspaceId, asked: [asked], nowMs });

      await store.erasures.forget(
        workspaceId,
        traces({
          sessionIds: new Set([erased]),
          places: [
            { holder: 'vis_1', seat: null },
            { holder: 'vis_2', seat: erased },
            { holder: 'vis_3', seat: erased },
          ],
          limits: ['asst_1/messages/vis_1'],
        }),
      );
      for (const { scope, key } of requests(erased))
        equal(await store.requests.find(workspaceId, scope, key, nowMs), null, `${scope} ${key}`);
      for (const { scope, key } of requests(kept)) ok(await store.requests.find(workspaceId, scope, key, nowMs));
      const used = await store.limits.used(
        workspaceId,
        [
          { kind: 'place', name: place.name },
          { kind: 'counter', name: 'asst_1/messages/vis_1', periodMs: count.periodMs },
          { kind: 'counter', name: 'asst_1/messages/vis_2', periodMs: count.periodMs },
        ],
        nowMs,
      );
      deepEqual(used, [1, 0, 1]);
    },
  },
  {
    name: 'sessions are listed by the visitor who holds them',
    async run(scene) {
      const { store, workspaceId } = scene;
      const held = (visitorId: string) =>
        scene.created({ channel: 'link', link: { visitorId, clock: null }, lastActivityAt: 1 });
      const wanted = [await held('vis_1'), await held('vis_1')];
      await held('vis_2');
      await scene.created();
      const list = (after: string | null) =>
        store.sessions.list(workspaceId, scene.filter({ visitorId: 'vis_1' }), page({ limit: 1, after }));
      const first = await list(null);
      const second = await list(first.next);
      deepEqual(
        [...first.items, ...second.items].map(({ id }) => id),
        wanted.map(({ id }) => id),
      );
      equal(second.next, null);
    },
  },
];

/** Sessions: created, saved, listed; and requests remembered. */
import { deepEqual, equal } from 'node:assert/strict';
import { randomIds } from '../../../src/base/ids.ts';
import type { Case } from '../contract.ts';
import { at, ids, message, page, remembered, sessionState, snapshot, usageQuery } from '../fixtures.ts';

export const sessionCases: readonly Case[] = [
  {
    name: 'a session is created with its greeting, and comes back as it was',
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = scene.session({ messageCount: 1, metadata: { 'ключ\u0000': '🗝️' } });
      const greeting = message();
      equal(await store.sessions.read(workspaceId, session.id), null);
      deepEqual(await store.sessions.create(scene.createStep({ session, greeting })), {
        outcome: 'created',
        version: 1,
      });
      deepEqual(await store.sessions.read(workspaceId, session.id), { record: session, version: 1 });
      deepEqual(await scene.transcript(session.id), [greeting]);
      equal(await store.sessions.read(ids.make('wks'), session.id), null, 'seen from another workspace');
      deepEqual((await store.sessions.messages(ids.make('wks'), session.id, page())).items, []);
    },
  },
  {
    name: 'names that mean something to JavaScript come back as they were',
    async run(scene) {
      const { store, workspaceId } = scene;
      const map = JSON.parse('{"__proto__":"p","__proto_":"q","constructor":"c","toJSON":"t","a":"b"}') as Record<
        string,
        string
      >;
      const names = (found: Record<string, unknown> | undefined) => JSON.stringify(found);
      const turn = await scene.streaming({}, { metadata: map, visitor: map });
      const read = async () => (await store.sessions.read(workspaceId, turn.before.id))!.record;
      const whole = [names(map), names(map)];
      deepEqual([names((await read()).metadata), names((await read()).visitor)], whole);
      await store.turns.finish(turn.finishStep());
      const { items } = await store.sessions.list(workspaceId, scene.filter(), page());
      deepEqual([names(items[0]!.metadata), names(items[0]!.visitor)], whole);
      deepEqual((await read()).machine, sessionState('open', turn.before.expiresAt), 'and all else');
    },
  },
  {
    name: 'creating a session again answers as before and applies once',
    async run(scene) {
      const { store, workspaceId, now, nowMs } = scene;
      const session = scene.session();
      const step = scene.createStep({ session, remember: remembered(session.id, nowMs + 5000) });
      const first = await store.sessions.create(step);
      const turn = await scene.begun(session, 1);
      deepEqual(await store.sessions.create(step), first);
      equal((await store.sessions.read(workspaceId, session.id))?.version, turn.version, 'the session went on');
      equal((await store.sessions.list(workspaceId, scene.filter(), page())).items.length, 1);
      equal((await store.usage.read(workspaceId, usageQuery(now, now + 1)))[0]!.sessions, 1);
    },
  },
  {
    name: 'a remembered request makes no second session until its memory ends',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const first = scene.session();
      const memory = remembered(first.id, nowMs + 60_000);
      await store.sessions.create(scene.createStep({ session: first, remember: memory }));
      deepEqual(await store.requests.find(workspaceId, memory.scope, memory.key, nowMs), memory);
      equal(await store.requests.find(workspaceId, memory.scope, 'other', nowMs), null);
      equal(await store.requests.find(workspaceId, 'other', memory.key, nowMs), null);
      equal(await store.requests.find(ids.make('wks'), memory.scope, memory.key, nowMs), null);
      const second = scene.session();
      const step = scene.createStep({ session: second, remember: { ...memory, resultId: second.id, bodyDigest: 'e' } });
      deepEqual(await store.sessions.create(step), { outcome: 'remembered', remembered: memory });
      equal(await store.sessions.read(workspaceId, second.id), null);
    },
  },
  {
    name: 'a session begins with messages from before it, behind its greeting',
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = scene.session({ messageCount: 3 });
      const [greeting, ...earlier] = [
        message({ content: 'Welcome' }),
        message({ role: 'user', content: 'Ça va? 😀', stopReason: null }),
        message({ content: '' }),
      ] as const;
      const step = scene.createStep({ session, greeting, earlier });
      deepEqual(await store.sessions.create(step), { outcome: 'created', version: 1 });
      deepEqual(await scene.transcript(session.id), [greeting, ...earlier]);
      deepEqual(await store.sessions.create(step), { outcome: 'created', version: 1 });
      deepEqual(await scene.transcript(session.id), [greeting, ...earlier], 'again');
      const turn = await scene.begun(session, 1);
      await store.turns.finish(turn.finishStep());
      deepEqual(
        (await scene.transcript(session.id)).map(({ turnId }) => turnId === null),
        [true, true, true, false, false],
      );
      const bare = scene.session({ messageCount: 2 });
      await store.sessions.create(scene.createStep({ session: bare, earlier }));
      deepEqual(await store.sessions.recentMessages(workspaceId, bare.id, 2, 1000, 10), earlier, 'without a greeting');
    },
  },
  {
    name: 'a session takes over the memory of the one that it replaces, and of no other',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const named = async (over: object) => {
        const session = scene.session();
        const remember = remembered(session.id, nowMs + 60_000);
        return {
          session,
          remember,
          answer: await store.sessions.create(scene.createStep({ session, remember, ...over })),
        };
      };
      const first = await named({});
      const other = await named({ replaces: 'ses_other' });
      deepEqual(other.answer, { outcome: 'remembered', remembered: first.remember });
      const second = await named({ replaces: first.session.id });
      equal(second.answer.outcome, 'created');
      deepEqual(
        await store.requests.find(workspaceId, second.remember.scope, second.remember.key, nowMs),
        second.remember,
      );
      equal(
        (await named({ replaces: first.session.id })).answer.outcome,
        'remembered',
        'of two that replace it one is made',
      );
    },
  },
  {
    name: 'a session that is discarded has never been',
    async run(scene) {
      const { store, workspaceId, now, nowMs } = scene;
      const session = scene.session({ messageCount: 1 });
      const remember = remembered(session.id, nowMs + 60_000);
      await store.sessions.create(scene.createStep({ session, remember, earlier: [message()] }));
      const kept = await scene.created();
      equal(await store.sessions.discard(session, at(2, session.mark), remember), false, 'it has moved');
      for (const time of ['once', 'again'])
        equal(await store.sessions.discard(session, at(1, session.mark), remember), true, time);
      equal(await store.sessions.read(workspaceId, session.id), null);
      deepEqual(await scene.transcript(session.id), []);
      deepEqual((await store.sessions.list(workspaceId, scene.filter(), page())).items, [kept]);
      equal(await store.requests.find(workspaceId, remember.scope, remember.key, nowMs), null);
      equal((await store.usage.read(workspaceId, usageQuery(now, now + 1)))[0]!.sessions, 1);
      const turn = await scene.streaming();
      equal(
        await store.sessions.discard(turn.before, at(turn.version, turn.before.mark), null),
        false,
        'it has a turn in flight',
      );
    },
  },
  {
    name: 'a session that is discarded leaves the memory of another request',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const session = scene.session();
      const remember = remembered('ses_other', nowMs + 60_000);
      await store.sessions.create(scene.createStep({ session, remember }));
      equal(await store.sessions.discard(session, at(1, session.mark), remember), true);
      deepEqual(await store.requests.find(workspaceId, remember.scope, remember.key, nowMs), remember);
    },
  },
  {
    name: 'a memory ends on time and makes room for the next',
    callersTime: true,
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const memory = remembered('ses_1', nowMs + 1000);
      await store.sessions.create(scene.createStep({ remember: memory }));
      equal((await store.requests.find(workspaceId, memory.scope, memory.key, nowMs + 999))?.resultId, 'ses_1');
      equal(await store.requests.find(workspaceId, memory.scope, memory.key, nowMs + 1000), null);
      const next = scene.session();
      const step = scene.createStep({
        session: next,
        remember: { ...memory, resultId: next.id, untilMs: nowMs + 9000 },
        nowMs: nowMs + 1000,
      });
      equal((await store.sessions.create(step)).outcome, 'created');
      await store.sweep(nowMs + 1000, 100);
      equal(
        (await store.requests.find(workspaceId, memory.scope, memory.key, nowMs + 1000))?.resultId,
        next.id,
        'the sweep takes only what ended',
      );
      await store.sweep(nowMs + 9000, 100);
      equal(await store.requests.find(workspaceId, memory.scope, memory.key, nowMs), null);
    },
  },
  {
    name: 'of several saves on one version one wins, and none is lost unnoticed',
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = await scene.created();
      const saves = [1, 2, 3].map((turns) => ({ ...session, machine: snapshot('open', { turns }) }));
      const versions = await Promise.all(saves.map((each) => store.sessions.save(each, at(1))));
      equal(versions.filter((version) => version === 2).length, 1);
      equal(versions.filter((version) => version === null).length, 2);
      deepEqual(await store.sessions.read(workspaceId, session.id), { record: saves[versions.indexOf(2)], version: 2 });
      equal(await store.sessions.save(session, at(1)), null, 'an old version');
      equal(await store.sessions.save(session, at(3)), null, 'a version that never was');
      equal(await store.sessions.save(scene.session(), at(1)), null, 'a session that never was');
    },
  },
  {
    name: 'what was acknowledged is what is read next',
    async run(scene) {
      const { store, workspaceId } = scene;
      let session = await scene.created();
      for (let version = 1; version < 4; version++) {
        deepEqual(await store.sessions.read(workspaceId, session.id), { record: session, version });
        session = { ...session, lastActivityAt: session.lastActivityAt + 1, machine: snapshot('open', { version }) };
        equal(await store.sessions.save(session, at(version)), version + 1);
        deepEqual(await store.sessions.read(workspaceId, session.id), { record: session, version: version + 1 });
        deepEqual((await store.sessions.list(workspaceId, scene.filter(), page())).items, [session]);
      }
    },
  },
  {
    name: 'sessions are listed newest first, in pages, past a cursor that never was',
    async run(scene) {
      const { store, workspaceId } = scene;
      const made = [];
      for (let count = 0; count < 4; count++) made.push(scene.session());
      const gone = ids.make('ses');
      made.push(scene.session());
      for (const session of [...made].reverse()) await store.sessions.create(scene.createStep({ session }));
      await store.sessions.create(scene.createStep({ session: { ...scene.session(), workspaceId: ids.make('wks') } }));
      const order = made.map(({ id }) => id);
      const list = async (over: Parameters<typeof page>[0]) => {
        const found = await store.sessions.list(workspaceId, scene.filter(), page({ order: 'desc', ...over }));
        return [found.items.map(({ id }) => order.indexOf(id)), found.next === null ? null : order.indexOf(found.next)];
      };
      deepEqual(await list({}), [[4, 3, 2, 1, 0], null]);
      deepEqual(await list({ limit: 5 }), [[4, 3, 2, 1, 0], null]);
      deepEqual(await list({ limit: 2 }), [[4, 3], 3]);
      deepEqual(await list({ limit: 2, after: order[3]! }), [[2, 1], 1]);
      deepEqual(await list({ limit: 2, after: order[1]! }), [[0], null]);
      deepEqual(await list({ after: gone }), [[3, 2, 1, 0], null]);
      deepEqual(await list({ after: gone, order: 'asc' }), [[4], null]);
      deepEqual(await list({ limit: 2, order: 'asc' }), [[0, 1], 1]);
    },
  },
  {
    name: 'sessions are filtered by assistant, by status and by last activity',
    async run(scene) {
      const { store, workspaceId, now } = scene;
      const others = [ids.make('asst'), ids.make('asst')];
      const open = await scene.created();
      const streaming = await scene.created({ machine: snapshot('streaming'), assistantId: others[0]! });
      const ended = await scene.created({ machine: snapshot('ended'), assistantId: others[1]!, expiresAt: now });
      const expired = await scene.created({ machine: snapshot('expired'), assistantId: others[0]! });
      const overdue = await scene.created({ expiresAt: now, assistantId: others[1]! });
      const aged = await scene.created({ lastActivityAt: now - 100 });
      const list = async (over: Parameters<typeof scene.filter>[0], limit = 100) => {
        const { items } = await store.sessions.list(
          workspaceId,
          scene.filter({ activeSince: now - 99, ...over }),
          page({ limit, order: 'desc' }),
        );
        return items.map(({ id }) => id);
      };
      deepEqual(await list({}), [overdue.id, expired.id, ended.id, streaming.id, open.id]);
      deepEqual(await list({ activeSince: now - 100, status: 'open' }), [aged.id, streaming.id, open.id]);
      deepEqual(await list({ status: 'open' }), [streaming.id, open.id]);
      deepEqual(await list({ status: 'ended' }), [ended.id]);
      deepEqual(await list({ status: 'expired' }), [overdue.id, expired.id]);
      deepEqual(await list({ status: 'expired', now: now - 1 }), [expired.id]);
      deepEqual(await list({ assistantIds: [others[0]!] }), [expired.id, streaming.id]);
      deepEqual(await list({ assistantIds: others }), [overdue.id, expired.id, ended.id, streaming.id]);
      deepEqual(await list({ assistantIds: others }, 3), [overdue.id, expired.id, ended.id]);
      deepEqual(await list({ assistantIds: others, status: 'expired' }), [overdue.id, expired.id]);
      deepEqual(await list({ assistantIds: [] }), []);
    },
  },
  {
    name: 'sessions are filtered by channel, by key, by creation, and by the beginning of an id or of a value',
    async run(scene) {
      const { store, workspaceId, now } = scene;
      const day = 86_400;
      const made = async (over: Parameters<typeof scene.created>[0], daysAgo = 0) => {
        // An id begins with its time.
        const id = randomIds({ now: () => scene.nowMs - daysAgo * day * 1000 }).make('ses');
        return scene.created({ id, createdAt: now - daysAgo * day, ...over });
      };
      const old = await made({ keyId: 'key_1', visitor: { name: 'Ada Byron' } }, 9);
      const link = await made({ channel: 'link', keyId: null, visitor: { name: 'Bob', age: 70, vip: true } }, 4);
      const trial = await made({ channel: 'console', keyId: null, visitor: {} }, 4);
      const young = await made({ keyId: 'key_2', visitor: { city: 'ADANA' } });
      // A row as left by a version without keys in its sessions.
      const earlier = await made({}, 1);
      const list = async (over: Parameters<typeof scene.filter>[0], order: 'asc' | 'desc' = 'asc', limit = 100) => {
        const ids: string[] = [];
        for (let after: string | null = null; ids.length < 9;) {
          const { items, next } = await store.sessions.list(
            workspaceId,
            scene.filter(over),
            page({ limit, order, after }),
          );
          ids.push(...items.map(({ id }) => id));
          if (next === null)
            return ids.map((id) => [old, link, trial, earlier, young].findIndex((each) => each.id === id));
          after = next;
        }
        throw new Error('The pages do not end.');
      };
      for (const [over, found] of [
        [{}, [0, 1, 2, 3, 4]],
        [{ channels: null, keyId: null, createdFrom: null, createdBefore: null, beginning: null }, [0, 1, 2, 3, 4]],
        [{ channels: ['api', 'link', 'widget'] }, [0, 1, 3, 4]],
        [{ channels: ['console'] }, [2]],
        [{ keyId: 'key_1' }, [0]],
        [{ keyId: 'key_3' }, []],
        [{ createdFrom: now - 4 * day }, [1, 2, 3, 4]],
        [{ createdFrom: now - 4 * day + 1 }, [3, 4]],
        [{ createdBefore: now - 4 * day }, [0]],
        [{ createdBefore: now - 4 * day + 1 }, [0, 1, 2]],
        [{ createdFrom: now - 4 * day, createdBefore: now }, [1, 2, 3]],
        [{ createdFrom: now, createdBefore: now }, []],
        [{ createdFrom: 0, createdBefore: 999_999_999_999 }, [0, 1, 2, 3, 4]],
        [{ beginning: 'ada' }, [0, 4]],
        [{ beginning: 'da' }, []],
        [{ beginning: 'tru' }, [1, 3]],
        [{ beginning: '7' }, [1, 3]],
        [{ beginning: link.id.slice(0, -1) }, [1]],
        [{ beginning: '' }, [0, 1, 2, 3, 4]],
        [{ beginning: 'ada', keyId: 'key_2', assistantIds: [scene.assistantId], status: 'open' }, [4]],
      ] as const) {
        const name = JSON.stringify(over);
        deepEqual(
          (await list(over)).toSorted((one, other) => one - other),
          found,
          name,
        );
        deepEqual(await list(over, 'desc'), (await list(over)).reverse(), name);
        deepEqual(await list(over, 'desc', 1), await list(over, 'desc'), `${name}, a session a page`);
        deepEqual(await list(over, 'asc', 1), await list(over), `${name}, a session a page`);
      }
    },
  },
  {
    name: 'no more trials are open than may be, and they count in no usage',
    async run(scene) {
      const { store, workspaceId, now } = scene;
      const open = (over: Parameters<typeof scene.session>[0] = {}, trialsMax = 2) =>
        store.sessions
          .create(scene.createStep({ session: scene.session({ channel: 'console', ...over }), trialsMax }))
          .then(({ outcome }) => outcome);
      const first = scene.session({ channel: 'console' });
      equal((await store.sessions.create(scene.createStep({ session: first, trialsMax: 2 }))).outcome, 'created');
      const outcomes = await Promise.all([open(), open(), open()]);
      deepEqual(outcomes.toSorted(), ['created', 'full', 'full'], 'at once');
      equal(
        (await store.sessions.create(scene.createStep({ session: first, trialsMax: 2 }))).outcome,
        'created',
        'a step that comes twice',
      );
      equal(await open({ workspaceId: ids.make('wks') }), 'created', "another workspace's");
      equal((await store.sessions.create(scene.createStep())).outcome, 'created', 'other sessions know no such bound');
      equal(await open(), 'full');
      equal(await store.sessions.save({ ...first, machine: snapshot('ended') }, at(1)), 2);
      equal(await open({ expiresAt: now - 60 }), 'created', 'one that has ended leaves its place');
      equal(await open(), 'created', 'as one that has expired does');
      equal(await open(), 'full');

      const turn = await scene.streaming({}, { channel: 'console' });
      await store.turns.finish(turn.finishStep());
      deepEqual(
        (await store.usage.read(workspaceId, usageQuery(now - 3600, now + 3600))).reduce(
          (sum, { sessions, turns }) => sum + sessions + turns,
          0,
        ),
        1,
        'the one session that is none',
      );
      equal(await store.turns.inFlight(workspaceId), 0);
      equal((await store.sessions.list(workspaceId, scene.filter({ channels: ['console'] }), page())).items.length, 5);
    },
  },
  {
    name: 'a page is filled however many sessions a filter leaves out',
    async run(scene) {
      const { store, workspaceId } = scene;
      const oldest = await scene.created({ machine: snapshot('ended') });
      await Promise.all(Array.from({ length: 600 }, () => scene.created()));
      const find = (assistantIds: string[] | null) =>
        store.sessions.list(
          workspaceId,
          scene.filter({ status: 'ended', assistantIds }),
          page({ order: 'desc', limit: 2 }),
        );
      for (const assistantIds of [null, [scene.assistantId]]) {
        const { items, next } = await find(assistantIds);
        deepEqual(
          items.map(({ id }) => id),
          [oldest.id],
        );
        equal(next, null);
      }
    },
  },
];

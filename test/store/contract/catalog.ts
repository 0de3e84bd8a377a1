/** Cases for the console's records, and a workspace's removal. */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict';
import { installation } from '../../../src/store/records.ts';
import { versionId } from '../../../src/store/records/versions.ts';
import {
  AliasTaken,
  NameTaken,
  SlugTaken,
  RecordsFull,
  type Assistant,
  type AssistantTest,
  type AssistantVersion,
  type SignIn,
  type SignInLink,
} from '../../../src/store/store.ts';
import type { Case } from '../contract.ts';
import {
  assistant,
  assistantTest,
  assistantVersion,
  credential,
  ids,
  key,
  message,
  page,
  remembered,
  snapshot,
  usageQuery,
  webhook,
  workspace,
} from '../fixtures.ts';

export const catalogCases: readonly Case[] = [
  {
    name: 'a catalog record comes back as it was created, and creating it again changes nothing',
    async run({ store, workspaceId }) {
      const { catalog } = store;
      const records = [
        ['workspace', workspace({ id: workspaceId })],
        ['assistant', assistant(workspaceId)],
        ['key', key(workspaceId)],
        ['credential', credential(workspaceId)],
        ['webhook', webhook(workspaceId)],
        ['assistant_test', assistantTest(assistant(workspaceId))],
      ] as const;
      for (const [kind, record] of records) {
        equal(await catalog.read(kind, workspaceId, record.id), null);
        await catalog.create(kind, record);
        await catalog.create(kind, { ...record, name: 'Other' });
        const stored = await catalog.read(kind, workspaceId, record.id);
        equal(stored?.version, 1);
        deepEqual(plain(stored?.record), plain(record));
      }
      equal(await catalog.read('assistant', ids.make('wks'), records[1][1].id), null, 'seen from another workspace');
    },
  },
  {
    name: 'a catalog record is replaced only if its version still is the one expected',
    async run({ store: { catalog }, workspaceId }) {
      const record = assistant(workspaceId);
      equal(await catalog.replace('assistant', record, 1), null, 'one that is not there');
      await catalog.create('assistant', record);
      const names = ['B', 'C', 'D'];
      const versions = await Promise.all(names.map((name) => catalog.replace('assistant', { ...record, name }, 1)));
      deepEqual(
        versions.filter((version) => version !== null),
        [2],
        'one of three wins',
      );
      const stored = await catalog.read('assistant', workspaceId, record.id);
      equal(stored?.record.name, names[versions.indexOf(2)]);
      equal(stored?.version, 2);
      equal(await catalog.replace('assistant', { ...record, machine: snapshot('published') }, 2), 3);
      equal((await catalog.read('assistant', workspaceId, record.id))?.record.machine.state, 'published');
    },
  },
  {
    name: 'a version is stored with the change of its assistant that makes it, and not by a change that comes too late',
    async run({ store: { catalog }, workspaceId }) {
      const record = assistant(workspaceId);
      const [first, second] = [assistantVersion(record, 1), assistantVersion(record, 2, { note: null })];
      const released = (current: number) => ({ current, newest: current, digest: `digest-${current}`, earlier: [] });
      const replace = (made: AssistantVersion, version: number) =>
        catalog.replace(
          'assistant',
          { ...record, release: released(made.number) },
          version,
          undefined,
          undefined,
          made,
        );
      equal(await replace(first, 1), null, 'without the assistant');
      equal(await catalog.read('assistant_version', workspaceId, first.id), null);
      await catalog.create('assistant', record);
      equal(await replace(first, 1), 2);
      equal(await replace(second, 1), null, 'another change came first');
      const versions = async () => plain((await catalog.list('assistant_version', workspaceId, page())).items);
      deepEqual(await versions(), plain([first]));
      equal(await replace(second, 2), 3);
      deepEqual(await versions(), plain([first, second]), 'in the order of their numbers');
      deepEqual((await catalog.read('assistant', workspaceId, record.id))?.record.release, released(2));
      equal((await catalog.read('assistant_version', workspaceId, first.id))?.version, 1);
    },
  },
  {
    name: 'the versions of an assistant are removed with it, and those of other assistants stay',
    async run({ store: { catalog }, workspaceId }) {
      const [removed, kept] = [assistant(workspaceId), assistant(workspaceId)];
      for (const record of [removed, kept]) {
        await catalog.create('assistant', record);
        for (const number of [1, 2, 3])
          await catalog.replace('assistant', record, number, undefined, undefined, assistantVersion(record, number));
      }
      equal(await catalog.remove('assistant', workspaceId, removed.id), true);
      const { items } = await catalog.list('assistant_version', workspaceId, page());
      deepEqual(
        items.map(({ id }) => id),
        [1, 2, 3].map((number) => versionId(kept.id, number)),
      );
    },
  },
  {
    name: 'an assistant has 200 tests at most, also of many that are created at once, and they are removed with it',
    async run({ store: { catalog }, workspaceId }) {
      const [removed, kept] = [assistant(workspaceId), assistant(workspaceId)];
      for (const record of [removed, kept]) await catalog.create('assistant', record);
      const create = (count: number): Promise<AssistantTest[]> =>
        Promise.all(
          Array.from({ length: count }, async () => {
            const test = assistantTest(removed);
            const refused = (error: Error): null => (ok(error instanceof RecordsFull, error), null);
            return catalog.create('assistant_test', test).then(() => test, refused);
          }),
        ).then((made) => made.filter((test) => test !== null));
      equal((await create(190)).length, 190);
      equal((await create(20)).length, 10);
      const own = assistantTest(kept);
      await catalog.create('assistant_test', own);
      equal(await catalog.remove('assistant', workspaceId, removed.id), true);
      const { items } = await catalog.list('assistant_test', workspaceId, page());
      deepEqual(plain(items), plain([own]));
    },
  },
  {
    name: 'a removed catalog record is gone',
    async run({ store: { catalog }, workspaceId }) {
      const record = key(workspaceId);
      await catalog.create('key', record);
      equal((await catalog.keyByPublicId(record.publicId))?.record.id, record.id);
      equal(await catalog.remove('key', workspaceId, record.id), true);
      equal(await catalog.remove('key', workspaceId, record.id), false);
      equal(await catalog.read('key', workspaceId, record.id), null);
      equal(await catalog.keyByPublicId(record.publicId), null);
      deepEqual((await catalog.list('key', workspaceId, page())).items, []);
    },
  },
  {
    name: 'a key is found by its public id, with its digest and its newest version',
    async run({ store: { catalog }, workspaceId }) {
      const record = key(workspaceId);
      await catalog.create('key', record);
      await catalog.replace('key', { ...record, revokedAt: 5 }, 1);
      const found = await catalog.keyByPublicId(record.publicId);
      equal(found?.version, 2);
      equal(found?.record.revokedAt, 5);
      deepEqual([...(found?.record.digest ?? [])], [...record.digest]);
      equal(await catalog.keyByPublicId('unknown'), null);
    },
  },
  {
    name: 'a slug belongs to one assistant of all workspaces, which is found by it',
    async run({ store: { catalog }, workspaceId }) {
      const [slug, other] = [ids.secret(), ids.secret()];
      const [first, second] = [named(workspaceId, slug), named(ids.make('wks'), slug)];
      equal(await catalog.assistantBySlug(slug), null);
      await catalog.create('assistant', first);
      await catalog.create('assistant', { ...first, link: { ...first.link!, slug: other } });
      equal((await catalog.assistantBySlug(slug))?.record.id, first.id);
      equal(await catalog.assistantBySlug(other), null, 'created once');
      await rejects(catalog.create('assistant', second), SlugTaken);
      equal(await catalog.read('assistant', second.workspaceId, second.id), null);
      await catalog.create('assistant', { ...second, link: null });
      await rejects(catalog.replace('assistant', second, 1), SlugTaken);
      equal(
        await catalog.replace('assistant', { ...second, link: { ...second.link!, slug: other } }, 1),
        2,
        'nothing had changed',
      );
      equal((await catalog.assistantBySlug(other))?.version, 2);
      equal(await catalog.replace('assistant', { ...first, name: 'B' }, 1), 2, 'it keeps its own');
      equal((await catalog.assistantBySlug(slug))?.record.name, 'B');
      equal(
        await catalog.replace('assistant', { ...first, link: { ...first.link!, slug: other } }, 1),
        null,
        'the version goes first',
      );
    },
  },
  {
    name: 'an alias belongs to one assistant of its workspace, also where a full stop is read as a line, and is free once it has another or is removed',
    async run({ store: { catalog }, workspaceId }) {
      const [first, second] = [
        assistant(workspaceId, { alias: 'desk.v1' }),
        assistant(workspaceId, { alias: 'desk_v1' }),
      ];
      await catalog.create('assistant', first);
      await catalog.create('assistant', { ...first, alias: 'other' });
      await catalog.create('assistant', assistant(ids.make('wks'), { alias: 'desk.v1' }));
      await rejects(catalog.create('assistant', second), AliasTaken);
      equal(await catalog.read('assistant', workspaceId, second.id), null);
      await catalog.create('assistant', { ...second, alias: 'other' });
      await rejects(catalog.replace('assistant', second, 1), AliasTaken);
      equal(await catalog.replace('assistant', { ...second, alias: 'other', name: 'B' }, 1), 2, 'nothing had changed');
      equal(await catalog.replace('assistant', { ...first, alias: 'desk_v1' }, 1), 2, 'its own in other words');
      equal(await catalog.replace('assistant', { ...first, alias: null }, 2), 3);
      equal(await catalog.replace('assistant', second, 2), 3, 'free then');
      await rejects(catalog.replace('assistant', first, 3), AliasTaken);
      equal(await catalog.remove('assistant', workspaceId, second.id), true);
      equal(await catalog.replace('assistant', first, 3), 4, 'free once its assistant is removed');
    },
  },
  {
    name: 'of many who want one alias at once one has it',
    async run({ store: { catalog }, workspaceId }) {
      const made = await Promise.all(
        Array.from({ length: 6 }, async (_, index) => {
          const record = assistant(workspaceId, { alias: 'wanted' });
          const late = (error: Error): null => (ok(error instanceof AliasTaken, error), null);
          if (index % 2 === 0) return catalog.create('assistant', record).then(() => record.id, late);
          await catalog.create('assistant', { ...record, alias: null });
          return catalog.replace('assistant', record, 1).then(() => record.id, late);
        }),
      );
      const { items } = await catalog.list('assistant', workspaceId, page());
      deepEqual(
        items.filter(({ alias }) => alias === 'wanted').map(({ id }) => id),
        made.filter((id) => id !== null),
      );
      equal(made.filter((id) => id !== null).length, 1);
    },
  },
  {
    name: 'a name belongs to one credential of its workspace and to no alias, and is free once it has another or is removed',
    async run({ store: { catalog }, workspaceId }) {
      const [first, second] = [
        credential(workspaceId, { name: 'main key / ü' }),
        credential(workspaceId, { name: 'main key / ü' }),
      ];
      await catalog.create('credential', first);
      await catalog.create('credential', { ...first, name: 'other' });
      await catalog.create('credential', credential(ids.make('wks'), { name: first.name! }));
      await catalog.create('assistant', assistant(workspaceId, { alias: 'other' }));
      await rejects(catalog.create('credential', second), NameTaken);
      equal(await catalog.read('credential', workspaceId, second.id), null);
      await catalog.create('credential', { ...second, name: 'other' });
      await rejects(catalog.replace('credential', second, 1), NameTaken);
      equal(
        await catalog.replace('credential', { ...second, name: 'other', updatedAt: 2 }, 1),
        2,
        'nothing had changed',
      );
      equal(await catalog.replace('credential', { ...first, updatedAt: 2 }, 1), 2, 'its own');
      const { name: _, ...unnamed } = first;
      equal(await catalog.replace('credential', unnamed, 2), 3, 'as in a row of before names existed');
      equal(await catalog.replace('credential', second, 2), 3, 'free then');
      await rejects(catalog.replace('credential', first, 3), NameTaken);
      equal(await catalog.remove('credential', workspaceId, second.id), true);
      equal(await catalog.replace('credential', first, 3), 4, 'free once its credential is removed');
    },
  },
  {
    name: 'of many who want one name of a credential at once one has it',
    async run({ store: { catalog }, workspaceId }) {
      const made = await Promise.all(
        Array.from({ length: 6 }, async (_, index) => {
          const record = credential(workspaceId, { name: 'wanted' });
          const late = (error: Error): null => (ok(error instanceof NameTaken, error), null);
          if (index % 2 === 0) return catalog.create('credential', record).then(() => record.id, late);
          await catalog.create('credential', { ...record, name: null });
          return catalog.replace('credential', record, 1).then(() => record.id, late);
        }),
      );
      const { items } = await catalog.list('credential', workspaceId, page());
      deepEqual(
        items.filter(({ name }) => name === 'wanted').map(({ id }) => id),
        made.filter((id) => id !== null),
      );
      equal(made.filter((id) => id !== null).length, 1);
    },
  },
  {
    name: 'a workspace has five webhooks at most, also of many that are created at once, and a removed one makes room',
    async run({ store: { catalog }, workspaceId }) {
      const records = Array.from({ length: 8 }, () => webhook(workspaceId));
      const refused = (error: Error): false => (ok(error instanceof RecordsFull, error), false);
      const made = await Promise.all(
        records.map((record) => catalog.create('webhook', record).then(() => record.id, refused)),
      );
      const stored = made.filter((id) => id !== false);
      equal(stored.length, 5);
      const listed = async () => (await catalog.list('webhook', workspaceId, page())).items.map(({ id }) => id);
      deepEqual((await listed()).toSorted(), stored.toSorted());
      await catalog.create(
        'webhook',
        records.find(({ id }) => id === stored[0])!,
      );
      await catalog.create('webhook', webhook(ids.make('wks')));
      equal(await catalog.remove('webhook', workspaceId, stored[0]!), true);
      const room = webhook(workspaceId);
      await catalog.create('webhook', room);
      await rejects(catalog.create('webhook', webhook(workspaceId)), RecordsFull);
      deepEqual((await listed()).toSorted(), [...stored.slice(1), room.id].toSorted());
    },
  },
  {
    name: 'of many who want one slug at once one has it',
    async run({ store: { catalog } }) {
      const slug = ids.secret();
      const made = await Promise.all(
        Array.from({ length: 6 }, async (_, index) => {
          const record = named(ids.make('wks'), slug);
          if (index % 2 === 0) return catalog.create('assistant', record).then(() => record.id, tooLate);
          await catalog.create('assistant', { ...record, link: null });
          return catalog.replace('assistant', record, 1).then(() => record.id, tooLate);
        }),
      );
      deepEqual(
        made.filter((id) => id !== null),
        [(await catalog.assistantBySlug(slug))?.record.id],
      );
    },
  },
  {
    name: 'a slug is free once its assistant has another or none, or is removed, alone or with its workspace',
    async run({ store: { catalog }, workspaceId }) {
      const slug = ids.secret();
      await catalog.create('workspace', workspace({ id: workspaceId }));
      const owner = async (): Promise<Assistant> => {
        const record = named(workspaceId, slug);
        await catalog.create('assistant', record);
        equal((await catalog.assistantBySlug(slug))?.record.id, record.id);
        return record;
      };
      const first = await owner();
      equal(await catalog.replace('assistant', { ...first, link: { ...first.link!, slug: ids.secret() } }, 1), 2);
      equal(await catalog.assistantBySlug(slug), null);
      const second = await owner();
      equal(await catalog.replace('assistant', { ...second, link: { ...second.link!, slug: null } }, 1), 2);
      const third = await owner();
      equal(await catalog.replace('assistant', { ...third, link: null }, 1), 2);
      equal(await catalog.replace('assistant', third, 2), 3, 'it may have it again');
      await catalog.remove('assistant', workspaceId, third.id);
      equal(await catalog.assistantBySlug(slug), null);
      await owner();
      await catalog.remove('workspace', workspaceId, workspaceId);
      equal(await catalog.assistantBySlug(slug), null);
      const elsewhere = named(ids.make('wks'), slug);
      await catalog.create('assistant', elsewhere);
      equal((await catalog.assistantBySlug(slug))?.record.id, elsewhere.id);
    },
  },
  {
    name: 'catalog lists follow the order of creation in pages, past a cursor that is gone',
    async run({ store: { catalog }, workspaceId }) {
      const made: Assistant[] = [];
      for (let count = 0; count < 5; count++) made.push(assistant(workspaceId));
      for (const record of [...made].reverse()) await catalog.create('assistant', record);
      await catalog.create('assistant', assistant(ids.make('wks')));
      const order = made.map(({ id }) => id);
      const list = async (over: Parameters<typeof page>[0]) => {
        const found = await catalog.list('assistant', workspaceId, page(over));
        return [found.items.map(({ id }) => order.indexOf(id)), found.next === null ? null : order.indexOf(found.next)];
      };
      deepEqual(await list({}), [[0, 1, 2, 3, 4], null]);
      deepEqual(await list({ limit: 2 }), [[0, 1], 1]);
      deepEqual(await list({ limit: 2, order: 'desc' }), [[4, 3], 3]);
      await catalog.remove('assistant', workspaceId, order[1]!);
      deepEqual(await list({ limit: 2, after: order[1]! }), [[2, 3], 3]);
      deepEqual(await list({ limit: 2, order: 'desc', after: order[1]! }), [[0], null]);
      deepEqual(await list({ limit: 3, after: order[1]! }), [[2, 3, 4], null]);
    },
  },
  {
    name: 'sign-ins and their links are kept for the installation, and of many who remove a link at once one has removed it',
    async run({ store: { catalog }, workspaceId }) {
      const link: SignInLink = {
        id: `link-${ids.secret()}`,
        workspaceId: installation,
        operator: 'x',
        name: 'Ada',
        expiresAt: 1,
      };
      const signIn: SignIn = {
        id: ids.make('sin'),
        workspaceId: installation,
        digest: new Uint8Array([0, 255]),
        operator: 'x',
        person: { id: ids.make('prs'), name: 'Ada' },
        address: '192.0.2.1',
        agent: null,
        signedInAt: 1,
        lastSeenAt: 1,
      };
      await catalog.create('sign_in_link', link);
      await catalog.create('sign_in', signIn);
      deepEqual(plain((await catalog.read('sign_in', installation, signIn.id))?.record), plain(signIn));
      equal(await catalog.read('sign_in', workspaceId, signIn.id), null, 'seen from a workspace');
      equal(await catalog.replace('sign_in', { ...signIn, lastSeenAt: 2 }, 1), 2);
      const { items } = await catalog.list('sign_in', installation, page({ order: 'desc' }));
      equal(items.find(({ id }) => id === signIn.id)?.lastSeenAt, 2);
      const removed = await Promise.all([1, 2, 3].map(() => catalog.remove('sign_in_link', installation, link.id)));
      deepEqual(removed.filter(Boolean), [true]);
      equal(await catalog.read('sign_in_link', installation, link.id), null);
      equal(await catalog.remove('sign_in', installation, signIn.id), true);
      equal(await catalog.replace('sign_in', signIn, 2), null, 'what was removed stays so');
    },
  },
  {
    name: 'workspaces are listed whatever workspace is named',
    async run({ store: { catalog }, workspaceId }) {
      const record = workspace({ id: workspaceId });
      await catalog.create('workspace', record);
      const { items } = await catalog.list('workspace', '', page({ order: 'desc' }));
      ok(items.some(({ id }) => id === workspaceId));
    },
  },
  {
    name: 'removing a workspace removes all that it holds, and nothing of another',
    async run(scene) {
      const { store, workspaceId, now, nowMs } = scene;
      const { catalog } = store;
      const record = key(workspaceId);
      const kept = key(ids.make('wks'));
      await catalog.create('workspace', workspace({ id: workspaceId }));
      await catalog.create('assistant', assistant(workspaceId, { id: scene.assistantId }));
      for (const each of [record, kept]) await catalog.create('key', each);
      const session = await scene.created();
      const other = { ...scene.session(), workspaceId: kept.workspaceId };
      const memory = remembered(session.id, nowMs + 1000);
      await store.sessions.create(scene.createStep({ session: other, greeting: message() }));
      await store.sessions.create(scene.createStep({ greeting: message(), remember: memory }));
      const turn = await scene.begun(session, 1);
      await turn.append(0, 'text');
      await store.limits.takeBudgets(workspaceId, record.id, [{ budget: 'requests', ceiling: 2 }], nowMs);

      equal(await catalog.remove('workspace', workspaceId, workspaceId), true);
      equal(await catalog.remove('workspace', workspaceId, workspaceId), false);
      equal(await catalog.read('workspace', workspaceId, workspaceId), null);
      equal(await catalog.read('assistant', workspaceId, scene.assistantId), null);
      equal(await catalog.keyByPublicId(record.publicId), null);
      equal(await store.sessions.read(workspaceId, session.id), null);
      deepEqual((await store.sessions.list(workspaceId, scene.filter(), page())).items, []);
      deepEqual(
        (await store.sessions.list(workspaceId, scene.filter({ assistantIds: [scene.assistantId] }), page())).items,
        [],
      );
      deepEqual(await scene.transcript(session.id), []);
      equal(await store.turns.read(workspaceId, session.id, turn.place.turnId), null);
      equal(await store.turns.output(turn.place), '');
      equal(await store.turns.inFlight(workspaceId), 0);
      equal(await store.requests.find(workspaceId, memory.scope, memory.key, nowMs), null);
      equal((await store.usage.read(workspaceId, usageQuery(now, now + 1)))[0]!.sessions, 0);
      const [budget] = await store.limits.takeBudgets(
        workspaceId,
        record.id,
        [{ budget: 'requests', ceiling: 2 }],
        nowMs,
      );
      equal(budget!.remaining, 1, 'budgets begin anew');
      equal(await turn.append(4, 'more'), 'fenced');

      ok(await catalog.keyByPublicId(kept.publicId));
      ok(await store.sessions.read(kept.workspaceId, other.id));
      equal((await store.sessions.messages(kept.workspaceId, other.id, page())).items.length, 1);
    },
  },
];

const named = (workspaceId: string, slug: string): Assistant =>
  assistant(workspaceId, { link: { slug, limits: {}, origins: [] } });

/** The refusal that is expected of all but one. */
function tooLate(error: Error): null {
  ok(error instanceof SlugTaken, error);
  return null;
}

/** A record with its bytes as numbers, so that it does not matter what kind of byte array came back. */
const plain = (record: unknown): unknown =>
  JSON.parse(
    JSON.stringify(record, (_, value) =>
      value?.type === 'Buffer' ? value.data : value instanceof Uint8Array ? [...value] : value,
    ),
  );

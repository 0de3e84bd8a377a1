/** Tests of assistants and their runs (contract 21): what is made of a row that is gone, and what an erasure removes. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import { PrerequisiteGone, type CatalogEntry, type Erasure, type Session } from '../../../src/store/store.ts';
import { nothingErased } from '../../../src/store/parts/erasures.ts';
import { ownIdOf, resultKey, type TestResult } from '../../../src/store/records/tests.ts';
import type { Case } from '../contract.ts';
import { assistant, assistantTest, page, testRun, type Scene } from '../fixtures.ts';

/** Whether the store takes a record. */
async function takes({ store }: Scene, { kind, record }: CatalogEntry): Promise<boolean> {
  try {
    await store.catalog.create(kind, record);
    return true;
  } catch (error) {
    ok(error instanceof PrerequisiteGone, error as Error);
    return false;
  }
}

const resultOf = (run: ReturnType<typeof testRun>, place: number): TestResult => ({
  id: resultKey(run, place),
  workspaceId: run.workspaceId,
  assistantId: run.assistantId,
  sessionIds: [],
  outcome: null,
});

/** A test that was made of a session, a run of it, a replay of the session, and the result of the run. */
function madeOf(scene: Scene, session: Session) {
  const of = assistant(scene.workspaceId);
  const test = assistantTest(of, { fromSessionId: session.id });
  const run = testRun(of, { plan: { kind: 'tests', testIds: [ownIdOf(test)], all: true, repeat: null } });
  const replay = testRun(of, { plan: { kind: 'replay', sessionIds: [session.id] } });
  return { test, run, replay, result: resultOf(run, 0) };
}

export const testRunCases: readonly Case[] = [
  {
    name: 'a test of a session, a run and a result are stored while what they are made of is there, and not after it',
    async run(scene) {
      const { store, workspaceId } = scene;
      const session = await scene.created();
      const { test, run, replay, result } = madeOf(scene, session);
      const orphan = resultOf(testRun(assistant(workspaceId)), 0);
      equal(await takes(scene, { kind: 'test_result', record: orphan }), false, 'a result without its run');
      equal(await takes(scene, { kind: 'test_run', record: run }), false, 'a run without its test');
      equal(await takes(scene, { kind: 'assistant_test', record: test }), true);
      equal(await takes(scene, { kind: 'test_run', record: run }), true);
      equal(await takes(scene, { kind: 'test_run', record: replay }), true);
      equal(await takes(scene, { kind: 'test_result', record: result }), true);
      const erasure: Erasure = { workspaceId, kind: 'session', id: session.id };
      await store.erasures.begin(erasure, scene.nowMs);
      await store.erasures.eraseSession(erasure, session.id);
      const later = madeOf(scene, session);
      equal(await takes(scene, { kind: 'assistant_test', record: later.test }), false, 'a test of an erased session');
      equal(await takes(scene, { kind: 'test_run', record: later.replay }), false, 'a replay of an erased session');
      equal(await store.catalog.read('assistant_test', workspaceId, later.test.id), null);
      const kept = await store.catalog.replace('assistant_test', { ...test, name: 'Kept' }, 1);
      equal(kept, 2, 'a stored test changes as before');
    },
  },
  {
    name: 'a session of a run is created while its run is there, and not after it',
    async run(scene) {
      const { store, workspaceId } = scene;
      const run = testRun(assistant(workspaceId));
      const create = async (): Promise<string> => {
        const session = scene.session({ channel: 'test' });
        const { outcome } = await store.sessions.create(scene.createStep({ session, run: run.id }));
        equal((await store.sessions.read(workspaceId, session.id)) !== null, outcome === 'created');
        return outcome;
      };
      equal(await create(), 'gone');
      await store.catalog.create('test_run', run);
      equal(await create(), 'created');
      await store.catalog.remove('test_run', workspaceId, run.id);
      equal(await create(), 'gone');
    },
  },
  {
    name: 'an erasure removes tests, runs and results, and counts each test once',
    async run(scene) {
      const { store, workspaceId, nowMs } = scene;
      const { test, run, result } = madeOf(scene, await scene.created());
      const kept = assistantTest(assistant(workspaceId));
      for (const record of [test, kept]) await store.catalog.create('assistant_test', record);
      await store.catalog.create('test_run', run);
      await store.catalog.create('test_result', result);
      const erasure: Erasure = { workspaceId, kind: 'visitor', id: 'vis_1' };
      equal(await store.erasures.begin(erasure, nowMs), false);
      equal(await store.erasures.begin(erasure, nowMs), true, 'it has begun before');
      for (let sent = 0; sent < 2; sent++) {
        await store.erasures.eraseRecord(erasure, 'assistant_test', test.id);
        await store.erasures.eraseRecord(erasure, 'test_run', run.id);
        await store.erasures.eraseRecord(erasure, 'test_result', result.id);
      }
      deepEqual(
        (await store.catalog.list('assistant_test', workspaceId, page())).items.map(({ id }) => id),
        [kept.id],
      );
      for (const kind of ['test_run', 'test_result'] as const)
        deepEqual((await store.catalog.list(kind, workspaceId, page())).items, []);
      equal(await store.catalog.replace('test_run', run, 1), null, 'no process changes a removed run');
      deepEqual(await store.erasures.finish(erasure), { ...nothingErased, tests: 1 });
    },
  },
  {
    name: 'a record is removed at the version that is given, and at no other',
    async run({ store: { catalog }, workspaceId }) {
      const run = testRun(assistant(workspaceId));
      await catalog.create('test_run', run);
      equal(await catalog.replace('test_run', run, 1), 2);
      equal(await catalog.remove('test_run', workspaceId, run.id, undefined, 1), false);
      ok(await catalog.read('test_run', workspaceId, run.id));
      equal(await catalog.remove('test_run', workspaceId, run.id, undefined, 2), true);
      equal(await catalog.read('test_run', workspaceId, run.id), null);
    },
  },
];

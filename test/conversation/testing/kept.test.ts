/** Rows that runs of tests leave (contract 21): sessions for a week, runs that are removed, and no queue. */
import t, { type Test } from 'tap';
import { claimed, dequeue, enqueue } from '../../../src/conversation/testing/queue.ts';
import { removeAgedSessions, removeRun } from '../../../src/conversation/testing/retention.ts';
import { memoryStore } from '../../../src/store/memory.ts';
import { installation } from '../../../src/store/records.ts';
import { ownIdOf, resultKey } from '../../../src/store/records/tests.ts';
import type { Store, TestRun } from '../../../src/store/store.ts';
import { ManualClock } from '../../providers/model/provider.ts';
import { assistant, Scene, snapshot, testRun, workspace } from '../../store/fixtures.ts';

const weekSeconds = 7 * 86_400;

async function opened(t: Test) {
  const clock = new ManualClock();
  const store = memoryStore(clock);
  await store.open(clock.now());
  t.teardown(() => store.close());
  return { store, clock, scene: new Scene(store, clock.now()) };
}

/** A run that ended at this second, with a result and a session that was held for it. */
async function ended(scene: Scene, endedAt: number | null, status = 'passed'): Promise<{ run: TestRun; held: string }> {
  const { store, workspaceId } = scene;
  const run = testRun(assistant(workspaceId), { machine: snapshot(status, { attempts: 0 }), endedAt });
  await store.catalog.create('test_run', run);
  const session = scene.session({ channel: 'test' });
  await store.sessions.create(scene.createStep({ session, run: run.id }));
  const { assistantId } = run;
  const sessionIds = [session.id];
  await store.catalog.create('test_result', {
    id: resultKey(run, 0),
    workspaceId,
    assistantId,
    sessionIds,
    outcome: null,
  });
  return { run, held: session.id };
}

const isThere = async ({ store, workspaceId }: Scene, id: string): Promise<boolean> =>
  (await store.sessions.read(workspaceId, id)) !== null;

t.test('sessions of a run are deleted seven days after its end, and the run keeps its results', async (t) => {
  const { store, clock, scene } = await opened(t);
  await store.catalog.create('workspace', workspace({ id: scene.workspaceId }));
  const own = await scene.created();
  const aged = await ended(scene, scene.now);
  const younger = await ended(scene, scene.now + 1);
  const running = await ended(scene, null, 'running');
  clock.advance(weekSeconds * 1000 - 1);
  await removeAgedSessions({ store, clock });
  t.ok(await isThere(scene, aged.held), 'a second before');
  clock.advance(1);
  await removeAgedSessions({ store, clock });
  t.notOk(await isThere(scene, aged.held));
  for (const id of [younger.held, running.held, own.id]) t.ok(await isThere(scene, id));
  t.ok(await store.catalog.read('test_result', scene.workspaceId, resultKey(aged.run, 0)));
  t.match(await store.catalog.read('test_run', scene.workspaceId, aged.run.id), { record: { cleared: true } });
  t.same(await store.erasures.unfinished(), []);
});

t.test('a removed run takes its results and sessions along', async (t) => {
  const { store, clock, scene } = await opened(t);
  const [removed, kept] = [await ended(scene, 1), await ended(scene, 1)];
  await removeRun(removed.run, { store, clock });
  t.notOk(await isThere(scene, removed.held));
  t.ok(await isThere(scene, kept.held));
  for (const kind of ['test_run', 'test_result'] as const)
    t.equal(
      (await store.catalog.list(kind, scene.workspaceId, { limit: 9, after: null, order: 'asc' })).items.length,
      1,
    );
});

const queues = async (store: Store): Promise<readonly unknown[]> =>
  (await store.catalog.list('test_queue', installation, { limit: 9, after: null, order: 'asc' })).items;

t.test('a queue is removed with its last run, and not while another one waits', async (t) => {
  const { store, scene } = await opened(t);
  const of = assistant(scene.workspaceId);
  await enqueue(store.catalog, of, 'run_1', 0);
  await enqueue(store.catalog, of, 'run_2', 0);
  const { record, version } = (await store.catalog.read('test_queue', installation, of.id))!;
  await store.catalog.replace('test_queue', claimed(record, 'run_1', 'me', 0), version);
  await dequeue(store.catalog, of.id, 'run_1');
  t.match(await queues(store), [{ running: null, waiting: [{ runId: 'run_2' }] }]);
  await dequeue(store.catalog, of.id, 'run_2');
  t.same(await queues(store), []);
  await dequeue(store.catalog, of.id, 'run_2');
  t.same(await queues(store), []);
});

t.test('a run that is queued while the last one leaves the queue is not lost', async (t) => {
  const { store, scene } = await opened(t);
  const of = assistant(scene.workspaceId);
  for (const run of Array.from({ length: 5 }, () => testRun(of))) {
    await enqueue(store.catalog, of, 'run_last', 0);
    await Promise.all([dequeue(store.catalog, of.id, 'run_last'), enqueue(store.catalog, of, ownIdOf(run), 0)]);
    t.match(await queues(store), [{ waiting: [{ runId: ownIdOf(run) }] }]);
    await dequeue(store.catalog, of.id, ownIdOf(run));
  }
});

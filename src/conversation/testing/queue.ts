/** The queue of an assistant's runs (contract 21), changed by compare-and-set: pure decisions, and their steps. */
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { installation } from '../../store/records.ts';
import { changeRecord } from '../../store/parts/change-record.ts';
import { StoreUnavailable, type Catalog, type TestQueue } from '../../store/store.ts';

/** Milliseconds for which a process keeps a run without renewing that. */
export const runLeaseMs = 12_000;
/** Seconds until a place in a full queue may be free. */
const retrySeconds = 10;

/** The run that a process may play now; null for none. `alone`: no other process uses the store. */
export function claimable(queue: TestQueue, owner: string, nowMs: number, alone: boolean): string | null {
  const { running, waiting } = queue;
  if (running === null) return waiting[0]?.runId ?? null;
  const isFree = running.owner === owner || running.untilMs <= nowMs || alone;
  return isFree ? running.runId : null;
}

/** The queue once a process plays the run. */
export const claimed = (queue: TestQueue, runId: string, owner: string, nowMs: number): TestQueue => ({
  ...queue,
  waiting: queue.waiting.filter((one) => one.runId !== runId),
  running: { runId, owner, untilMs: nowMs + runLeaseMs },
});

/** The queue without a run. */
export const withoutRun = (queue: TestQueue, runId: string): TestQueue => ({
  ...queue,
  waiting: queue.waiting.filter((one) => one.runId !== runId),
  running: queue.running?.runId === runId ? null : queue.running,
});

type QueueCatalog = Pick<Catalog, 'read' | 'replace' | 'create' | 'remove'>;

export const changeQueue = (
  catalog: QueueCatalog,
  assistantId: string,
  change: (before: TestQueue) => TestQueue | null,
): Promise<TestQueue | null> => changeRecord(catalog, 'test_queue', installation, assistantId, change);

/**
 * Takes a run out of its queue, and resolves with the queue that is left. A queue without runs is removed, since each
 * process lists all queues.
 */
export async function dequeue(catalog: QueueCatalog, assistantId: string, runId: string): Promise<TestQueue | null> {
  for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
    const stored = await catalog.read('test_queue', installation, assistantId);
    if (stored === null) return null;
    const left = withoutRun(stored.record, runId);
    const isEmpty = left.running === null && left.waiting.length === 0;
    const isStored = isEmpty
      ? await catalog.remove('test_queue', installation, assistantId, undefined, stored.version)
      : (await catalog.replace('test_queue', left, stored.version)) !== null;
    if (isStored) return isEmpty ? null : left;
  }
  throw unstored();
}

const unstored = () => new StoreUnavailable('The queue of runs could not be stored. Repeat the request.');

/** Adds a run to the queue of its assistant; throws 429 if as many wait as may. */
export async function enqueue(
  catalog: QueueCatalog,
  assistant: { readonly id: string; readonly workspaceId: string },
  runId: string,
  nowMs: number,
): Promise<void> {
  const added = (before: TestQueue): TestQueue => {
    if (before.waiting.length >= limits.testRunsWaitingMax)
      throw new Failure('rate_limited', { seconds: retrySeconds });
    return { ...before, waiting: [...before.waiting, { runId, atMs: nowMs }] };
  };
  for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
    if ((await changeQueue(catalog, assistant.id, added)) !== null) return;
    // Creating a queue that exists changes nothing.
    await catalog.create('test_queue', {
      id: assistant.id,
      workspaceId: installation,
      inWorkspaceId: assistant.workspaceId,
      waiting: [],
      running: null,
    });
  }
  throw unstored();
}

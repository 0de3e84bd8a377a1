/** `/console/api/workspaces/{w}/assistants/{id}/test-runs` (contract 21). */
import { endedRuns, runVersion } from '../../../machines/run.ts';
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { enqueue } from '../../conversation/testing/queue.ts';
import { removeRun } from '../../conversation/testing/retention.ts';
import { runView, runWithResults } from '../../conversation/testing/results.ts';
import { toolsOf, versionOf } from '../../host/draft.ts';
import { changesOf } from '../../store/parts/audit.ts';
import { resultsOf } from '../../turn/erased-tests.ts';
import { ownIdOf, testKey } from '../../store/records/tests.ts';
import {
  PrerequisiteGone,
  type Assistant,
  type AssistantVersion,
  type Page,
  type PageRequest,
  type Session,
  type TestRun,
} from '../../store/store.ts';
import type { CreateTestRunBody } from '../../wire/wire.ts';
import { list, pageRequest, type PageFields } from '../handlers/lists.ts';
import { apiChannels, sessionFilter } from '../handlers/sessions.ts';
import type { Reply } from '../request.ts';
import { actEntry } from './audit.ts';
import { nowhere, nowSeconds, present, reachPathAssistant, type ConsoleRequest } from './common.ts';
import { toolReader } from './drafts.ts';
import { pageOfAssistant, testsOf } from './tests.ts';
import { reachVersion, reachVersioned } from './versions.ts';

/** Runs of an assistant that are kept after their end. */
const runsKept = 20;

export async function listTestRuns(request: ConsoleRequest<PageFields>): Promise<Reply> {
  const { record } = await reachPathAssistant(request);
  return list(
    pageRequest(request.query, 'desc'),
    (page) => pageOfAssistant(request, record, 'test_run', page),
    runView,
  );
}

export async function getTestRun(request: ConsoleRequest): Promise<Reply> {
  return runReply(await reachRun(request), request);
}

/** The answer with a run and its results. */
async function runReply(run: TestRun, { services }: Pick<ConsoleRequest, 'services'>, status = 200): Promise<Reply> {
  return { status, json: runWithResults(run, await resultsOf(services.store.catalog, run)) };
}

/** Queues a run on the settings as they are now. */
export async function createTestRun(request: ConsoleRequest<unknown, CreateTestRunBody>): Promise<Reply> {
  const { body, services } = request;
  const assistant = await reachVersioned(request);
  const { id: assistantId, workspaceId } = assistant;
  const played = await settingsOf(assistant, body.version, request);
  const { plan, origins } = await planOf(assistant, body, request);
  const ownId = services.ids.make('run');
  const run: TestRun = {
    id: testKey(assistantId, ownId),
    workspaceId,
    assistantId,
    version: body.version === 'draft' ? null : body.version,
    digest: played.digest,
    settings: played.settings,
    tools: played.tools,
    plan,
    origins,
    machine: { version: runVersion, state: 'queued', context: { attempts: 0 } },
    createdAt: nowSeconds(request),
    startedAt: null,
    endedAt: null,
    done: 0,
    of: plan.kind === 'tests' ? plan.testIds.length : plan.sessionIds.length,
    usage: { inputTokens: 0, outputTokens: 0 },
    counts: null,
    testsDigest: null,
  };
  // A run that is queued and never stored is dropped from the queue.
  await enqueue(services.store.catalog, assistant, ownId, services.clock.now());
  const changes = changesOf(null, { version: body.version, digest: played.digest, kind: plan.kind, of: run.of });
  const row = actEntry(request, workspaceId, { action: 'create', objectType: 'test_run', objectId: ownId, changes });
  try {
    await services.store.catalog.create('test_run', run, undefined, row);
  } catch (error) {
    if (!(error instanceof PrerequisiteGone)) throw error;
    // A test or a session was removed since the run was planned.
    if (body.test_ids === undefined) return createTestRun(request);
    throw nowhere();
  }
  services.testRuns.wake();
  await removeOldRuns(assistant, request);
  const location = `/console/api/workspaces/${workspaceId}/assistants/${assistantId}/test-runs/${ownId}`;
  return { status: 202, headers: { location }, json: runWithResults(run, []) };
}

/** Cancels a run; one that has ended stays as it is. */
export async function cancelTestRun(request: ConsoleRequest): Promise<Reply> {
  const run = await reachRun(request);
  const row = (before: TestRun, after: TestRun) =>
    actEntry(request, run.workspaceId, {
      action: 'cancel',
      objectType: 'test_run',
      objectId: ownIdOf(run),
      changes: [{ path: 'status', before: before.machine.state, after: after.machine.state }],
    });
  return runReply(present(await request.services.testRuns.cancel(run, row)), request);
}

async function reachRun(request: ConsoleRequest): Promise<TestRun> {
  const { record } = await reachPathAssistant(request);
  const id = testKey(record.id, request.params.run_id);
  return present(await request.services.store.catalog.read('test_run', record.workspaceId, id)).record;
}

/** The settings and tools of a version, or of the draft as it would be published now. */
async function settingsOf(
  assistant: Assistant,
  version: CreateTestRunBody['version'],
  request: ConsoleRequest<unknown, unknown>,
): Promise<Pick<AssistantVersion, 'digest' | 'settings' | 'tools'>> {
  if (version !== 'draft') return reachVersion(assistant, String(version), request);
  const tools = await toolsOf(assistant, toolReader(request, assistant.workspaceId));
  return versionOf(assistant, tools, { number: 1, note: null, createdAt: 0, createdBy: null });
}

async function planOf(
  assistant: Assistant,
  { test_ids: wanted, repeat: repeated, replay }: Omit<CreateTestRunBody, 'version'>,
  request: ConsoleRequest<unknown, unknown>,
): Promise<Pick<TestRun, 'plan' | 'origins'>> {
  const repeat = repeated ?? null;
  if (replay !== undefined) {
    if (wanted !== undefined || repeat !== null) throw new Failure('invalid_field', { field: 'replay' });
    const sessions = await newestSessions(assistant, replay.sessions, request);
    if (sessions.length === 0) throw new Failure('invalid_field', { field: 'replay.sessions' });
    const sessionIds = sessions.map(({ id }) => id);
    const visitorIds = sessions.flatMap(({ link }) => link?.visitorId ?? []);
    return { plan: { kind: 'replay', sessionIds }, origins: { sessionIds, visitorIds: [...new Set(visitorIds)] } };
  }
  // The oldest test is played first.
  const all = new Map((await testsOf(request, assistant)).map((test) => [ownIdOf(test), test]));
  const testIds = wanted === undefined ? [...all.keys()] : [...new Set(wanted)];
  const tests = testIds.map((id) => present(all.get(id) ?? null));
  if (tests.length === 0) throw new Failure('invalid_field', { field: 'tests' });
  return {
    plan: { kind: 'tests', testIds, all: tests.length === all.size, repeat },
    origins: {
      sessionIds: [...new Set(tests.flatMap(({ fromSessionId }) => fromSessionId ?? []))],
      visitorIds: [...new Set(tests.flatMap(({ fromVisitorId }) => fromVisitorId ?? []))],
    },
  };
}

/** The newest sessions of an assistant that have ended or expired. */
async function newestSessions(
  { id, workspaceId }: Assistant,
  most: number,
  { services }: Pick<ConsoleRequest, 'services'>,
): Promise<Session[]> {
  const wanted = { assistantIds: [id], channels: apiChannels };
  const sessions: Session[] = [];
  for (const status of ['ended', 'expired']) {
    const filter = await sessionFilter(workspaceId, wanted, { status }, services);
    for (let after: string | null = null, left = most; left > 0;) {
      const request: PageRequest = { limit: Math.min(limits.listMax, left), after, order: 'desc' };
      const page: Page<Session> = await services.store.sessions.list(workspaceId, filter, request);
      sessions.push(...page.items);
      left = page.next === null ? 0 : left - page.items.length;
      after = page.next;
    }
  }
  // An id begins with the time of its creation.
  return sessions.toSorted((one, other) => (one.id < other.id ? 1 : -1)).slice(0, most);
}

/** Removes the oldest runs that have ended beyond those that are kept. */
async function removeOldRuns(assistant: Assistant, request: Pick<ConsoleRequest, 'services'>): Promise<void> {
  const page = { limit: limits.listMax, after: null, order: 'desc' } as const;
  const { items } = await pageOfAssistant(request, assistant, 'test_run', page);
  const ended = items.filter(({ machine }) => endedRuns.includes(machine.state));
  for (const run of ended.slice(runsKept)) await removeRun(run, request.services);
}

/** `/console/api/workspaces/{w}/assistants/{id}/tests` (contract 21). */
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { retainedSince } from '../../conversation/access-checks.ts';
import { scriptOfSession } from '../../conversation/testing/from-session.ts';
import { nestingProblem, scriptOf, testView, type TestScript } from '../../conversation/testing/tests.ts';
import { testKey } from '../../store/records/tests.ts';
import { changeRecord } from '../../store/parts/change-record.ts';
import {
  PrerequisiteGone,
  RecordsFull,
  type Assistant,
  type AssistantTest,
  type Page,
  type PageRequest,
} from '../../store/store.ts';
import type { CreateTestBody, PatchTestBody } from '../../wire/wire.ts';
import { list, pageRequest, type PageFields } from '../handlers/lists.ts';
import type { Reply } from '../request.ts';
import { audited } from './audit.ts';
import { noContent, nowhere, nowSeconds, present, reachPathAssistant, type ConsoleRequest } from './common.ts';

/** A page of an assistant's records of a kind; the cursors are their own ids. */
export async function pageOfAssistant<K extends 'assistant_test' | 'test_run'>(
  { services }: Pick<ConsoleRequest, 'services'>,
  { id, workspaceId }: Pick<Assistant, 'id' | 'workspaceId'>,
  kind: K,
  { limit, after, order }: PageRequest,
) {
  const begin = testKey(id, '');
  // Every own id comes before this text.
  const last = 'z';
  const from = after ?? (order === 'asc' ? '' : last);
  // One more says whether there is another page: records of another assistant follow in the store.
  const page = { limit: limit + 1, after: begin + from, order };
  const { items } = await services.store.catalog.list(kind, workspaceId, page);
  const own = items.filter(({ assistantId }) => assistantId === id);
  const next = own.length > limit ? own[limit - 1]!.id.slice(begin.length) : null;
  return { items: own.slice(0, limit), next } as Page<(typeof items)[number]>;
}

export async function listTests(request: ConsoleRequest<PageFields>): Promise<Reply> {
  const { record } = await reachPathAssistant(request);
  return list(
    pageRequest(request.query, 'desc'),
    (page) => pageOfAssistant(request, record, 'assistant_test', page),
    testView,
  );
}

export async function getTest(request: ConsoleRequest): Promise<Reply> {
  return { status: 200, json: testView(await reachTest(request)) };
}

export async function createTest(request: ConsoleRequest<unknown, CreateTestBody>): Promise<Reply> {
  const { body, services } = request;
  const { id: assistantId, workspaceId } = (await reachPathAssistant(request)).record;
  checkNesting(body);
  const fromSessionId = body.from_session ?? null;
  const made = fromSessionId === null ? null : await madeFrom(fromSessionId, assistantId, request);
  const script: Partial<TestScript> = { ...made?.script, ...scriptOf(body) };
  const { name, steps, visitor = {}, metadata = {}, toolResults = {}, repeat = 1 } = script;
  if (name === undefined) throw new Failure('missing_field', { field: 'name' });
  if (steps === undefined) throw new Failure('missing_field', { field: 'steps' });
  const at = nowSeconds(request);
  const ownId = services.ids.make('tst');
  const test: AssistantTest = {
    id: testKey(assistantId, ownId),
    workspaceId,
    assistantId,
    ...{ name, visitor, metadata, steps, toolResults, repeat },
    fromSessionId,
    fromVisitorId: made?.visitorId ?? null,
    createdAt: at,
    updatedAt: at,
  };
  try {
    await services.store.catalog.create('assistant_test', test, undefined, audited(request, 'test')(null, test));
  } catch (error) {
    if (error instanceof RecordsFull) throw new Failure('invalid_field', { field: 'tests' });
    // The session was erased meanwhile.
    if (error instanceof PrerequisiteGone) throw nowhere();
    throw error;
  }
  const location = `/console/api/workspaces/${workspaceId}/assistants/${assistantId}/tests/${ownId}`;
  return { status: 201, headers: { location }, json: testView(test) };
}

/** The script of a session of the assistant, and the visitor who holds the session. */
async function madeFrom(
  sessionId: string,
  assistantId: string,
  { params, services }: Pick<ConsoleRequest, 'params' | 'services'>,
): Promise<{ readonly script: Partial<TestScript>; readonly visitorId: string | null }> {
  const session = await services.host.sessions.read(params.w, sessionId);
  const isOthers = session?.assistantId !== assistantId;
  if (isOthers || session.lastActivityAt < (await retainedSince(session.workspaceId, services))) throw nowhere();
  const script = await scriptOfSession(session, services.store);
  return {
    script: present(script, new Failure('invalid_field', { field: 'from_session' })),
    visitorId: session.link?.visitorId ?? null,
  };
}

export async function patchTest(request: ConsoleRequest<unknown, PatchTestBody>): Promise<Reply> {
  const { body, services } = request;
  const { id, workspaceId } = await reachTest(request);
  checkNesting(body);
  const test = await changeRecord(
    services.store.catalog,
    'assistant_test',
    workspaceId,
    id,
    (before) => ({ ...before, ...scriptOf(body), updatedAt: nowSeconds(request) }),
    audited(request, 'test'),
  );
  return { status: 200, json: testView(present(test)) };
}

export async function deleteTest(request: ConsoleRequest): Promise<Reply> {
  const test = await reachTest(request);
  const row = audited(request, 'test')(test, null);
  if (!(await request.services.store.catalog.remove('assistant_test', test.workspaceId, test.id, row))) throw nowhere();
  return noContent;
}

async function reachTest(request: ConsoleRequest<unknown, unknown>): Promise<AssistantTest> {
  const { record } = await reachPathAssistant(request);
  const id = testKey(record.id, request.params.test_id);
  return present(await request.services.store.catalog.read('assistant_test', record.workspaceId, id)).record;
}

function checkNesting(body: PatchTestBody): void {
  const field = nestingProblem(body);
  if (field !== null) throw new Failure('invalid_field', { field });
}

/** The tests of an assistant, all of them: there are `testsMax` at most. */
export async function testsOf(
  request: Pick<ConsoleRequest, 'services'>,
  assistant: Pick<Assistant, 'id' | 'workspaceId'>,
): Promise<AssistantTest[]> {
  const tests: AssistantTest[] = [];
  for (let after: string | null = null; ;) {
    const wanted: PageRequest = { limit: limits.listMax, after, order: 'asc' };
    const { items, next }: Page<AssistantTest> = await pageOfAssistant(request, assistant, 'assistant_test', wanted);
    tests.push(...items);
    if (next === null) return tests;
    after = next;
  }
}

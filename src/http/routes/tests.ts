/** The console's API of tests of assistants (contract 21). */
import * as runs from '../console/test-runs.ts';
import * as tests from '../console/tests.ts';
import type { Route } from '../request.ts';
import * as wire from '../../wire/wire.ts';
import { json, nothingLeft, operator } from './row.ts';

const path = '/console/api/workspaces/{w}/assistants/{id}';
const unknown = ['route_not_found', 'assistant_not_found'] as const;

export const testRoutes: readonly Route[] = [
  operator('GET', `${path}/tests`, 'assistants.read', tests.listTests, {
    summary: 'Lists the tests of an assistant.',
    query: wire.TestsQuery,
    success: json(wire.TestList, 'A page of tests.'),
    errors: unknown,
  }),
  operator('POST', `${path}/tests`, 'assistants.write', tests.createTest, {
    summary: 'Creates a test, or makes one of a session.',
    body: wire.CreateTestBody,
    success: json(wire.TestView, 'The test.', 201, ['Location']),
    errors: unknown,
  }),
  operator('GET', `${path}/tests/{test_id}`, 'assistants.read', tests.getTest, {
    summary: 'Fetches a test.',
    success: json(wire.TestView, 'The test.'),
    errors: unknown,
  }),
  operator('PATCH', `${path}/tests/{test_id}`, 'assistants.write', tests.patchTest, {
    summary: 'Changes a test.',
    body: wire.PatchTestBody,
    success: json(wire.TestView, 'The test.'),
    errors: unknown,
  }),
  operator('DELETE', `${path}/tests/{test_id}`, 'assistants.write', tests.deleteTest, {
    summary: 'Deletes a test.',
    success: nothingLeft,
    errors: unknown,
  }),
  operator('GET', `${path}/test-runs`, 'assistants.read', runs.listTestRuns, {
    summary: 'Lists the runs of tests of an assistant.',
    query: wire.TestRunsQuery,
    success: json(wire.TestRunList, 'A page of runs.'),
    errors: unknown,
  }),
  operator('POST', `${path}/test-runs`, 'assistants.write', runs.createTestRun, {
    summary: 'Runs tests, or plays stored conversations again.',
    body: wire.CreateTestRunBody,
    success: json(wire.TestRunWithResultsView, 'The run, which waits or begins.', 202, ['Location']),
    errors: [...unknown, 'version_not_found', 'rate_limited'],
  }),
  operator('GET', `${path}/test-runs/{run_id}`, 'assistants.read', runs.getTestRun, {
    summary: 'Fetches a run with its results.',
    success: json(wire.TestRunWithResultsView, 'The run.'),
    errors: unknown,
  }),
  operator('DELETE', `${path}/test-runs/{run_id}`, 'assistants.write', runs.cancelTestRun, {
    summary: 'Cancels a run.',
    success: json(wire.TestRunWithResultsView, 'The run.'),
    errors: unknown,
  }),
];

/** The reference's texts on tests of assistants (contract 21). */
import { listOf, type OperationEntry } from './entry.ts';
import * as example from './examples.ts';

const one = '/console/api/workspaces/{w}/assistants/{id}';
const unknown =
  'An unknown test is 404 `route_not_found`, an unknown assistant 404 `assistant_not_found`, an unknown workspace 404 `route_not_found`.';

const script = {
  name: 'Order status',
  visitor: {},
  metadata: {},
  steps: [{ message: 'Where is order 7?', expect: { contains: ['on its way'], calls: [{ name: 'look_up' }] } }],
  tool_results: { look_up: [{ status: 'completed', output: '{"status":"sent"}' }] },
  repeat: 1,
};
const test = {
  id: example.ids.test,
  object: 'assistant_test',
  ...script,
  from_session: null,
  created_at: example.assistant.updated_at,
  updated_at: example.assistant.updated_at,
};

const unknownRun =
  'An unknown run is 404 `route_not_found`, an unknown assistant 404 `assistant_not_found`, an unknown workspace 404 `route_not_found`.';

const run = {
  id: example.ids.run,
  object: 'test_run',
  version: 'draft',
  digest: example.configured.draft.digest,
  status: 'queued',
  created_at: example.assistant.updated_at,
  started_at: null,
  ended_at: null,
  progress: { done: 0, of: 1 },
  usage: { input_tokens: 0, output_tokens: 0 },
  replay: false,
  counts: null,
};

export const testEntries: Readonly<Record<string, OperationEntry>> = {
  [`GET ${one}/tests`]: {
    does: 'Returns the tests of an assistant, newest first. `limit` and `after` page through the list.',
    surprises: 'An unknown assistant is 404 `assistant_not_found`, an unknown workspace 404 `route_not_found`.',
    query: { limit: 10 },
    answer: listOf(test),
  },
  [`POST ${one}/tests`]: {
    does: 'Creates a test: a conversation that is written down. Each step sends a message, and `expect` says what the turn must do; without it the turn must complete. `tool_results` answers the calls of each function in order, and the last result repeats: no tool is ever called in a run. With `from_session` the test is made of that session of the assistant.',
    repeat: 'A repeat creates another test.',
    surprises:
      'The 201st test of an assistant is 422 `tests`. A session without a message of a user, or one that is too long, is 422 `from_session`; an unknown one 404 `route_not_found`. An unknown assistant is 404 `assistant_not_found`.',
    body: script,
    answer: test,
  },
  [`GET ${one}/tests/{test_id}`]: { does: 'Returns one test.', surprises: unknown, answer: test },
  [`PATCH ${one}/tests/{test_id}`]: {
    does: 'Changes the given fields of a test; a list or a map is replaced as a whole.',
    repeat: 'A repeat changes nothing but `updated_at`.',
    surprises: unknown,
    body: { repeat: 3 },
    answer: { ...test, repeat: 3 },
  },
  [`DELETE ${one}/tests/{test_id}`]: {
    does: 'Deletes a test. Results of earlier runs stay.',
    repeat: 'A repeat is 404 `route_not_found`.',
    surprises: unknown,
  },
  [`GET ${one}/test-runs`]: {
    does: 'Returns the runs of an assistant without their results, newest first: those that have not ended, and the last 20. `limit` and `after` page through the list.',
    surprises: 'An unknown assistant is 404 `assistant_not_found`, an unknown workspace 404 `route_not_found`.',
    query: { limit: 10 },
    answer: listOf(run),
  },
  [`POST ${one}/test-runs`]: {
    does: 'Plays the tests of the assistant, or those of `test_ids`, on a version or the draft as it is now; `repeat` replaces the repetitions of each test. With `replay` it sends the messages of the newest sessions that have ended or expired again and sets both replies side by side. No tool is ever called, no webhook is sent and no usage is counted. Runs of one assistant follow each other.',
    repeat: 'A repeat queues another run.',
    surprises: `Ten runs wait at most: beyond that 429 \`rate_limited\`. An assistant without tests is 422 \`tests\`. An unknown version is 404 \`version_not_found\`. ${unknown}`,
    body: { version: 'draft' },
    answer: { ...run, results: [] },
  },
  [`GET ${one}/test-runs/{run_id}`]: {
    does: 'Returns a run with the results that are done. A test is `passed` if all its repetitions pass, `flaky` if some do, `failed` if none does, and `error` if a provider failed; a run is `passed` only if every test is. Long texts are shortened.',
    surprises: unknownRun,
    answer: { ...run, results: [] },
  },
  [`DELETE ${one}/test-runs/{run_id}`]: {
    does: 'Cancels a run. One that has ended stays as it is.',
    repeat: 'A repeat changes nothing and returns the run.',
    surprises: unknownRun,
    answer: { ...run, status: 'cancelled', ended_at: example.assistant.updated_at, results: [] },
  },
};

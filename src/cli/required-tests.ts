/** The advice where a draft is refused because it has not passed the tests that its assistant requires (contract 21). */
import type { List } from '../client/types.ts';
import type { ConsoleAssistantView, TestRunView, TestView } from '../wire/wire.ts';
import { segment, type ConsoleClient } from './console-client.ts';
import { AdvisedFailure } from './exit.ts';
import { oneLine } from './output.ts';
import { testsOf, type Run } from './test-report.ts';

/** Tests that the advice names. */
const namedMax = 5;

/**
 * Publishes or rolls out; a refusal names the tests that the draft has not passed, and the command that runs them.
 * `path`: the assistant's.
 */
export async function withTestAdvice<T>(client: ConsoleClient, path: string, publish: () => Promise<T>): Promise<T> {
  try {
    return await publish();
  } catch (error) {
    if (!(error instanceof AdvisedFailure) || error.answer.code !== 'tests_not_passed') throw error;
    throw new AdvisedFailure(await adviceOf(client, path).catch(() => error.message), error.answer);
  }
}

async function adviceOf(client: ConsoleClient, path: string): Promise<string> {
  const assistant = (await client.get<ConsoleAssistantView>(path)).body;
  const name = `"${oneLine(assistant.name)}"`;
  const tests: TestView[] = [];
  for await (const test of client.all<TestView>(`${path}/tests`, { order: 'asc' })) tests.push(test);
  const selector = selectorOf(assistant);
  if (tests.length === 0)
    return `${name} requires tests and has none. Make one of a session: parley tests create ${selector} --from-session ses_…`;
  const { data: runs } = (await client.get<List<TestRunView>>(`${path}/test-runs`)).body;
  const newest = runs.find(
    (run) => !run.replay && run.digest === assistant.draft.digest && run.progress.of === tests.length,
  );
  const run = newest && (await client.get<Run>(`${path}/test-runs/${segment(newest.id)}`)).body;
  return `The draft of ${name} has not passed its tests: ${namesOf(tests, run)}. Run them: parley tests run ${selector}`;
}

function namesOf(tests: readonly TestView[], run: Run | undefined): string {
  const verdicts = new Map(run === undefined ? [] : testsOf(run).map((one) => [one.test_id, one.verdict]));
  const open = tests.filter(({ id }) => verdicts.get(id) !== 'passed');
  // All have passed as they were: one of them has changed since.
  const wanted = open.length === 0 ? tests : open;
  const names = wanted
    .slice(0, namedMax)
    .map(
      ({ id, name }) => `"${oneLine(name)}" (${open.length === 0 ? 'changed since' : (verdicts.get(id) ?? 'not run')})`,
    );
  return [...names, ...(wanted.length > namedMax ? [`${wanted.length - namedMax} more`] : [])].join(', ');
}

/** The assistant as a shell takes it without quotes. */
const selectorOf = ({ id, name }: ConsoleAssistantView): string => (/^\w[\w.-]*$/.test(name) ? name : id);

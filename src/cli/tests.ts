/** `parley tests` (contract 21) */
import type { Command } from 'commander';
import { limits } from '../base/limits.ts';
import { counted } from '../base/text.ts';
import type { CreateTestBody, TestRunView, TestView } from '../wire/wire.ts';
import { gather, versionOrDraft, wholeNumber } from './arguments.ts';
import { addCommand, pathOf } from './assistant-path.ts';
import { addConnectionOptions, inWorkspace, type ConnectionOptions } from './connection.ts';
import { segment } from './console-client.ts';
import { UsageFailure } from './exit.ts';
import type { Io } from './io.ts';
import { addPageOptions, pageQuery, showPage, type ListView, type PageOptions } from './list.ts';
import { fields, oneLine, pairLines, time } from './output.ts';
import { detailsText, playedText, resultLine, sumText, testsOf, type Run } from './test-report.ts';
import { replay, runTests, testId } from './test-runs.ts';

export function registerTests(program: Command, io: Io): void {
  const tests = program.command('tests').description('tests of assistants: run them, replay stored conversations');
  tests.addHelpText('after', help);
  addPlayOptions(
    addCommand(tests, 'run', 'run tests on the draft or a version, and wait for the end; Ctrl-C cancels the run'),
  )
    .option('--tests <id|name...>', 'these tests (default: all of the assistant)')
    .option(
      '--repeat <number>',
      `repetitions of each test, 1 to ${limits.testRepeatMax} (default: its own)`,
      wholeNumber(1, limits.testRepeatMax),
    )
    .option('--junit <file>', 'write the results as JUnit XML too')
    .action(runTests(io));
  addPlayOptions(addCommand(tests, 'replay', 'send the messages of stored conversations again, and compare'))
    .option(
      '--sessions <number>',
      `the newest that have ended, 1 to ${limits.replaySessionsMax}`,
      wholeNumber(1, limits.replaySessionsMax),
      50,
    )
    .action(replay(io));
  addPageOptions(addCommand(tests, 'list', 'list the tests of an assistant')).action(list(io, 'tests', testList));
  addPageOptions(addCommand(tests, 'runs', 'list the newest runs and replays')).action(list(io, 'test-runs', runList));
  addConnectionOptions(
    addCommand(tests, 'show', 'show a test, or a run with its results').argument(
      '<id>',
      "a test's id or name, or run_…",
    ),
  ).action(show(io));
  addConnectionOptions(addCommand(tests, 'create', 'make a test of a session, or of messages'))
    .option('--from-session <id>', 'its messages are the steps, its calls are expected')
    .option('--message <text>', 'a step; may be repeated', gather)
    .option('--contains <text>', 'a text that the last reply contains; may be repeated', gather)
    .option('--name <name>', 'default: after the session')
    .action(create(io));
  addConnectionOptions(addCommand(tests, 'delete', 'delete a test').argument('<id>', "a test's id or name")).action(
    remove(io),
  );
  addConnectionOptions(addCommand(tests, 'cancel', 'cancel a run').argument('<run>', 'its id')).action(cancel(io));
}

const help = `
No tool is called in a run or a replay, and nothing is counted.

Exit codes of run and replay: 0 it has passed, 1 it has not, was cancelled or interrupted, 2 it was called the wrong
way. A replay that went through has passed, whatever it differs in.

Examples:
  parley tests create support --from-session ses_…
  parley tests run support
  parley tests run support --version 3 --tests "Order status" --repeat 5
  parley tests run support --junit reports/support.xml
  parley tests replay support --sessions 50`;

const addPlayOptions = (command: Command): Command =>
  addConnectionOptions(
    command.option('--version <version>', 'a number, or draft: as it is now', versionOrDraft, 'draft'),
  );

/** The command that prints the tests or the runs of an assistant. */
const list =
  <Item>(io: Io, collection: 'tests' | 'test-runs', view: ListView<Item>) =>
  (selector: string, options: PageOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const path = `${await pathOf(connection, selector)}/${collection}`;
      await showPage(connection, path, pageQuery(options), view);
    });

const show =
  (io: Io) =>
  (selector: string, id: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const { client } = connection;
      const path = await pathOf(connection, selector);
      if (id.startsWith('run_'))
        return connection.show(await client.get<Run>(`${path}/test-runs/${segment(id)}`), renderRun);
      const own = `${path}/tests/${segment(await testId(connection, path, id))}`;
      connection.show(await client.get<TestView>(own), renderTest);
    });

interface CreateOptions extends ConnectionOptions {
  readonly fromSession?: string;
  readonly message?: readonly string[];
  readonly contains?: readonly string[];
  readonly name?: string;
}

const create =
  (io: Io) =>
  (selector: string, options: CreateOptions): Promise<void> => {
    const body = bodyOf(options);
    return inWorkspace(io, options, async (connection) => {
      const path = `${await pathOf(connection, selector)}/tests`;
      connection.show(
        await connection.client.post<TestView>(path, body),
        ({ id, name, steps }) => `Created the test "${oneLine(name)}" (${id}) with ${counted(steps.length, 'step')}.`,
      );
    });
  };

function bodyOf({ fromSession, message, contains, name }: CreateOptions): CreateTestBody {
  if ((fromSession === undefined) === (message === undefined))
    throw new UsageFailure('Give --from-session, or --message with --name: --name Greets --message "Hello".');
  if (message === undefined && contains !== undefined) throw new UsageFailure('--contains needs --message.');
  if (message !== undefined && name === undefined) throw new UsageFailure('--message needs --name.');
  const last = (message ?? []).length - 1;
  return {
    ...(name !== undefined && { name }),
    ...(fromSession !== undefined && { from_session: fromSession }),
    ...(message !== undefined && {
      steps: message.map((text, index) => ({
        message: text,
        ...(index === last && contains !== undefined && { expect: { contains: [...contains] } }),
      })),
    }),
  };
}

const remove =
  (io: Io) =>
  (selector: string, id: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const path = await pathOf(connection, selector);
      const own = `${path}/tests/${segment(await testId(connection, path, id))}`;
      connection.show(await connection.client.delete(own), () => `Deleted the test ${id}.`);
    });

const cancel =
  (io: Io) =>
  (selector: string, id: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const path = `${await pathOf(connection, selector)}/test-runs/${segment(id)}`;
      connection.show(await connection.client.delete<Run>(path), sumText);
    });

const testList: ListView<TestView> = {
  empty: 'No tests.',
  columns: [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'STEPS', right: true, cell: ({ steps }) => steps.length },
    { title: 'REPEAT', right: true, cell: ({ repeat }) => repeat },
    { title: 'UPDATED', cell: (test) => time(test.updated_at) },
  ],
};

const runList: ListView<TestRunView> = {
  empty: 'No runs.',
  columns: [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'KIND', cell: (run) => (run.replay ? 'replay' : 'tests') },
    { title: 'ON', cell: playedText },
    { title: 'STATUS', cell: ({ status }) => status },
    { title: 'DONE', cell: ({ progress }) => `${progress.done} of ${progress.of}` },
    { title: 'CREATED', cell: (run) => time(run.created_at) },
  ],
};

const renderRun = (run: Run): string =>
  [testsOf(run).map(resultLine).join('\n'), detailsText(run), sumText(run)].filter((text) => text !== '').join('\n\n');

function renderTest(test: TestView): string {
  const head = fields([
    ['test', test.id],
    ['name', oneLine(test.name)],
    ['repeat', String(test.repeat)],
    ['session', test.from_session ?? ''],
    ['visitor', pairLines(test.visitor)],
    ['metadata', pairLines(test.metadata)],
    ['updated', time(test.updated_at)],
  ]);
  const steps = test.steps.map(({ message, expect }, index) => {
    const expected = Object.entries(expect).map(([name, value]) => `   ${name}: ${oneLine(JSON.stringify(value))}`);
    return [`${index + 1}. ${oneLine(message)}`, ...expected].join('\n');
  });
  const results = Object.entries(test.tool_results).map(
    ([name, all]) =>
      `${oneLine(name)} returns: ${all.map(({ status, output }) => oneLine(`${status} ${output}`)).join('; ')}`,
  );
  return [head, steps.join('\n'), results.join('\n')].filter((text) => text !== '').join('\n\n');
}

/** `parley tests run` and `replay`: start a run, follow it to its end, and print its results. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ParleyError } from '../client/failure.ts';
import { pause, realClock } from '../client/clock.ts';
import type { ConsoleAssistantView, CreateTestRunBody } from '../wire/wire.ts';
import { pathOf } from './assistant-path.ts';
import { inWorkspace, type ConnectionOptions, type ConsoleConnection } from './connection.ts';
import { segment, type ConsoleAnswer } from './console-client.ts';
import { AdvisedFailure, CommandFailure } from './exit.ts';
import type { Io } from './io.ts';
import { junit } from './junit.ts';
import { note, print } from './output.ts';
import { bar, Progress } from './progress.ts';
import { detailsText, endedStatuses, resultLine, sumText, testsOf, type Run } from './test-report.ts';
import { counted } from '../base/text.ts';
import { codeOfThrown } from '../base/thrown.ts';

interface PlayOptions extends ConnectionOptions {
  readonly version: CreateTestRunBody['version'];
}

export interface RunOptions extends PlayOptions {
  readonly tests?: readonly string[];
  readonly repeat?: number;
  readonly junit?: string;
}

export interface ReplayOptions extends PlayOptions {
  readonly sessions: number;
}

/** Milliseconds between two requests for a run: at first, and at most. */
const pollMs = { first: 200, most: 2_000 };
/** Milliseconds without an answer after which the command fails: until then another process may continue the run. */
const unansweredMs = 60_000;

export const runTests =
  (io: Io) =>
  (selector: string, options: RunOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const { client } = connection;
      const path = await pathOf(connection, selector);
      const { version, repeat, tests } = options;
      const test_ids = tests && (await Promise.all(tests.map((one) => testId(connection, path, one))));
      const file = options.junit;
      if (file !== undefined) await makeFolder(file);
      const run = await play(io, options, connection, { selector, path, body: { version, test_ids, repeat } });
      if (file === undefined) return;
      const { name } = (await client.get<ConsoleAssistantView>(path)).body;
      await writeFile(file, junit(name, run)).catch((error: unknown) => unwritable(file, error));
    });

export const replay =
  (io: Io) =>
  (selector: string, options: ReplayOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const path = await pathOf(connection, selector);
      const { version, sessions } = options;
      await play(io, options, connection, { selector, path, body: { version, replay: { sessions } } });
    });

export const testId = ({ client }: ConsoleConnection, path: string, selector: string): Promise<string> =>
  client.idOf(path, 'tests', selector);

/** A reporter expects the file where the workflow says, which may be a folder that nothing has made yet. */
async function makeFolder(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true }).catch((error: unknown) => unwritable(file, error));
}

function unwritable(file: string, error: unknown): never {
  throw new CommandFailure(`${file} cannot be written (${codeOfThrown(error) ?? String(error)}).`);
}

interface Order {
  readonly selector: string;
  /** The assistant's. */
  readonly path: string;
  readonly body: CreateTestRunBody;
}

/** Starts a run and follows it to its end. Ctrl-C cancels it. The exit code is 1 unless the run has passed. */
async function play(
  io: Io,
  { json = false }: ConnectionOptions,
  { client, clock, show }: ConsoleConnection,
  { selector, path, body }: Order,
): Promise<Run> {
  const stop = new AbortController();
  // The second signal does not wait for the run's end.
  const interrupted = (): void => (stop.signal.aborted ? io.exit(1) : stop.abort());
  for (const signal of ['SIGINT', 'SIGTERM'] as const) io.on(signal, interrupted);
  let run: Run | null = null;
  const progress = new Progress(io.stderr, clock, () => progressLine(run));
  try {
    const begun = await client.post<Run>(`${path}/test-runs`, body).catch(explained);
    run = begun.body;
    const printed = new Set<string>();
    const ended = await follow(begun, `${path}/test-runs/${segment(run.id)}`, client, stop.signal, (now) => {
      run = now;
      if (json) return;
      for (const result of testsOf(now)) {
        if (printed.has(result.test_id)) continue;
        printed.add(result.test_id);
        progress.clear();
        print(io, resultLine(result));
      }
    });
    progress.end();
    show(ended, endText);
    if (ended.body.status !== 'passed') io.exitCode = 1;
    return ended.body;
  } catch (error) {
    if (run !== null && !json) note(io, `The run may still be played: parley tests show ${selector} ${run.id}`);
    throw error;
  } finally {
    progress.end();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) io.off(signal, interrupted);
  }
}

function endText(run: Run): string {
  const details = detailsText(run);
  return details === '' ? sumText(run) : `${run.replay ? '' : '\n'}${details}\n\n${sumText(run)}`;
}

function progressLine(run: Run | null): string {
  if (run === null || run.status === 'queued') return 'Queued: the run starts when the earlier runs have ended.';
  const { done, of } = run.progress;
  const failed = testsOf(run).filter(({ verdict }) => verdict !== 'passed').length;
  const noun = run.replay ? 'conversation' : 'test';
  return `${bar(of === 0 ? 1 : done / of)}  ${done} of ${counted(of, noun)}${failed === 0 ? '' : `, ${failed} not passed`}`;
}

/** Asks for a run until it has ended, and resolves with the last answer. An abort cancels the run. */
async function follow(
  begun: ConsoleAnswer<Run>,
  path: string,
  client: ConsoleConnection['client'],
  stop: AbortSignal,
  onRun: (run: Run) => void,
): Promise<ConsoleAnswer<Run>> {
  let answer = begun;
  let answeredAt = realClock.now();
  const aborted = (run: () => void): (() => void) => {
    stop.addEventListener('abort', run);
    return () => stop.removeEventListener('abort', run);
  };
  for (let waitMs = pollMs.first; !endedStatuses.includes(answer.body.status);) {
    if (!stop.aborted) await pause(realClock, waitMs, undefined, aborted);
    waitMs = Math.min(pollMs.most, waitMs * 1.5);
    try {
      answer = stop.aborted ? await client.delete<Run>(path) : await client.get<Run>(path);
      answeredAt = realClock.now();
    } catch (error) {
      if (stop.aborted || !mayPass(error) || realClock.now() - answeredAt > unansweredMs) throw error;
      continue;
    }
    onRun(answer.body);
  }
  return answer;
}

/** Whether the server may answer again soon: it restarts, or another process takes over. */
function mayPass(error: unknown): boolean {
  const failure = error instanceof AdvisedFailure ? error.answer : error;
  return failure instanceof ParleyError && (failure.status === null || failure.status === 429 || failure.status >= 500);
}

/** Says what a run needs where the API's sentence is one for all fields. */
function explained(error: unknown): never {
  const answer = error instanceof AdvisedFailure ? error.answer : null;
  if (answer?.field === 'tests')
    throw new AdvisedFailure(
      'The assistant has no tests. Make one of a session: parley tests create ASSISTANT --from-session ses_…',
      answer,
    );
  if (answer?.field === 'replay.sessions')
    throw new AdvisedFailure(
      'There is nothing to replay: no conversation of the assistant over the API, a link or a widget has ended yet.',
      answer,
    );
  if (answer?.code === 'rate_limited')
    throw new AdvisedFailure('As many runs of the assistant wait as may. Cancel one, or try again later.', answer);
  throw error;
}

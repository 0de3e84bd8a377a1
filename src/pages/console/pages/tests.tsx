/** The tests of an assistant with their last results, and its runs. */
import { useState } from 'preact/hooks';
import { useRead } from '../data.ts';
import { count, plural } from '../format.ts';
import { may } from '../may.ts';
import { Empty } from '../parts/empty.tsx';
import { Head, State } from '../parts/head.tsx';
import { UnreadAssistant } from '../parts/missing.tsx';
import { Rows, type Column } from '../parts/rows.tsx';
import { ReplayDialog, RunDialog } from '../parts/run-acts.tsx';
import { VerdictState } from '../parts/test-results.tsx';
import { runTones } from '../parts/test-state.ts';
import { Ago, MomentText } from '../parts/time.tsx';
import { runPage, testPage, useLastResults, useRuns, useTests, type LastResult } from '../parts/use-tests.ts';
import { apiWorkspace, inWorkspace, segments } from '../route.ts';
import type { Assistant, AssistantTest, TestRun } from '../types.ts';

/** Milliseconds between two readings of the runs while none is played. */
const idleMs = 10_000;

export default function Tests() {
  const [, , id = ''] = segments.value;
  const path = `${apiWorkspace()}/assistants/${id}`;
  const { value: assistant, failure } = useRead<Assistant>(path);
  const tests = useTests(path);
  const runs = useRuns(path, idleMs);
  const results = useLastResults(path, tests.items, runs.items);
  const [asking, setAsking] = useState<'run' | 'replay' | null>(null);
  if (assistant === undefined) return <UnreadAssistant path={path} failure={failure} />;
  const { name } = assistant;
  const mayWrite = may('assistants.write');
  const options = { assistant, path, close: () => setAsking(null) };
  const newTest = mayWrite && (
    <a class="button" href={testPage(id, 'new')}>
      New test
    </a>
  );
  return (
    <>
      <Head name="Tests" title={`Tests of ${name}`} above={[inWorkspace('assistants', id), name]}>
        {mayWrite && (
          <button type="button" onClick={() => setAsking('replay')}>
            Replay conversations
          </button>
        )}
        {tests.items.length > 0 && newTest}
        {mayWrite && tests.items.length > 0 && (
          <button type="button" class="primary" onClick={() => setAsking('run')}>
            Run all tests
          </button>
        )}
      </Head>
      <Rows
        label="Tests"
        columns={testColumns(assistant, results)}
        list={tests}
        depends={results}
        empty={
          <Empty name="No tests yet" first={newTest}>
            A test is a conversation with expectations: what the visitor writes, and what the reply has to contain. It
            calls no tool. Make one of a conversation that went well, on the page of its session, or write one.
          </Empty>
        }
      />
      {runs.items.length > 0 && (
        <section class="section" aria-label="Runs">
          <h2>Runs</h2>
          <Rows label="Runs" columns={runColumns(id)} list={runs} empty={null} />
        </section>
      )}
      {asking === 'run' && <RunDialog {...options} />}
      {asking === 'replay' && <ReplayDialog {...options} />}
    </>
  );
}

/** The name of what a run plays. */
export const playedWords = ({ version }: Pick<TestRun, 'version'>): string =>
  version === 'draft' ? 'Draft' : `Version ${version}`;

/** The origin of a result: whether the draft, or the test, has changed since. */
function resultWords({ draft }: Assistant, test: AssistantTest, { run }: LastResult): string {
  if (test.updated_at > run.created_at) return 'before the test was changed';
  if (run.version !== 'draft') return `version ${run.version}`;
  return run.digest === draft.digest ? 'this draft' : 'an earlier draft';
}

const testColumns = (
  assistant: Assistant,
  results: ReadonlyMap<string, LastResult>,
): readonly Column<AssistantTest>[] => [
  {
    name: 'Test',
    width: 'minmax(0, 2fr)',
    cell: (test) => {
      const last = results.get(test.id);
      return (
        <>
          <a href={testPage(assistant.id, test.id)}>{test.name}</a>
          <small>
            {plural(test.steps.length, 'message')}
            {last !== undefined && ` · ${resultWords(assistant, test, last)}`}
          </small>
        </>
      );
    },
  },
  {
    name: 'Last result',
    width: '96px',
    cell: ({ id }) => {
      const last = results.get(id);
      return last === undefined ? <span class="soft">not run</span> : <VerdictState of={last.verdict} />;
    },
  },
  {
    name: 'On',
    width: 'minmax(0, 1fr)',
    wide: true,
    cell: (test) => {
      const last = results.get(test.id);
      return last === undefined ? (
        <span class="soft">–</span>
      ) : (
        <a class="inside" href={runPage(assistant.id, last.run.id)}>
          {resultWords(assistant, test, last)}
        </a>
      );
    },
  },
  {
    name: 'When',
    width: '104px',
    numeric: true,
    wide: true,
    cell: ({ id }) => {
      const last = results.get(id);
      return last === undefined ? <span class="soft">–</span> : Ago({ at: last.run.created_at });
    },
  },
  { name: 'Messages', width: '80px', numeric: true, wide: true, cell: ({ steps }) => count(steps.length) },
  { name: 'Repetitions', width: '88px', numeric: true, wide: true, cell: ({ repeat }) => count(repeat) },
];

const kindWords = ({ replay, progress: { of } }: TestRun): string =>
  replay ? `Replay of ${plural(of, 'conversation')}` : plural(of, 'test');

const runColumns = (assistant: string): readonly Column<TestRun>[] => [
  {
    name: 'Run',
    width: 'minmax(0, 2fr)',
    cell: (run) => (
      <>
        <a href={runPage(assistant, run.id)}>{kindWords(run)}</a>
        <span class="soft in-row">{playedWords(run)}</span>
        <small>
          <MomentText at={run.created_at} />
        </small>
      </>
    ),
  },
  { name: 'State', width: '104px', cell: (run) => <State {...runState(run)} /> },
  {
    name: 'Done',
    width: '80px',
    numeric: true,
    wide: true,
    cell: ({ progress: { done, of } }) => `${count(done)} of ${count(of)}`,
  },
  {
    name: 'Tokens',
    width: '88px',
    numeric: true,
    wide: true,
    cell: ({ usage }) => count(usage.input_tokens + usage.output_tokens),
  },
  { name: 'Begun', width: '136px', numeric: true, wide: true, cell: ({ created_at: at }) => <MomentText at={at} /> },
];

/** The state of a run in words. A replay has no verdict. */
export function runState(run: Pick<TestRun, 'status' | 'replay'>): {
  name: string;
  tone: 'plain' | 'lit' | 'red' | 'good';
} {
  if (run.replay && run.status === 'passed') return { name: 'done', tone: 'plain' };
  if (run.replay && run.status === 'failed') return { name: 'incomplete', tone: 'red' };
  return { name: run.status, tone: runTones[run.status] };
}

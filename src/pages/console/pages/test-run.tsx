/** A run of tests, or a replay: its progress while it is played, and its results. */
import { useEffect, useState } from 'preact/hooks';
import { ask, type ApiFailure } from '../api.ts';
import { repeatedly, tick } from '../clock.ts';
import { put, refresh, useRead } from '../data.ts';
import { count, duration, plural } from '../format.ts';
import { may } from '../may.ts';
import { caught, Failure } from '../parts/failure.tsx';
import { Facts, Head, State } from '../parts/head.tsx';
import { Unread } from '../parts/missing.tsx';
import { versionPage } from '../parts/release.ts';
import { ReplayResults } from '../parts/replay-results.tsx';
import { TestResults } from '../parts/test-results.tsx';
import { isUnended, verdictCounts } from '../parts/test-state.ts';
import { MomentText } from '../parts/time.tsx';
import { playedMs, testsPage } from '../parts/use-tests.ts';
import { apiWorkspace, segments } from '../route.ts';
import type { Assistant, ReplayResult, TestResult, TestRunWithResults } from '../types.ts';
import { playedWords, runState } from './tests.tsx';

export default function TestRunPage() {
  const [, , id = '', , runId = ''] = segments.value;
  const path = `${apiWorkspace()}/assistants/${id}`;
  const own = `${path}/test-runs/${runId}`;
  const assistant = useRead<Assistant>(path).value;
  const { value: run, failure } = useRead<TestRunWithResults>(own);
  const isPlayed = run !== undefined && isUnended(run);
  useEffect(() => (isPlayed ? repeatedly(playedMs, () => refresh(own)) : undefined), [own, isPlayed]);
  if (run === undefined || assistant === undefined)
    return <Unread what="run" list={[testsPage(id), 'Tests']} failure={failure} again={() => void refresh(own)} />;
  const title = run.replay
    ? `Replay of ${plural(run.progress.of, 'conversation')}`
    : `Run of ${plural(run.progress.of, 'test')}`;
  return (
    <>
      <Head
        name={title}
        title={`${title}, ${assistant.name}`}
        id={run.id}
        above={[testsPage(id), `Tests of ${assistant.name}`]}
        state={<State {...runState(run)} />}
      >
        {isPlayed && <Cancel own={own} />}
      </Head>
      <Failure failure={failure} again={() => void refresh(own)} />
      <Progress of={run} />
      <Facts
        of={[
          ['On', <Played assistant={assistant} run={run} />],
          ['Made', <MomentText at={run.created_at} />],
          ...(run.started_at === null ? [] : [['Took', <Took of={run} startedAt={run.started_at} />] as const]),
          ['Tokens', `${count(run.usage.input_tokens)} in, ${count(run.usage.output_tokens)} out`],
        ]}
      />
      <Results of={run} assistant={id} />
    </>
  );
}

function Took({ of: { ended_at: endedAt }, startedAt }: { of: TestRunWithResults; startedAt: number }) {
  const seconds = (endedAt ?? tick.value) - startedAt;
  return <>{seconds < 1 ? 'less than 1 s' : duration(seconds)}</>;
}

function Played({ assistant: { id, draft }, run }: { assistant: Assistant; run: TestRunWithResults }) {
  if (run.version !== 'draft') return <a href={versionPage(id, run.version)}>Version {run.version}</a>;
  return <>{run.digest === draft.digest ? 'The draft as it is now' : 'An earlier draft'}</>;
}

/** The progress, in a bar and in words. */
function Progress({ of: run }: { of: TestRunWithResults }) {
  const { status, replay, progress, results } = run;
  const { done, of } = progress;
  const counted = replay ? '' : verdictCounts(results as readonly TestResult[]);
  const words: Readonly<Record<TestRunWithResults['status'], string>> = {
    queued: 'It starts when the earlier runs have ended.',
    running: `${count(done)} of ${count(of)} done${counted && `: ${counted}`}.`,
    passed: replay ? 'All conversations were played.' : `All ${plural(of, 'test')} passed.`,
    failed:
      results.length === 0
        ? `Nothing was played: all its ${replay ? 'conversations' : 'tests'} were deleted before.`
        : replay
          ? 'A provider failed: some replies are missing.'
          : `${counted}.`,
    cancelled: `Cancelled after ${count(done)} of ${count(of)}.`,
    interrupted: `Interrupted after ${count(done)} of ${count(of)}: it could not be continued. Run it again.`,
  };
  return (
    <div class="progress">
      {isUnended(run) && <progress max={Math.max(1, of)} value={done} aria-label="Progress" />}
      <p role="status">
        {of === 0 ? 'No conversation of API, link or widget has ended or expired yet.' : words[status]}
      </p>
    </div>
  );
}

function Results({ of: run, assistant }: { of: TestRunWithResults; assistant: string }) {
  if (run.results.length === 0) return null;
  return (
    <section class="section" aria-label="Results">
      <h2>Results</h2>
      {run.replay ? (
        <ReplayResults
          of={run.results as readonly ReplayResult[]}
          played={playedWords(run)}
          isEnded={!isUnended(run)}
        />
      ) : (
        <TestResults of={run.results as readonly TestResult[]} assistant={assistant} />
      )}
    </section>
  );
}

/** Cancels the run at once: nothing is lost but what it has not played yet. */
function Cancel({ own }: { own: string }) {
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  if (!may('assistants.write')) return null;
  const cancel = async () => {
    setFailure(null);
    try {
      put(own, await ask<TestRunWithResults>(own, { method: 'DELETE' }));
    } catch (error) {
      setFailure(caught(error));
    }
  };
  return (
    <>
      <Failure failure={failure} />
      <button type="button" onClick={() => void cancel()}>
        Cancel
      </button>
    </>
  );
}

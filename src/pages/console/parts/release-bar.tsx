/** The bar above an assistant's form: what people get, how the draft differs from it, and the way to publish. */
import { useState } from 'preact/hooks';
import { count } from '../format.ts';
import { may } from '../may.ts';
import type { Assistant } from '../types.ts';
import { Failure } from './failure.tsx';
import { useRequest } from './submit.tsx';
import { PublishDialog } from './publish.tsx';
import { draftComparison, failedWords, versionPage, versionsPage } from './release.ts';
import type { DraftTests } from './test-state.ts';
import { runPage, startRun, testsPage, useDraftTests } from './use-tests.ts';

interface Options {
  readonly assistant: Assistant;
  readonly path: string;
  /** Whether the form has changes that are not stored. */
  readonly dirty: boolean;
  readonly save: () => Promise<Assistant | null>;
}

export function ReleaseBar({ assistant, path, dirty, save }: Options) {
  const { id, status, version, draft } = assistant;
  const [asking, setAsking] = useState(false);
  const [note, setNote] = useState('');
  const tests = useDraftTests(assistant, path);
  const testing = useTesting(path, dirty ? save : null, tests.again);
  const differs = version !== null && draft.changed;
  const isOpen = differs || version === null;
  const mayPublish = may('assistants.write') && status !== 'disabled' && (status === 'draft' || draft.changed || dirty);
  return (
    <section class={isOpen || dirty ? 'release open' : 'release'} aria-label="Release">
      <p role="status">
        <Words assistant={assistant} />
        <Rollout assistant={assistant} />
        {isOpen && tests.found !== null && <Tested assistant={assistant} found={tests.found} />}
        {dirty && ' The form has unsaved changes.'}
      </p>
      <p class="acts">
        {version !== null && (
          <a class="button quiet" href={versionsPage(id)}>
            Versions
          </a>
        )}
        <a class="button quiet" href={testsPage(id)}>
          Tests
        </a>
        {differs && (
          <a class="button" href={draftComparison(id, version)}>
            Compare
          </a>
        )}
        {mayTest(assistant, tests.found, dirty) && (
          <button type="button" disabled={testing.busy} onClick={testing.start}>
            {dirty ? 'Save and test' : 'Test'}
          </button>
        )}
        {mayPublish && (
          <button type="button" class="primary" onClick={() => setAsking(true)}>
            {dirty ? 'Save and publish' : 'Publish'}
          </button>
        )}
      </p>
      <Failure failure={testing.failure} />
      {asking && (
        <PublishDialog
          assistant={assistant}
          path={path}
          save={dirty ? save : null}
          note={note}
          setNote={setNote}
          close={() => setAsking(false)}
        />
      )}
    </section>
  );
}

/** Whether the draft can be tested: it has tests, people do not get it yet, and it has not passed as it is. */
const mayTest = ({ version, draft }: Assistant, found: DraftTests | null, dirty: boolean): boolean =>
  may('assistants.write') &&
  found !== null &&
  found.state !== 'none' &&
  (dirty || ((version === null || draft.changed) && found.state !== 'passed' && found.state !== 'running'));

/** Runs all tests on the draft. `save`: stores changes of the form first; null without such changes. */
function useTesting(path: string, save: Options['save'] | null, again: () => void) {
  const { failure, busy, run } = useRequest();
  const start = () =>
    void run(async () => {
      // The form says why it was refused.
      if (save === null || (await save()) !== null) await startRun(path, { version: 'draft' });
      again();
    });
  return { failure, busy, start };
}

/** The tests of the draft in words, with the newest run of them. */
function Tested({
  assistant: { id, require_tests: isRequired },
  found: { state, run },
}: {
  assistant: Assistant;
  found: DraftTests;
}) {
  if (run === null)
    return (
      <>
        {state === 'not run' && ' Its tests have not run.'}
        {state === 'none' && isRequired && ' It needs tests: they are required, and there are none.'}
      </>
    );
  const { done, of } = run.progress;
  const words = {
    running: `Testing: ${count(done)} of ${count(of)}`,
    passed: 'Tests passed',
    failed: 'Tests failed',
    unfinished: 'The last run of tests was not completed',
    changed: 'The tests have changed since they ran',
  } as const;
  return (
    <>
      {' '}
      <a class={state === 'failed' ? 'fault' : undefined} href={runPage(id, run.id)}>
        {words[state]}
      </a>
      .
    </>
  );
}

function Rollout({ assistant: { id, candidate } }: { assistant: Assistant }) {
  if (candidate === null) return null;
  const { version, percent, state } = candidate;
  return (
    <>
      {' '}
      <a href={versionsPage(id)}>Version {version}</a>{' '}
      {state === 'halted' ? `was halted: ${failedWords(candidate)}.` : `goes to ${percent} % of new sessions.`}
    </>
  );
}

function Words({ assistant: { id, status, version, draft } }: { assistant: Assistant }) {
  if (version === null) return <>Not published yet: the form edits a draft that nobody gets.</>;
  const link = <a href={versionPage(id, version)}>version {version}</a>;
  const same = draft.changed ? <>Draft differs from {link}.</> : <>The draft equals {link}.</>;
  if (status === 'disabled') return <>Disabled: nobody is answered. {same}</>;
  if (status === 'draft') return <>Unpublished: nobody is answered. {same}</>;
  if (draft.changed) return same;
  return (
    <>
      <a href={versionPage(id, version)}>Version {version}</a> is live.
    </>
  );
}

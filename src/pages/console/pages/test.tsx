/** One test of an assistant: its form, and how it did last. */
import { useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { changeInLists, put, refresh, useList, useRead } from '../data.ts';
import { may } from '../may.ts';
import { useAskBeforeLeave } from '../parts/ask-before-leave.ts';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { Failure } from '../parts/failure.tsx';
import { useRequest } from '../parts/submit.tsx';
import { Facts, Head } from '../parts/head.tsx';
import { NotPermitted, Unread } from '../parts/missing.tsx';
import { emptyTest, testBodyOf, testDraftOf, type TestDraft } from '../parts/test-draft.ts';
import { TestForm } from '../parts/test-form.tsx';
import { VerdictState } from '../parts/test-results.tsx';
import { Ago } from '../parts/time.tsx';
import { runPage, startRun, testPage, testsPage, useLastResults, useRuns } from '../parts/use-tests.ts';
import { apiWorkspace, go, inWorkspace, segments } from '../route.ts';
import type { Assistant, AssistantTest, Tool } from '../types.ts';

export default function TestPage() {
  const [, , id = '', , testId = ''] = segments.value;
  const path = `${apiWorkspace()}/assistants/${id}`;
  const own = `${path}/tests/${testId}`;
  const isNew = testId === 'new';
  const { value: assistant, failure } = useRead<Assistant>(path);
  const test = useRead<AssistantTest>(isNew ? null : own);
  if (isNew && !may('assistants.write')) return <NotPermitted />;
  if (assistant === undefined || (!isNew && test.value === undefined))
    return (
      <Unread
        what="test"
        list={[testsPage(id), 'Tests']}
        failure={failure ?? test.failure}
        again={() => void [path, ...(isNew ? [] : [own])].map(refresh)}
      />
    );
  return <Editor key={testId} assistant={assistant} test={test.value ?? null} path={path} />;
}

interface Options {
  readonly assistant: Assistant;
  readonly test: AssistantTest | null;
  readonly path: string;
}

function Editor({ assistant, test, path }: Options) {
  const { id } = assistant;
  const mayWrite = may('assistants.write');
  const { draft, change, dirty, busy, failure, discard, save } = useTestDraft({ assistant, test, path });
  const functions = useFunctions(assistant);
  const submit = (event: Event) => {
    event.preventDefault();
    void save();
  };
  return (
    <>
      <Head
        name={test?.name ?? 'New test'}
        title={test === null ? 'New test' : `Test ${test.name}`}
        id={test?.id}
        above={[testsPage(id), `Tests of ${assistant.name}`]}
      >
        {test !== null && mayWrite && <Acts assistant={assistant} test={test} path={path} save={dirty ? save : null} />}
      </Head>
      {test !== null && <LastRun assistant={assistant} test={test} path={path} />}
      {!mayWrite && <p class="note">Your role may read this test, and not change it.</p>}
      <form class="form test-form" onSubmit={submit}>
        <fieldset class="permitted" disabled={!mayWrite}>
          <TestForm
            draft={draft}
            change={change}
            failure={failure}
            fields={assistant.visitor_fields}
            functions={functions}
          />
        </fieldset>
        {mayWrite && (
          <div class="save">
            <Failure failure={failure} />
            <p class="acts">
              <button type="submit" class="primary" disabled={busy || (!dirty && test !== null)}>
                {busy ? 'Saving …' : test === null ? 'Create test' : 'Save'}
              </button>
              {dirty && test !== null && (
                <button type="button" class="quiet" onClick={discard}>
                  Discard changes
                </button>
              )}
              <span class="note" role="status">
                {dirty && test !== null && 'Not saved yet.'}
              </span>
            </p>
          </div>
        )}
      </form>
    </>
  );
}

/** The names of the functions that the draft offers; none for a role that may not read tools. */
function useFunctions({ tool_ids: ids }: Assistant): readonly string[] {
  const tools = useList<Tool>(may('tools.read') ? `${apiWorkspace()}/tools` : null).items;
  return tools
    .filter((tool) => ids.includes(tool.id))
    .flatMap(({ functions }) => functions.filter(({ enabled }) => enabled).map(({ name }) => name));
}

function useTestDraft({ assistant, test, path }: Options) {
  const fields = assistant.visitor_fields;
  const saved = test === null ? emptyTest : testDraftOf(test, fields);
  const [edited, setEdited] = useState<TestDraft | null>(null);
  const { failure, busy, run } = useRequest();
  const draft = edited ?? saved;
  const dirty = edited !== null && JSON.stringify(edited) !== JSON.stringify(saved);
  useAskBeforeLeave(dirty);
  /** Resolves with the stored test; null if it was refused. */
  const save = (): Promise<AssistantTest | null> =>
    run(async () => {
      const body = testBodyOf(draft, fields);
      const stored =
        test === null
          ? await ask<AssistantTest>(`${path}/tests`, { body })
          : await ask<AssistantTest>(`${path}/tests/${test.id}`, { method: 'PATCH', body });
      put(`${path}/tests/${stored.id}`, stored);
      changeInLists(stored.id, stored);
      // Keeps what was typed while the request was under way.
      setEdited((now) => (now === edited ? null : now));
      if (test === null) go(testPage(assistant.id, stored.id), { replace: true });
      return stored;
    });
  return {
    ...{ draft, dirty, busy, failure, save },
    change: (changed: Partial<TestDraft>) => setEdited((now) => ({ ...(now ?? saved), ...changed })),
    discard: () => setEdited(null),
  };
}

interface ActsOptions extends Options {
  readonly test: AssistantTest;
  /** Stores changes of the form first; null without such changes. */
  readonly save: (() => Promise<AssistantTest | null>) | null;
}

function Acts({ assistant: { id }, test, path, save }: ActsOptions) {
  const [removing, setRemoving] = useState(false);
  const { failure, run } = useRequest();
  const start = () =>
    run(async () => {
      if (save !== null && (await save()) === null) return;
      const { id: started } = await startRun(path, { version: 'draft', test_ids: [test.id] });
      go(runPage(id, started));
    });
  return (
    <>
      <Failure failure={failure} />
      <button type="button" class="quiet" onClick={() => setRemoving(true)}>
        Delete
      </button>
      <button type="button" onClick={() => void start()}>
        {save === null ? 'Run on the draft' : 'Save and run'}
      </button>
      {removing && (
        <ConfirmDialog
          name={`Delete “${test.name}”`}
          act="Delete test"
          close={() => setRemoving(false)}
          run={async () => {
            await ask(`${path}/tests/${test.id}`, { method: 'DELETE' });
            changeInLists(test.id, null);
            go(testsPage(id));
          }}
        >
          <p>Its results stay in the runs that have played it. This cannot be undone.</p>
        </ConfirmDialog>
      )}
    </>
  );
}

/** The newest result of the test, and the conversation that it was made of. */
function LastRun({ assistant: { id }, test, path }: { assistant: Assistant; test: AssistantTest; path: string }) {
  const last = useLastResults(path, [test], useRuns(path).items).get(test.id);
  return (
    <Facts
      of={[
        [
          'Last result',
          last === undefined ? (
            'not run yet'
          ) : (
            <>
              <VerdictState of={last.verdict} />{' '}
              <a href={runPage(id, last.run.id)}>
                <Ago at={last.run.created_at} />
              </a>
            </>
          ),
        ],
        ...(test.from_session === null
          ? []
          : [['Made of', <a href={inWorkspace('sessions', test.from_session)}>a conversation</a>] as const]),
      ]}
    />
  );
}

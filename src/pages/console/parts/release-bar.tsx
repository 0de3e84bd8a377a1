/** The bar above an assistant's form: what people get, how the draft differs from it, and the way to publish. */
import { useState } from 'preact/hooks';
import { may } from '../may.ts';
import type { Assistant } from '../types.ts';
import { PublishDialog } from './publish.tsx';
import { draftComparison, failedWords, versionPage, versionsPage } from './release.ts';

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
  const differs = version !== null && draft.changed;
  const mayPublish = may('assistants.write') && status !== 'disabled' && (status === 'draft' || draft.changed || dirty);
  return (
    <section class={differs || dirty || version === null ? 'release open' : 'release'} aria-label="Release">
      <p role="status">
        <Words assistant={assistant} />
        <Rollout assistant={assistant} />
        {dirty && ' The form has unsaved changes.'}
      </p>
      <p class="acts">
        {version !== null && (
          <a class="button quiet" href={versionsPage(id)}>
            Versions
          </a>
        )}
        {differs && (
          <a class="button" href={draftComparison(id, version)}>
            Compare
          </a>
        )}
        {mayPublish && (
          <button type="button" class="primary" onClick={() => setAsking(true)}>
            {dirty ? 'Save and publish' : 'Publish'}
          </button>
        )}
      </p>
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

/** Publishes the draft of an assistant, with a note on the version. */
import { ask } from '../api.ts';
import { refresh } from '../data.ts';
import type { Assistant } from '../types.ts';
import { Dialog } from './dialog.tsx';
import { Input } from './field.tsx';
import { draftComparison, ifDraft, keepAssistant, openSessionsWords, useDraftChanges } from './release.ts';
import { concerned } from './setting-words.ts';
import { FormEnd, useSubmit } from './submit.tsx';
import { releaseAdvice } from './test-required.tsx';

interface Options {
  readonly assistant: Assistant;
  readonly path: string;
  /** Stores changes of the form first; null without such changes. Resolves with null if they are refused. */
  readonly save: (() => Promise<Assistant | null>) | null;
  /** The note stays where the dialog is closed. */
  readonly note: string;
  readonly setNote: (note: string) => void;
  readonly close: () => void;
}

export const noteMax = 500;

export function PublishDialog({ assistant, path, save, note, setNote, close }: Options) {
  const sending = useSubmit(async () => {
    const published = save === null ? assistant : await save();
    // The form says why it was refused.
    if (published === null) return close();
    try {
      const moved = await ask<Assistant>(`${path}/publish`, {
        body: note.trim() === '' ? {} : { note: note.trim() },
        headers: ifDraft(published),
      });
      keepAssistant(path, moved);
    } catch (error) {
      await refresh(path);
      throw error;
    }
    setNote('');
    close();
  });
  const isConflict = sending.failure?.code === 'draft_changed';
  return (
    <Dialog name="Publish the draft" close={close}>
      <form onSubmit={sending.submit}>
        <Differences assistant={assistant} path={path} isSaving={save !== null} />
        <p>New conversations get it at once. {openSessionsWords(assistant)}</p>
        {assistant.candidate !== null && <p>The rollout of version {assistant.candidate.version} ends.</p>}
        <Input
          label="Note (optional)"
          path="note"
          value={note}
          onValue={setNote}
          maxLength={noteMax}
          autocomplete="off"
          note="Shown in the list of versions."
          failure={sending.failure}
        />
        <FormEnd
          sending={sending}
          act={save === null ? 'Publish' : 'Save and publish'}
          cancel={close}
          advice={(failure) =>
            isConflict
              ? 'Another person or an edited tool changed it. The list above is the present one: publish again to release it.'
              : releaseAdvice(assistant.id)(failure)
          }
        />
      </form>
    </Dialog>
  );
}

/** The settings of the draft that people do not have yet. */
function Differences({ assistant, path, isSaving }: { assistant: Assistant; path: string; isSaving: boolean }) {
  const { id, version } = assistant;
  const changes = useDraftChanges(assistant, path);
  if (version === null) return <p>It is the first version.</p>;
  if (changes === undefined) return <p class="note">Comparing with version {version} …</p>;
  const unsaved = isSaving ? ' The unsaved changes come with them.' : '';
  if (changes.length === 0)
    return (
      <p>
        {isSaving
          ? `The unsaved changes are published after version ${version}.`
          : `The draft equals version ${version}: no new version is made.`}
      </p>
    );
  return (
    <p>
      Differs from version {version}: <strong>{concerned(changes.map((one) => one.path))}</strong>.{' '}
      <a href={draftComparison(id, version)}>Compare</a>.{unsaved}
    </p>
  );
}

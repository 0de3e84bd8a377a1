/** The draft of an assistant's form, what is stored, and the way from one to the other. */
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { put } from '../data.ts';
import { apiWorkspace, go, inWorkspace } from '../route.ts';
import type { Assistant } from '../types.ts';
import { useAskBeforeLeave } from './ask-before-leave.ts';
import { bodyOf, draftOf, emptyDraft, forget, keep, readKept, type AssistantDraft } from './assistant-draft.ts';
import { changedFields, isDirty, merged, type Edit, type Merge } from './draft-merge.ts';
import { caught } from './failure.tsx';
import { ifDraft, keepAssistant } from './release.ts';
import { useRequest } from './submit.tsx';

/** Changes of another person that came while the form had unsaved changes. */
export type OthersChanges = Pick<Merge<AssistantDraft>, 'taken' | 'both'> & { readonly theirs: AssistantDraft };

const storedDraft = (assistant: Assistant | null): AssistantDraft =>
  assistant === null ? emptyDraft : draftOf(assistant);

/** Whether another person has changed a setting that the form shows. */
const isOthers = ({ taken, both }: Pick<OthersChanges, 'taken' | 'both'>): boolean => taken.length + both.length > 0;

export function useDraft(assistant: Assistant | null, path: string) {
  const place = assistant?.id ?? 'new';
  const saved = storedDraft(assistant);
  const [edit, setEdit] = useState<Edit<AssistantDraft>>(() => {
    const kept = readKept(place);
    return { base: kept?.base ?? saved, draft: kept?.draft ?? saved };
  });
  const [others, setOthers] = useState<OthersChanges | null>(null);
  const { failure, busy, run } = useRequest();
  const { draft } = edit;
  const dirty = isDirty(edit);
  useLayoutEffect(() => {
    const after = merged(edit, saved);
    setEdit(after);
    if (dirty && isOthers(after)) setOthers({ taken: after.taken, both: after.both, theirs: saved });
  }, [assistant]);
  // Before the next frame: a reload right after a key was pressed loses nothing.
  useLayoutEffect(() => (dirty ? keep(place, edit) : forget(place)), [edit, dirty]);
  useAskBeforeLeave(dirty);
  useEffect(() => void (dirty || setOthers(null)), [dirty]);

  const stored = (now: Assistant) => {
    // Keeps the text that was typed while the request was under way.
    setEdit((held) => merged({ base: draft, draft: held.draft }, draftOf(now)));
    setOthers(null);
    keepAssistant(`${apiWorkspace()}/assistants/${now.id}`, now);
  };

  /** Resolves with the stored assistant; null if it was refused, or if another person has changed it as well. */
  const save = (): Promise<Assistant | null> =>
    run(async () => {
      if (assistant !== null) {
        const now = await patch(assistant, edit, path);
        if (now !== null) stored(now);
        return now;
      }
      const made = await ask<Assistant>(`${apiWorkspace()}/assistants`, { body: bodyOf(draft, null) });
      forget(place);
      stored(made);
      go(inWorkspace('assistants', made.id), { replace: true });
      return made;
    });
  return {
    ...{ draft, dirty, busy, failure, others, save },
    change: (fields: Partial<AssistantDraft>) => setEdit((held) => ({ ...held, draft: { ...held.draft, ...fields } })),
    discard: () => setEdit({ base: saved, draft: saved }),
    dismissOthers: () => setOthers(null),
  };
}

/**
 * Stores the settings that the form changed. An edit of a tool changes the draft as well: the form is sent again on it.
 * Resolves with null where another person changed settings of the form: these are shown first.
 */
async function patch(assistant: Assistant, edit: Edit<AssistantDraft>, path: string): Promise<Assistant | null> {
  const body = changedFields(bodyOf(edit.draft, assistant), bodyOf(edit.base, assistant));
  for (let known = assistant, isAgain = false; ; isAgain = true) {
    try {
      return await ask<Assistant>(path, { method: 'PATCH', body, headers: ifDraft(known) });
    } catch (error) {
      if (caught(error).code !== 'draft_changed' || isAgain) throw error;
      known = await ask<Assistant>(path);
      put(path, known);
      if (isOthers(merged(edit, draftOf(known)))) return null;
    }
  }
}

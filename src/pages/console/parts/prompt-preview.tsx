/** Prompt and greeting as a session of the assistant would get them, unsaved changes included. */
import { useState } from 'preact/hooks';
import { ask, type ApiFailure } from '../api.ts';
import { useRead } from '../data.ts';
import { date, timeOfDay } from '../format.ts';
import { apiWorkspace } from '../route.ts';
import type { Assistant, AssistantPreview, List, ListedSession } from '../types.ts';
import type { AssistantDraft } from './assistant-draft.ts';
import { caught, Failure } from './failure.tsx';
import { Choice } from './field.tsx';

interface Options {
  readonly assistant: Assistant;
  readonly draft: AssistantDraft;
}

export const hasVariables = (text: string): boolean => text.includes('{{');

export function PromptPreview({ assistant: { id }, draft }: Options) {
  const recent =
    useRead<List<ListedSession>>(`${apiWorkspace()}/sessions?assistant_id=${id}&limit=20`).value?.data ?? [];
  const [chosen, setChosen] = useState<string | null>(null);
  const [preview, setPreview] = useState<AssistantPreview | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  if (recent.length === 0)
    return <p class="note">Variables can be previewed once the assistant has a session: a trial is enough.</p>;
  const session = chosen ?? recent[0]!.id;
  const show = async () => {
    setFailure(null);
    const body = {
      session_id: session,
      greeting: draft.greeting,
      visitor_fields: draft.fields,
      model: { system_prompt: draft.systemPrompt },
    };
    try {
      setPreview(await ask<AssistantPreview>(`${apiWorkspace()}/assistants/${id}/preview`, { body }));
    } catch (error) {
      setPreview(null);
      setFailure(caught(error));
    }
  };
  return (
    <div class="hear" role="group" aria-label="Preview of the variables">
      <Choice
        label="Preview with session"
        value={session}
        onValue={setChosen}
        choices={recent.map(({ id: one, channel, created_at: at, first_words: words }) => [
          one,
          `${date(at)} ${timeOfDay(at * 1000)} · ${channel}${words ? ` · ${words}` : ''}`,
        ])}
      />
      <button type="button" onClick={() => void show()}>
        Preview
      </button>
      {preview && (
        <dl class="filled">
          <dt>System prompt</dt>
          <dd>{preview.system_prompt ?? 'None'}</dd>
          <dt>Greeting</dt>
          <dd>{preview.greeting ?? 'None'}</dd>
        </dl>
      )}
      <Failure failure={failure} />
    </div>
  );
}

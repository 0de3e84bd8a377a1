/** Restores a version as the draft, or makes it current again. Each asks first and says what happens. */
import { useRef, useState } from 'preact/hooks';
import { ask, adviceOn } from '../api.ts';
import { refresh } from '../data.ts';
import { go, inWorkspace } from '../route.ts';
import type { Assistant, RestoredAssistant } from '../types.ts';
import { ConfirmDialog, Dialog } from './dialog.tsx';
import { Check } from './field.tsx';
import { draftComparison, ifDraft, keepAssistant } from './release.ts';
import { ToolDifference } from './version-changes.tsx';

interface Options {
  readonly assistant: Assistant;
  readonly path: string;
  readonly number: number;
  readonly close: () => void;
}

type ToolsDiffer = RestoredAssistant['tools_differ'];

export function RestoreDialog({ assistant, path, number, close }: Options) {
  const { id, version, draft } = assistant;
  const [differ, setDiffer] = useState<ToolsDiffer | null>(null);
  const toAssistant = () => go(inWorkspace('assistants', id));
  const restore = async () => {
    try {
      const restored = await ask<RestoredAssistant>(`${path}/versions/${number}/restore`, {
        method: 'POST',
        headers: ifDraft(assistant),
      });
      const { tools_differ, ...now } = restored;
      keepAssistant(path, now);
      if (tools_differ.length === 0) toAssistant();
      else setDiffer(tools_differ);
    } catch (error) {
      await refresh(path);
      throw error;
    }
  };
  if (differ !== null) return <ToolsDifferDialog number={number} differ={differ} close={toAssistant} />;
  return (
    <ConfirmDialog
      name={`Restore version ${number} as the draft`}
      act="Restore"
      run={restore}
      // The dialog of what differs takes the place of this one.
      close={() => {}}
      cancel={close}
      danger={draft.changed}
      advice={(failure) =>
        failure.code === 'draft_changed'
          ? 'Another person or an edited tool changed it. Look at the draft, or restore again to replace it.'
          : adviceOn(failure)
      }
    >
      <p>The draft gets the settings of version {number}. Nothing is published: people keep what they get now.</p>
      {draft.changed && version !== null && (
        <p>
          The changes of the present draft are lost.{' '}
          <a href={draftComparison(id, version)}>Compare it with version {version}</a> first.
        </p>
      )}
      <p class="note">
        Tools are shared by assistants, so they stay as they are. Those that differ are listed afterwards.
      </p>
    </ConfirmDialog>
  );
}

/** The tools that are not as the version contains them. */
function ToolsDifferDialog({ number, differ, close }: { number: number; differ: ToolsDiffer; close: () => void }) {
  return (
    <Dialog name={`Restored, except for ${differ.length === 1 ? 'a tool' : `${differ.length} tools`}`} close={close}>
      <div class="stack">
        <p>
          The draft has the settings of version {number}. These tools are not as version {number} contains them; a tool
          that is deleted is not in the draft.
        </p>
        {differ.map(({ tool_id: tool, name, changes }) => (
          <ToolDifference key={tool} name={name} of={changes} sides={[`Version ${number}`, 'Now']} />
        ))}
        <p class="acts end">
          <button type="button" class="primary" onClick={close}>
            To the draft
          </button>
        </p>
      </div>
    </Dialog>
  );
}

interface RollbackOptions extends Omit<Options, 'number'> {
  /** Null for the version that was current before. */
  readonly number: number | null;
  readonly done: () => void;
}

export function RollbackDialog({ assistant, path, number, close, done }: RollbackOptions) {
  const { version, draft, candidate, session_policy: policy } = assistant;
  const [moves, setMoves] = useState(false);
  // A repeat after a failed recall must not go one version further back.
  const isDone = useRef(false);
  const target = number === null ? 'the version that was current before' : `version ${number}`;
  const isForward = number !== null && version !== null && number > version;
  const rollBack = async () => {
    if (!isDone.current)
      keepAssistant(
        path,
        await ask<Assistant>(`${path}/rollback`, { body: number === null ? {} : { version: number } }),
      );
    isDone.current = true;
    done();
    if (moves) keepAssistant(path, await ask<Assistant>(`${path}/recall`, { method: 'POST' }));
  };
  return (
    <ConfirmDialog
      name={
        isForward ? `Make version ${number} current` : number === null ? 'Roll back' : `Roll back to version ${number}`
      }
      act={isForward ? 'Make current' : 'Roll back'}
      run={rollBack}
      close={close}
      advice={(failure) =>
        failure.code === 'version_not_found' ? 'No earlier version is stored. Nothing was changed.' : adviceOn(failure)
      }
    >
      <p>New conversations get {target} at once, with its prompt, model and tools as they were then.</p>
      {policy === 'follow' ? (
        <p>Open conversations take it at their next turn.</p>
      ) : (
        <Check
          label="Move open conversations too"
          note={`At their next turn. Otherwise those on version ${version} stay on it until they end.`}
          checked={moves}
          onValue={setMoves}
        />
      )}
      {candidate !== null && <p>The rollout of version {candidate.version} ends.</p>}
      <p class="note">The draft stays as it is{draft.changed ? ', with its unpublished changes' : ''}.</p>
    </ConfirmDialog>
  );
}

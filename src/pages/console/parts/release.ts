/** The release of an assistant in words: its state, and what a change of it means for conversations that are open. */
import { useEffect } from 'preact/hooks';
import { changeInLists, put, refresh, useRead } from '../data.ts';
import { count, plural } from '../format.ts';
import { inWorkspace } from '../route.ts';
import type { Assistant, Candidate, Version, VersionChange } from '../types.ts';

/** Shows the assistant as the answer to a write has it, on its page at `path` and in lists. */
export function keepAssistant(path: string, assistant: Assistant): void {
  put(path, assistant);
  changeInLists(assistant.id, assistant);
}

/** The condition that nobody has changed the draft since it was read. */
export const ifDraft = ({ draft }: Assistant) => ({ 'if-match': `"${draft.digest}"` });

export const versionsPage = (assistant: string): string => inWorkspace('assistants', assistant, 'versions');
export const versionPage = (assistant: string, number: number): string =>
  inWorkspace('assistants', assistant, 'versions', String(number));
/** The page that compares a version with the draft. */
export const draftComparison = (assistant: string, number: number): string =>
  `${versionPage(assistant, number)}?from=draft`;

export const versionTones = { current: 'good', candidate: 'lit', retired: 'plain' } as const satisfies Record<
  Version['state'],
  string
>;

/** "3 of 50 turns failed", with the share. */
export const failedWords = ({ failed_turns: failed, turns }: Pick<Candidate, 'failed_turns' | 'turns'>): string =>
  turns === 0
    ? 'no turn has ended'
    : `${count(failed)} of ${plural(turns, 'turn')} failed (${Math.round((failed / turns) * 100)} %)`;

/** Says what sessions that are open do after a change of the current version. */
export const openSessionsWords = ({ session_policy: policy }: Assistant): string =>
  policy === 'follow'
    ? 'Open conversations take it at their next turn.'
    : 'Open conversations stay on their version until they end.';

/** The differences of the draft to the current version; undefined until they are read, and before the first version. */
export function useDraftChanges({ version, draft }: Assistant, path: string): readonly VersionChange[] | undefined {
  const changesPath = version === null ? null : `${path}/versions/${version}/changes?from=draft`;
  useEffect(() => void (changesPath !== null && refresh(changesPath)), [draft.digest]);
  return useRead<{ data: VersionChange[] }>(changesPath).value?.data.map(newer);
}

/** A difference to the draft as the API has it begins with the draft: here the draft is the newer side. */
export const newer = ({ path, before, after }: VersionChange): VersionChange => ({
  path,
  before: after,
  after: before,
});

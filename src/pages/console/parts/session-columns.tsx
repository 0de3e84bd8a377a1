/** Columns that the lists of sessions share. */
import type { Session } from '../types.ts';
import type { Column } from './rows.tsx';
import { versionWords } from './version-fact.tsx';

/** The assistant with the version that answers. */
export const assistantColumn = (nameOf: (id: string) => string): Column<Session> => ({
  name: 'Assistant',
  width: 'minmax(0, 1fr)',
  wide: true,
  cell: (session) => (
    <>
      {nameOf(session.assistant_id)} <span class="soft">{versionWords(session)}</span>
    </>
  ),
});

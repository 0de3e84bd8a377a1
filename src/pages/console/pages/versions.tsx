/** The versions of an assistant: what was published when and by whom, and how each has done. */
import { useEffect, useState } from 'preact/hooks';
import { repeatedly } from '../clock.ts';
import { refresh, useList, useRead } from '../data.ts';
import { count, plural } from '../format.ts';
import { may } from '../may.ts';
import { Empty } from '../parts/empty.tsx';
import { Head, State } from '../parts/head.tsx';
import { UnreadAssistant } from '../parts/missing.tsx';
import { draftComparison, versionPage, versionTones } from '../parts/release.ts';
import { RecallDialog, RolloutDialog, RolloutPanel } from '../parts/rollout.tsx';
import { Rows, type Column } from '../parts/rows.tsx';
import { MomentText } from '../parts/time.tsx';
import { RollbackDialog } from '../parts/version-acts.tsx';
import { apiWorkspace, inWorkspace, segments } from '../route.ts';
import type { Assistant, Version } from '../types.ts';

export default function Versions() {
  const [, , id = ''] = segments.value;
  const path = `${apiWorkspace()}/assistants/${id}`;
  const { value: assistant, failure } = useRead<Assistant>(path);
  const list = useList<Version>(`${path}/versions`);
  const [asking, setAsking] = useState<'rollback' | 'rollout' | 'recall' | null>(null);
  useEffect(
    () =>
      repeatedly(5000, async () => {
        await refresh(path);
        list.again();
      }),
    [path],
  );
  if (assistant === undefined) return <UnreadAssistant path={path} failure={failure} />;
  const { name, version, draft, candidate } = assistant;
  const options = { assistant, path, close: () => setAsking(null), done: list.again };
  const mayWrite = may('assistants.write') && version !== null;
  return (
    <>
      <Head name="Versions" title={`Versions of ${name}`} above={[inWorkspace('assistants', id), name]}>
        {version !== null && draft.changed && (
          <a class="button" href={draftComparison(id, version)}>
            Compare the draft
          </a>
        )}
        {mayWrite && (
          <button type="button" class="quiet" onClick={() => setAsking('recall')}>
            Move open sessions
          </button>
        )}
        {mayWrite && version > 1 && (
          <button type="button" onClick={() => setAsking('rollback')}>
            Roll back
          </button>
        )}
        {mayWrite && candidate === null && (draft.changed || list.items.length > 1) && (
          <button type="button" onClick={() => setAsking('rollout')}>
            Start rollout
          </button>
        )}
      </Head>
      {candidate !== null && (
        <RolloutPanel assistant={assistant} candidate={candidate} versions={list.items} path={path} done={list.again} />
      )}
      <Rows label="Versions" columns={columnsOf(id)} list={list} empty={nothingYet(id)} />
      {asking === 'rollback' && <RollbackDialog {...options} number={null} />}
      {asking === 'rollout' && <RolloutDialog {...options} versions={list.items} number={null} />}
      {asking === 'recall' && <RecallDialog {...options} />}
    </>
  );
}

const nothingYet = (id: string) => (
  <Empty
    name="No version yet"
    first={
      <a class="button" href={inWorkspace('assistants', id)}>
        To the draft
      </a>
    }
    command={`npx parley assistants publish ${id}`}
  >
    Publishing the draft makes version 1. A version never changes: people are answered by versions only, and each can be
    compared, restored and rolled back to.
  </Empty>
);

const columnsOf = (id: string): readonly Column<Version>[] => [
  {
    name: 'Version',
    width: 'minmax(0, 2fr)',
    cell: ({ number, note, created_at: at, created_by: by, turns, failed_turns: failed }) => (
      <>
        <a href={versionPage(id, number)}>Version {number}</a>
        {note !== null && <span class="soft in-row">{note}</span>}
        <small>
          <MomentText at={at} />
          {by !== null && ` · ${by.name}`}
          {turns > 0 && ` · ${plural(turns, 'turn')}, ${count(failed)} failed`}
        </small>
      </>
    ),
  },
  {
    name: 'Sessions',
    width: '72px',
    numeric: true,
    wide: true,
    cell: ({ sessions }) => count(sessions),
  },
  { name: 'Turns', width: '72px', numeric: true, wide: true, cell: ({ turns }) => count(turns) },
  { name: 'Failed', width: '64px', numeric: true, wide: true, cell: ({ failed_turns: failed }) => count(failed) },
  {
    name: 'Rated up, down',
    width: '104px',
    numeric: true,
    wide: true,
    cell: ({ feedback_up: up, feedback_down: down }) => `${count(up)}, ${count(down)}`,
  },
  { name: 'State', width: '96px', cell: ({ state }) => <State name={state} tone={versionTones[state]} /> },
  {
    name: 'Published by',
    width: 'minmax(0, 1fr)',
    wide: true,
    cell: ({ created_by: by }) => <span class="soft">{by?.name ?? '–'}</span>,
  },
  {
    name: 'Published',
    width: '136px',
    numeric: true,
    wide: true,
    cell: ({ created_at: at }) => <MomentText at={at} />,
  },
];

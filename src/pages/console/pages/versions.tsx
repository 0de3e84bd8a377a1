/** The versions of an assistant: what was published when and by whom, and how each has done. */
import { useEffect, useState } from 'preact/hooks';
import { repeatedly } from '../clock.ts';
import { refresh, useList, useRead } from '../data.ts';
import { may } from '../may.ts';
import { Empty } from '../parts/empty.tsx';
import { Head, State } from '../parts/head.tsx';
import { Unread } from '../parts/missing.tsx';
import { draftComparison, versionPage, versionTones } from '../parts/release.ts';
import { Rows, type Column } from '../parts/rows.tsx';
import { MomentText } from '../parts/time.tsx';
import { RollbackDialog } from '../parts/version-acts.tsx';
import { apiWorkspace, inWorkspace, segments } from '../route.ts';
import type { Assistant, Version } from '../types.ts';

export default function Versions() {
  const id = segments.value[2]!;
  const path = `${apiWorkspace()}/assistants/${id}`;
  const { value: assistant, failure } = useRead<Assistant>(path);
  const list = useList<Version>(`${path}/versions`);
  const [asking, setAsking] = useState(false);
  useEffect(
    () =>
      repeatedly(5000, async () => {
        await refresh(path);
        list.again();
      }),
    [path],
  );
  if (assistant === undefined)
    return (
      <Unread
        what="assistant"
        list={[inWorkspace('assistants'), 'Assistants']}
        failure={failure}
        again={() => void refresh(path)}
      />
    );
  const { name, version, draft } = assistant;
  return (
    <>
      <Head name="Versions" title={`Versions of ${name}`} above={[inWorkspace('assistants', id), name]}>
        {version !== null && draft.changed && (
          <a class="button" href={draftComparison(id, version)}>
            Compare the draft
          </a>
        )}
        {version !== null && version > 1 && may('assistants.write') && (
          <button type="button" onClick={() => setAsking(true)}>
            Roll back
          </button>
        )}
      </Head>
      <Rows label="Versions" columns={columnsOf(id)} list={list} empty={nothingYet(id)} />
      {asking && (
        <RollbackDialog
          assistant={assistant}
          path={path}
          number={null}
          close={() => setAsking(false)}
          done={list.again}
        />
      )}
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
    cell: ({ number, note, created_at: at, created_by: by }) => (
      <>
        <a href={versionPage(id, number)}>Version {number}</a>
        {note !== null && <span class="soft in-row">{note}</span>}
        <small>
          <MomentText at={at} />
          {by !== null && ` · ${by.name}`}
        </small>
      </>
    ),
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

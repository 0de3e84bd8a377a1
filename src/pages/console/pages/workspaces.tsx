/** Workspaces: made, renamed, their limits set, and removed with the name typed. */
import { useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { may } from '../may.ts';
import { count } from '../format.ts';
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { Input } from '../parts/field.tsx';
import { Head } from '../parts/head.tsx';
import { Rows, type Column } from '../parts/rows.tsx';
import { FormEnd, useSubmit } from '../parts/submit.tsx';
import { Day } from '../parts/time.tsx';
import { pathOf } from '../route.ts';
import type { Workspace } from '../types.ts';
import { readWorkspaces, workspaces } from '../workspaces.ts';

export default function Workspaces() {
  const [editing, setEditing] = useState<Workspace | 'new' | null>(null);
  const [removing, setRemoving] = useState<Workspace | null>(null);
  const items = workspaces.value;
  const list = {
    items: items ?? [],
    next: null,
    failure: null,
    loading: false,
    begun: items !== null,
    more: () => {},
    again: () => void readWorkspaces(),
  };
  const first = may('workspaces.create') && (
    <button type="button" class="primary" onClick={() => setEditing('new')}>
      Create workspace
    </button>
  );
  const changes: Column<Workspace> = {
    name: 'Change',
    width: '152px',
    numeric: true,
    cell: (one) => (
      <span class="acts">
        <button type="button" class="quiet" onClick={() => setEditing(one)} aria-label={`Edit ${one.name}`}>
          Edit
        </button>
        <button type="button" class="quiet" onClick={() => setRemoving(one)} aria-label={`Delete ${one.name}`}>
          Delete
        </button>
      </span>
    ),
  };
  const columns: readonly Column<Workspace>[] = [
    { name: 'Workspace', width: 'minmax(0, 1fr)', cell: ({ id, name }) => <a href={pathOf(id, 'live')}>{name}</a> },
    {
      name: 'Max turns in flight',
      width: '160px',
      numeric: true,
      wide: true,
      cell: ({ turns_in_flight_max: max }) => count(max),
    },
    {
      name: 'Kept for',
      width: '96px',
      numeric: true,
      wide: true,
      cell: ({ retention_days: days }) => `${count(days)} days`,
    },
    { name: 'Created', width: '112px', numeric: true, wide: true, cell: ({ created_at: at }) => <Day at={at} /> },
    ...(may('workspaces.write') ? [changes] : []),
  ];
  const empty = (
    <Empty name="No workspaces yet" first={first} command={'npx parley workspaces create shop'}>
      A workspace holds assistants, keys, credentials and sessions, apart from those of all others.
    </Empty>
  );
  return (
    <>
      <Head name="Workspaces">{list.items.length > 0 && first}</Head>
      <Rows label="Workspaces" columns={columns} list={list} empty={empty} />
      {editing !== null && <Editor of={editing === 'new' ? null : editing} close={() => setEditing(null)} />}
      {removing !== null && (
        <ConfirmDialog
          name={`Delete “${removing.name}”`}
          act="Delete workspace"
          typed={removing.name}
          close={() => setRemoving(null)}
          run={async () => {
            await ask(`/workspaces/${removing.id}`, { method: 'DELETE' });
            await readWorkspaces();
          }}
        >
          <p>
            Its assistants, keys, credentials, sessions, transcripts and usage go with it, and its keys are refused from
            now on. This cannot be undone.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

function Editor({ of, close }: { of: Workspace | null; close: () => void }) {
  const [name, setName] = useState(of?.name ?? '');
  const [turns, setTurns] = useState(String(of?.turns_in_flight_max ?? 10));
  const [days, setDays] = useState(String(of?.retention_days ?? 30));
  const sending = useSubmit(async () => {
    const body = { name, turns_in_flight_max: Number(turns), retention_days: Number(days) };
    if (of === null) await ask('/workspaces', { body });
    else await ask(`/workspaces/${of.id}`, { method: 'PATCH', body });
    await readWorkspaces();
    close();
  });
  const { failure } = sending;
  return (
    <Dialog name={of === null ? 'Create workspace' : `Edit “${of.name}”`} close={close}>
      <form onSubmit={sending.submit}>
        <Input label="Name" path="name" value={name} onValue={setName} required failure={failure} />
        <div class="pair">
          <Input
            label="Max turns in flight"
            path="turns_in_flight_max"
            type="number"
            min={1}
            max={100_000}
            value={turns}
            onValue={setTurns}
            required
            failure={failure}
          />
          <Input
            label="Session retention, in days"
            path="retention_days"
            type="number"
            min={1}
            max={3650}
            value={days}
            onValue={setDays}
            required
            failure={failure}
          />
        </div>
        <FormEnd sending={sending} act={of === null ? 'Create workspace' : 'Save'} cancel={close} />
      </form>
    </Dialog>
  );
}

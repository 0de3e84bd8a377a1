/** API keys: the list, and a new one, which is shown this once. */
import { useState } from 'preact/hooks';
import { useList } from '../data.ts';
import { may } from '../may.ts';
import { count } from '../format.ts';
import { Empty } from '../parts/empty.tsx';
import { Head, State } from '../parts/head.tsx';
import { KeyForm, Once, type Fields } from '../parts/key-form.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Rows, type Column } from '../parts/rows.tsx';
import { Ago, Day } from '../parts/time.tsx';
import { ask } from '../api.ts';
import { apiWorkspace, inWorkspace } from '../route.ts';
import type { Assistant, CreatedKey, Key } from '../types.ts';

/** The state in a word. */
export const keyState = ({ status }: Key): { name: string; tone: 'good' | 'plain' } => ({
  name: status,
  tone: status === 'active' ? 'good' : 'plain',
});

export default function Keys() {
  const path = `${apiWorkspace()}/keys`;
  const list = useList<Key>(path);
  const assistants = useList<Assistant>(`${apiWorkspace()}/assistants`).items;
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<CreatedKey | null>(null);
  const create = async (fields: Fields) => {
    const key = await ask<CreatedKey>(path, { body: fields });
    setCreating(false);
    setMade(key);
    list.again();
  };
  const reach = ({ assistant_ids: ids }: Key): string => {
    if (ids === null) return 'all assistants';
    return ids.length === 0 ? 'none' : ids.map((id) => assistants.find((one) => one.id === id)?.name ?? id).join(', ');
  };
  const columns: readonly Column<Key>[] = [
    { name: 'Key', width: 'minmax(0, 1.2fr)', cell: ({ id, name }) => <a href={inWorkspace('keys', id)}>{name}</a> },
    { name: 'State', width: '96px', cell: (key) => <State {...keyState(key)} /> },
    { name: 'Begins with', width: 'minmax(0, 1fr)', wide: true, cell: ({ hint }) => <code class="soft">{hint}</code> },
    { name: 'May use', width: 'minmax(0, 1fr)', wide: true, cell: (key) => <span class="soft">{reach(key)}</span> },
    {
      name: 'Requests a minute',
      width: '128px',
      numeric: true,
      wide: true,
      cell: ({ limits, budgets }) =>
        budgets ? `${count(budgets.requests.remaining)} of ${count(limits.requests)}` : count(limits.requests),
    },
    {
      name: 'Expires',
      width: '104px',
      numeric: true,
      wide: true,
      cell: ({ expires_at: at }) => (at === null ? <span class="soft">never</span> : <Day at={at} />),
    },
    {
      name: 'Last used',
      width: '96px',
      numeric: true,
      wide: true,
      cell: ({ last_used_at: at }) => (at == null ? <span class="soft">never</span> : <Ago at={at} />),
    },
  ];
  const first = may('keys.write') && (
    <button type="button" class="primary" onClick={() => setCreating(true)}>
      Create key
    </button>
  );
  return (
    <>
      <Head name="Keys">{list.items.length > 0 && first}</Head>
      <Rows
        label="Keys"
        columns={columns}
        list={list}
        empty={
          <Empty name="No keys yet" first={first} command={'npx parley keys create "web shop"'}>
            Your software calls the API with a key. Each can be restricted to some assistants, has its own limits and
            expiry, and is shown once, when it is made.
          </Empty>
        }
      />
      {creating && (
        <Dialog name="Create key" close={() => setCreating(false)}>
          <KeyForm assistants={assistants} act="Create key" run={create} cancel={() => setCreating(false)} />
        </Dialog>
      )}
      {made !== null && <Once made={made} close={() => setMade(null)} />}
    </>
  );
}

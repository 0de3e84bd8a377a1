/** Assistants: who they are, whether they answer, and what they run on. */
import { useList } from '../data.ts';
import { may } from '../may.ts';
import { Empty } from '../parts/empty.tsx';
import { Head, State } from '../parts/head.tsx';
import { Rows, type Column } from '../parts/rows.tsx';
import { Ago } from '../parts/time.tsx';
import { apiWorkspace, inWorkspace } from '../route.ts';
import type { Assistant } from '../types.ts';

export const toneOf = (status: Assistant['status']): 'good' | 'red' | 'plain' =>
  status === 'published' ? 'good' : status === 'disabled' ? 'red' : 'plain';

const channelsOf = ({ channels }: Assistant): string =>
  ['text', ...Object.entries(channels).flatMap(([name, on]) => (on ? [name] : []))].join(', ');

export default function Assistants() {
  const list = useList<Assistant>(`${apiWorkspace()}/assistants`);
  const first = may('assistants.write') && (
    <a class="button primary" href={inWorkspace('assistants', 'new')}>
      Create assistant
    </a>
  );
  const columns: readonly Column<Assistant>[] = [
    {
      name: 'Assistant',
      width: 'minmax(0, 1.4fr)',
      cell: ({ id, name }) => <a href={inWorkspace('assistants', id)}>{name}</a>,
    },
    { name: 'State', width: '104px', cell: ({ status }) => <State name={status} tone={toneOf(status)} /> },
    {
      name: 'Model',
      width: 'minmax(0, 1fr)',
      wide: true,
      cell: ({ model }) => (
        <span class="soft">{model.provider === model.name ? model.provider : `${model.provider} · ${model.name}`}</span>
      ),
    },
    {
      name: 'Reached by',
      width: 'minmax(0, 1fr)',
      wide: true,
      cell: (one) => <span class="soft">{channelsOf(one)}</span>,
    },
    { name: 'Changed', width: '112px', numeric: true, wide: true, cell: ({ updated_at: at }) => <Ago at={at} /> },
  ];
  return (
    <>
      <Head name="Assistants">{list.items.length > 0 && first}</Head>
      <Rows
        label="Assistants"
        columns={columns}
        list={list}
        empty={
          <Empty
            name="No assistants yet"
            first={first}
            command={'npx parley assistants create support --system-prompt "Be brief." --publish'}
          >
            An assistant is a model, what it is told, and how it can be reached. It begins as a draft, which you can try
            here before anybody else can.
          </Empty>
        }
      />
    </>
  );
}

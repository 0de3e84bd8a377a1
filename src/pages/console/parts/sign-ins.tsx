/** The sign-ins of people: browser and address of each, which can be ended. */
import { useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { useList } from '../data.ts';
import { leaveConsole } from '../leaving.ts';
import type { SignIn } from '../types.ts';
import { ConfirmDialog } from './dialog.tsx';
import { Empty } from './empty.tsx';
import { Rows, type Column } from './rows.tsx';
import { Ago, MomentText } from './time.tsx';

/** A browser by the name that it gives first among those that it claims. */
function browserOf(agent: string | null): string {
  if (agent === null) return 'unknown';
  const name = /(Edg|Firefox|Chrome|Chromium|Safari)[A-Za-z]*/.exec(agent)?.[1] ?? agent;
  const system = /(Windows|Mac OS|Android|iPhone|Linux)/.exec(agent)?.[1];
  return [name === 'Edg' ? 'Edge' : name, system].filter(Boolean).join(', ');
}

export function SignIns() {
  const list = useList<SignIn>('/sign-ins');
  const [ending, setEnding] = useState<SignIn | 'everywhere' | null>(null);
  const end = async (one: SignIn | 'everywhere') => {
    if (one === 'everywhere') await ask('/sign-out', { body: { everywhere: true } });
    else await ask(`/sign-ins/${one.id}`, { method: 'DELETE' });
    if (one !== 'everywhere' && !one.current) return list.again();
    leaveConsole();
  };
  const columns: readonly Column<SignIn>[] = [
    {
      name: 'Person',
      width: 'minmax(0, 1fr)',
      cell: ({ name, current, agent, address, last_seen_at: at }) => (
        <>
          <strong title={name}>{name}</strong>
          {current && <span class="soft"> · this browser</span>}
          <small>
            {browserOf(agent)} · {address} · <Ago at={at} />
          </small>
        </>
      ),
    },
    {
      name: 'Browser',
      width: 'minmax(0, 1fr)',
      wide: true,
      cell: ({ agent }) => (
        <span class="soft" title={agent ?? undefined}>
          {browserOf(agent)}
        </span>
      ),
    },
    {
      name: 'Address',
      width: 'minmax(0, 1fr)',
      wide: true,
      cell: ({ address }) => <code class="soft">{address}</code>,
    },
    { name: 'Last seen', width: '96px', numeric: true, wide: true, cell: ({ last_seen_at: at }) => <Ago at={at} /> },
    { name: 'Ends', width: '112px', numeric: true, wide: true, cell: ({ expires_at: at }) => <MomentText at={at} /> },
    {
      name: 'Change',
      width: '64px',
      numeric: true,
      cell: (one) => (
        <span class="acts">
          <button
            type="button"
            class="quiet"
            onClick={() => setEnding(one)}
            aria-label={`End the sign-in of ${one.name}`}
          >
            End
          </button>
        </span>
      ),
    },
  ];
  return (
    <section class="section" aria-label="Sign-ins">
      <h2>Sign-ins</h2>
      <p class="note">
        Where people are signed in. A sign-in ends after 12 hours without use, after 7 days in any case, when it is
        ended here, and when its person is blocked.
      </p>
      <Rows
        label="Sign-ins"
        columns={columns}
        list={list}
        empty={<Empty name="Nobody is signed in">Requests with the operator token are not listed here.</Empty>}
      />
      <p class="acts">
        <button type="button" class="quiet" onClick={() => setEnding('everywhere')}>
          Sign out everywhere
        </button>
      </p>
      {ending !== null && (
        <ConfirmDialog
          name={ending === 'everywhere' ? 'Sign out everywhere' : 'End the sign-in'}
          act={ending === 'everywhere' ? 'Sign out everywhere' : 'End the sign-in'}
          run={() => end(ending)}
          close={() => setEnding(null)}
        >
          <p>
            {ending === 'everywhere'
              ? 'All your own sign-ins end at once, this one too.'
              : `${ending.name} is signed out there at once${ending.current ? '. That is this browser' : ''}.`}
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

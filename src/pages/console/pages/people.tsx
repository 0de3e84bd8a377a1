/** The people who are signed in, with browser and address, and links for colleagues. */
import { useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { useList } from '../data.ts';
import { leaveConsole } from '../leaving.ts';
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx';
import { CopyButton } from '../parts/copy.tsx';
import { Empty } from '../parts/empty.tsx';
import { Input } from '../parts/field.tsx';
import { Head } from '../parts/head.tsx';
import { Rows, type Column } from '../parts/rows.tsx';
import { FormEnd, useSubmit } from '../parts/submit.tsx';
import { Ago, MomentText } from '../parts/time.tsx';
import type { SignIn, SignInLink } from '../types.ts';

/** A browser by the name that it gives first among those that it claims. */
function browserOf(agent: string | null): string {
  if (agent === null) return 'unknown';
  const name = /(Edg|Firefox|Chrome|Chromium|Safari)[A-Za-z]*/.exec(agent)?.[1] ?? agent;
  const system = /(Windows|Mac OS|Android|iPhone|Linux)/.exec(agent)?.[1];
  return [name === 'Edg' ? 'Edge' : name, system].filter(Boolean).join(', ');
}

export default function People() {
  const list = useList<SignIn>('/sign-ins');
  const [inviting, setInviting] = useState(false);
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
      cell: ({ name, current }) => (
        <>
          <strong>{name}</strong>
          {current && <span class="soft"> · this browser</span>}
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
      width: '96px',
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
    <>
      <Head name="People">
        <button type="button" class="quiet" onClick={() => setEnding('everywhere')}>
          Sign out everywhere
        </button>
        <button type="button" class="primary" onClick={() => setInviting(true)}>
          Invite a colleague
        </button>
      </Head>
      <p class="note">
        Where people are signed in. A sign-in ends after 12 hours without use, after 7 days in any case, and when it is
        ended here.
      </p>
      <Rows
        label="Sign-ins"
        columns={columns}
        list={list}
        empty={<Empty name="Nobody is signed in">Who calls with the operator token is not listed here.</Empty>}
      />
      {inviting && <Invite close={() => setInviting(false)} />}
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
    </>
  );
}

function Invite({ close }: { close: () => void }) {
  const [name, setName] = useState('');
  const [link, setLink] = useState<SignInLink | null>(null);
  const sending = useSubmit(async () => setLink(await ask<SignInLink>('/sign-in-links', { body: { name } })));
  if (link !== null) {
    return (
      <Dialog name={`A link for ${link.name}`} close={close} held>
        <div class="stack">
          <p>
            It works once, until <MomentText at={link.expires_at} />. Send it to {link.name} alone; what they do is
            recorded under this name.
          </p>
          <code class="once">{link.url}</code>
          <p class="acts end">
            <CopyButton text={link.url} label="Copy the link" quiet={false} />
            <button type="button" class="primary" onClick={close}>
              Done
            </button>
          </p>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog name="Invite a colleague" close={close}>
      <form onSubmit={sending.submit}>
        <Input
          label="Name"
          path="name"
          value={name}
          onValue={setName}
          required
          failure={sending.failure}
          autocomplete="off"
          note="Shown next to their actions, in histories and in this list."
        />
        <FormEnd sending={sending} act="Make the link" cancel={close} />
      </form>
    </Dialog>
  );
}

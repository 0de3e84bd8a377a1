/** The people of the console: their roles, links for colleagues, and where they are signed in. */
import { useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { changeInLists, useList } from '../data.ts';
import { CopyButton } from '../parts/copy.tsx';
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { Choice, Input } from '../parts/field.tsx';
import { Head, State } from '../parts/head.tsx';
import { Rows, type Column } from '../parts/rows.tsx';
import { SignIns } from '../parts/sign-ins.tsx';
import { FormEnd, useSubmit } from '../parts/submit.tsx';
import { Ago, MomentText } from '../parts/time.tsx';
import { person } from '../person.ts';
import type { ConsolePerson, Role, SignInLink } from '../types.ts';
import { workspaces } from '../workspaces.ts';

const rolesInWords: Readonly<Record<Role, string>> = {
  owner: 'May do everything.',
  editor: 'Changes assistants, tools, tests and releases; reads sessions, usage and live views.',
  attendant: 'Reads and ends sessions, and works the desk.',
  viewer: 'Reads all but credentials, keys, people and settings of tools.',
};

const sources = { link: 'link', oidc: 'OpenID Connect', token: 'operator token' } as const;

const workspaceName = (id: string | null): string =>
  id === null ? 'all workspaces' : (workspaces.value?.find((one) => one.id === id)?.name ?? id);

/** The operator token's person keeps the role. */
const isFixed = ({ source }: ConsolePerson): boolean => source === 'token';

export default function People() {
  const list = useList<ConsolePerson>('/people');
  const [inviting, setInviting] = useState(false);
  const [changing, setChanging] = useState<ConsolePerson | null>(null);
  const [blocking, setBlocking] = useState<ConsolePerson | null>(null);
  const patch = async (id: string, body: object) => {
    const changed = await ask<ConsolePerson>(`/people/${id}`, { method: 'PATCH', body });
    changeInLists(id, changed);
  };
  const columns: readonly Column<ConsolePerson>[] = [
    {
      name: 'Person',
      width: 'minmax(0, 1fr)',
      cell: ({ id, name, role, workspace_id: workspace, blocked }) => (
        <>
          <strong title={name}>{name}</strong>
          {id === person.value?.id && <span class="soft"> · you</span>}
          <small>
            {blocked && 'blocked · '}
            {role} · {workspaceName(workspace)}
          </small>
        </>
      ),
    },
    { name: 'Role', width: '88px', wide: true, cell: ({ role }) => role },
    {
      name: 'State',
      width: '88px',
      wide: true,
      cell: ({ blocked }) => <State name={blocked ? 'blocked' : 'active'} tone={blocked ? 'red' : 'plain'} />,
    },
    {
      name: 'In',
      width: 'minmax(0, 1fr)',
      wide: true,
      cell: ({ workspace_id: id }) => (
        <span class="soft" title={workspaceName(id)}>
          {workspaceName(id)}
        </span>
      ),
    },
    {
      name: 'Signs in by',
      width: '128px',
      wide: true,
      cell: ({ source }) => <span class="soft">{sources[source]}</span>,
    },
    {
      name: 'Last seen',
      width: '96px',
      numeric: true,
      wide: true,
      // Requests with the operator token are not counted as presence.
      cell: ({ last_seen_at: at, source }) =>
        at !== null ? <Ago at={at} /> : <span class="soft">{source === 'token' ? '–' : 'never'}</span>,
    },
    {
      name: 'Change',
      width: '148px',
      numeric: true,
      cell: (one) =>
        isFixed(one) ? (
          <span class="soft">fixed</span>
        ) : (
          <Acts of={one} change={() => setChanging(one)} block={() => setBlocking(one)} />
        ),
    },
  ];
  return (
    <>
      <Head name="People">
        <button type="button" class="primary" onClick={() => setInviting(true)}>
          Invite a colleague
        </button>
      </Head>
      <Rows
        label="People"
        columns={columns}
        list={list}
        empty={
          <Empty name="Nobody has signed in yet" command="npx parley console --role viewer --name ANNA">
            Invite a colleague: a link signs one person in, once, with the role that you choose.
          </Empty>
        }
      />
      <SignIns />
      {inviting && <Invite close={() => setInviting(false)} />}
      {changing !== null && (
        <ChangeRole of={changing} close={() => setChanging(null)} run={(body) => patch(changing.id, body)} />
      )}
      {blocking !== null && (
        <Block
          of={blocking}
          close={() => setBlocking(null)}
          run={() => patch(blocking.id, { blocked: !blocking.blocked })}
        />
      )}
    </>
  );
}

const Acts = ({ of, change, block }: { of: ConsolePerson; change: () => void; block: () => void }) => (
  <span class="acts">
    <button type="button" class="quiet" onClick={change} aria-label={`Change the role of ${of.name}`}>
      Role
    </button>
    <button type="button" class="quiet" onClick={block} aria-label={`${of.blocked ? 'Unblock' : 'Block'} ${of.name}`}>
      {of.blocked ? 'Unblock' : 'Block'}
    </button>
  </span>
);

interface ActOptions {
  readonly of: ConsolePerson;
  readonly close: () => void;
}

function Block({ of: { id, name, role, blocked }, close, run }: ActOptions & { readonly run: () => Promise<void> }) {
  const verb = blocked ? 'Unblock' : 'Block';
  return (
    <ConfirmDialog name={`${verb} ${name}`} act={verb} run={run} close={close}>
      <p>
        {blocked
          ? `${name} can sign in again, as ${role}.`
          : `All sign-ins of ${name} end at once, and new ones are refused.${id === person.value?.id ? ' That is you.' : ''}`}
      </p>
    </ConfirmDialog>
  );
}

interface GrantOptions {
  readonly role: Role;
  readonly setRole: (role: Role) => void;
  readonly place: string;
  readonly setPlace: (place: string) => void;
  readonly failure: ReturnType<typeof useSubmit>['failure'];
}

/** A role and the workspace that it is for; '' for all. */
const GrantFields = ({ role, setRole, place, setPlace, failure }: GrantOptions) => (
  <>
    <Choice
      label="Role"
      path="role"
      value={role}
      onValue={(value) => setRole(value as Role)}
      choices={Object.keys(rolesInWords).map((one) => [one, one] as const)}
      note={rolesInWords[role]}
      failure={failure}
    />
    <Choice
      label="In"
      path="workspace_id"
      value={place}
      onValue={setPlace}
      choices={[
        ...(person.value?.workspace_id === null ? ([['', 'All workspaces']] as const) : []),
        ...(workspaces.value ?? []).map(({ id, name }) => [id, name] as const),
      ]}
      failure={failure}
    />
  </>
);

function ChangeRole({ of, close, run }: ActOptions & { readonly run: (body: object) => Promise<void> }) {
  const [role, setRole] = useState(of.role);
  const [place, setPlace] = useState(of.workspace_id ?? '');
  const sending = useSubmit(async () => {
    await run({ role, workspace_id: place === '' ? null : place });
    close();
  });
  return (
    <Dialog name={`The role of ${of.name}`} close={close}>
      <form onSubmit={sending.submit}>
        <GrantFields role={role} setRole={setRole} place={place} setPlace={setPlace} failure={sending.failure} />
        {of.source === 'oidc' && (
          <p class="note">The next sign-in by OpenID Connect sets the role that its claims give.</p>
        )}
        <FormEnd sending={sending} act="Save" cancel={close} />
      </form>
    </Dialog>
  );
}

function Invite({ close }: { close: () => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('viewer');
  const [place, setPlace] = useState(person.value?.workspace_id ?? '');
  const [link, setLink] = useState<SignInLink | null>(null);
  const sending = useSubmit(async () =>
    setLink(
      await ask<SignInLink>('/sign-in-links', { body: { name, role, workspace_id: place === '' ? null : place } }),
    ),
  );
  if (link !== null) {
    return (
      <Dialog name={`A link for ${link.name}`} close={close} held>
        <div class="stack">
          <p>
            It works once, until <MomentText at={link.expires_at} />, and signs in as {link.role} in{' '}
            {workspaceName(link.workspace_id)}. Send it to {link.name} alone; what they do is recorded under this name.
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
          maxLength={80}
          failure={sending.failure}
          autocomplete="off"
          note="Shown next to their actions, in histories and in this list."
        />
        <GrantFields role={role} setRole={setRole} place={place} setPlace={setPlace} failure={sending.failure} />
        <FormEnd sending={sending} act="Make the link" cancel={close} />
      </form>
    </Dialog>
  );
}

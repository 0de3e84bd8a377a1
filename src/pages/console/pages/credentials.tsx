/** Credentials of providers: entered, tested, replaced; what uses each. Their secrets never come back. */
import { useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { useList } from '../data.ts';
import { may } from '../may.ts';
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { caught, Failure } from '../parts/failure.tsx';
import { Choice, Input } from '../parts/field.tsx';
import { Head, State } from '../parts/head.tsx';
import { FormEnd, useSubmit } from '../parts/submit.tsx';
import { Day } from '../parts/time.tsx';
import { Wait } from '../parts/wait.tsx';
import type { ApiFailure } from '../api.ts';
import { apiWorkspace, inWorkspace } from '../route.ts';
import type { Assistant, Credential, CredentialTest, Tool } from '../types.ts';

export default function Credentials() {
  const path = `${apiWorkspace()}/credentials`;
  const list = useList<Credential>(path);
  const assistants = useList<Assistant>(`${apiWorkspace()}/assistants`).items;
  const tools = useList<Tool>(`${apiWorkspace()}/tools`).items;
  /** Assistants and tools that use a credential, with the name of their list. */
  const usersOf = ({ id, kind }: Credential): readonly User[] =>
    kind === 'tool'
      ? tools.filter(({ credential_id: used }) => used === id).map((one) => ({ ...one, list: 'tools' }))
      : assistants
          .filter(({ model, voice }) => [model, ...model.fallbacks, voice].some((one) => one?.credential_id === id))
          .map((one) => ({ ...one, list: 'assistants' }));
  const [editing, setEditing] = useState<Credential | 'new' | null>(null);
  const first = may('credentials.write') && (
    <button type="button" class="primary" onClick={() => setEditing('new')}>
      Enter credential
    </button>
  );
  return (
    <>
      <Head name="Credentials">{list.items.length > 0 && first}</Head>
      {!list.begun && <Wait />}
      <Failure failure={list.failure} again={list.again} />
      {list.begun && list.items.length === 0 && (
        <Empty
          name="No credentials yet"
          first={first}
          command={'npx parley credentials create --provider openai --base-url https://api.example.com/v1'}
        >
          A credential lets assistants use a provider of models or voices, or lets a tool be called. It is stored
          encrypted and never shown again. The embedded model and voice need none.
        </Empty>
      )}
      <div class="cards">
        {list.items.map((one) => (
          <OneCredential
            key={one.id}
            credential={one}
            path={`${path}/${one.id}`}
            users={usersOf(one)}
            edit={() => setEditing(one)}
            again={list.again}
          />
        ))}
      </div>
      {list.next !== null && (
        <p class="more">
          <button type="button" class="quiet" onClick={list.more}>
            Show more
          </button>
        </p>
      )}
      {editing !== null && (
        <CredentialDialog
          of={editing === 'new' ? null : editing}
          path={path}
          close={() => setEditing(null)}
          done={() => {
            setEditing(null);
            list.again();
          }}
        />
      )}
    </>
  );
}

interface User {
  readonly id: string;
  readonly name: string;
  readonly list: string;
}

interface OneOptions {
  readonly credential: Credential;
  readonly path: string;
  readonly users: readonly User[];
  readonly edit: () => void;
  readonly again: () => void;
}

const results = {
  works: { name: 'works', tone: 'good' },
  refused: { name: 'refused', tone: 'red' },
  unknown: { name: 'cannot tell', tone: 'plain' },
} as const;

function OneCredential({
  credential: { id, name: ownName, kind, provider, base_url: url, updated_at: at },
  path,
  users,
  edit,
  again,
}: OneOptions) {
  const title = kind === 'tool' ? 'Tools' : provider;
  const detail = [...(ownName === null ? [] : [title]), ...(kind === 'tool' ? [] : [kind])].join(', ');
  const [test, setTest] = useState<CredentialTest | 'running' | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const [removing, setRemoving] = useState(false);
  const run = async () => {
    setTest('running');
    setFailure(null);
    try {
      setTest(await ask<CredentialTest>(`${path}/test`, { method: 'POST' }));
    } catch (error) {
      setTest(null);
      setFailure(caught(error));
    }
  };
  return (
    <article class="card" aria-label={`${ownName ?? title}, ${kind}`}>
      <h2>
        {ownName ?? title} <small>{detail}</small>
      </h2>
      <p class="where">
        <code>{url ?? 'the provider’s own address'}</code>
      </p>
      <p class="note">
        Entered <Day at={at} /> ·{' '}
        {users.length === 0 ? `no ${kind === 'tool' ? 'tool' : 'assistant'} uses it` : 'used by '}
        {users.map(({ id: user, name, list }, index) => (
          <span key={user}>
            {index > 0 && ', '}
            <a href={inWorkspace(list, user)}>{name}</a>
          </span>
        ))}
      </p>
      <div role="status" class="result">
        {test === 'running' && <span class="note">Asking the provider …</span>}
        {test !== null && test !== 'running' && (
          <>
            <State {...results[test.result]} /> <span class="note">{test.message}</span>
          </>
        )}
      </div>
      <Failure failure={failure} again={() => void run()} />
      <p class="acts">
        {may('credentials.write') && (
          <>
            {kind === 'tool' ? <TestOfTool users={users} /> : <TestButton run={run} isRunning={test === 'running'} />}
            <button type="button" onClick={edit}>
              Edit
            </button>
            <button type="button" class="quiet" onClick={() => setRemoving(true)}>
              Delete
            </button>
          </>
        )}
        <code class="soft">{id}</code>
      </p>
      {removing && (
        <ConfirmDialog
          name="Delete credential"
          act="Delete credential"
          close={() => setRemoving(false)}
          run={async () => {
            await ask(path, { method: 'DELETE' });
            again();
          }}
        >
          <p>
            {users.length === 0
              ? `No ${kind === 'tool' ? 'tool' : 'assistant'} uses it.`
              : `${users.map(({ name }) => name).join(', ')} ${kind === 'tool' ? 'can send no calls' : 'will answer assistant_unavailable'} until another is chosen.`}{' '}
            It cannot be undone.
          </p>
        </ConfirmDialog>
      )}
    </article>
  );
}

const TestButton = ({ run, isRunning }: { readonly run: () => Promise<void>; readonly isRunning: boolean }) => (
  <button type="button" onClick={() => void run()} disabled={isRunning}>
    Test
  </button>
);

/** A link to the test call of a tool that uses the key: only such a call can test it. */
const TestOfTool = ({ users: [user] }: Pick<OneOptions, 'users'>) =>
  user === undefined ? null : (
    <a class="button" href={inWorkspace(user.list, user.id)}>
      Test with a call
    </a>
  );

const providers = {
  model: [
    ['openai', 'OpenAI or compatible'],
    ['anthropic', 'Anthropic'],
  ],
  voice: [['openai', 'OpenAI or compatible']],
  tool: [],
} as const;

interface DialogOptions {
  readonly of: Credential | null;
  readonly path: string;
  readonly close: () => void;
  readonly done: () => void;
}

function CredentialDialog({ of, path, close, done }: DialogOptions) {
  const [kind, setKind] = useState<Credential['kind']>(of?.kind ?? 'model');
  const [ownName, setOwnName] = useState(of?.name ?? '');
  const [provider, setProvider] = useState<string>(of?.provider ?? 'openai');
  const [url, setUrl] = useState(of?.base_url ?? '');
  const [header, setHeader] = useState(of?.header ?? '');
  const [secret, setSecret] = useState('');
  const sending = useSubmit(async () => {
    const ofKind = kind === 'tool' ? { header: header.trim() === '' ? null : header.trim() } : { provider };
    const fields = {
      ...ofKind,
      name: ownName.trim() === '' ? null : ownName.trim(),
      base_url: url.trim() === '' ? null : url.trim(),
      ...(secret !== '' && { api_key: secret }),
    };
    if (of === null) await ask(path, { body: { kind, ...fields } });
    else await ask(`${path}/${of.id}`, { method: 'PATCH', body: fields });
    setSecret('');
    done();
  });
  const { failure } = sending;
  const name = of === null ? 'Enter credential' : 'Edit credential';
  // A new destination needs the secret again, so that nobody has it sent elsewhere.
  const isSameDestination = of !== null && provider === of.provider && url.trim() === (of.base_url ?? '');
  return (
    <Dialog name={name} close={close}>
      <form onSubmit={sending.submit}>
        {of === null && (
          <Choice
            label="For"
            value={kind}
            onValue={(value) => setKind(value as Credential['kind'])}
            choices={[
              ['model', 'Models'],
              ['voice', 'Voices'],
              ['tool', 'Tools'],
            ]}
          />
        )}
        <Input
          label="Name"
          path="name"
          value={ownName}
          onValue={setOwnName}
          failure={failure}
          note="Optional. Files of parley pull refer to the credential by it."
          spellcheck={false}
          autocomplete="off"
        />
        {kind !== 'tool' && (
          <Choice
            label="Provider"
            path="provider"
            value={provider}
            onValue={setProvider}
            choices={
              providers[kind].some(([name]) => name === provider)
                ? providers[kind]
                : [...providers[kind], [provider, provider]]
            }
            failure={failure}
          />
        )}
        <Input
          label="Base URL"
          path="base_url"
          type="url"
          value={url}
          onValue={setUrl}
          failure={failure}
          placeholder="https://api.example.com/v1"
          note={kind === 'tool' ? 'The key goes to this origin alone.' : "With its version. Empty: the provider's own."}
          spellcheck={false}
          autocomplete="off"
          required={kind === 'tool'}
        />
        {kind === 'tool' && (
          <Input
            label="Header"
            path="header"
            value={header}
            onValue={setHeader}
            failure={failure}
            note="Empty: Authorization, with Bearer before the key."
            spellcheck={false}
            autocomplete="off"
          />
        )}
        <SecretInput
          holder={kind === 'tool' ? 'tool' : 'provider'}
          isNew={of === null}
          isOptional={isSameDestination}
          value={secret}
          onValue={setSecret}
          failure={failure}
        />
        <FormEnd sending={sending} act={name} cancel={close} />
      </form>
    </Dialog>
  );
}

interface SecretOptions {
  readonly holder: string;
  readonly isNew: boolean;
  readonly isOptional: boolean;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly failure: ApiFailure | null;
}

const SecretInput = ({ holder, isNew, isOptional, value, onValue, failure }: SecretOptions) => (
  <Input
    label={`${isNew ? '' : 'New '}API key of the ${holder}`}
    path="api_key"
    type="password"
    value={value}
    onValue={onValue}
    required={!isOptional}
    failure={failure}
    autocomplete="off"
    note={isOptional ? 'Empty: the key stays as it is.' : 'Stored encrypted; it is never shown again.'}
  />
);

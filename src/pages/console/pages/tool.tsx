/** A tool: its functions, its settings, a test call, and what may be done with it. */
import { useState } from 'preact/hooks';
import { ask, type ApiFailure } from '../api.ts';
import { changeInLists, put, refresh, useList, useRead } from '../data.ts';
import { plural } from '../format.ts';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { caught, Failure } from '../parts/failure.tsx';
import { Facts, Head, State } from '../parts/head.tsx';
import { FormEnd, useSubmit } from '../parts/submit.tsx';
import { Ago } from '../parts/time.tsx';
import { errorWords, kinds, stepWords, toolBodyOf, toolDraftOf, type ToolDraft } from '../parts/tool-draft.ts';
import { SecretOnce } from '../parts/secret-once.tsx';
import { ToolFields } from '../parts/tool-form.tsx';
import { ToolFunctions } from '../parts/tool-functions.tsx';
import { ToolTestCall } from '../parts/tool-test.tsx';
import { Unread } from '../parts/missing.tsx';
import { apiWorkspace, go, inWorkspace, segments } from '../route.ts';
import type { Assistant, Credential, RefreshedTool, Tool } from '../types.ts';

type Changes = RefreshedTool['changes'];

export default function ToolPage() {
  const [, , id = ''] = segments.value;
  const path = `${apiWorkspace()}/tools/${id}`;
  const { value: tool, failure } = useRead<Tool>(path);
  const assistants = useList<Assistant>(`${apiWorkspace()}/assistants`);
  const [changes, setChanges] = useState<Changes | null>(null);
  if (tool === undefined)
    return (
      <Unread what="tool" list={[inWorkspace('tools'), 'Tools']} failure={failure} again={() => void refresh(path)} />
    );
  const stored = (after: Tool) => {
    put(path, after);
    changeInLists(id, after);
    // An edit changes the drafts of the assistants that have it.
    assistants.again();
  };
  const users = assistants.items.filter(({ tool_ids: ids }) => ids.includes(id));
  return (
    <>
      <Head name={tool.name} id={id} above={[inWorkspace('tools'), 'Tools']} state={<State name={tool.kind} />}>
        <Acts tool={tool} path={path} users={users} stored={stored} setChanges={setChanges} />
      </Head>
      <Facts
        of={[
          ['Kind', kinds[tool.kind]],
          ...(tool.url === null ? [] : [['Calls go to', <code>{tool.url}</code>] as const]),
          ...(tool.kind === 'mcp'
            ? [['List read', tool.refreshed_at === null ? 'not yet' : <Ago at={tool.refreshed_at} />] as const]
            : []),
          [
            'Used by',
            users.length === 0
              ? 'no assistant yet'
              : users.map(({ id: one, name }, index) => (
                  <span key={one}>
                    {index > 0 && ', '}
                    <a href={inWorkspace('assistants', one)}>{name}</a>
                  </span>
                )),
          ],
        ]}
      />
      <Unpublished of={users.filter(({ status, draft }) => status === 'published' && draft.changed)} />
      {tool.refresh_error !== null && <RefreshError of={tool.refresh_error} />}
      <div role="status">{changes !== null && <Differences of={changes} />}</div>
      <div class="bench">
        <div class="stack-wide">
          <ToolFunctions tool={tool} path={path} stored={stored} />
        </div>
        <div class="stack-wide">
          <ToolTestCall tool={tool} path={path} />
          <Settings key={id} tool={tool} path={path} stored={stored} />
        </div>
      </div>
    </>
  );
}

/** Names the assistants whose draft, with the tool as it is now, people do not get yet. */
const Unpublished = ({ of }: { of: readonly Assistant[] }) => (
  <div role="status">
    {of.length > 0 && (
      <p class="banner">
        An edit changes drafts. Publish to make it effective:{' '}
        {of.map(({ id, name, version }, index) => (
          <span key={id}>
            {index > 0 && ', '}
            <a href={inWorkspace('assistants', id)}>{name}</a> (the draft differs from version {version})
          </span>
        ))}
        .
      </p>
    )}
  </div>
);

const RefreshError = ({ of: { at, step, error } }: { of: NonNullable<Tool['refresh_error']> }) => (
  <p class="banner" role="note">
    The list was not read <Ago at={at} />, {stepWords[step]}: {errorWords[error]} (<code>{error}</code>).
  </p>
);

const changeWords = {
  added: 'is new, and off until you turn it on',
  changed: 'has changed, and is off until you turn it on again',
  removed: 'is gone',
  refused: 'was left out: its name is taken, or its schema is none',
} as const;

const Differences = ({ of }: { of: Changes }) => (
  <section class="section" aria-label="Differences">
    <h2>{of.length === 0 ? 'The list is as it was' : `The list has changed: ${plural(of.length, 'difference')}`}</h2>
    {of.length > 0 && (
      <ul class="plain">
        {of.map(({ name, change }) => (
          <li key={`${change} ${name}`}>
            <State
              name={change}
              tone={change === 'refused' || change === 'removed' ? 'red' : change === 'changed' ? 'lit' : 'good'}
            />{' '}
            <code>{name}</code> <span class="note">{changeWords[change]}</span>
          </li>
        ))}
      </ul>
    )}
  </section>
);

interface ActsOptions {
  readonly tool: Tool;
  readonly path: string;
  readonly users: readonly Assistant[];
  readonly stored: (tool: Tool) => void;
  readonly setChanges: (changes: Changes | null) => void;
}

function Acts({ tool: { id, name, kind }, path, users, stored, setChanges }: ActsOptions) {
  const [asking, setAsking] = useState<'rotate' | 'delete' | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const [reading, setReading] = useState(false);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const close = () => setAsking(null);
  const readList = async () => {
    setReading(true);
    setFailure(null);
    setChanges(null);
    try {
      const { changes, ...tool } = await ask<RefreshedTool>(`${path}/refresh`, { method: 'POST' });
      stored(tool);
      setChanges(changes);
    } catch (error) {
      setFailure(caught(error));
      await refresh(path);
    }
    setReading(false);
  };
  return (
    <>
      {kind === 'mcp' && (
        <button type="button" class="primary" onClick={() => void readList()} disabled={reading}>
          {reading ? 'Reading the list …' : 'Refresh'}
        </button>
      )}
      {kind === 'http' && (
        <button type="button" onClick={() => setAsking('rotate')}>
          Rotate secret
        </button>
      )}
      <button type="button" class="quiet" onClick={() => setAsking('delete')}>
        Delete
      </button>
      <Failure
        failure={failure}
        again={() => void readList()}
        advice={({ status }) =>
          status === 503
            ? 'The page says at which step the list could not be read, and why. Look at the tool’s URL and credential.'
            : 'Nothing was changed.'
        }
      />
      {asking === 'rotate' && (
        <ConfirmDialog
          name="Rotate secret"
          act="Rotate secret"
          close={close}
          run={async () =>
            setSecret(
              (await ask<{ signing_secret: string }>(`${path}/rotate-secret`, { method: 'POST' })).signing_secret,
            )
          }
        >
          <p>
            The tool gets a new signing secret, which is shown once. For 24 hours calls are signed with the old one too,
            also when it is rotated again within that time.
          </p>
        </ConfirmDialog>
      )}
      {asking === 'delete' && (
        <ConfirmDialog
          name={`Delete “${name}”`}
          act="Delete tool"
          close={close}
          run={async () => {
            await ask(path, { method: 'DELETE' });
            changeInLists(id, null);
            go(inWorkspace('tools'), { replace: true });
          }}
        >
          <p>
            {users.length === 0
              ? 'No assistant uses it.'
              : `It is removed from the drafts of ${users.map((one) => one.name).join(', ')}. Versions that contain it continue to call it: disable the tool to stop them at once.`}{' '}
            It cannot be undone.
          </p>
        </ConfirmDialog>
      )}
      {secret !== null && (
        <SecretOnce of={name} secret={secret} close={() => setSecret(null)}>
          The tool verifies with it that a call is from this server. For 24 hours the old secret signs too: put this one
          into the tool within that time.
        </SecretOnce>
      )}
    </>
  );
}

function Settings({ tool, path, stored }: { tool: Tool; path: string; stored: (tool: Tool) => void }) {
  const credentials = useList<Credential>(`${apiWorkspace()}/credentials`).items;
  const [draft, setDraft] = useState<ToolDraft | null>(null);
  const saved = toolDraftOf(tool);
  const shown = draft ?? saved;
  const sending = useSubmit(async () => {
    stored(await ask<Tool>(path, { method: 'PATCH', body: toolBodyOf(shown) }));
    setDraft(null);
  });
  const dirty = JSON.stringify(shown) !== JSON.stringify(saved);
  return (
    <section class="section" aria-label="Settings">
      <h2>Settings</h2>
      <form class="form" onSubmit={sending.submit}>
        <ToolFields
          kind={tool.kind}
          draft={shown}
          change={(fields) => setDraft((held) => ({ ...(held ?? saved), ...fields }))}
          credentials={credentials}
          failure={sending.failure}
        />
        <FormEnd sending={sending} act="Save" cancel={dirty ? () => setDraft(null) : undefined} disabled={!dirty} />
      </form>
    </section>
  );
}

/** The audit: who changed what and when, with each value before and after. */
import { useState } from 'preact/hooks';
import { query } from '../api.ts';
import { useList } from '../data.ts';
import { plural } from '../format.ts';
import { Empty } from '../parts/empty.tsx';
import { Failure } from '../parts/failure.tsx';
import { Choice, Input } from '../parts/field.tsx';
import { Head } from '../parts/head.tsx';
import { More } from '../parts/rows.tsx';
import { MomentText } from '../parts/time.tsx';
import { plainText, useTyped, type FieldText } from '../parts/typed.ts';
import { Wait } from '../parts/wait.tsx';
import { pathOf, search, setQuery } from '../route.ts';
import type { AuditEntry } from '../types.ts';
import { workspaces } from '../workspaces.ts';

const filters = ['workspace', 'by', 'object_id', 'order'] as const;
type Asked = Readonly<Record<string, string | null>>;

const addressOf = (asked: Asked): string => pathOf('audit') + query(asked);

export default function Audit() {
  const asked: Asked = Object.fromEntries(filters.map((name) => [name, search.value.get(name) || null]));
  const [cleared, setCleared] = useState(0);
  const clear = () => {
    setQuery(Object.fromEntries(filters.map((name) => [name, null])));
    // A text that was typed just now is cleared too.
    setCleared((times) => times + 1);
  };
  const list = useList<AuditEntry>('/audit', asked);
  const isFiltered = filters.some((name) => name !== 'order' && asked[name] !== null);
  return (
    <>
      <Head name="Audit" />
      <p class="note">
        Each change that a person makes in the console or with the operator token, kept for 400 days. The command{' '}
        <code>parley audit export</code> prints them as JSON lines.
      </p>
      <Filters key={cleared} asked={asked} />
      {!list.begun && list.failure === null && <Wait />}
      {list.begun && list.items.length === 0 && (isFiltered ? <NoMatch clear={clear} /> : nothingYet)}
      {list.items.length > 0 && (
        <ol class="audit" aria-label="Changes">
          {list.items.map((entry) => (
            <Entry key={entry.id} of={entry} asked={asked} />
          ))}
        </ol>
      )}
      <Failure failure={list.failure} again={list.begun ? list.more : list.again} />
      {list.next !== null && <More loading={list.loading} more={list.more} />}
    </>
  );
}

const nothingYet = (
  <Empty name="No changes yet" command="npx parley audit export">
    Each change is listed here with its values before and after, and each person who signs in or out.
  </Empty>
);

const NoMatch = ({ clear }: { clear: () => void }) => (
  <Empty
    name="No change matches"
    first={
      <button type="button" onClick={clear}>
        Clear the filters
      </button>
    }
  >
    A person is found by the whole name or the id, an object by its id.
  </Empty>
);

const wholeText: FieldText = { ...plainText, valueOf: (text) => text.trim() || null };

function Filters({ asked }: { asked: Asked }) {
  const by = useTyped('by', asked['by'] ?? null, wholeText);
  const object = useTyped('object_id', asked['object_id'] ?? null, wholeText);
  const workspace = asked['workspace'] ?? '';
  const places = (workspaces.value ?? []).map(({ id, name }) => [id, name] as const);
  const isListed = workspace === '' || places.some(([id]) => id === workspace);
  return (
    <div class="filters" role="search" aria-label="Filter changes">
      <Choice
        label="Workspace"
        value={workspace}
        onValue={(value) => setQuery({ workspace: value })}
        choices={[['', 'Any'], ...places, ...(isListed ? [] : [[workspace, workspace] as const])]}
      />
      <Choice
        label="Order"
        value={asked['order'] ?? 'desc'}
        onValue={(value) => setQuery({ order: value === 'desc' ? null : value })}
        choices={[
          ['desc', 'Newest first'],
          ['asc', 'Oldest first'],
        ]}
      />
      <div class="grow">
        <Input label="Person: name or ID" type="search" {...by} autocomplete="off" spellcheck={false} />
      </div>
      <div class="grow">
        <Input label="Object ID" type="search" {...object} autocomplete="off" spellcheck={false} />
      </div>
    </div>
  );
}

/** Actions as a sentence has them; the others stand as they are. */
const verbs: Readonly<Record<string, string>> = {
  create: 'created',
  update: 'updated',
  delete: 'deleted',
  publish: 'published',
  unpublish: 'unpublished',
  disable: 'disabled',
  enable: 'enabled',
  revoke: 'revoked',
  rotate: 'rotated',
  rotate_secret: 'rotated the secret of',
  erase: 'erased',
  cancel: 'cancelled',
  end: 'ended',
  abort: 'aborted',
  refresh: 'refreshed',
  test: 'tested',
  retry: 'retried',
  message: 'sent a message in',
  call: 'started a call in',
  take: 'took',
  return: 'returned',
  release: 'released',
  sign_in: 'signed in',
  sign_out: 'signed out',
};

const words = (name: string): string => name.replace('sign_in', 'sign-in').replaceAll('_', ' ');

function Entry({ of, asked }: { of: AuditEntry; asked: Asked }) {
  const { at, by, action, object_type: type, object_id: id, workspace_id: workspace, changes } = of;
  const place = workspaces.value?.find((one) => one.id === workspace)?.name ?? workspace;
  return (
    <li>
      <p class="what">
        <a href={addressOf({ ...asked, by: by.id })} title={`Changes by ${by.id}`}>
          {by.name}
        </a>{' '}
        {verbs[action] ?? words(action)}
        {!action.startsWith('sign_') && (
          <>
            {' '}
            {words(type)}{' '}
            <a class="object" href={addressOf({ ...asked, object_id: id })} title="Changes of this object">
              <code>{id}</code>
            </a>
          </>
        )}
      </p>
      <p class="note">
        <MomentText at={at} /> · {by.role}
        {by.address !== null && ` · ${by.address}`}
        {place !== null && ` · ${place}`}
      </p>
      {changes.length > 0 && (
        <details open={changes.length <= openMax}>
          <summary>{plural(changes.length, 'field')}</summary>
          <dl class="changes">
            {changes.map(({ path, before, after }) => (
              <div key={path}>
                <dt>
                  <code>{path}</code>
                </dt>
                {action !== 'create' && <Value name="Before" of={before} />}
                {action !== 'delete' && <Value name="After" of={after} />}
              </div>
            ))}
          </dl>
        </details>
      )}
    </li>
  );
}

/** The most fields of a change that are shown at once. */
const openMax = 3;
/** Characters of a value that are shown at once. */
const wholeMax = 160;

function Value({ name, of }: { name: 'Before' | 'After'; of: unknown }) {
  const text = typeof of === 'string' && of !== '' ? of : JSON.stringify(of, null, 1);
  return (
    <dd class={name === 'Before' ? 'before' : undefined}>
      <span class="visually-hidden">{name}: </span>
      {of === null ? (
        <span class="soft">none</span>
      ) : text.length <= wholeMax ? (
        <span class="words">{text}</span>
      ) : (
        <details>
          <summary>
            {text.slice(0, wholeMax / 2)} … ({plural(text.length, 'character')})
          </summary>
          <span class="words">{text}</span>
        </details>
      )}
    </dd>
  );
}

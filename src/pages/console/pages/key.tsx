/** An API key: what it may use, its budgets as they stand, and its end. */
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { after, tick } from '../clock.ts';
import { changeInLists, put, refresh, useList, useRead } from '../data.ts';
import { watch } from '../feed.ts';
import { count, plural } from '../format.ts';
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx';
import { Choice } from '../parts/field.tsx';
import { Facts, Head, State } from '../parts/head.tsx';
import { KeyForm, Once, type Fields } from '../parts/key-form.tsx';
import { FormEnd, useSubmit } from '../parts/submit.tsx';
import { Ago, Day, MomentText } from '../parts/time.tsx';
import { Unread } from '../parts/missing.tsx';
import { apiWorkspace, go, inWorkspace, segments, workspaceId } from '../route.ts';
import type { Assistant, Budget, CreatedKey, Key } from '../types.ts';
import { keyState } from './keys.tsx';

export default function KeyPage() {
  const [, , id = ''] = segments.value;
  const path = `${apiWorkspace()}/keys/${id}`;
  const { value: key, failure } = useRead<Key>(path);
  const assistants = useList<Assistant>(`${apiWorkspace()}/assistants`).items;
  const [saved, setSaved] = useState(false);
  useLevels(id, path);
  if (key === undefined)
    return (
      <Unread what="key" list={[inWorkspace('keys'), 'Keys']} failure={failure} again={() => void refresh(path)} />
    );
  const save = async (fields: Fields) => {
    const changed = await ask<Key>(path, { method: 'PATCH', body: fields });
    put(path, { ...key, ...changed });
    changeInLists(id, { ...key, ...changed });
    setSaved(true);
    after(2000, () => setSaved(false));
  };
  return (
    <>
      <Head name={key.name} id={key.id} above={[inWorkspace('keys'), 'Keys']} state={<State {...keyState(key)} />}>
        <Acts item={key} path={path} />
      </Head>
      <Facts
        of={[
          ['Begins with', <code>{key.hint}</code>],
          ['Created', <Day at={key.created_at} />],
          ['Last used', key.last_used_at == null ? 'never' : <Ago at={key.last_used_at} />],
          key.revoked_at === null
            ? ['Expires', key.expires_at === null ? 'never' : <MomentText at={key.expires_at} />]
            : ['Revoked', <MomentText at={key.revoked_at} />],
        ]}
      />
      {key.budgets && key.status === 'active' && <Budgets of={key.budgets} />}
      <section class="section" aria-label="Settings">
        <h2>Settings</h2>
        <KeyForm key={`${key.id} ${key.name}`} assistants={assistants} act="Save" run={save} of={key} />
        <p role="status" class="note">
          {saved ? 'Saved. It holds from the next request on.' : ''}
        </p>
      </section>
    </>
  );
}

/** Levels are read again when the key is used, at most once a second, and while they refill. */
function useLevels(id: string, path: string): void {
  useEffect(() => {
    let cancel: (() => void) | null = null;
    const soon = (wait: number) => {
      cancel ??= after(wait, () => {
        cancel = null;
        if (document.visibilityState === 'visible') void refresh(path);
      });
    };
    const stop = watch({ workspace: workspaceId.value, kind: 'key', id }, () => soon(500));
    return () => {
      cancel?.();
      stop();
    };
  }, [id]);
}

const labels: Readonly<Record<string, string>> = {
  requests: 'Requests',
  speech: 'Speech',
  transcription_tokens: 'Transcription tokens',
  tokens_per_day: 'Tokens today',
};

/** The rest of a budget that was read `passed` seconds ago. A budget of a day is renewed as a whole. */
function leftOf(name: string, { limit, remaining, reset }: Budget, passed: number): number {
  if (tick.value >= reset) return limit;
  return name === 'tokens_per_day' ? remaining : Math.min(limit, remaining + Math.floor((passed * limit) / 60));
}

function standingOf(name: string, { limit, reset }: Budget, left: number): string {
  if (left >= limit) return 'full';
  const full = Math.max(0, reset - tick.value);
  const renewal = name === 'tokens_per_day' ? 'renewed at 00:00 UTC' : `full in ${plural(full, 'second')}`;
  return left === 0 ? `used up; ${renewal}` : renewal;
}

/** The budgets left now: as the server said, plus the refill since. */
function Budgets({ of }: { of: Readonly<Key['budgets']> }) {
  const [read, setRead] = useState({ of, at: tick.peek() });
  if (read.of !== of) setRead({ of, at: tick.peek() });
  return (
    <section class="section" aria-label="Budgets">
      <h2>Budgets now</h2>
      <div class="budgets">
        {Object.entries(of).map(([name, budget]) => {
          const left = leftOf(name, budget, Math.max(0, tick.value - read.at));
          const { limit } = budget;
          return (
            <div key={name}>
              <span>{labels[name] ?? name}</span>
              <div
                class="level"
                role="meter"
                aria-valuemin={0}
                aria-valuemax={limit}
                aria-valuenow={left}
                aria-label={`${labels[name] ?? name} left`}
              >
                <i style={{ width: `${(100 * left) / limit}%` }} />
              </div>
              <span class="n">
                {count(left)} of {count(limit)}
              </span>
              <small>{standingOf(name, budget, left)}</small>
            </div>
          );
        })}
      </div>
    </section>
  );
}

function Acts({ item, path }: { item: Key; path: string }) {
  const [asking, setAsking] = useState<'rotate' | 'revoke' | null>(null);
  const [made, setMade] = useState<CreatedKey | null>(null);
  const close = () => setAsking(null);
  const revoke = async () => {
    const revoked = await ask<Key>(`${path}/revoke`, { method: 'POST' });
    put(path, { ...item, ...revoked });
    changeInLists(item.id, { ...item, ...revoked });
  };
  return (
    <>
      <a class="button quiet" href={inWorkspace('live', 'key', item.id)}>
        Chart
      </a>
      <a class="button quiet" href={`${inWorkspace('sessions')}?key_id=${item.id}`}>
        Sessions
      </a>
      {item.status === 'active' && (
        <>
          <button type="button" onClick={() => setAsking('rotate')}>
            Rotate
          </button>
          <button type="button" class="danger" onClick={() => setAsking('revoke')}>
            Revoke key
          </button>
        </>
      )}
      {asking === 'revoke' && (
        <ConfirmDialog name={`Revoke “${item.name}”`} act="Revoke key" run={revoke} close={close}>
          <p>Requests with this key are refused from now on. It cannot be undone; turns that run go on to their end.</p>
        </ConfirmDialog>
      )}
      {asking === 'rotate' && <Rotate item={item} path={path} close={close} made={setMade} />}
      {made !== null && (
        <Once
          made={made}
          close={() => {
            setMade(null);
            go(inWorkspace('keys', made.id));
          }}
        />
      )}
    </>
  );
}

const overlaps = [
  ['0', 'At once'],
  ['3600', 'In an hour'],
  ['86400', 'In a day'],
  ['604800', 'In a week'],
  ['2592000', 'In 30 days'],
] as const;

function Rotate({
  item,
  path,
  close,
  made,
}: {
  item: Key;
  path: string;
  close: () => void;
  made: (key: CreatedKey) => void;
}) {
  const [overlap, setOverlap] = useState('86400');
  const sending = useSubmit(async () => {
    const key = await ask<CreatedKey>(`${path}/rotate`, { body: { overlap_seconds: Number(overlap) } });
    close();
    made(key);
    void refresh(path);
  });
  return (
    <Dialog name={`Rotate “${item.name}”`} close={close}>
      <form onSubmit={sending.submit}>
        <p>A new key with the same name, limits and assistants takes its place. Until the old one ends, both work.</p>
        <Choice label="Old key expires" value={overlap} onValue={setOverlap} choices={overlaps} />
        <FormEnd sending={sending} act="Make the new key" cancel={close} />
      </form>
    </Dialog>
  );
}

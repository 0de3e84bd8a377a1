/** A webhook: its settings, and its newest deliveries with a button that sends one again. */
import { useEffect, useState } from 'preact/hooks';
import { ask, type ApiFailure } from '../api.ts';
import { repeatedly, tick } from '../clock.ts';
import { changeInLists, put, refresh, useList, useRead, type ListOf } from '../data.ts';
import { plural } from '../format.ts';
import { may } from '../may.ts';
import { ConfirmDialog } from '../parts/dialog.tsx';
import { Empty } from '../parts/empty.tsx';
import { caught, Failure } from '../parts/failure.tsx';
import { Facts, Head, State } from '../parts/head.tsx';
import { Unread } from '../parts/missing.tsx';
import { Rows, type Column } from '../parts/rows.tsx';
import { Ago, MomentText, Until } from '../parts/time.tsx';
import { WebhookDialog } from '../parts/webhook-form.tsx';
import { apiWorkspace, go, inWorkspace, segments } from '../route.ts';
import type { Webhook, WebhookDelivery } from '../types.ts';
import { webhookName, webhookState } from './webhooks.tsx';

/** Milliseconds between two reads of the deliveries while the page is shown. */
const readEveryMs = 3000;

export default function WebhookPage() {
  const [, , id = ''] = segments.value;
  const path = `${apiWorkspace()}/webhooks/${id}`;
  const { value: webhook, failure } = useRead<Webhook>(path);
  const isRead = webhook !== undefined;
  const list = useList<WebhookDelivery>(isRead ? `${path}/deliveries` : null);
  useEffect(() => {
    if (!isRead) return;
    return repeatedly(readEveryMs, async () => {
      list.again();
      await refresh(path);
    });
  }, [path, isRead]);
  if (!isRead)
    return (
      <Unread
        what="webhook"
        list={[inWorkspace('webhooks'), 'Webhooks']}
        failure={failure}
        again={() => void refresh(path)}
      />
    );
  return (
    <>
      <Head
        name={webhookName(webhook)}
        id={id}
        above={[inWorkspace('webhooks'), 'Webhooks']}
        state={<State {...webhookState(webhook)} />}
      >
        {may('webhooks.write') && <Acts webhook={webhook} path={path} />}
      </Head>
      <Facts
        of={[
          ['URL', <code>{webhook.url}</code>],
          ['Events', webhook.events.join(', ')],
          ['Created', <MomentText at={webhook.created_at} />],
          ['Changed', <Ago at={webhook.updated_at} />],
        ]}
      />
      {!webhook.enabled && (
        <p class="banner" role="note">
          No events are made while it is disabled. A person has disabled it, or its receiver answered 410 or failed for
          24 hours.
        </p>
      )}
      <Failure failure={failure} again={() => void refresh(path)} />
      <Deliveries list={list} path={path} />
    </>
  );
}

const tones = { pending: 'lit', delivered: 'good', failed: 'red' } as const;

const NextAttempt = ({ at }: { at: number }) =>
  at <= tick.value ? (
    <span class="soft">now</span>
  ) : (
    <span class="soft">
      in <Until at={at} />
    </span>
  );

function Deliveries({ list, path }: { list: ListOf<WebhookDelivery>; path: string }) {
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const retry = async (id: string) => {
    setFailure(null);
    try {
      changeInLists(id, await ask<WebhookDelivery>(`${path}/deliveries/${id}/retry`, { method: 'POST' }));
    } catch (error) {
      setFailure(caught(error));
    }
  };
  const columns: readonly Column<WebhookDelivery>[] = [
    {
      name: 'Event',
      width: 'minmax(0, 1fr)',
      cell: ({ id, type, attempts, next_at: at }) => (
        <>
          <span title={id}>{type}</span>
          <small>
            {plural(attempts, 'attempt')}
            {at !== null && (
              <>
                , <NextAttempt at={at} />
              </>
            )}
          </small>
        </>
      ),
    },
    { name: 'Status', width: '84px', cell: ({ status }) => <State name={status} tone={tones[status]} /> },
    { name: 'Attempts', width: '72px', numeric: true, wide: true, cell: ({ attempts }) => attempts },
    {
      name: 'Next attempt',
      width: '120px',
      numeric: true,
      wide: true,
      cell: ({ next_at: at }) => (at === null ? <span class="soft">none</span> : <NextAttempt at={at} />),
    },
    { name: 'ID', width: 'minmax(0, 1.2fr)', wide: true, cell: ({ id }) => <code class="soft">{id}</code> },
  ];
  const retries: Column<WebhookDelivery> = {
    name: 'Change',
    width: '56px',
    numeric: true,
    cell: ({ id }) => (
      <span class="acts">
        <button type="button" class="quiet" onClick={() => void retry(id)} aria-label={`Retry ${id}`}>
          Retry
        </button>
      </span>
    ),
  };
  return (
    <section class="section" aria-label="Deliveries">
      <h2>Deliveries</h2>
      <p class="note">The newest 100. A failed delivery is sent again after 5 s, 5 min, 30 min, 2 h, 5 h and 10 h.</p>
      <Failure failure={failure} />
      <Rows
        label="Deliveries"
        columns={may('webhooks.write') ? [...columns, retries] : columns}
        list={list}
        empty={
          <Empty name="No deliveries yet">
            Each event is listed here as soon as the turn or session ends, with its attempts.
          </Empty>
        }
      />
    </section>
  );
}

function Acts({ webhook, path }: { webhook: Webhook; path: string }) {
  const [asking, setAsking] = useState<'edit' | 'disable' | 'delete' | null>(null);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  const close = () => setAsking(null);
  const stored = (changed: Webhook) => {
    put(path, changed);
    changeInLists(changed.id, changed);
  };
  const change = async (enabled: boolean) => stored(await ask<Webhook>(path, { method: 'PATCH', body: { enabled } }));
  const enable = async () => {
    setFailure(null);
    try {
      await change(true);
    } catch (error) {
      setFailure(caught(error));
    }
  };
  return (
    <>
      {webhook.enabled ? (
        <button type="button" onClick={() => setAsking('disable')}>
          Disable
        </button>
      ) : (
        <button type="button" class="primary" onClick={() => void enable()}>
          Enable
        </button>
      )}
      <button type="button" onClick={() => setAsking('edit')}>
        Edit
      </button>
      <button type="button" class="quiet" onClick={() => setAsking('delete')}>
        Delete
      </button>
      <Failure failure={failure} />
      {asking === 'edit' && (
        <WebhookDialog<Webhook>
          of={webhook}
          path={path}
          close={close}
          stored={(changed) => {
            stored(changed);
            close();
          }}
        />
      )}
      {asking === 'disable' && (
        <ConfirmDialog name="Disable webhook" act="Disable" run={() => change(false)} close={close}>
          <p>Events that happen while it is disabled are never sent. Waiting deliveries are still sent.</p>
        </ConfirmDialog>
      )}
      {asking === 'delete' && (
        <ConfirmDialog
          name="Delete webhook"
          act="Delete webhook"
          close={close}
          run={async () => {
            await ask(path, { method: 'DELETE' });
            changeInLists(webhook.id, null);
            go(inWorkspace('webhooks'), { replace: true });
          }}
        >
          <p>Its deliveries are deleted, and waiting ones are not sent any more. It cannot be undone.</p>
        </ConfirmDialog>
      )}
    </>
  );
}

/** Webhooks: the list, and a new one, whose secret is shown this once. */
import { useState } from 'preact/hooks';
import { useList } from '../data.ts';
import { may } from '../may.ts';
import { Empty } from '../parts/empty.tsx';
import { Head, State } from '../parts/head.tsx';
import { Rows, type Column } from '../parts/rows.tsx';
import { SecretOnce } from '../parts/secret-once.tsx';
import { Ago } from '../parts/time.tsx';
import { WebhookDialog } from '../parts/webhook-form.tsx';
import { apiWorkspace, go, inWorkspace } from '../route.ts';
import type { CreatedWebhook, Webhook } from '../types.ts';

/** The name that a page gives a webhook: only its URL distinguishes it. */
export const webhookName = ({ url }: Webhook): string => `Webhook to ${URL.canParse(url) ? new URL(url).host : url}`;

/** The state in a word. */
export const webhookState = ({ enabled }: Webhook) =>
  enabled ? ({ name: 'enabled', tone: 'good' } as const) : ({ name: 'disabled', tone: 'plain' } as const);

/** The most webhooks of a workspace. */
const webhooksMax = 5;

const columns: readonly Column<Webhook>[] = [
  {
    name: 'URL',
    width: 'minmax(0, 1.6fr)',
    cell: ({ id, url, events }) => (
      <>
        <a href={inWorkspace('webhooks', id)} title={url}>
          {url}
        </a>
        <small>{events.join(', ')}</small>
      </>
    ),
  },
  { name: 'State', width: '80px', cell: (webhook) => <State {...webhookState(webhook)} /> },
  {
    name: 'Events',
    width: 'minmax(0, 1.6fr)',
    wide: true,
    cell: ({ events }) => (
      <span class="soft" title={events.join(', ')}>
        {events.join(', ')}
      </span>
    ),
  },
  { name: 'Changed', width: '112px', numeric: true, wide: true, cell: ({ updated_at: at }) => <Ago at={at} /> },
];

export default function Webhooks() {
  const path = `${apiWorkspace()}/webhooks`;
  const list = useList<Webhook>(path);
  const [creating, setCreating] = useState(false);
  const [made, setMade] = useState<CreatedWebhook | null>(null);
  const isFull = list.items.length >= webhooksMax;
  const first = may('webhooks.write') && (
    <button type="button" class="primary" onClick={() => setCreating(true)}>
      Create webhook
    </button>
  );
  return (
    <>
      <Head name="Webhooks">
        {list.items.length > 0 && (isFull ? <span class="note">{webhooksMax} at most</span> : first)}
      </Head>
      <Rows
        label="Webhooks"
        columns={columns}
        list={list}
        empty={
          <Empty
            name="No webhooks yet"
            first={first}
            command="npx parley webhooks create https://crm.example.com/parley --event turn.failed"
          >
            A webhook is a URL of yours that receives a signed event when a reply is completed or fails, and when a
            session ends or expires.
          </Empty>
        }
      />
      {creating && (
        <WebhookDialog
          of={null}
          path={path}
          close={() => setCreating(false)}
          stored={(webhook) => {
            setCreating(false);
            setMade(webhook);
            list.again();
          }}
        />
      )}
      {made !== null && (
        <SecretOnce of={webhookName(made)} secret={made.secret} close={() => go(inWorkspace('webhooks', made.id))}>
          Your receiver verifies with it that an event is from this server.
        </SecretOnce>
      )}
    </>
  );
}

/** The URL and the events of a webhook. */
import { useState } from 'preact/hooks';
import { ask } from '../api.ts';
import type { CreatedWebhook, Webhook } from '../types.ts';
import { Dialog } from './dialog.tsx';
import { Check, faultOf, Input } from './field.tsx';
import { FormEnd, useSubmit } from './submit.tsx';

const types: readonly (readonly [type: Webhook['events'][number], words: string])[] = [
  ['turn.completed', 'A reply is completed or aborted.'],
  ['turn.failed', 'A reply has failed; the event has the code of the error.'],
  ['session.ended', 'A session is ended.'],
  ['session.expired', 'A session has expired.'],
];

interface Options<Stored> {
  /** The webhook that is changed; null for a new one. */
  readonly of: Webhook | null;
  readonly path: string;
  readonly close: () => void;
  readonly stored: (webhook: Stored) => void;
}

export function WebhookDialog<Stored extends Webhook = CreatedWebhook>({ of, path, close, stored }: Options<Stored>) {
  const [url, setUrl] = useState(of?.url ?? '');
  const [chosen, setChosen] = useState(of?.events ?? types.map(([type]) => type));
  const events = types.map(([type]) => type).filter((type) => chosen.includes(type));
  const sending = useSubmit(async () =>
    stored(await ask<Stored>(path, { method: of === null ? 'POST' : 'PATCH', body: { url: url.trim(), events } })),
  );
  const { failure } = sending;
  const isRefused = faultOf(failure, 'events') !== null;
  const act = of === null ? 'Create webhook' : 'Save';
  return (
    <Dialog name={of === null ? 'Create webhook' : 'Edit webhook'} close={close}>
      <form onSubmit={sending.submit}>
        <Input
          label="URL"
          path="url"
          type="url"
          value={url}
          onValue={setUrl}
          required
          failure={failure}
          spellcheck={false}
          autocomplete="off"
          placeholder="https://crm.example.com/parley"
          note="Receives a signed POST for each event. A private address needs PARLEY_ALLOW_PRIVATE_PROVIDERS=1 on the server."
        />
        <fieldset>
          <legend>Events</legend>
          {types.map(([type, words]) => (
            <Check
              key={type}
              label={<code>{type}</code>}
              note={words}
              invalid={isRefused}
              checked={chosen.includes(type)}
              onValue={(on) => setChosen(on ? [...chosen, type] : chosen.filter((one) => one !== type))}
            />
          ))}
        </fieldset>
        <FormEnd sending={sending} act={act} cancel={close} disabled={events.length === 0} />
      </form>
    </Dialog>
  );
}

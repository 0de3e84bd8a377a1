/** The fields of an API key, and the key itself, which is shown once. */
import { useState } from 'preact/hooks';
import { dateOf } from '../clock.ts';
import type { Assistant, CreatedKey, Key } from '../types.ts';
import { Command, CopyButton } from './copy.tsx';
import { Dialog } from './dialog.tsx';
import { Check, Choice, Input } from './field.tsx';
import { FormEnd, useSubmit } from './submit.tsx';

export interface Fields {
  readonly name: string;
  readonly assistant_ids: readonly string[] | null;
  readonly expires_at: number | null;
  readonly limits: Readonly<Record<string, number | null>>;
}

interface Options {
  readonly assistants: readonly Assistant[];
  readonly act: string;
  readonly run: (fields: Fields) => Promise<void>;
  readonly cancel?: () => void;
  /** Key whose fields the form begins with; without it the form is for a new key. */
  readonly of?: Key;
}

const budgets = [
  ['requests', 'Requests a minute', 60],
  ['speech', 'Speech requests a minute', 30],
  ['transcription_tokens', 'Transcription tokens a minute', 10],
] as const;

export function KeyForm({ assistants, act, run, cancel, of }: Options) {
  const [name, setName] = useState(of?.name ?? '');
  const [ids, setIds] = useState<readonly string[] | null>(of?.assistant_ids ?? null);
  const [expiry, setExpiry] = useState(dateOf(of?.expires_at ?? null));
  const [limits, setLimits] = useState<Readonly<Record<string, string>>>(
    Object.fromEntries(budgets.map(([budget, , least]) => [budget, String(of?.limits[budget] ?? least)])),
  );
  const [tokens, setTokens] = useState(String(of?.limits.tokens_per_day ?? ''));
  const sending = useSubmit(() => {
    const given = Object.entries(limits).filter(([, value]) => value !== '');
    return run({
      name,
      assistant_ids: ids,
      expires_at: expiry === '' ? null : Math.floor(Date.parse(expiry) / 1000),
      limits: {
        ...Object.fromEntries(given.map(([budget, value]) => [budget, Number(value)])),
        tokens_per_day: tokens === '' ? null : Number(tokens),
      },
    });
  });
  const { failure } = sending;
  const may = (id: string, allowed: boolean) =>
    setIds((held) => (allowed ? [...(held ?? []), id] : (held ?? []).filter((one) => one !== id)));
  return (
    <form class="form" onSubmit={sending.submit}>
      <Input
        label="Name"
        path="name"
        value={name}
        onValue={setName}
        required
        failure={failure}
        note="Who uses the key: a shop, a job, a person."
      />
      <Choice
        label="May use"
        path="assistant_ids"
        value={ids === null ? 'all' : 'some'}
        onValue={(value) => setIds(value === 'all' ? null : [])}
        choices={[
          ['all', 'All assistants of the workspace'],
          ['some', 'Some of them'],
        ]}
        failure={failure}
      />
      {ids !== null && (
        <div class="picks" role="group" aria-label="Assistants that the key may use">
          {assistants.map(({ id, name: called }) => (
            <Check key={id} label={called} checked={ids.includes(id)} onValue={(allowed) => may(id, allowed)} />
          ))}
          {assistants.length === 0 && <p class="note">There are no assistants yet.</p>}
        </div>
      )}
      <Input
        label="Expires"
        path="expires_at"
        type="datetime-local"
        value={expiry}
        onValue={setExpiry}
        failure={failure}
        note="Empty: never."
      />
      <div class="triple">
        {budgets.map(([budget, label]) => (
          <Input
            key={budget}
            label={label}
            path={`limits.${budget}`}
            type="number"
            min={1}
            max={1_000_000}
            value={limits[budget]!}
            onValue={(value) => setLimits((held) => ({ ...held, [budget]: value }))}
            failure={failure}
          />
        ))}
      </div>
      <Input
        label="Tokens per day"
        path="limits.tokens_per_day"
        type="number"
        min={1}
        max={Number.MAX_SAFE_INTEGER}
        value={tokens}
        onValue={setTokens}
        failure={failure}
        note="Input and output of the model, renewed at 00:00 UTC. Empty: unlimited."
      />
      <FormEnd sending={sending} act={act} cancel={cancel} />
    </form>
  );
}

/** The key itself. It is in this answer alone: the dialog closes by its own button, and the text is nowhere kept. */
export function Once({ made, close }: { made: CreatedKey; close: () => void }) {
  return (
    <Dialog name={`The key “${made.name}”`} close={close} held>
      <div class="stack">
        <p>
          It is shown this once and cannot be shown again: only a digest of it is stored. Keep it where your software
          reads its secrets.
        </p>
        <code class="once">{made.key}</code>
        <p class="acts">
          <CopyButton text={made.key} label="Copy the key" quiet={false} />
        </p>
        <Command>{`curl -H 'Authorization: Bearer ${made.key}' ${location.origin}/assistants`}</Command>
        <p class="acts end">
          <button type="button" class="primary" onClick={close}>
            I have saved it
          </button>
        </p>
      </div>
    </Dialog>
  );
}

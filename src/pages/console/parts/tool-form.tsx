/** The settings of a tool. */
import type { ApiFailure } from '../api.ts';
import { durationPattern } from './duration.ts';
import { inWorkspace } from '../route.ts';
import type { Credential, Tool } from '../types.ts';
import { Check, Choice, Input } from './field.tsx';
import { approvals, shows, type ToolDraft } from './tool-draft.ts';

interface Options {
  readonly kind: Tool['kind'];
  readonly draft: ToolDraft;
  readonly change: (fields: Partial<ToolDraft>) => void;
  readonly credentials: readonly Credential[];
  readonly failure: ApiFailure | null;
}

const offNote = 'At once and in every version, without publishing: its functions are not offered, and no call is sent.';

/** Whether a credential may go to a URL: it belongs to an origin. */
const fits = ({ kind, base_url: base }: Credential, url: string): boolean =>
  kind === 'tool' &&
  base !== null &&
  (!URL.canParse(url) || (URL.canParse(base) && new URL(base).origin === new URL(url).origin));

export function ToolFields({ kind, draft, change, credentials, failure }: Options) {
  const usable = credentials.filter((one) => fits(one, draft.url.trim()) || one.id === draft.credential);
  return (
    <>
      <Input
        label="Name"
        path="name"
        value={draft.name}
        onValue={(name) => change({ name })}
        required
        failure={failure}
        autocomplete="off"
        note="Shown only in the console; models see the function names."
      />
      {kind !== 'client' && (
        <>
          <Input
            label="URL"
            path="url"
            type="url"
            value={draft.url}
            onValue={(url) => change({ url })}
            required
            failure={failure}
            spellcheck={false}
            autocomplete="off"
            placeholder={kind === 'mcp' ? 'https://docs.example.com/mcp' : 'https://orders.example.com/call'}
            note="Where calls go. On this machine or in a private network the server needs PARLEY_ALLOW_PRIVATE_PROVIDERS=1."
          />
          <Choice
            label="Credential"
            path="credential_id"
            value={draft.credential}
            onValue={(credential) => change({ credential })}
            failure={failure}
            choices={[
              ['', 'None'],
              ...usable.map(
                ({ id, name, base_url: url, header }) =>
                  [id, name ?? `${url}${header ? `, in ${header}` : ''}`] as const,
              ),
            ]}
            note={
              usable.length === 0 ? (
                <>
                  It is entered under <a href={inWorkspace('credentials')}>Credentials</a>, for tools, with the URL’s
                  origin.
                </>
              ) : undefined
            }
          />
        </>
      )}
      <div class="pair">
        <Choice
          label="Approval of each call"
          path="approval"
          value={draft.approval}
          onValue={(approval) => change({ approval })}
          choices={approvals}
          failure={failure}
        />
        <Choice
          label="What callers of the API see"
          path="show"
          value={draft.show}
          onValue={(show) => change({ show })}
          choices={shows}
          failure={failure}
        />
        {kind !== 'client' && (
          <Input
            label="Timeout"
            path="timeout_seconds"
            pattern={durationPattern}
            note="For one call: 1 s to 2 min."
            value={draft.timeout}
            onValue={(timeout) => change({ timeout })}
            required
            failure={failure}
          />
        )}
        {kind !== 'client' && (
          <Input
            label="Max calls per minute"
            path="calls_per_minute"
            type="number"
            min={1}
            max={1_000_000}
            value={draft.callsPerMinute}
            onValue={(callsPerMinute) => change({ callsPerMinute })}
            failure={failure}
            note="Empty: no limit."
          />
        )}
      </div>
      {kind !== 'client' && (
        <Check
          label="Retry after a lost response"
          checked={draft.repeatable}
          onValue={(repeatable) => change({ repeatable })}
          note="Only if calls may run twice, or if the tool honours Idempotency-Key."
        />
      )}
      <Check label="Disabled" checked={draft.disabled} onValue={(disabled) => change({ disabled })} note={offNote} />
    </>
  );
}

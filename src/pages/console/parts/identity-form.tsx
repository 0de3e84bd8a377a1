/** The form's part about signed visitors (contract 23): the secret of the link, and whether anybody else may begin. */
import { useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { refresh } from '../data.ts';
import { may } from '../may.ts';
import type { Assistant } from '../types.ts';
import type { FormOptions } from './assistant-draft.ts';
import { ConfirmDialog } from './dialog.tsx';
import { Failure } from './failure.tsx';
import { Check } from './field.tsx';
import { SecretOnce } from './secret-once.tsx';
import { useSubmit } from './submit.tsx';
import { Ago } from './time.tsx';

/** The secret of a link: one that was made just now, and the question that is open. */
export type LinkIdentity = ReturnType<typeof useLinkIdentity>;

export function useLinkIdentity(path: string) {
  const [asking, setAsking] = useState<'rotate' | 'remove' | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const make = async () => {
    const made = await ask<{ secret: string }>(`${path}/link/identity`, { method: 'POST' });
    setSecret(made.secret);
    await refresh(path);
  };
  const remove = async () => {
    await ask(`${path}/link/identity`, { method: 'DELETE' });
    await refresh(path);
  };
  return { asking, setAsking, secret, setSecret, make, remove, creating: useSubmit(make) };
}

interface Options extends Pick<FormOptions, 'draft' | 'change'> {
  /** The stored assistant. */
  readonly assistant: Assistant | null;
  readonly identity: LinkIdentity;
}

export function IdentityForm({ draft, change, assistant, identity }: Options) {
  const made = assistant?.link?.identity ?? null;
  const mayWrite = may('assistants.write');
  const { creating, setAsking } = identity;
  return (
    <section class="section" aria-label="Signed visitors">
      <h2>Signed visitors</h2>
      <p class="note">
        Your server signs who a visitor is, so that nobody can claim to be another. The widget takes the token from{' '}
        <code>data-identity</code> or <code>parley.identify()</code>.
      </p>
      {made === null ? (
        <p>No secret yet: no visitor is verified.</p>
      ) : (
        <p>
          The secret was made <Ago at={made.created_at} />.
        </p>
      )}
      {mayWrite && assistant === null && <p class="note">Create the assistant first: then it can have a secret.</p>}
      {mayWrite && assistant !== null && (
        <p class="acts">
          {made === null ? (
            <button type="button" disabled={creating.busy} onClick={creating.submit}>
              {creating.busy ? 'Create secret …' : 'Create secret'}
            </button>
          ) : (
            <>
              <button type="button" onClick={() => setAsking('rotate')}>
                Rotate secret
              </button>
              <button type="button" class="quiet" onClick={() => setAsking('remove')}>
                Remove secret
              </button>
            </>
          )}
        </p>
      )}
      <Failure failure={creating.failure} />
      <Check
        label="Identity required"
        note="Only visitors whom your site has signed in can begin a conversation, in the widget alone: the public page has no way to sign in."
        checked={draft.identityRequired}
        onValue={(identityRequired) => change({ identityRequired })}
      />
      {draft.identityRequired && made === null && (
        <p class="fault">Without a secret no identity is accepted, so nobody can begin a conversation.</p>
      )}
    </section>
  );
}

/** Outside the assistant's form, since each dialog is a form. */
export function IdentityDialogs({ assistant, identity }: { assistant: Assistant; identity: LinkIdentity }) {
  const { asking, setAsking, secret, setSecret, make, remove } = identity;
  const close = () => setAsking(null);
  return (
    <>
      {asking === 'rotate' && (
        <ConfirmDialog name="Rotate secret" act="Rotate secret" run={make} close={close}>
          <p>
            The link gets a new secret, which is shown once. For 24 hours tokens of the old one are accepted too, also
            when it is rotated again within that time.
          </p>
        </ConfirmDialog>
      )}
      {asking === 'remove' && (
        <ConfirmDialog name="Remove secret" act="Remove secret" run={remove} close={close}>
          <p>
            No token is accepted any more. Visitors keep their conversations, which are unverified from their next
            message on; a new secret does not verify them again.
          </p>
          {assistant.link?.identity_required && (
            <p class="fault">An identity is required: nobody can begin a conversation without a new secret.</p>
          )}
        </ConfirmDialog>
      )}
      {secret !== null && (
        <SecretOnce of={assistant.name} secret={secret} close={() => setSecret(null)}>
          Your server signs with it who a visitor is, by HS256. Keep it on the server: who has it can sign in as
          anybody.
        </SecretOnce>
      )}
    </>
  );
}

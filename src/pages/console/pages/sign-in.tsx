/**
 * Signing in: by the one-time link, whose token is in the fragment of the address, or by the operator token (contract
 * 9).
 */
import { computed } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiFailure, ask, patiently } from '../api.ts';
import { caught, Failure } from '../parts/failure.tsx';
import { Command } from '../parts/copy.tsx';
import { Input } from '../parts/field.tsx';
import { leaveConsole } from '../leaving.ts';
import { isOther, person } from '../person.ts';
import { address, decodedText, go, pathOf, segments } from '../route.ts';
import type { Person, SignInOptions } from '../types.ts';

const prefix = '#sign-in=';

/**
 * The one-time link of the address; null without one. Its token, null where it is malformed, is in no request until the
 * person clicks.
 */
export const signInLink = computed(() =>
  address.value.hash.startsWith(prefix) ? { token: decodedText(address.value.hash.slice(prefix.length)) } : null,
);

addEventListener('hashchange', () => (address.value = new URL(location.href)));

/** Returns the address that the person came from, or the first page. */
const back = (): string =>
  segments.value[0] === 'sign-in'
    ? (address.value.searchParams.get('to') ?? pathOf())
    : location.pathname + location.search;
const wipe = (): void => go(location.pathname + location.search, { replace: true });

/** The browser took the cookie and does not send it. */
const notKept = 'not_kept';

async function signIn(token: string): Promise<void> {
  let now: Person;
  try {
    await ask('/sign-in', { body: { token } });
    now = await ask<Person>('/me').catch((error: unknown) => {
      throw caught(error).status === 401
        ? new ApiFailure(401, notKept, 'The browser did not keep the sign-in.', null, null)
        : error;
    });
  } catch (error) {
    const refusal = caught(error);
    // A person who is signed in needs no link: a used one leads to the console as well.
    const known = refusal.code === 'invalid_token' ? await ask<Person>('/me').catch(() => null) : null;
    if (known === null) throw refusal;
    now = known;
  }
  enter(now);
}

/** Shows a person who has signed in the page that they came from. */
function enter(now: Person): void {
  if (isOther(now)) leaveConsole();
  const to = destination();
  person.value = now;
  go(to, { replace: true });
}

/** The page of the console that a sign-in leads to. */
function destination(): string {
  const to = back();
  return to.startsWith('/console') && !to.startsWith(pathOf('sign-in')) ? to : pathOf();
}

/** The name of the issuer of OpenID Connect; null where the server has none, or has not answered yet. */
function useIssuer(): string | null {
  const [name, setName] = useState<string | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    patiently(() => ask<SignInOptions>('/sign-in'), leaving.signal).then(
      ({ oidc }) => setName(oidc?.name ?? null),
      () => {},
    );
    return () => leaving.abort();
  }, []);
  return name;
}

/**
 * The way to the issuer. A page that waits beneath with what was typed stays: the sign-in is in another tab, and the
 * page continues when the person is back here.
 */
function Issuer({ name, again }: { name: string; again: boolean }) {
  const [left, setLeft] = useState(false);
  useEffect(() => {
    // The page as it was before comes back with the browser's own Back.
    const back = () => setLeft(false);
    const look = () => void (again && left && ask<Person>('/me').then(enter, () => {}));
    addEventListener('pageshow', back);
    addEventListener('focus', look);
    return () => {
      removeEventListener('pageshow', back);
      removeEventListener('focus', look);
    };
  }, [again, left]);
  return (
    <a
      class="button primary"
      href={`/console/api/oidc?to=${encodeURIComponent(destination())}`}
      target={again ? '_blank' : undefined}
      rel="noopener"
      aria-busy={left && !again}
      onClick={() => setLeft(true)}
    >
      {left && !again ? `Opening ${name} …` : `Sign in with ${name}`}
    </a>
  );
}

/** The page as it was lies beneath, with all that was typed, and is not seen. */
export function LockedPage() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [title] = useState(document.title);
  useEffect(() => {
    dialog.current!.showModal();
    return () => {
      document.title = title;
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class="locked"
      aria-label="Sign in again"
      onCancel={(event) => event.preventDefault()}
      onClose={() => dialog.current?.showModal()}
    >
      <SignIn again />
    </dialog>
  );
}

/** `again`: the sign-in has ended while the page was open. */
export function SignIn({ again = false }: { again?: boolean }) {
  const link = signInLink.value;
  const token = link?.token ?? null;
  const [kept, keep] = useState<string | null>(null);
  const [typed, type] = useState('');
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ApiFailure | null>(null);
  useEffect(() => {
    document.title = 'Sign in · parley';
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    const sent = token ?? kept ?? typed;
    // Nobody is signed in until the token was accepted.
    person.value ??= null;
    // Removed from the address before it is sent: the history of the browser must not have it.
    if (link !== null) wipe();
    keep(token ?? kept);
    setBusy(true);
    setFailure(null);
    try {
      await signIn(sent.trim());
      type('');
    } catch (error) {
      const found = caught(error);
      setFailure(found);
      // Good once: a refused token is of no use any more.
      if (found.status !== 0 && found.status !== 429 && found.status < 500) keep(null);
    }
    setBusy(false);
  };
  const Frame = again ? 'div' : 'main';
  const byLink = token !== null || (kept !== null && failure !== null);
  const offered = useIssuer();
  const issuer = byLink ? null : offered;
  return (
    <Frame class="sign-in">
      <h1>parley</h1>
      {issuer !== null && <Issuer name={issuer} again={again} />}
      <form onSubmit={(event) => void submit(event)}>
        {again && <p>The sign-in has ended. What was typed on this page is kept until you are back.</p>}
        {link !== null && token === null && (
          <p class="failure" role="alert">
            <strong>The link is not whole.</strong> Copy it again, up to its last character.
          </p>
        )}
        {byLink ? (
          <p>This link signs you in once, in this browser.</p>
        ) : (
          <Input
            label="Operator token"
            type="password"
            autocomplete="off"
            required
            value={typed}
            onValue={type}
            spellcheck={false}
            note="As set in PARLEY_OPERATOR_TOKEN, or in the file operator-token of the data folder."
          />
        )}
        <Failure failure={failure} advice={adviceOn} />
        <button type="submit" class={issuer === null ? 'primary' : undefined} disabled={busy}>
          {busy ? 'Signing in …' : 'Sign in'}
        </button>
      </form>
      {!byLink && (
        <section>
          <h2>Or by a link</h2>
          <p>The server prints a link that works once when it starts. On its machine this makes another:</p>
          <Command>npx parley console</Command>
        </section>
      )}
    </Frame>
  );
}

function adviceOn({ status, code }: ApiFailure): string {
  if (code === notKept) {
    return `Over plain HTTP some browsers keep no secure cookie, not even for this machine (${location.hostname}). Use Chromium or Firefox on http://localhost, or reach the server over HTTPS.`;
  }
  if (code === 'invalid_token') return 'A link works once, for ten minutes; a token must be typed whole.';
  if (status === 400)
    return location.protocol === 'https:'
      ? hiddenTls()
      : 'From another machine, use HTTPS or a tunnel: ssh -L 8080:127.0.0.1:8080 HOST.';
  if (status === 429) return 'Too many sign-ins have failed.';
  return status === 0 ? 'Check that the server runs.' : 'Try again.';
}

/** Advice for the operator of a proxy that ends TLS and does not say so. */
const hiddenTls = (): string =>
  `This page came by HTTPS, but the server does not know it. Start it with PARLEY_PUBLIC_URL=${location.origin}, or let the proxy send X-Forwarded-Proto and name its address in PARLEY_TRUSTED_PROXIES.`;

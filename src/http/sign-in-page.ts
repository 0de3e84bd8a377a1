/** The page that says why a sign-in by OpenID Connect has failed (contract 22). Its words are ours alone. */
import { createHash } from 'node:crypto';
import { Html, html } from './reference/docs/html.ts';
import { ground } from './reference/docs/style.ts';

const style = `${ground}body { max-width: 440px; padding: 18vh 24px 64px; margin: 0 auto; }
h1 { font-size: 20px; line-height: 1.3; letter-spacing: -.015em; margin: 0 0 8px; text-wrap: balance; }
p { margin: 0; color: var(--soft); }
nav { display: grid; margin: 32px 0; border-top: 1px solid var(--line); }
nav a { padding: 12px 0; border-bottom: 1px solid var(--line); }
small { color: var(--soft); overflow-wrap: anywhere; }
`;

/** Allows the style of the page and nothing else. */
export const failedSignInPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export interface SignInFailure {
  readonly status: number;
  readonly title: string;
  readonly advice: string;
}

/** The failures of a sign-in that a page reports. */
export const signInFailures = {
  insecure: {
    status: 400,
    title: 'The connection is not secure',
    advice: 'Signing in needs HTTPS, or an address of this machine.',
  },
  unknown: {
    status: 401,
    title: 'The sign-in is not valid any more',
    advice:
      'It has been used, began more than ten minutes ago or in another browser, or the browser keeps no cookies. Whoever is signed in already can open the console.',
  },
  refused: {
    status: 401,
    title: 'The sign-in was refused',
    advice: 'The sign-in service did not confirm who you are.',
  },
  noRole: {
    status: 403,
    title: 'You have no access',
    advice: 'Your account has no role here. Ask the people who run this server for one.',
  },
  blocked: {
    status: 403,
    title: 'Your access is blocked',
    advice: 'Ask the people who run this server.',
  },
  throttled: {
    status: 429,
    title: 'Too many sign-ins have failed',
    advice: 'Wait a minute, then try again.',
  },
  away: {
    status: 503,
    title: 'The sign-in service does not answer',
    advice: 'Try again in a moment. A sign-in link works meanwhile, and people who are signed in stay so.',
  },
} as const satisfies Readonly<Record<string, SignInFailure>>;

/**
 * The page of a failure, with the id of the request, under which the log has the cause. `to`: the page of the console
 * that the person came from.
 */
export const failedSignInPage = ({ title, advice }: SignInFailure, requestId: string, to: string): string =>
  html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · parley</title>
<link rel="icon" href="/favicon.ico">
<style>${new Html(style)}</style>
<main>
<h1>${title}</h1>
<p>${advice}</p>
<nav>
<a href="/console/api/oidc?to=${encodeURIComponent(to)}">Try again</a>
<a href="${to}">Open the console</a>
<a href="/console/sign-in?to=${encodeURIComponent(to)}">Other ways to sign in</a>
</nav>
<small>Request ${requestId}</small>
</main>
</html>
`.text;

/**
 * The landing page, `GET /` for people: what this server is, with links to the console and to the reference. The page
 * has no script and says nothing of any assistant.
 */
import { createHash } from 'node:crypto';
import { Html, html } from './reference/docs/html.ts';
import { ground } from './reference/docs/style.ts';

const style = `${ground}body { max-width: 560px; padding: 15vh 24px 64px; margin: 0 auto; }
h1 { font-size: 20px; line-height: 1.3; letter-spacing: -.015em; margin: 0 0 4px; }
p { margin: 0; color: var(--soft); }
ul { list-style: none; margin: 32px 0 0; padding: 0; border-top: 1px solid var(--line); }
li { border-bottom: 1px solid var(--line); }
li a { display: grid; padding: 12px 0; }
li a:hover { text-decoration: none; }
li a:hover strong { text-decoration: underline; }
strong { font-weight: 600; }
li span { color: var(--soft); }
`;

/** The policy of the reference, with an icon. */
export const landingPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const ways = [
  ['console', 'Console', 'For operators: assistants, keys, conversations as they run.'],
  ['docs', 'API reference', 'For developers: each operation, with examples.'],
] as const;

export const landingPage: string = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>parley</title>
<link rel="icon" href="favicon.ico">
<style>${new Html(style)}</style>
<main>
<h1>parley</h1>
<p>This server runs conversations with assistants, over HTTP and on pages of its own.</p>
<ul>
${ways.map(
  ([path, name, what]) => html`<li><a href="${path}"><strong>${name}</strong><span>${what}</span></a></li>
`,
)}</ul>
</main>
</html>
`.text;

/** The pages of the public link (contract 9). Their bytes are the same for every slug: what an assistant says of itself the page asks for. */
import { createHash } from 'node:crypto';
import { script } from './script.ts';
import { style } from './style.ts';

const head = (title: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${style}</style>
`;

export const conversationPage = `${head('Conversation')}<main>
<h1 id="name"></h1>
<p id="description" dir="auto"></p>
<ol id="messages" aria-label="Conversation"></ol>
<form id="talk" hidden>
<div id="fields"></div>
<label>Your message <textarea id="message" rows="3" dir="auto" required></textarea></label>
<button id="send">Send</button>
</form>
<p id="notice" role="status"></p>
<noscript><p>This page needs JavaScript.</p></noscript>
</main>
<script>${script}</script>
</html>
`;

export const unknownPage = `${head('Not found')}<main>
<h1>There is nothing here.</h1>
<p>The address may be misspelt, or the conversation is no longer offered.</p>
</main>
</html>
`;

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const [styles, scripts] = [hashOf(style), hashOf(script)];

/** What the page may load, and where it may be framed: one origin, or `'none'`. */
export const policyOf = (frameAncestors: string): string =>
  `default-src 'none'; script-src ${scripts}; style-src ${styles}; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors ${frameAncestors}`;

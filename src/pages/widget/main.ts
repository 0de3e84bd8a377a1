/**
 * The widget's loader (contract 9): a launcher, and at its first opening a frame that is the link's page. It makes no
 * request until then, stores nothing, and needs no more of the site's policy than our origin in `script-src` and
 * `frame-src`.
 */
import { addWidget } from './api.ts';
import { bare, type Settings } from './parts.ts';
import { makeWidget } from './widget.ts';

/** A module is not told which tag it stands for: it looks at each. */
const own = document.currentScript;
for (const { attributes, src } of (own
  ? [own]
  : document.querySelectorAll('[src*="/widget.js"]')) as Iterable<HTMLScriptElement>) {
  // Tag managers drop attributes and keep the address. A site may have put properties on `Object.prototype`: a spread
  // `dataset` would throw.
  const settings = bare(Object.fromEntries(new URL(src).searchParams)) as Settings & Record<string, string>;
  // Addresses are logged and kept in histories.
  delete settings.identity;
  for (const { name, value } of attributes) settings[name.slice(5) as 'slug'] = value;
  const { slug } = settings;
  const begin = (): void =>
    addWidget(slug!, (widgets) => makeWidget(settings, new URL(`p/${slug}/frame`, src), widgets));
  if (!slug) console.warn('parley: no slug');
  else if (document.body) begin();
  else addEventListener('DOMContentLoaded', begin);
}

/**
 * The widget's loader (contract 9): a launcher, and at its first opening a frame that is the link's page. It makes no request until then,
 * stores nothing, and needs no more of the site's policy than our origin in `script-src` and `frame-src`.
 */
import { addWidget } from './api.ts';
import { bare, type Settings } from './parts.ts';
import { makeWidget } from './widget.ts';

const tag = document.currentScript as HTMLScriptElement;
const settings = bare({}) as Settings & Record<string, string>;
for (const { name, value } of tag.attributes) settings[name.replace('data-', '') as 'slug'] = value;
const { slug } = settings;
const begin = (): void => addWidget(slug!, (widgets) => makeWidget(settings, new URL(`p/${slug}/frame`, tag.src), widgets));
if (!slug) console.warn('parley: the script tag needs data-slug.');
else if (document.body) begin();
else addEventListener('DOMContentLoaded', begin);

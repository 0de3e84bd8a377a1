/** The Markdown that the reference is written in: headings, paragraphs, lists, fenced code, `code` and **bold**. */
import { html, type Html } from './html.ts';

/** Headings begin at this level, since the text stands within a page; with `ids` each can be linked to. */
export const markdown = (text: string, level = 3): Html[] => blocksOf(text).map((block) => blockHtml(block, level));

/** Splits a text into blocks; fenced code is one block, with any lines in it. */
const blocksOf = (text: string): string[] =>
  text
    .match(/```[^]*?```|(?:(?!\n\n)[^])+/g)
    ?.map((block) => block.trim())
    .filter(Boolean) ?? [];

function blockHtml(block: string, level: number): Html {
  const fenced = /^```\w*\n([^]*?)\n?```$/.exec(block);
  if (fenced !== null) return html`<pre tabindex="0"><code>${fenced[1]}</code></pre>`;
  if (block.startsWith('## ')) return level === 2 ? html`<h2>${block.slice(3)}</h2>` : html`<h3>${block.slice(3)}</h3>`;
  if (block.startsWith('- '))
    return html`<ul>${block
      .split(/\n?^- /m)
      .filter(Boolean)
      .map((item) => html`<li>${inline(item)}</li>`)}</ul>`;
  return html`<p>${inline(block)}</p>`;
}

/** Formats the text of a line. Code is found first: nothing in it is marked up. */
export const inline = (text: string): Html[] =>
  text.split(/(`[^`]+`|\*\*.+?\*\*)/).map((part) => {
    if (part.startsWith('`') && part.length > 2) return html`<code>${part.slice(1, -1)}</code>`;
    if (part.startsWith('**') && part.length > 4) return html`<strong>${inline(part.slice(2, -2))}</strong>`;
    return html`${part}`;
  });

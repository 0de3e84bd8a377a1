/**
 * `/docs`: the OpenAPI document as a page. It is HTML with its style within it and without a script, so that its policy
 * can forbid everything else; it is made of the document alone, and so never says anything else than it does.
 */
import { createHash } from 'node:crypto';
import { Html, html } from './docs/html.ts';
import { inline, markdown } from './docs/markdown.ts';
import { operationHtml, type Operation, type Placed } from './docs/operation.ts';
import type { Schemas } from './docs/fields.ts';
import { style } from './docs/style.ts';

/** The parts of the document that the page uses. */
interface Document {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly 'x-tagGroups': readonly { readonly name: string; readonly tags: readonly string[] }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Schemas };
  readonly 'x-events': Schemas;
}

/** The page may load nothing, run nothing and use no style but its own, and no page may frame it. */
export const docsPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The page of an OpenAPI document, given as JSON. */
export function docsPage(text: string): string {
  const document: Document = JSON.parse(text);
  const placed: Placed[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const areas = document.tags
    .map((tag) => ({
      ...tag,
      id: idOf(tag.name),
      operations: placed.filter(({ operation }) => operation.tags[0] === tag.name),
    }))
    .filter(({ operations }) => operations.length > 0);
  const { info, components } = document;
  const shared = { schemas: components.schemas, events: document['x-events'] };
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${info.title}: API reference</title>
<style>${new Html(style)}</style>
<a class="skip" href="#reference">To the reference</a>
${navigation(document, areas)}
<main id="reference">
<section class="introduction">
<h1>API reference</h1>
<p class="facts">${info.title} ${info.version} · <a href="openapi.json">openapi.json</a> · <a href="asyncapi.json">asyncapi.json</a></p>
${markdown(info.description, 2)}
<h2>Examples</h2>
<p>The examples are one conversation, from the creation of its workspace to the end. In the commands <code>$URL</code> is this server, <code>$KEY</code> an API key and <code>$OPERATOR_TOKEN</code> the operator token.</p>
</section>
${areas.map(
  ({
    id,
    name,
    description,
    operations,
  }) => html`<section aria-labelledby="${id}"><div class="area"><h2 id="${id}">${name}</h2>
<p>${inline(description)}</p></div>
${operations.map((one) => operationHtml(one, shared))}</section>
`,
)}</main>
</html>
`.text;
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly operations: readonly Placed[];
}

const idOf = (name: string): string => name.toLowerCase().replace(/\W+/g, '-');

/**
 * The areas by caller, each with its operations. On a narrow screen the list is shown while it is the target of a link,
 * so that a choice closes it.
 */
function navigation({ info, 'x-tagGroups': groups }: Document, areas: readonly Listed[]): Html {
  const listed = groups.map(({ name, tags }) => {
    const own = areas.filter((area) => tags.includes(area.name));
    return (
      own.length > 0 &&
      html`<h2>${name}</h2><ul>${own.map(
        ({
          id,
          name: area,
          operations,
        }) => html`<li><a href="#${id}">${area.replace(/^Console: (\w)/, (_, first: string) => first.toUpperCase())}</a>
<ul>${operations.map(({ method, operation }) => html`<li><a href="#${operation.operationId}"><span class="method">${method}</span> ${short(operation.summary)}</a></li>`)}</ul></li>`,
      )}</ul>`
    );
  });
  return html`<nav id="contents" aria-label="Contents"><a class="brand" href="docs">${info.title}</a><a class="open" href="#contents">Contents</a><div>${listed}</div></nav>`;
}

/** A summary's first clause, without its full stop. */
const short = (summary: string): string => summary.split(/[;.]/)[0]!;

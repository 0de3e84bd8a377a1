/** One operation on the page: its words, its parameters and answers, its failures, and its example as a `curl` line. */
import {
  boundsOf,
  eventFieldsOf,
  fieldsOf,
  resolved,
  typeOf,
  type Field,
  type Schema,
  type Schemas,
} from './fields.ts';
import { html, type Html } from './html.ts';
import { inline, markdown } from './markdown.ts';

interface Media {
  readonly schema: Schema;
  readonly examples?: Readonly<Record<string, { readonly value: any }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly example?: string | number;
  readonly schema: Schema;
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Readonly<Record<string, Media>> }>
  >;
}

/** The parts of the document that operations refer to. */
export interface Shared {
  readonly schemas: Schemas;
  readonly events: Schemas;
}

export interface Placed {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

export function operationHtml({ method, path, operation }: Placed, shared: Shared): Html {
  const { operationId, summary, description, requestBody } = operation;
  const body = Object.values(requestBody?.content ?? {})[0];
  return html`<article id="${operationId}" aria-labelledby="${operationId}-name">
<header><h3 id="${operationId}-name"><a href="#${operationId}"><span class="method ${method === 'DELETE' && 'final'}">${method}</span> <code>${breakable(path)}</code></a></h3><p>${inline(summary)}</p></header>
<div class="words">${markdown(description ?? '')}
${parametersHtml(operation, shared.schemas)}
${body && section('Body', fieldsHtml(fieldsOf(body.schema, shared.schemas)))}
${answerHtml(operation, shared)}
${failuresHtml(operation)}</div>
<div class="examples">${examplesHtml({ method, path, operation })}</div>
</article>
`;
}

/** A path may be broken behind its slashes. */
const breakable = (path: string): Html[] => path.split(/(?<=\/)/).map((part) => html`${part}<wbr>`);

const section = (name: string, content: Html): Html => html`<h4>${name}</h4>${content}`;
const folded = (name: string, content: Html): Html => html`<details><summary>${name}</summary>${content}</details>`;

const fieldsHtml = (fields: readonly Field[], optional = true): Html =>
  html`<dl class="fields">${fields.map(
    ({ path, type, required, note }) =>
      html`<div><dt><code>${breakableName(path)}</code></dt><dd><span class="type">${type}${optional && required && ', required'}</span>${note !== '' && html` · ${inline(note)}`}</dd></div>`,
  )}</dl>`;

const breakableName = (path: string): Html[] => path.split(/(?<=[._[])/).map((part) => html`${part}<wbr>`);

function parametersHtml({ parameters }: Operation, schemas: Schemas): Html | false {
  const places = { path: 'in the path', query: 'in the query', header: 'header' } as const;
  const fields = parameters.map(({ name, in: place, required, description, schema }) => ({
    path: name,
    type: `${typeOf(schema, schemas)}, ${places[place]}`,
    required,
    note: [description, ...boundsOf(resolved(schema, schemas))].filter(Boolean).join(' '),
  }));
  return fields.length > 0 && section('Parameters', fieldsHtml(fields));
}

const isFailure = (status: string): boolean => /^[45]/.test(status) || status === 'default';

/** Fields of an answer are there always: only a request has optional ones. */
function answerHtml({ responses }: Operation, { schemas, events }: Shared): Html {
  const parts = Object.entries(responses)
    .filter(([status]) => !isFailure(status) && status !== '2XX')
    .map(([status, { description, content = {} }]) => {
      const [type, media] = Object.entries(content)[0] ?? [];
      const others = Object.keys(content).filter((one) => one !== 'application/json');
      const fields =
        type === 'text/event-stream'
          ? eventFieldsOf(events, schemas)
          : media === undefined
            ? []
            : fieldsOf(media.schema, schemas);
      const name = type === 'text/event-stream' ? 'Data of the events' : 'Fields of the answer';
      return html`<p><code>${status}</code> ${inline(description)}${others.map((one) => html` <code>${one}</code>`)}</p>${fields.length > 0 && folded(name, fieldsHtml(fields, false))}`;
    });
  return section('Answer', html`${parts}`);
}

/** Each failure of the operation with the sentence that is sent. */
function failuresHtml({ responses }: Operation): Html | false {
  const rows = Object.entries(responses)
    .filter(([status]) => isFailure(status))
    .flatMap(([status, { content = {} }]) =>
      Object.values(content['application/json']?.examples ?? {}).map(
        ({ value: { error } }) =>
          html`<tr><td>${status}</td><td><code>${error.code}</code></td><td>${inline(error.message)}</td></tr>`,
      ),
    );
  if (rows.length === 0) return false;
  return folded(
    `Failures (${rows.length})`,
    html`<table><thead><tr><th>Status</th><th>Code</th><th>Message</th></tr></thead><tbody>${rows}</tbody></table>`,
  );
}

function examplesHtml(placed: Placed): Html[] {
  const answers = Object.entries(placed.operation.responses)
    .filter(([status]) => !isFailure(status))
    .flatMap(([status, { content = {} }]) =>
      Object.values(content).flatMap(({ examples = {} }) =>
        Object.values(examples).map(({ value }) => ({ status, value })),
      ),
    );
  return [
    html`<figure><figcaption>Request</figcaption><pre tabindex="0"><code>${curlOf(placed)}</code></pre></figure>`,
    ...answers.map(
      ({ status, value }) =>
        html`<figure><figcaption>Answer, ${status}</figcaption><pre tabindex="0"><code>${typeof value === 'string' ? value.trimEnd() : JSON.stringify(value, null, 2)}</code></pre></figure>`,
    ),
  ];
}

/** Credentials by the name of the scheme, as a shell has them. */
const credentials: Readonly<Record<string, string>> = { bearer: '$KEY', operator: '$OPERATOR_TOKEN' };

/** The example's request as a line for a shell, in which `$URL` is the server and `$KEY` an API key. */
export function curlOf({ method, path, operation }: Placed): string {
  const { parameters, security, requestBody, responses } = operation;
  const shown = (place: Parameter['in']) => parameters.filter((one) => one.in === place && one.example !== undefined);
  const search = new URLSearchParams();
  for (const { name, example } of shown('query')) search.set(name, String(example));
  const filled = shown('path').reduce((text, { name, example }) => text.replace(`{${name}}`, String(example)), path);
  const scheme = Object.keys(security[0] ?? {})[0];
  const body = Object.values(requestBody?.content ?? {})[0]?.examples?.['example']?.value;
  const streams = Object.values(responses).some(({ content = {} }) => 'text/event-stream' in content);
  return [
    [
      'curl',
      streams && '-N',
      method !== 'GET' && !(method === 'POST' && body !== undefined) && `-X ${method}`,
      `"$URL${filled}${search.size > 0 ? `?${search}` : ''}"`,
    ]
      .filter(Boolean)
      .join(' '),
    scheme !== undefined && scheme in credentials && `-H "Authorization: Bearer ${credentials[scheme]}"`,
    ...shown('header').map(({ name, example }) => `-H "${name}: ${example}"`),
    body !== undefined && "-H 'Content-Type: application/json'",
    body !== undefined && `-d '${JSON.stringify(body, null, 2).replaceAll("'", "'\\''")}'`,
  ]
    .filter(Boolean)
    .join(' \\\n  ');
}

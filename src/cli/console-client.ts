/** The console's API (contract 9) for the operator. */
import type { List } from '../client/types.ts';
import { realClock } from '../client/clock.ts';
import type { ParleyError } from '../client/failure.ts';
import { failureOf, parseJson, sendAttempt, strange } from '../client/http.ts';
import { limits } from '../base/limits.ts';
import {
  aliasForm,
  aliasPattern,
  aliasTaken,
  originRule,
  slugForm,
  slugPattern,
  slugTaken,
} from '../base/link-fields.ts';
import { webhookEvents } from '../base/webhook-events.ts';
import type { WorkspaceView } from '../wire/wire.ts';
import { AdvisedFailure, CommandFailure, UsageFailure } from './exit.ts';
import { oneLine } from './output.ts';

/** An answer as its JSON and as the text that it came in; both empty for 204. */
export interface ConsoleAnswer<T> {
  readonly body: T;
  readonly text: string;
}

export type Query = Readonly<Record<string, string | number | undefined>>;

interface Named {
  readonly id: string;
  readonly name: string;
}

export class ConsoleClient {
  readonly #base: string;
  readonly #token: string;

  /** `url` is the server's, without a slash at its end. */
  constructor(url: string, token: string) {
    this.#base = `${url}/console/api`;
    this.#token = token;
  }

  get<T>(path: string, query: Query = {}): Promise<ConsoleAnswer<T>> {
    return this.#call('GET', path + queryText(query));
  }

  /** `timeoutMs`: the time that the answer may take. `ifMatch`: the tag of the draft that the change is based on. */
  post<T>(path: string, body?: unknown, timeoutMs?: number, ifMatch?: string): Promise<ConsoleAnswer<T>> {
    return this.#call('POST', path, body, timeoutMs, ifMatchHeader(ifMatch));
  }

  /** Sends what the server does once under a key, so that a caller may repeat it. */
  postOnce<T>(path: string, body: unknown, idempotencyKey: string): Promise<ConsoleAnswer<T>> {
    return this.#call('POST', path, body, undefined, { 'idempotency-key': idempotencyKey });
  }

  patch<T>(path: string, body: unknown, ifMatch?: string): Promise<ConsoleAnswer<T>> {
    return this.#call('PATCH', path, body, undefined, ifMatchHeader(ifMatch));
  }

  delete<T = null>(path: string, timeoutMs?: number): Promise<ConsoleAnswer<T>> {
    return this.#call('DELETE', path, undefined, timeoutMs);
  }

  /** Every item of a list, page by page; with `after` those after this cursor. */
  async *all<T>(path: string, query: Query = {}, after?: string): AsyncGenerator<T> {
    do {
      const { body } = await this.get<List<T>>(path, { ...query, limit: limits.listMax, after });
      yield* body.data;
      after = body.has_more ? (body.next_cursor ?? undefined) : undefined;
    } while (after !== undefined);
  }

  /** The workspace's id: of the one named by id or name, else of the only one or the one called `default`. */
  async workspace(selector: string | undefined): Promise<string> {
    if (selector?.startsWith('wks_')) return selector;
    const workspaces: WorkspaceView[] = [];
    for await (const workspace of this.all<WorkspaceView>('/workspaces')) workspaces.push(workspace);
    const [only] = workspaces;
    if (selector === undefined && only && workspaces.length === 1) return only.id;
    const named = workspaces.filter((workspace) => workspace.name === (selector ?? 'default'));
    const [match, ...others] = named;
    if (others.length > 0) throw ambiguous('workspaces', named);
    if (match !== undefined) return match.id;
    if (selector !== undefined) throw noneCalled('workspaces', selector);
    throw new UsageFailure(
      workspaces.length === 0
        ? 'There is no workspace yet. Create one with `parley workspaces create NAME`.'
        : 'There are several workspaces; choose one with --workspace.',
    );
  }

  /** The id of the item of a collection that `selector` names by id or by name. */
  async idOf(parent: string, collection: Collection, selector: string): Promise<string> {
    if (selector.startsWith(`${collections[collection].prefix}_`)) return selector;
    const named: Named[] = [];
    for await (const item of this.all<Named>(`${parent}/${collection}`)) if (item.name === selector) named.push(item);
    const [match, ...others] = named;
    if (others.length > 0) throw ambiguous(collection, named);
    if (match === undefined) throw noneCalled(collection, selector);
    return match.id;
  }

  /** One attempt: what the console's API creates or changes is not repeated. */
  async #call<T>(
    method: string,
    path: string,
    body?: unknown,
    timeoutMs: number = limits.commandAnswerMs,
    more: Readonly<Record<string, string>> = {},
  ): Promise<ConsoleAnswer<T>> {
    const headers = {
      authorization: `Bearer ${this.#token}`,
      accept: 'application/json',
      ...more,
    };
    const answer = await sendAttempt(fetch, realClock, { method, url: this.#base + path, headers, body, timeoutMs });
    try {
      const text = await answer.within(answer.response.text());
      const json = text === '' ? null : parseJson(text);
      if (answer.response.ok && (text === '' || json !== null)) return { body: json as T, text };
      const failure = answer.response.ok ? null : failureOf(answer, text);
      throw failure === null
        ? new CommandFailure(strange(answer).message)
        : new AdvisedFailure(adviceFor(failure, path, body) + (await rangeFor(failure, path)), failure);
    } finally {
      answer.close();
    }
  }
}

/** The collections of the console's paths: the noun of an item, the prefix of its id, and the command that lists them. */
const collections = {
  workspaces: { noun: 'workspace', prefix: 'wks', list: 'parley workspaces list' },
  assistants: { noun: 'assistant', prefix: 'asst', list: 'parley assistants list' },
  tests: { noun: 'test', prefix: 'tst', list: 'parley tests list ASSISTANT' },
  'test-runs': { noun: 'run', prefix: 'run', list: 'parley tests runs ASSISTANT' },
  tools: { noun: 'tool', prefix: 'tool', list: 'parley tools list' },
  credentials: { noun: 'credential', prefix: 'crd', list: 'parley credentials list' },
  keys: { noun: 'key', prefix: 'key', list: 'parley keys list' },
  webhooks: { noun: 'webhook', prefix: 'whk', list: 'parley webhooks list' },
  deliveries: { noun: 'delivery', prefix: 'dlv', list: 'parley webhooks deliveries WEBHOOK' },
  sessions: { noun: 'session', prefix: 'ses', list: 'parley sessions list' },
} as const;

export type Collection = keyof typeof collections;

const noneCalled = (collection: Collection, name: string): CommandFailure => {
  const { noun, list } = collections[collection];
  return new CommandFailure(`No ${noun} is called "${oneLine(name)}". List them with \`${list}\`.`);
};

const isCollection = (name: string): name is Collection => Object.hasOwn(collections, name);

/** The sentence for an item of the path that does not exist: the one that the code names, else the innermost. */
function absenceIn(path: string, code: string | null): string | null {
  const parts = path.replace(/\?.*/s, '').split('/').slice(1);
  for (let at = parts.length - (parts.length % 2) - 2; at >= 0; at -= 2) {
    const [collection = '', id = ''] = parts.slice(at);
    if (!isCollection(collection)) continue;
    const { noun, list } = collections[collection];
    if (code === 'route_not_found' || code === `${noun}_not_found`)
      return `There is no ${noun} ${oneLine(decodeURIComponent(id))}. List them with \`${list}\`.`;
  }
  return null;
}

/** An explanation by field, or by the value that was sent: the API's sentence is the same for all. */
const advice: Readonly<Record<string, string | ((value: unknown) => string)>> = {
  base_url:
    'It begins with https:// and has no user name, query or fragment. An address of this machine or of a private network may begin with http:// too, and for it the server needs PARLEY_ALLOW_PRIVATE_PROVIDERS=1.',
  functions:
    'Each has a name of its own of letters, digits, _ and -, and parameters that are a JSON Schema of an object, 16 KiB at most. Functions of the tools of one assistant have different names too.',
  header: 'It is the name of a header that a request does not have anyway.',
  id: 'A key that is revoked or has expired cannot be rotated: create a new one with `parley keys create`.',
  api_key:
    "It is the provider's secret, on one line and without characters beyond Latin-1; a credential's base URL or provider changes only together with it.",
  alias: (alias) => (typeof alias === 'string' && aliasPattern.test(alias) ? aliasTaken : `An alias has ${aliasForm}.`),
  'link.slug': (slug) => (typeof slug === 'string' && slugPattern.test(slug) ? slugTaken : `A slug has ${slugForm}.`),
  'link.origins': originRule,
  kind: 'Only an mcp tool has a list to refresh, only an http tool a secret, and a client tool is run by its caller.',
  credential_id:
    "It is the id of a credential of this workspace, of the kind tool and for the origin of the tool's URL.",
  tool_ids: 'At most 16 tools of this workspace, with 64 functions that are on and have different names.',
  events: `The events are ${webhookEvents.join(', ')}. Name each once.`,
  webhooks: `A workspace has at most ${limits.webhooksMax} webhooks: delete one first.`,
  url: 'It begins with https:// and has no user name, query or fragment. An address of this machine or of a private network may begin with http:// too, and for it the server needs PARLEY_ALLOW_PRIVATE_PROVIDERS=1.',
  'model.provider': 'There are scripted, openai and anthropic; synthetic too where the server has PARLEY_SYNTHETIC=1.',
  'model.credential_id':
    "It is the id of a credential of this workspace, of the kind model and for the model's provider.",
};

/** The failure's sentence, for the person at this terminal. */
function adviceFor({ status, code, message, field }: ParleyError, path: string, body: unknown): string {
  if (status === 401)
    return "The server does not accept this operator token. Give the server's own with --operator-token or PARLEY_OPERATOR_TOKEN.";
  if (status === 404) return absenceIn(path, code) ?? message;
  if (field === null || !Object.hasOwn(advice, field)) return message;
  const words = advice[field];
  return `${message} ${typeof words === 'function' ? words(valueAt(body, field)) : words}`;
}

/** The range of a number of an assistant that is out of it. The shapes of the API are loaded for it alone. */
async function rangeFor({ code, field }: ParleyError, path: string): Promise<string> {
  if (code !== 'invalid_request' || field === null || !/\/assistants(\/[^/]+)?$/.test(path)) return '';
  return (await import('./ranges.ts')).assistantRange(field);
}

/** The value of a field of the body, by its path. */
const valueAt = (body: unknown, field: string): unknown =>
  field.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], body);

const ambiguous = (nouns: string, items: readonly Named[]): UsageFailure =>
  new UsageFailure(
    `Several ${nouns} are called "${items[0]?.name}"; name one by its id: ${items.map((item) => item.id).join(', ')}.`,
  );

const ifMatchHeader = (tag: string | undefined): Record<string, string> =>
  tag === undefined ? {} : { 'if-match': tag };

function queryText(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters}`;
}

/** A part of a path. */
export const segment = (text: string): string => encodeURIComponent(text);

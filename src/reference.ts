/**
 * The reference that people read: what each operation does, takes and answers, in words and with an example. The shapes are
 * in `wire.ts` and the rows in `routes.ts`; `openapi.ts` puts the three together. Each operation has an entry (a test counts them).
 */
import { limits } from './limits.ts';
import { consoleAssistants } from './reference/console-assistants.ts';
import { conversations, credentials, keys, workspaces } from './reference/console.ts';
import { histories } from './reference/history.ts';
import { machines } from './reference/machines.ts';
import { assistants, sessions, turns, usage } from './reference/conversations.ts';
import { desk, load } from './reference/desk.ts';
import type { Area, Entry } from './reference/entry.ts';
import { ids } from './reference/examples.ts';
import { service } from './reference/service.ts';
import { signingIn } from './reference/sign-in.ts';
import { voice } from './reference/voice.ts';
import type { Route } from './request.ts';
import type { BudgetName } from './store.ts';

export type { Area, Entry } from './reference/entry.ts';
export { introduction } from './reference/introduction.ts';

/** In the order in which they are read. */
export const areas: readonly Area[] = [assistants, sessions, turns, usage, voice, service, signingIn, workspaces, consoleAssistants, keys, credentials, conversations, desk, histories, load, machines];

/** `POST /sessions`: the name of an operation in the areas. */
export const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>): string => `${method} ${path}`;

const areaOf = new Map(areas.flatMap((area) => Object.keys(area.entries).map((name) => [name, area])));

/** The operation's entry and the area that it stands in; undefined where it has none yet. */
export function referenceOf(route: Pick<Route, 'method' | 'path'>): { readonly area: Area; readonly entry: Entry } | undefined {
  const area = areaOf.get(nameOf(route));
  return area && { area, entry: area.entries[nameOf(route)]! };
}

/** The operation's description, in Markdown. */
export function descriptionOf(route: Route, entry: Entry): string {
  const repeat = entry.repeat ?? (route.method === 'GET' ? 'Reading changes nothing.' : '');
  const parts = [['Cost', [costOf(route), entry.cost].filter(Boolean).join(' ')], ['Repeats', repeat], ['Errors', entry.surprises ?? '']] as const;
  return [entry.does, ...parts.filter(([, text]) => text !== '').map(([name, text]) => `**${name}.** ${text}`)].join('\n\n');
}

const budgets: Readonly<Record<BudgetName, string>> = {
  requests: `one request of the key's budget (${limits.requestsPerMinute} a minute by default)`,
  speech: `one of its budget of speech (${limits.speechPerMinute} a minute)`,
  transcriptionTokens: `one of its budget of transcription tokens (${limits.transcriptionTokensPerMinute} a minute)`,
};

/** What a call is charged. */
function costOf({ budgets: charged, caller }: Route): string {
  if (charged.length > 0) return `${sentence(charged.map((name) => budgets[name]).join(' and '))} A request refused with 429 costs one of the budget that refused it.`;
  return caller === 'operator' ? "None: the console's API has no budgets." : 'None.';
}

const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`;

/** What a path's parameter is, and the one of the examples; empty where the reference has no words for it. */
export function pathParameter(path: string, name: string): { readonly description?: string; readonly example?: string } {
  if (name === 'w') return { description: "The workspace's id.", example: ids.workspace };
  if (name === 'kind') return { description: "The machine's kind.", example: 'workspace' };
  if (path.includes('/sign-ins/')) return { description: "The sign-in's id.", example: ids.signIn };
  const before = path.slice(0, path.indexOf(`/{${name}}`)).split('/').at(-1)!;
  const kind = kinds[before];
  return kind === undefined ? {} : { description: `The ${kind}'s id.`, example: ids[kind] };
}

const kinds: Readonly<Record<string, keyof typeof ids>> = { assistants: 'assistant', sessions: 'session', turns: 'turn', keys: 'key', credentials: 'credential' };

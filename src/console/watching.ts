/** Which actors a watcher sees: those of its query, then as its messages change that. */
import { actorKinds } from '../../machines/all.ts';
import type { ActorIdentity } from '../host/inspector.ts';
import { limits } from '../limits.ts';

/** What narrows the actors down; without it all are watched. */
export interface WatchQuery {
  readonly workspace?: string;
  readonly kind?: string;
  readonly id?: string;
}

/** What a client may send; anything else is ignored. */
export type WatchMessage = (WatchQuery & { readonly type: 'watch' | 'unwatch' }) | { readonly type: 'sync' };

const names = ['workspace', 'kind', 'id'] as const;

/** The message of a client; null if it is none that has a meaning. */
export function watchMessage(data: string | Uint8Array): WatchMessage | null {
  if (typeof data !== 'string') return null;
  let message: Record<string, unknown> | null;
  try {
    message = JSON.parse(data) as Record<string, unknown> | null;
  } catch {
    return null;
  }
  if (message?.['type'] === 'sync') return { type: 'sync' };
  if (message?.['type'] !== 'watch' && message?.['type'] !== 'unwatch') return null;
  const query: Record<string, string> = {};
  for (const name of names) {
    const value = message[name] ?? undefined;
    if (value === undefined) continue;
    if (typeof value !== 'string' || (name === 'kind' && !(actorKinds as readonly string[]).includes(value))) return null;
    query[name] = value;
  }
  return { type: message['type'], ...query };
}

interface Rule {
  readonly query: WatchQuery;
  readonly shown: boolean;
}

const actorOf = ({ workspaceId, ...actor }: ActorIdentity): Required<WatchQuery> => ({ ...actor, workspace: workspaceId });
const covers = (query: WatchQuery, other: WatchQuery): boolean => names.every((name) => query[name] === undefined || query[name] === other[name]);

/** Of the rules that an actor fits, the newest counts. */
export class Watched {
  #rules: Rule[];
  /** Nothing was asked for yet, so that everything is shown. */
  #byDefault: boolean;

  constructor(query: WatchQuery) {
    this.#rules = [{ query, shown: true }];
    this.#byDefault = covers(query, {});
  }

  /** Shows more actors, or fewer. The first actors that are asked for take the place of all. False if there are too many rules. */
  change(shown: boolean, query: WatchQuery): boolean {
    const kept = shown && this.#byDefault ? [] : this.#rules.filter((rule) => !covers(query, rule.query));
    if (kept.length >= limits.inspectRulesMax) return false;
    this.#rules = [...kept, { query, shown }];
    this.#byDefault = false;
    return true;
  }

  shows(identity: ActorIdentity): boolean {
    const actor = actorOf(identity);
    return this.#rules.findLast(({ query }) => covers(query, actor))?.shown ?? false;
  }
}

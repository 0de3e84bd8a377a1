/** The selection of actors that a watcher sees: by its query at first, then changed by its messages. */
import { actorKinds } from '../../../machines/all.ts';
import type { ActorIdentity } from '../../actors/inspector.ts';
import { parseObject, withoutMark } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';

/** A filter of actors; an empty one selects all. */
export interface WatchQuery {
  readonly workspace?: string;
  readonly kind?: string;
  readonly id?: string;
}

/** A message that a client may send; any other is ignored. */
export type WatchMessage = (WatchQuery & { readonly type: 'watch' | 'unwatch' }) | { readonly type: 'sync' };

const names = ['workspace', 'kind', 'id'] as const;

/** Parses the message of a client; null for an unknown message. */
export function watchMessage(data: string | Uint8Array): WatchMessage | null {
  if (typeof data !== 'string') return null;
  const message = parseObject(withoutMark(data));
  if (message?.['type'] === 'sync') return { type: 'sync' };
  if (message?.['type'] !== 'watch' && message?.['type'] !== 'unwatch') return null;
  const query: Record<string, string> = {};
  for (const name of names) {
    const value = message[name] ?? undefined;
    if (value === undefined) continue;
    if (typeof value !== 'string' || (name === 'kind' && !(actorKinds as readonly string[]).includes(value)))
      return null;
    query[name] = value;
  }
  return { type: message['type'], ...query };
}

interface Rule {
  readonly query: WatchQuery;
  readonly shown: boolean;
}

const actorOf = ({ workspaceId, ...actor }: ActorIdentity): Required<WatchQuery> => ({
  ...actor,
  workspace: workspaceId,
});
const covers = (query: WatchQuery, other: WatchQuery): boolean =>
  names.every((name) => query[name] === undefined || query[name] === other[name]);

/** The rules of one watcher. The newest rule that an actor fits decides. */
export class Watched {
  #rules: Rule[];
  /** The client has asked for nothing yet, so everything is shown. */
  #byDefault: boolean;

  constructor(query: WatchQuery) {
    this.#rules = [{ query, shown: true }];
    this.#byDefault = covers(query, {});
  }

  /**
   * Shows more actors, or fewer. The first request for actors replaces the default, all actors. Returns false if there
   * are too many rules.
   */
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

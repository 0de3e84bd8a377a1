/** `GET /assistants` and `GET /assistants/{id}`. */
import { createHash } from 'node:crypto';
import type { KeyCaller, Reply, Request } from '../request.ts';
import type { Services } from '../services.ts';
import type { Assistant, Page, PageRequest } from '../store.ts';
import { assistantView } from '../views.ts';
import { reachAssistant } from './common.ts';
import { list, pageRequest, type PageFields } from './lists.ts';

export async function listAssistants({ caller, query, services }: Request<KeyCaller, PageFields>): Promise<Reply> {
  const { workspaceId, assistantIds } = caller;
  const read = (page: PageRequest) =>
    assistantIds === null ? services.store.catalog.list('assistant', workspaceId, page) : reachable(workspaceId, assistantIds, page, services);
  return list(pageRequest(query, 'desc'), read, assistantView);
}

/** A page of the assistants that a restricted key names; those that no longer exist are left out. */
async function reachable(workspaceId: string, ids: readonly string[], page: PageRequest, services: Services): Promise<Page<Assistant>> {
  const down = page.order === 'desc';
  const sorted = [...new Set(ids)].sort();
  if (down) sorted.reverse();
  const items: Assistant[] = [];
  for (const id of sorted) {
    if (page.after !== null && (down ? id >= page.after : id <= page.after)) continue;
    const actor = await services.host.assistants.of(workspaceId, id);
    if (actor === null) continue;
    if (items.length === page.limit) return { items, next: items.at(-1)!.id };
    items.push(actor.record);
  }
  return { items, next: null };
}

export async function getAssistant({ caller, params, head, services }: Request<KeyCaller>): Promise<Reply> {
  const view = assistantView(await reachAssistant(caller, params.id!, services));
  const etag = `"${createHash('sha256').update(JSON.stringify(view)).digest('base64url').slice(0, 27)}"`;
  const headers = { etag, 'cache-control': 'private, max-age=60' };
  if (isCurrent(head.headers('if-none-match'), etag)) return { status: 304, headers, empty: true };
  return { status: 200, headers, json: view };
}

/** Whether the client has this representation already; the comparison is the weak one, as for every GET. */
function isCurrent(lines: readonly string[], etag: string): boolean {
  const tags = lines.flatMap((line) => line.split(',')).map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}

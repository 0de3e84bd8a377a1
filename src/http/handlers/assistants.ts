/** `GET /assistants` and `GET /assistants/{id}`. */
import { etagOf, isCurrent } from '../../base/etag.ts';
import { answeringOf, reachAssistant } from '../../conversation/access-checks.ts';
import type { PrincipalCaller, Reply, Request } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import type { Assistant, Page, PageRequest } from '../../store/store.ts';
import { assistantView } from '../../conversation/views.ts';
import { list, pageRequest, type PageFields } from './lists.ts';

export async function listAssistants({
  caller,
  query,
  services,
}: Request<PrincipalCaller, PageFields>): Promise<Reply> {
  return list(
    pageRequest(query, 'desc'),
    async (page) => {
      const { items, next } = await assistantsPage(caller.principal, page, services);
      return { items: await Promise.all(items.map((record) => services.host.versions.current(record))), next };
    },
    assistantView,
  );
}

/** A page of the assistants that the principal reaches. */
export const assistantsPage = (
  { workspaceId, assistantIds }: PrincipalCaller['principal'],
  page: PageRequest,
  services: Services,
): Promise<Page<Assistant>> =>
  assistantIds === null
    ? services.store.catalog.list('assistant', workspaceId, page)
    : reachable(workspaceId, assistantIds, page, services);

/** A page of the assistants that a restricted key names; those that no longer exist are left out. */
async function reachable(
  workspaceId: string,
  ids: readonly string[],
  page: PageRequest,
  services: Services,
): Promise<Page<Assistant>> {
  const down = page.order === 'desc';
  const sorted = [...new Set(ids)].sort();
  if (down) sorted.reverse();
  const items: Assistant[] = [];
  for (const id of sorted) {
    if (page.after !== null && (down ? id >= page.after : id <= page.after)) continue;
    const actor = await services.host.assistants.of(workspaceId, id);
    if (actor === null) continue;
    if (items.length === page.limit) return { items, next: items.at(-1)?.id ?? null };
    items.push(actor.record);
  }
  return { items, next: null };
}

export async function getAssistant({ caller, params, head, services }: Request<PrincipalCaller>): Promise<Reply> {
  const assistant = await reachAssistant(caller.principal, params.id, services);
  const view = assistantView(await answeringOf(assistant, null, services));
  const etag = etagOf(JSON.stringify(view));
  const headers = { etag, 'cache-control': 'private, max-age=60' };
  if (isCurrent(head, etag)) return { status: 304, headers, empty: true };
  return { status: 200, headers, json: view };
}

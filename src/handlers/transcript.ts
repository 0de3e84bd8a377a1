/** `GET /sessions/{id}/transcript`: oldest first unless asked otherwise. */
import type { KeyCaller, Reply, Request } from '../request.ts';
import { messageView } from '../views.ts';
import { list, pageRequest, reachSession, type PageFields } from './common.ts';

export async function transcript(request: Request<KeyCaller, PageFields>): Promise<Reply> {
  const { caller, query, services } = request;
  const { id } = await reachSession(request);
  const page = pageRequest(query, 'asc');
  return list(await services.store.messages(caller.workspaceId, id, page), messageView);
}

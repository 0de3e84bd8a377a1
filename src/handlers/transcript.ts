/** `GET /sessions/{id}/transcript`: oldest first unless asked otherwise. */
import type { KeyCaller, Reply, Request } from '../request.ts';
import { reachSession, transcriptPage, type PageFields } from './common.ts';

export async function transcript(request: Request<KeyCaller, PageFields>): Promise<Reply> {
  const { caller, query, services } = request;
  const { id } = await reachSession(request);
  return transcriptPage(caller.workspaceId, id, query, services);
}

/** Erasing a person (contract 22): one session, or all sessions of a visitor. */
import type { ErasureView } from '../../wire/wire.ts';
import type { Erasure } from '../../store/store.ts';
import type { Reply } from '../request.ts';
import { actEntry } from './audit.ts';
import { causeByOperator, nowSeconds, reachWorkspace, type ConsoleRequest } from './common.ts';

export const eraseSession = (request: ConsoleRequest): Promise<Reply> => erase(request, 'session', request.params.id);

export const eraseVisitor = (request: ConsoleRequest): Promise<Reply> =>
  erase(request, 'visitor', request.params.visitor_id);

async function erase(request: ConsoleRequest, kind: Erasure['kind'], id: string): Promise<Reply> {
  const { id: workspaceId } = await reachWorkspace(request);
  const counts = await request.services.host.erasures.erase(
    { workspaceId, kind, id },
    causeByOperator(request),
    actEntry(request, workspaceId, { action: 'erase', objectType: kind, objectId: id }),
  );
  const { sessions, messages, turns, feedback, tests } = counts;
  const at = nowSeconds(request);
  const receipt: ErasureView = { object: 'erasure', at, sessions, messages, turns, feedback, tests };
  return { status: 200, json: receipt };
}

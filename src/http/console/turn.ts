/** `/console/api/workspaces/{w}/sessions/{id}/turns/{turn_id}`: a turn, with the model that was asked (contract 19). */
import { Failure } from '../../base/errors.ts';
import { readSession } from '../../conversation/access-checks.ts';
import { consoleTurnView } from '../../conversation/views.ts';
import type { Reply } from '../request.ts';
import { present, reachWorkspace, type ConsoleRequest } from './common.ts';

export async function getTurn({ params, services }: ConsoleRequest): Promise<Reply> {
  const { id: workspaceId } = await reachWorkspace({ params, services });
  const { id: sessionId } = await readSession(workspaceId, params.id, services);
  const turn = await services.store.turns.read(workspaceId, sessionId, params.turn_id);
  return { status: 200, json: consoleTurnView(present(turn, new Failure('turn_not_found'))) };
}

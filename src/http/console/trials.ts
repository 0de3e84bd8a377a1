/**
 * Conversations in the console: trials, which it opens and talks in, and other sessions of the workspace, which it
 * reads, aborts and ends. The handlers are the API's own, with the person as their principal.
 */
import { openTrial } from '../../conversation/sessions.ts';
import { readSession } from '../../conversation/access-checks.ts';
import { Failure } from '../../base/errors.ts';
import { createCallToken } from '../handlers/calls.ts';
import { chat } from '../handlers/chat.ts';
import { sessionEvents } from '../handlers/session-events.ts';
import { endSession } from '../handlers/sessions.ts';
import { abortTurn, turnEvents } from '../handlers/turns.ts';
import type { PrincipalCaller, Reply, Request } from '../request.ts';
import { sessionView } from '../../conversation/views.ts';
import type { ChatBody } from '../../wire/wire.ts';
import { auditedSteps, recordAct } from './audit.ts';
import { reachWorkspace, type ConsoleRequest } from './common.ts';

/**
 * The request as one of a principal's, which may use every assistant of the workspace and whose own sessions are trials.
 */
export async function ofPrincipal<Query, Body>(
  request: ConsoleRequest<Query, Body>,
): Promise<Request<PrincipalCaller, Query, Body>> {
  const { id: workspaceId } = await reachWorkspace(request);
  return {
    ...request,
    caller: {
      principal: {
        workspaceId,
        ...request.caller.by,
        channel: 'console',
        assistantIds: null,
        auditStep: auditedSteps(request),
      },
    },
  };
}

export async function createTrial(request: ConsoleRequest): Promise<Reply> {
  const { caller, params, requestId, services } = await ofPrincipal(request);
  const { principal } = caller;
  const session = await openTrial(principal, params.id, requestId, services);
  const location = `/console/api/workspaces/${principal.workspaceId}/sessions/${session.id}`;
  return { status: 201, headers: { location }, json: sessionView(session, services.clock.now(), 'console') };
}

/** A conversation of somebody else's is not spoken into: only a trial is. */
export async function chatInTrial(request: ConsoleRequest<unknown, ChatBody>): Promise<Reply> {
  const own = await ofPrincipal(request);
  const { channel } = await readSession(own.caller.principal.workspaceId, own.params.id, own.services);
  if (channel !== 'console') throw new Failure('session_not_found');
  return chat(own);
}

/** A call on a trial. */
export async function createTrialCallToken(request: ConsoleRequest): Promise<Reply> {
  const own = await ofPrincipal(request);
  const { id, workspaceId, channel } = await readSession(own.caller.principal.workspaceId, own.params.id, own.services);
  if (channel !== 'console') throw new Failure('session_not_found');
  const reply = await createCallToken({ ...own, body: { session_id: id } });
  // A token is stored nowhere before it is used: the row comes before the answer.
  await recordAct(request, workspaceId, { action: 'call', objectType: 'session', objectId: id });
  return reply;
}

export const endWorkspaceSession = async (request: ConsoleRequest): Promise<Reply> =>
  endSession(await ofPrincipal(request));
export const abortWorkspaceTurn = async (request: ConsoleRequest): Promise<Reply> =>
  abortTurn(await ofPrincipal(request));
export const workspaceTurnEvents = async (request: ConsoleRequest<{ after?: number }>): Promise<Reply> =>
  turnEvents(await ofPrincipal(request));
export const workspaceSessionEvents = async (request: ConsoleRequest<{ after?: number }>): Promise<Reply> =>
  sessionEvents(await ofPrincipal(request));

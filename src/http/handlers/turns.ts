/** `/sessions/{id}/turns/{turn_id}/…`: `abort`, `events` and `feedback`. */
import type { RateTurnBody } from '../../wire/wire.ts';
import * as feedback from '../../conversation/feedback.ts';
import * as conversation from '../../conversation/turns.ts';
import { Failure } from '../../base/errors.ts';
import type { PrincipalCaller, Reply, Request } from '../request.ts';
import { turnView } from '../../conversation/views.ts';
import { cursorOf } from './cursor.ts';
import { streamReply } from './stream.ts';

export async function abortTurn({ caller, params, requestId, services }: Request<PrincipalCaller>): Promise<Reply> {
  return {
    status: 200,
    json: turnView(
      await conversation.abortTurn(caller.principal, params.id, params.turn_id, requestId, services),
      caller.principal.channel,
    ),
  };
}

export async function rateTurn(request: Request<PrincipalCaller, unknown, RateTurnBody>): Promise<Reply> {
  return { status: 200, json: turnView(await rated(request, request.body), request.caller.principal.channel) };
}

export async function unrateTurn(request: Request<PrincipalCaller>): Promise<Reply> {
  await rated(request, null);
  return { status: 204, empty: true };
}

const rated = ({ caller, params, requestId, services }: Request<PrincipalCaller>, given: RateTurnBody | null) =>
  feedback.rateTurn(caller.principal, { sessionId: params.id, turnId: params.turn_id }, given, requestId, services);

export async function turnEvents(request: Request<PrincipalCaller, { after?: number }>): Promise<Reply> {
  const { caller, params, span, services } = request;
  const cursor = cursorOf(request);
  const found = await conversation.reachTurn(caller.principal, params.id, params.turn_id, services);
  const turn = conversation.linked(found, span);
  if (cursor.position !== null && cursor.position > turn.log.stored)
    throw new Failure('invalid_field', { field: cursor.field });
  return streamReply(turn, { cursor: cursor.position, channel: caller.principal.channel }, services);
}

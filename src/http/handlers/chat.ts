/** `POST /sessions/{id}/chat`: the reply streams back. */
import { idempotencyOf } from '../../conversation/idempotency.ts';
import { converse } from '../../conversation/turns.ts';
import type { PartyCaller, Reply, Request } from '../request.ts';
import { streamReply } from './stream.ts';

export async function chat(request: Request<PartyCaller, unknown, { message: string }>): Promise<Reply> {
  const { caller, params, body, requestId, services } = request;
  const sessionId = params.id!;
  const remember = idempotencyOf(request, caller.party, `/sessions/${sessionId}/chat`);
  const { turn, replayed } = await converse(caller.party, { sessionId, text: body.message, remember, requestId }, services);
  return streamReply(turn, null, services, replayed ? { 'idempotent-replayed': 'true' } : {});
}

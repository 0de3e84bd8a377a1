/** `POST /sessions/{id}/chat`: the reply streams back, unless a person answers. */
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { codePoints } from '../../base/text.ts';
import type { ChatBody } from '../../wire/wire.ts';
import { idempotencyOf } from '../../conversation/idempotency.ts';
import { converse } from '../../conversation/turns.ts';
import type { CallAnswer } from '../../turn/pending-tool-calls.ts';
import type { PrincipalCaller, Reply, Request } from '../request.ts';
import { acceptedReply } from './desk.ts';
import { streamReply } from './stream.ts';

export async function chat(request: Request<PrincipalCaller, unknown, ChatBody>): Promise<Reply> {
  const {
    caller: { principal },
    params,
    body,
    requestId,
    span,
    services,
  } = request;
  const sessionId = params.id;
  const answers = body.tool_results?.map(answerOf);
  if ((body.message === undefined) === (answers === undefined))
    throw new Failure(answers === undefined ? 'missing_field' : 'invalid_field', { field: 'message' });
  const remember = idempotencyOf(request, principal, `/sessions/${sessionId}/chat`);
  const answer = await converse(
    principal,
    { sessionId, text: body.message ?? null, answers, remember, requestId, span },
    services,
  );
  const { replayed } = answer;
  if ('acceptedId' in answer) return acceptedReply(answer.acceptedId, replayed, services);
  const { turn } = answer;
  return streamReply(
    turn,
    { cursor: null, channel: principal.channel, ...(replayed && { headers: { 'idempotent-replayed': 'true' } }) },
    services,
  );
}

/** An answer says one thing: a result, not too long, or whether the call is approved. */
function answerOf({ call_id: callId, output, approved }: NonNullable<ChatBody['tool_results']>[number]): CallAnswer {
  if (output !== undefined && approved === undefined && codePoints(output) <= limits.toolOutputCharactersMax)
    return { callId, output };
  if (output === undefined && approved !== undefined) return { callId, approved };
  throw new Failure('invalid_field', { field: 'message' });
}

/** `POST /v1/chat/completions` (contract 14). */
import { secondsOf } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { ChatCompletionBody } from '../../wire/wire.ts';
import {
  answeringConversation,
  converseThroughAdapter,
  reachModel,
  whenSealed,
} from '../../conversation/protocol-adapter.ts';
import { idempotencyOf } from '../../conversation/idempotency.ts';
import type { ClientHead, PrincipalCaller, Reply, Request } from '../request.ts';
import { completionView, streamCompletion, type Completion } from './completion.ts';
import { failedReply } from './failed.ts';
import { checkWishes, readWishes } from './functions.ts';
import { readMessages } from './messages.ts';

export async function chatCompletions(request: Request<PrincipalCaller, unknown, ChatCompletionBody>): Promise<Reply> {
  const {
    caller: { principal },
    body,
    head,
    requestId,
    span,
    services,
  } = request;
  const conversation = conversationOf(head);
  checkRefused(body);
  const { prompt, ...message } = readMessages(body.messages, conversation === null);
  const wishes = readWishes(body);
  const assistant = await reachModel(principal, body.model, services);
  const answering = () => answeringConversation(principal, assistant, conversation, services);
  await checkWishes(wishes, answering, 'response_format', services);
  const settings = { ...wishes, prompt, outputTokensMax: lowestBound(body.max_tokens, body.max_completion_tokens) };
  const remember = idempotencyOf(request, principal, '/v1/chat/completions');
  const { session, turn, replayed, ended } = await converseThroughAdapter(
    principal,
    assistant,
    { ...message, settings, conversation, remember, onGone: (callback) => head.onGone(callback), requestId, span },
    services,
  );
  const headers = {
    'x-session-id': session.id,
    'x-turn-id': turn.turnId,
    ...(replayed && { 'idempotent-replayed': 'true' }),
  };
  const completion: Completion = {
    turn,
    model: body.model,
    createdAt: secondsOf(services.clock.now()),
    showsUsage: body.stream_options?.include_usage ?? false,
  };
  if (body.stream) return streamCompletion(completion, headers, ended, services);
  await (ended ?? whenSealed(turn.log));
  const { terminal } = turn.log;
  if (terminal === null) throw new Failure('service_unavailable');
  return terminal.type === 'failed'
    ? failedReply(terminal.errorCode, requestId, headers)
    : { status: 200, headers, json: completionView(completion, terminal) };
}

/** Throws 422 for what is refused, because to ignore it would promise it. */
function checkRefused(body: ChatCompletionBody): void {
  for (const field of ['audio', 'functions'] as const)
    if (body[field] !== undefined) throw new Failure('invalid_field', { field });
}

/** The lowest of some bounds; null for none. Clients write 0 or -1 for none. */
export function lowestBound(...bounds: (number | undefined)[]): number | null {
  const given = bounds.filter((bound) => bound !== undefined && bound > 0) as number[];
  return given.length === 0 ? null : Math.min(...given);
}

/** The header `X-Conversation-Id`: printable ASCII; null without it. */
function conversationOf(head: ClientHead): string | null {
  const values = head.headers('x-conversation-id');
  if (values.length === 0) return null;
  const [value] = values as [string];
  if (values.length > 1 || value.length > limits.conversationNameCharactersMax || !/^[\x20-\x7e]+$/.test(value))
    throw new Failure('unreadable_header', { field: 'X-Conversation-Id' });
  return value;
}

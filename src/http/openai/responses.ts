/** `/v1/responses` (contract 14). */
import { secondsOf } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import type { ResponseBody } from '../../wire/wire.ts';
import { reachModel, whenSealed } from '../../conversation/protocol-adapter.ts';
import { idempotencyOf, type Idempotency } from '../../conversation/idempotency.ts';
import type { Principal } from '../../conversation/principal.ts';
import { answeringNextTurn, answeringOf, findAssistant, reachSession } from '../../conversation/access-checks.ts';
import { reachResponse, respond, responseIdOf, sessionAfter, type Echoed } from '../../conversation/responses.ts';
import type { Services } from '../../conversation/services.ts';
import { endSession } from '../../conversation/sessions.ts';
import { reachTurn } from '../../conversation/turns.ts';
import type { Session } from '../../store/store.ts';
import type { PrincipalCaller, Reply, Request } from '../request.ts';
import { failedReply } from './failed.ts';
import { lowestBound } from './chat.ts';
import { checkWishes, readResponseWishes } from './functions.ts';
import { placedItems, readInput, readNewInput } from './items.ts';
import { resolved } from './references.ts';
import { outputOf, responseView, type ResponseOf } from './response.ts';
import { streamResponse } from './response-stream.ts';

export async function createResponse(request: Request<PrincipalCaller, unknown, ResponseBody>): Promise<Reply> {
  const {
    caller: { principal },
    body,
    head,
    requestId,
    span,
    services,
  } = request;
  checkPlace(body);
  const goesOn = body.previous_response_id !== undefined || body.conversation !== undefined;
  const items = placedItems(body.input);
  const { prompt, ...message } = goesOn ? readNewInput(items) : readInput(await resolved(principal, items, services));
  const wishes = readResponseWishes(body);
  const assistant = await reachModel(principal, body.model, services);
  const remember = idempotencyOf(request, principal, '/v1/responses');
  const session = await sessionOf(principal, body, remember, services);
  if (session !== null && session.assistantId !== assistant.record.id)
    throw new Failure('invalid_field', { field: 'model' });
  const answering = await answeringNextTurn(assistant, session, services);
  await checkWishes(wishes, () => answering, 'text.format', services);
  const [instructions, previous, stored, outputTokensMax] = [
    body.instructions ?? null,
    body.previous_response_id ?? null,
    body.store ?? true,
    lowestBound(body.max_output_tokens),
  ];
  const settings = {
    ...wishes,
    prompt: [instructions, prompt].filter((text) => text !== null && text !== '').join('\n\n') || null,
    outputTokensMax,
  };
  const begun = await respond(
    principal,
    assistant,
    {
      ...message,
      settings,
      model: body.model,
      session,
      previous,
      stored,
      echoed: echoedOf(body),
      remember,
      onGone: (callback) => head.onGone(callback),
      requestId,
      span,
    },
    services,
  );
  const { turn, replayed, ended } = begun;
  const headers = {
    'x-session-id': begun.session.id,
    'x-turn-id': turn.turnId,
    ...(replayed && { 'idempotent-replayed': 'true' }),
  };
  const times = () =>
    replayed ? services.store.turns.read(principal.workspaceId, begun.session.id, turn.turnId) : null;
  const response: ResponseOf = {
    ...{
      turn,
      sessionId: begun.session.id,
      model: body.model,
      previous,
      stored,
      echoed: echoedOf(body),
      instructions,
      outputTokensMax,
      wishes,
    },
    ...{
      createdAt: (await times())?.createdAt ?? secondsOf(services.clock.now()),
      completedAt: null,
      temperature: answering.model.temperature,
      offersTools: body.tool_choice !== 'none',
    },
  };
  if (body.stream) return streamResponse(response, headers, ended, services);
  await (ended ?? whenSealed(turn.log));
  const { terminal } = turn.log;
  if (terminal === null) throw new Failure('service_unavailable');
  if (terminal.type === 'failed') return failedReply(terminal.errorCode, requestId, headers);
  return {
    status: 200,
    headers,
    json: responseView(
      { ...response, completedAt: (await times())?.endedAt ?? secondsOf(services.clock.now()) },
      terminal,
      outputOf(turn, terminal),
    ),
  };
}

const echoedOf = ({ metadata, safety_identifier, prompt_cache_key, user }: ResponseBody): Echoed => ({
  ...(metadata && { metadata }),
  ...(safety_identifier !== undefined && { safety_identifier }),
  ...(prompt_cache_key !== undefined && { prompt_cache_key }),
  ...(user !== undefined && { user }),
});

/** Throws 422 for fields that exclude each other: a continued session keeps what is said in it. */
function checkPlace({ previous_response_id: previous, conversation, store }: ResponseBody): void {
  if (previous !== undefined && conversation !== undefined)
    throw new Failure('invalid_field', { field: 'previous_response_id' });
  if (store === false && (previous !== undefined || conversation !== undefined))
    throw new Failure('invalid_field', { field: 'store' });
}

/** Returns the session that the response continues; null for a new one. */
async function sessionOf(
  principal: Principal,
  { previous_response_id: previous, conversation }: ResponseBody,
  remember: Idempotency | null,
  services: Services,
): Promise<Session | null> {
  if (previous !== undefined) return sessionAfter(principal, previous, remember, services);
  if (conversation === undefined) return null;
  return reachSession(principal, typeof conversation === 'string' ? conversation : conversation.id, services);
}

export async function getResponse({
  caller: { principal },
  params,
  services,
}: Request<PrincipalCaller>): Promise<Reply> {
  const { turnId, session, model, previous, stored, echoed = {} } = await reachResponse(principal, params.id, services);
  const [turn, kept, answering] = await Promise.all([
    reachTurn(principal, session.id, turnId, services),
    services.store.turns.read(principal.workspaceId, session.id, turnId),
    findAssistant(principal, session.assistantId, services)
      .then((assistant) => answeringOf(assistant, session, services))
      .catch(() => null),
  ]);
  if (kept === null) throw new Failure('turn_not_found');
  const { terminal } = turn.log;
  const response: ResponseOf = {
    ...{
      turn,
      sessionId: session.id,
      model,
      previous,
      stored,
      echoed,
      instructions: null,
      outputTokensMax: null,
      wishes: { tools: [] },
      offersTools: true,
    },
    ...{
      createdAt: kept.createdAt,
      completedAt: kept.endedAt,
      temperature: answering?.model.temperature ?? null,
    },
  };
  return { status: 200, json: responseView(response, terminal, outputOf(turn, terminal)) };
}

/** Ends the session of the response, which stays readable. */
export async function deleteResponse({
  caller: { principal },
  params,
  requestId,
  services,
}: Request<PrincipalCaller>): Promise<Reply> {
  const { turnId, session } = await reachResponse(principal, params.id, services);
  await endSession(principal, session.id, requestId, services);
  return { status: 200, json: { id: responseIdOf(turnId), object: 'response', deleted: true } };
}

/**
 * Conversations of clients that speak another protocol (contract 14 and 15): the session that holds a request's turn,
 * and the end of the turn for the caller that waits for it.
 */
import { assistantKind } from '../../machines/assistant.ts';
import { migratedSnapshot } from '../actors/actor.ts';
import { errors, Failure } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Span } from '../base/tracing.ts';
import type { AssistantActor } from '../host/assistants.ts';
import type { AnsweringAssistant } from '../host/versions.ts';
import type { SaidMessage } from '../providers/model.ts';
import type { Assistant, Session } from '../store/store.ts';
import type { CallAnswer } from '../turn/pending-tool-calls.ts';
import type { TurnLog } from '../turn/log.ts';
import type { NewSession } from '../turn/new-session.ts';
import type { TurnAdditions } from '../assistant/additions.ts';
import type { Idempotency } from './idempotency.ts';
import { createOnVersion } from './new-session.ts';
import { causeByPrincipal, type Principal } from './principal.ts';
import { answeringNextTurn, answeringOf, keyOf, mayUse } from './access-checks.ts';
import { sessionView } from './views.ts';
import { refusedByDrain, type Services } from './services.ts';
import { endSession, visitorOf } from './sessions.ts';
import { abortTurn, converse, turnOf, type FoundTurn, type SentMessage } from './turns.ts';

/**
 * The assistant that a client calls its model. Throws 404 `model_not_found` for one that is unknown or not on the key's
 * list.
 */
export async function reachModel(
  principal: Principal,
  model: string,
  { host: { assistants } }: Services,
): Promise<AssistantActor> {
  const assistant = await assistants.named(principal.workspaceId, model);
  const isIt = assistant !== null && (assistant.record.id === model || assistant.record.alias === model);
  if (!isIt || !mayUse(principal, assistant.record.id)) throw new Failure('model_not_found', { param: 'model' });
  return assistant;
}

/**
 * Returns the assistants that can be used through these protocols, which have no place for the visitor fields that a
 * version requires. Only records are read, so that a list of many assistants activates none of them.
 */
export async function listed(assistants: readonly Assistant[], { host: { versions } }: Services): Promise<Assistant[]> {
  const published = assistants.filter(({ machine }) => migratedSnapshot(assistantKind, machine).state === 'published');
  const answering = await Promise.all(published.map((record) => versions.current(record)));
  return published.filter((_, index) => !answering[index]!.visitorFields.some(({ required }) => required));
}

/**
 * The assistant as it answers the session, or a new session without one. Throws 422 `missing_visitor_fields`, then the
 * 409 of an assistant that does not converse.
 */
export async function checkConverses(
  principal: Principal,
  assistant: AssistantActor,
  session: Session | null,
  requestId: string,
  services: Services,
): Promise<AnsweringAssistant> {
  const answering = await answeringOf(assistant, session, services);
  checkAnswers(principal, assistant, answering, requestId, services);
  return answering;
}

function checkAnswers(
  principal: Principal,
  assistant: AssistantActor,
  answering: AnsweringAssistant,
  requestId: string,
  services: Services,
): void {
  visitorOf({}, answering.visitorFields);
  const refusal = services.host.assistants.refusal(assistant, causeByPrincipal(principal, requestId));
  if (refusal !== null) throw new Failure(refusal);
}

/** The idempotency record under which a principal, or a repeated request, finds its session. */
type Named = Pick<Idempotency, 'scope' | 'key' | 'bodyDigest'>;

export interface NewAdapterSession {
  readonly requestId: string;
  /** The earlier messages that are stored. */
  readonly earlier?: readonly SaidMessage[];
  /**
   * The name of the session from now on, in place of a session that has ended; `lasts`: until the session ends, and not
   * for a day.
   */
  readonly named?: { readonly as: Named; readonly replaces: string | null; readonly lasts: boolean };
}

/**
 * Opens a session; `replayed` if another request has opened it under the same name. It has no greeting, because the
 * question comes first.
 */
export async function openAdapterSession(
  principal: Principal,
  assistant: AssistantActor,
  wanted: NewAdapterSession,
  services: Services,
): Promise<{ session: Session; replayed: boolean }> {
  if (services.draining) throw refusedByDrain();
  const { requestId, earlier, named } = wanted;
  const { workspaceId, channel } = principal;
  const fieldsOf = (answering: AnsweringAssistant): NewSession => {
    checkAnswers(principal, assistant, answering, requestId, services);
    return {
      workspaceId,
      assistantId: assistant.record.id,
      channel,
      keyId: keyOf(principal),
      isForeign: true,
      visitor: {},
      metadata: {},
      maxCallSeconds: answering.maxCallSeconds,
      greeting: null,
      cause: causeByPrincipal(principal, requestId),
      ...(earlier && { earlier }),
      remember: named?.as ?? null,
      remembersItself: named?.lasts ?? false,
      ...(named?.replaces && { replaces: named.replaces }),
    };
  };
  return createOnVersion(assistant, null, fieldsOf, services);
}

export type OnGone = (callback: () => void) => void;

/** A message as the client of a protocol adapter sends it. */
export interface AdapterMessage {
  /** Null if results of tool calls come last. */
  readonly text: string | null;
  /** The results that come last; empty for none. */
  readonly results: readonly { readonly callId: string; readonly output: string }[];
  /** All messages before it. */
  readonly earlier: TurnAdditions['earlier'];
  readonly settings: Omit<TurnAdditions, 'earlier'>;
  /** The conversation to continue (contract 14, `X-Conversation-Id`); null for a session of this one turn. */
  readonly conversation: string | null;
  /** The request's `Idempotency-Key`. */
  readonly remember: Idempotency | null;
  /** Calls back once when the client has left, at once if it already has: the turn that it began is aborted. */
  readonly onGone: OnGone;
  readonly requestId: string;
  /** The request's span; null while traces are off. */
  readonly span: Span | null;
}

/** The session of a request; `replayed`: an earlier request has opened it. */
export interface Made {
  readonly session: Session;
  readonly replayed: boolean;
}

export interface AdapterTurn {
  readonly session: Session;
  readonly turn: FoundTurn;
  readonly replayed: boolean;
  /** Resolves once the turn and its session have ended; null if the session stays open, or another request ends it. */
  readonly ended: Promise<void> | null;
}

/**
 * Begins the turn that answers, or joins the turn of an earlier request with the same key. Throws the refusal of the
 * turn.
 */
export function converseThroughAdapter(
  principal: Principal,
  assistant: AssistantActor,
  message: AdapterMessage,
  services: Services,
): Promise<AdapterTurn> {
  const as = nameOf(principal, assistant, message);
  const open = (replaces: string | null): Promise<Made> =>
    begin(principal, assistant, message, as && { as, replaces, lasts: message.conversation !== null }, services);
  return inNamedSession(
    principal,
    as,
    open,
    (made) => converseIn(principal, made, message, services),
    message.requestId,
    services,
  );
}

/**
 * Converses in the session that the name has, or in a new one, which is removed again if its first turn is refused.
 * `open`: opens one in place of a session that has ended.
 */
export async function inNamedSession(
  principal: Principal,
  as: Named | null,
  open: (replaces: string | null) => Promise<Made>,
  talk: (made: Made) => Promise<AdapterTurn>,
  requestId: string,
  services: Services,
): Promise<AdapterTurn> {
  let named = as && (await services.host.sessions.findRemembered(principal.workspaceId, as));
  for (let attempt = 0, replaces: string | null = null; attempt < limits.decisionAttemptsMax; attempt++) {
    const made: Made = named === null ? await open(replaces) : { session: named, replayed: true };
    try {
      return await talk(made);
    } catch (error) {
      if (!made.replayed && !isBusy(error)) await forget(principal, made.session, as, requestId, services);
      if (!made.replayed || !isOver(error)) throw error;
      [named, replaces] = [null, made.session.id];
    }
  }
  throw new Failure('service_unavailable');
}

/** Removes the session of a first turn that was refused: no client knows of it. */
export async function forget(
  principal: Principal,
  { id, workspaceId }: Session,
  named: Pick<Named, 'scope' | 'key'> | null,
  requestId: string,
  { host, log }: Services,
): Promise<void> {
  try {
    const actor = await host.sessions.of(workspaceId, id);
    if (actor !== null) await host.sessions.discard(actor, named, causeByPrincipal(principal, requestId));
  } catch (error) {
    log.warn({ err: error, session_id: id }, 'A session whose first turn was refused could not be removed.');
  }
}

/** Whether another request, which found the session by its name, has begun a turn first. */
const isBusy = (error: unknown): boolean => error instanceof Failure && error.code === 'turn_in_progress';

const isOver = (error: unknown): boolean =>
  error instanceof Failure && (error.code === 'session_ended' || error.code === 'session_expired');

/** The name under which the request's session is found again; null for a session that is not. */
const nameOf = (
  principal: Principal,
  assistant: AssistantActor,
  { conversation, remember }: AdapterMessage,
): Named | null => (conversation === null ? remember : conversationName(principal, assistant, conversation));

const conversationName = ({ id }: Principal, { record }: AssistantActor, conversation: string): Named => ({
  scope: `${id} conversation ${record.id}`,
  key: conversation,
  bodyDigest: '',
});

/** The assistant as it answers the next turn of a conversation's open session, or a new session without one. */
export async function answeringConversation(
  principal: Principal,
  assistant: AssistantActor,
  conversation: string | null,
  services: Services,
): Promise<AnsweringAssistant> {
  const { host, clock } = services;
  const named =
    conversation === null
      ? null
      : await host.sessions.findRemembered(principal.workspaceId, conversationName(principal, assistant, conversation));
  const isOpen = named !== null && sessionView(named, clock.now()).status === 'open';
  return answeringNextTurn(assistant, isOpen ? named : null, services);
}

/** Opens the session of a first message. Earlier messages are stored if the session continues. */
function begin(
  principal: Principal,
  assistant: AssistantActor,
  { conversation, results, earlier, requestId }: AdapterMessage,
  named: NewAdapterSession['named'] | null,
  services: Services,
): Promise<Made> {
  if (conversation === null)
    return openAdapterSession(principal, assistant, { requestId, ...(named && { named }) }, services);
  // A new conversation has no call that these results could answer.
  if (results.length > 0) throw new Failure('invalid_field', { field: 'messages' });
  return openAdapterSession(
    principal,
    assistant,
    { requestId, earlier: earlier.filter(isStorable), ...(named && { named }) },
    services,
  );
}

const isStorable = (message: TurnAdditions['earlier'][number]): message is SaidMessage =>
  message.role !== 'tool' && message.content !== '';

async function converseIn(
  principal: Principal,
  { session, replayed: goesOn }: Made,
  message: AdapterMessage,
  services: Services,
): Promise<AdapterTurn> {
  const { text, results, earlier, settings, conversation, remember, onGone, requestId, span } = message;
  const isOne = conversation === null;
  const answers: readonly CallAnswer[] | undefined = isOne || results.length === 0 ? undefined : results;
  const sent: SentMessage = {
    sessionId: session.id,
    text,
    answers,
    additions: { ...settings, earlier: isOne ? earlier : [] },
    remember: remember && within(remember, session.id),
    onBegun: abortingOnLeave(principal, session.id, requestId, onGone, services),
    requestId,
    span,
  };
  const { turn, replayed } = await underNames({ tool_results: 'messages' }, () =>
    converse(principal, sent, services),
  ).then(turnOf);
  return {
    session,
    turn,
    replayed,
    ended: isOne && !goesOn ? endSessionAfter(principal, session, turn, requestId, services) : null,
  };
}

/** Throws a refusal of a field under the name that the field has in another protocol: `names`, by our own. */
export async function underNames<T>(names: Readonly<Record<string, string>>, ask: () => T | Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const name = names[error.param ?? ''];
    const refusal = (['invalid_field', 'not_supported'] as const).find((row) => errors[row] === error.row);
    throw name === undefined || refusal === undefined ? error : new Failure(refusal, { field: name });
  }
}

/** Ends the session with its turn. Never rejects: the client waits for the turn only. */
export async function endSessionAfter(
  principal: Principal,
  session: Session,
  { log }: FoundTurn,
  requestId: string,
  services: Services,
): Promise<void> {
  try {
    await whenSealed(log);
    // A turn whose end is not known here may still run elsewhere.
    if (log.terminal !== null) await endSession(principal, session.id, requestId, services);
  } catch (error) {
    services.log.warn(
      { err: error, session_id: session.id },
      'The session of a single turn could not be ended. It expires by itself.',
    );
  }
}

/** The request's idempotency record, scoped to the session. */
export const within = (remember: Idempotency, sessionId: string): Idempotency => ({
  ...remember,
  scope: `${remember.scope} ${sessionId}`,
});

/**
 * Aborts a turn that has begun when its client leaves, also before its first output: the client cannot come back to it.
 */
export const abortingOnLeave =
  (principal: Principal, sessionId: string, requestId: string, onGone: OnGone, services: Services) =>
  ({ turnId, log }: FoundTurn): void =>
    onGone(() => {
      if (log.terminal !== null) return;
      abortTurn(principal, sessionId, turnId, requestId, services).catch((error: unknown) =>
        services.log.debug(
          { err: error },
          'The turn of a client that has left could not be aborted. It runs to its end.',
        ),
      );
    });

/**
 * Resolves when the turn has ended, or this process cannot know its end; `progress` receives the code points so far.
 */
export function whenSealed(log: TurnLog, progress?: (codePoints: number) => void): Promise<void> {
  return new Promise((resolve) => {
    let reported = 0;
    let leave = (): void => {};
    const look = (): void => {
      if (log.stored > reported) progress?.((reported = log.stored));
      if (log.terminal === null && !log.cutOff) return;
      leave();
      resolve();
    };
    leave = log.follow(look);
    look();
  });
}

/** The text of a turn that has ended. */
export const logText = ({ pieces, storedPieces }: TurnLog): string => pieces.slice(0, storedPieces).join('');

/**
 * A question to an assistant and its whole answer, for a protocol adapter whose callers do not read our streams
 * (contract 15).
 */
import { Failure, rowOfCode } from '../base/errors.ts';
import type { Span } from '../base/tracing.ts';
import type { AssistantActor } from '../host/assistants.ts';
import type { Session } from '../store/store.ts';
import type { TurnAdditions } from '../assistant/additions.ts';
import { abortingOnLeave, forget, openAdapterSession, logText, whenSealed, type OnGone } from './protocol-adapter.ts';
import type { Principal } from './principal.ts';
import { reachSession } from './access-checks.ts';
import type { Services } from './services.ts';
import { converse, turnOf, type FoundTurn } from './turns.ts';

export interface Question {
  readonly assistant: AssistantActor;
  readonly message: string;
  /** The session to continue; null for a new one. */
  readonly sessionId: string | null;
  readonly requestId: string;
  /** The request's span; null while traces are off. */
  readonly span: Span | null;
}

/** The callbacks of a caller that waits for an answer. */
export interface Asker {
  /** Receives the code points of output so far, as they grow. */
  readonly progress: (codePoints: number) => void;
  /**
   * Calls back once when the caller has left, at once if it already has: the turn is aborted, because the caller cannot
   * come back to it.
   */
  readonly onGone: OnGone;
}

export interface WholeAnswer {
  readonly sessionId: string;
  readonly turnId: string;
  readonly status: 'completed' | 'aborted' | 'failed';
  /** The output, also the partial output of a turn that did not complete. */
  readonly text: string;
  /** The sentence of a failure; null without one. */
  readonly problem: string | null;
}

/**
 * A caller of such an adapter brings no functions, and cannot answer calls that wait: the model is offered the
 * assistant's functions that need no caller.
 */
const settings: TurnAdditions = { earlier: [], prompt: null, outputTokensMax: null, tools: [] };

/** Sends the question, and resolves when the turn is sealed. Throws the refusal of the turn. */
export async function ask(
  principal: Principal,
  question: Question,
  asker: Asker,
  services: Services,
): Promise<WholeAnswer> {
  const { assistant, message, requestId, span } = question;
  const session =
    question.sessionId === null
      ? (await openAdapterSession(principal, assistant, { requestId }, services)).session
      : await sessionOf(principal, question.sessionId, assistant, services);
  let turn: FoundTurn;
  try {
    ({ turn } = turnOf(
      await converse(
        principal,
        {
          sessionId: session.id,
          text: message,
          additions: settings,
          remember: null,
          onBegun: abortingOnLeave(principal, session.id, requestId, asker.onGone, services),
          requestId,
          span,
        },
        services,
      ),
    ));
  } catch (error) {
    if (question.sessionId === null) await forget(principal, session, null, requestId, services);
    throw error;
  }
  await whenSealed(turn.log, asker.progress);
  return answerOf(session.id, turn);
}

async function sessionOf(
  principal: Principal,
  id: string,
  { record }: AssistantActor,
  services: Services,
): Promise<Session> {
  const session = await reachSession(principal, id, services);
  if (session.assistantId !== record.id) throw new Failure('session_not_found');
  return session;
}

function answerOf(sessionId: string, { turnId, log }: FoundTurn): WholeAnswer {
  const { terminal } = log;
  if (terminal === null) throw new Failure('service_unavailable');
  const answer = { sessionId, turnId, text: logText(log) };
  if (terminal.type === 'completed') return { ...answer, status: 'completed', problem: null };
  if (terminal.type === 'aborted') return { ...answer, status: 'aborted', problem: 'The turn was aborted.' };
  return { ...answer, status: 'failed', problem: rowOfCode(terminal.errorCode).message };
}

/** A question to an assistant and its whole answer, for a front whose callers do not read a stream of ours (contract 15). */
import { errors, Failure } from '../base/errors.ts';
import type { AssistantActor } from '../host/assistants.ts';
import type { Session } from '../store/store.ts';
import type { TurnLog } from '../turn/turn.ts';
import type { FrontSettings } from './front-settings.ts';
import { causeByParty, type Party } from './party.ts';
import { keyOf, reachSession } from './reach.ts';
import { refusedByDrain, type Services } from './services.ts';
import { endSession } from './sessions.ts';
import { abortTurn, converse, type FoundTurn } from './turns.ts';

export interface Question {
  readonly assistant: AssistantActor;
  readonly message: string;
  /** The session to go on in; null for a new one. */
  readonly sessionId: string | null;
  readonly requestId: string;
}

/** The ways of a caller that waits for an answer. */
export interface Asker {
  /** Told of the code points of output so far, as they grow. */
  readonly progress: (codePoints: number) => void;
  /** Calls back once when the caller has left, at once if it already has: the turn is aborted, because the caller cannot come back to it. */
  readonly onGone: (callback: () => void) => void;
}

export interface Answered {
  readonly sessionId: string;
  readonly turnId: string;
  readonly status: 'completed' | 'aborted' | 'failed';
  /** The output, also what there is of a turn that did not complete. */
  readonly text: string;
  /** The sentence of a failure; null for none. */
  readonly problem: string | null;
}

/** A caller of such a front gives no functions, and cannot answer calls that wait: the assistant's own that wait for nobody are offered. */
const settings: FrontSettings = { earlier: [], prompt: null, outputTokensMax: null, tools: [] };

/** Asks, and resolves when the turn is sealed. Throws what refuses the turn. */
export async function ask(party: Party, question: Question, asker: Asker, services: Services): Promise<Answered> {
  const { assistant, message, requestId } = question;
  const session = question.sessionId === null ? await open(party, assistant, requestId, services) : await sessionOf(party, question.sessionId, assistant, services);
  let turn: FoundTurn;
  try {
    ({ turn } = await converse(party, { sessionId: session.id, text: message, front: settings, remember: null, requestId }, services));
  } catch (error) {
    // Nobody has been told of the session.
    if (question.sessionId === null) await endSession(party, session.id, requestId, services).catch(() => {});
    throw error;
  }
  asker.onGone(() => {
    if (turn.log.terminal !== null) return;
    abortTurn(party, session.id, turn.turnId, requestId, services).catch((error: unknown) => services.log.debug({ err: error }, 'a turn whose client has left was not aborted'));
  });
  await sealed(turn.log, asker.progress);
  return answerOf(session.id, turn);
}

/** A session of the assistant. A greeting has no place before a question that is asked already. */
async function open(party: Party, { record }: AssistantActor, requestId: string, services: Services): Promise<Session> {
  if (services.draining) throw refusedByDrain();
  const missing = record.visitorFields.filter(({ required }) => required);
  if (missing.length > 0) throw new Failure('missing_visitor_fields', { field: missing.map(({ name }) => `\`visitor.${name}\``).join(', ') });
  const { workspaceId, channel } = party;
  const wanted = { workspaceId, assistantId: record.id, channel, keyId: keyOf(party), visitor: {}, metadata: {}, maxCallSeconds: record.maxCallSeconds, greeting: null, remember: null };
  return (await services.host.sessions.create({ ...wanted, cause: causeByParty(party, requestId) })).session;
}

async function sessionOf(party: Party, id: string, { record }: AssistantActor, services: Services): Promise<Session> {
  const session = await reachSession(party, id, services);
  if (session.assistantId !== record.id) throw new Failure('session_not_found');
  return session;
}

/** Resolves when the turn is over, or this process cannot know how it ends. */
function sealed(log: TurnLog, progress: (codePoints: number) => void): Promise<void> {
  return new Promise((resolve) => {
    let told = 0;
    let leave = (): void => {};
    const look = (): void => {
      if (log.stored > told) progress((told = log.stored));
      if (log.terminal === null && !log.cutOff) return;
      leave();
      resolve();
    };
    leave = log.follow(look);
    look();
  });
}

const sentences = new Map<string, string>(Object.values(errors).map(({ code, message }) => [code, message]));

function answerOf(sessionId: string, { turnId, log }: FoundTurn): Answered {
  const { terminal } = log;
  if (terminal === null) throw new Failure('service_unavailable');
  const answer = { sessionId, turnId, text: log.pieces.slice(0, log.storedPieces).join('') };
  if (terminal.type === 'completed') return { ...answer, status: 'completed', problem: null };
  if (terminal.type === 'aborted') return { ...answer, status: 'aborted', problem: 'The turn was aborted.' };
  return { ...answer, status: 'failed', problem: sentences.get(terminal.errorCode) ?? errors.api_error.message };
}

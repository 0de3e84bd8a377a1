/** Begins a call on its session, and its turns, with the refusals that a chat has (contract 18). */
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Span } from '../../base/tracing.ts';
import type { SocketFacts } from '../../host/sockets.ts';
import { LinkRefused } from '../../host/visitors.ts';
import { StoreUnavailable, type Session, type SpokenVoice } from '../../store/store.ts';
import type { Speaker } from '../../turn/ports.ts';
import type { TurnRunner } from '../../turn/runner.ts';
import type { Principal } from '../principal.ts';
import { reachConversation } from '../access-checks.ts';
import { refusedByDrain, type Services } from '../services.ts';
import { releaseMoved } from '../new-session.ts';
import { wantedTurn } from '../turns.ts';
import { speechRefusal } from '../voice-call.ts';

export interface SpokenMessage {
  readonly sessionId: string;
  readonly text: string;
  /** Undefined if some of it was typed. */
  readonly voice: SpokenVoice | undefined;
  /** Speaks the reply; null if no turn may begin, and the message is for the person who has taken the session. */
  readonly speaker: Speaker | null;
  /** Whether the model is asked before the person has finished. */
  readonly isEarly: boolean;
  readonly requestId: string;
  /** The span of the request that opened the call; null while traces are off. */
  readonly span: Span | null;
}

/**
 * Reason for refusing a turn: the session answers a chat (`busy`) or has ended (`over`), the workspace has no slot
 * (`full`), a limit of the link or the key's token budget refuses (`limited`), words that may change are for a person of
 * the desk (`taken`), the assistant refuses (`barred`), or a service of ours is away.
 */
export interface TurnRefusal {
  readonly refusal: 'busy' | 'over' | 'full' | 'limited' | 'taken' | 'barred' | 'away';
  readonly code: string;
  /** Seconds until a turn can begin, where a limit refuses. */
  readonly seconds?: number | undefined;
}

const refusals: Readonly<Record<string, TurnRefusal['refusal']>> = {
  turn_in_progress: 'busy',
  session_ended: 'over',
  session_expired: 'over',
  session_not_found: 'over',
  rate_limited: 'full',
  session_taken: 'taken',
  assistant_not_published: 'barred',
  assistant_disabled: 'barred',
  assistant_not_found: 'barred',
  assistant_not_permitted: 'barred',
  voice_disabled: 'barred',
};

/** Opens the actor of a call, which replaces an earlier call on the session. Throws 404 `session_not_found`. */
export async function beginCall({ workspaceId, id }: Session, facts: SocketFacts, { host }: Services) {
  const held = await host.sessions.of(workspaceId, id);
  if (held === null) throw new Failure('session_not_found');
  await host.sessions.noteCall(held, facts.id);
  return { actor: await host.calls.open(facts), session: held.record };
}

/** Begins a turn of a call, or stores its message for a person of the desk (contract 23). */
export async function beginTurn(
  principal: Principal,
  message: SpokenMessage,
  services: Services,
): Promise<{ readonly runner: TurnRunner } | { readonly acceptedId: string } | TurnRefusal> {
  try {
    const { host } = services;
    if (services.draining && message.speaker !== null) throw refusedByDrain();
    for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
      const reached = await reachConversation(principal, message.sessionId, services);
      const { actor, assistant } = reached;
      if (assistant === null) throw new Failure('assistant_not_published');
      const turn = wantedTurn(principal, reached, { ...message, isSpoken: true, remember: null }, services);
      const wanted = { ...turn, ...(message.voice && { voice: message.voice }) };
      if (message.speaker === null) return { acceptedId: await host.turns.accept(actor, wanted) };
      // A person of the desk takes the words also where nothing can be spoken.
      const assistantRefusal = wanted.assistantRefusal ?? speechRefusal(principal, assistant, wanted.cause, services);
      const { speaker, isEarly } = message;
      const started = await host.turns.begin(actor, { ...wanted, assistantRefusal, speaker, isEarly });
      if (started.kind === 'started') return { runner: started.runner };
      if (started.kind === 'accepted') return { acceptedId: started.messageId };
      if (started.kind === 'remembered') throw new Error('a turn of a call was remembered');
      host.assistants.doubt(actor.record.assistantId);
    }
    throw new StoreUnavailable(releaseMoved);
  } catch (error) {
    if (error instanceof LinkRefused) {
      // The call asks again for a turn that it asked for early.
      if (!message.isEarly) for (const limiter of error.limiters) services.metrics.limited.inc(limiter);
      return { refusal: 'limited', code: 'rate_limited', seconds: error.seconds };
    }
    if (error instanceof Failure && error.limiter === 'tokensPerDay') {
      if (!message.isEarly) services.metrics.limited.inc(error.limiter);
      return { refusal: 'limited', code: error.code, seconds: error.seconds };
    }
    if (error instanceof Failure)
      return { refusal: refusals[error.code] ?? 'away', code: error.code, seconds: error.seconds };
    if (error instanceof StoreUnavailable) return { refusal: 'away', code: 'api_error' };
    throw error;
  }
}

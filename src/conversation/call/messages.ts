/** The messages that tell the client of a call how a turn has ended, be it spoken or a chat's (contract 18). */
import type { HeardVoice } from '../../store/store.ts';
import type { TurnEnd } from '../../turn/log.ts';
import { errorSentence } from '../socket-messages.ts';

/** The states as the client is told of them. */
const wireStates: ReadonlySet<string> = new Set([
  'listening',
  'hearing',
  'thinking',
  'held',
  'speaking',
  'paused',
  'busy',
]);
/** The outcomes from which on a reply is spoken. */
const speaks: ReadonlySet<string> = new Set(['audio.begin', 'audio.resume']);

/**
 * The state as the client is told of it. It knows nothing of `draining`: there a reply is thought of until its audio
 * goes on.
 */
export function toldState(state: string, before: string, outcomes: readonly { readonly type: string }[]): string {
  if (state === 'draining')
    return outcomes.some(({ type }) => speaks.has(type)) ? 'speaking' : before === 'held' ? 'thinking' : before;
  return wireStates.has(state) ? state : before;
}

/** `turnId`: null if no turn was begun; `seconds`: until one could begin, where a limit refuses. */
export const failedMessage = (turnId: string | null, code: string, seconds = 1): object => ({
  type: 'turn.failed',
  turn_id: turnId,
  code,
  message: errorSentence(code).replace('{seconds}', String(seconds)),
});

export function endMessage(
  end: TurnEnd,
  { turnId, messageId }: { readonly turnId: string; readonly messageId: string },
  cutBy: HeardVoice['cutBy'],
): object {
  const turn = { turn_id: turnId, message_id: messageId };
  if (end.type === 'completed')
    return {
      type: 'turn.completed',
      ...turn,
      stop_reason: 'end',
      usage: { input_tokens: end.inputTokens, output_tokens: end.outputTokens },
    };
  if (end.type === 'aborted') return { type: 'turn.aborted', ...turn, stop_reason: 'aborted', cut_by: cutBy };
  return failedMessage(turnId, end.errorCode);
}

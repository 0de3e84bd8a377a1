/** Messages that report the end of a turn, spoken or a chat's, to the client of a call (contract 18). */
import type { CallMessage, WireState } from '../../wire/wire.ts';
import type { HeardVoice } from '../../store/store.ts';
import { usageOf, type TurnEnd } from '../../turn/log.ts';
import { errorSentence } from '../socket-messages.ts';

/** The states that the client knows. */
const wireStates: ReadonlySet<string> = new Set<WireState>([
  'listening',
  'hearing',
  'thinking',
  'held',
  'speaking',
  'paused',
  'busy',
]);
/** The outcomes that begin or resume a reply's audio. */
const speaks: ReadonlySet<string> = new Set(['audio.begin', 'audio.resume']);

const isWireState = (state: string): state is WireState => wireStates.has(state);

/**
 * Returns the state for the client; empty before the first one. The client does not know `draining`: a reply
 * is thought of there until its audio begins or resumes.
 */
export function toldState(
  state: string,
  before: WireState | '',
  outcomes: readonly { readonly type: string }[],
): WireState | '' {
  if (state === 'draining')
    return outcomes.some(({ type }) => speaks.has(type)) ? 'speaking' : before === 'held' ? 'thinking' : before;
  return isWireState(state) ? state : before;
}

/** `turnId`: null if no turn was begun; `seconds`: time until one can begin, where a limit refuses it. */
export const failedMessage = (turnId: string | null, code: string, seconds = 1): CallMessage => ({
  type: 'turn.failed',
  turn_id: turnId,
  code,
  message: errorSentence(code).replace('{seconds}', String(seconds)),
});

export function endMessage(
  end: TurnEnd,
  { turnId, messageId }: { readonly turnId: string; readonly messageId: string },
  cutBy: HeardVoice['cutBy'],
): CallMessage {
  const turn = { turn_id: turnId, message_id: messageId };
  if (end.type === 'completed')
    return {
      type: 'turn.completed',
      ...turn,
      stop_reason: 'end',
      usage: usageOf(end),
    };
  if (end.type === 'aborted') return { type: 'turn.aborted', ...turn, stop_reason: 'aborted', cut_by: cutBy };
  return failedMessage(turnId, end.errorCode);
}

/** Brings a call into a state, and leaves it there. */
import type { Caller } from '../api/caller.ts';
import type { House } from '../api/house.ts';
import type { Microphone } from './microphone.ts';
import { asking } from './script.ts';

export const states = ['listening', 'hearing', 'thinking', 'held', 'speaking', 'paused', 'busy'] as const;
export type State = (typeof states)[number];

export interface Reached {
  readonly caller: Caller;
  readonly house: House;
  readonly microphone: Microphone;
  /** A message that has no answer for long, and one that is answered at length. */
  readonly unanswered?: string;
  readonly answered?: string;
}

export async function reach(
  state: State,
  { caller, house, microphone, unanswered = 'wait', answered = asking(1, 12) }: Reached,
): Promise<void> {
  switch (state) {
    case 'listening':
      return;
    case 'hearing':
      microphone.speaks = true;
      break;
    case 'thinking':
    case 'held':
      caller.send({ type: 'message', text: unanswered });
      await caller.until('turn.started');
      microphone.speaks = state === 'held';
      break;
    case 'speaking':
    case 'paused':
      caller.send({ type: 'message', text: answered });
      await caller.until('audio.start');
      microphone.speaks = state === 'paused';
      break;
    case 'busy':
      void house
        .stream(`/sessions/${caller.session.id}/chat`, { body: { message: unanswered } })
        .then((stream) => stream.rest())
        .catch(() => {});
  }
  await caller.until('state', ({ state: name }) => name === state);
}

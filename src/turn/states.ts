/** The states of a turn's machine, by the work of its runner. */
import type { TurnContext } from '../../machines/turn.ts';
import type { TurnStatus } from './ports.ts';

/** The states in which the turn takes the model's output. */
export const listening: ReadonlySet<string> = new Set(['waiting', 'retrying', 'starting', 'answering']);
/** The states in which there is no output. */
export const silent: ReadonlySet<string> = new Set(['waiting', 'retrying']);
/** The states in which the turn's time runs. */
export const running: ReadonlySet<string> = new Set([...listening, 'calling']);
/** The states in which output is stored. */
export const storing: ReadonlySet<string> = new Set([...running, 'voicing']);
/** The states in which the turn waits for an end that only the store knows. */
export const awaitingEnd: ReadonlySet<string> = new Set(['sealing', 'asking', 'following']);
export const final: ReadonlySet<string> = new Set([
  'completed',
  'aborted',
  'failed',
  'withdrawn',
] satisfies TurnStatus[]);

/** Whether a request, or the end of the session, has stopped the turn of this machine. */
export function isStopping({ context }: { readonly context: unknown }): boolean {
  const { ending } = context as TurnContext;
  return ending === 'aborted' || ending === 'expired' || ending === 'taken';
}

/** Whether all traces of the turn of this machine are removed, or being removed. */
export const isWithdrawn = ({ state }: { readonly state: string }): boolean =>
  state === 'withdrawing' || state === 'withdrawn';

/**
 * A copy of a machine in the page: it decides as the server's does, over a state and a context, and touches nothing.
 */
import type { AnyMachineSnapshot } from 'xstate';
import { kinds, type ActorKind } from '../../../../machines/all.ts';
import { scopeFor } from '../../../../machines/scope.ts';
import type { Emitted } from '../types.ts';

export interface Standing {
  readonly state: string;
  readonly context: unknown;
}

export interface TriedEvent extends Standing {
  readonly outcomes: readonly Emitted[];
}

export interface AnyEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

let emitted: Emitted[] = [];
const scope = scopeFor((outcome) => void emitted.push(outcome));

/** Returns the machine's decision on the event. Throws on a state that it does not have. */
export function decide(kind: ActorKind, { state, context }: Standing, event: AnyEvent): TriedEvent {
  const { machine } = kinds[kind];
  const outcomes: Emitted[] = (emitted = []);
  const before = { ...(machine.resolveState({ value: state, context: {} }) as AnyMachineSnapshot), context };
  const next = machine.transition(before as AnyMachineSnapshot, event, scope) as AnyMachineSnapshot;
  return { state: String(next.value), context: next.context, outcomes };
}

/** Every event that the machine knows. */
export const eventsOf = (kind: ActorKind): string[] =>
  [...new Set(kinds[kind].machine.events as readonly string[])].filter((type) => !type.startsWith('xstate.'));

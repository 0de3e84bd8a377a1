/** The machines' charts, drawn from the very definitions that run: no chart is kept beside its machine. */
import type { AnyStateMachine } from 'xstate';
import { kinds, type ActorKind } from '../machines/all.ts';

/** The machines that have a chart. */
export { actorKinds as machineNames } from '../machines/all.ts';

export type ChartFormat = 'mermaid' | 'json';

/**
 * The chart of a machine, without a newline at its end.
 * - `mermaid`: a `stateDiagram-v2`. One arrow for each pair of states carries a line for each thing that can happen,
 *   `event [guard] / outcomes`; a refusal shows its error code, and `[else]` is what is left when no guard before it held.
 *   A value in round brackets is taken from the event.
 * - `json`: XState's definition of the machine, indented.
 */
export function chart(name: ActorKind, format: ChartFormat): string {
  const { machine } = kinds[name];
  return format === 'json' ? JSON.stringify(machine.definition, null, 2) : mermaid(machine);
}

type StateNode = AnyStateMachine['root'];
type Transition = StateNode['always'] extends readonly (infer One)[] | undefined ? One : never;

function mermaid(machine: AnyStateMachine): string {
  const states = Object.values(machine.root.states) as StateNode[];
  const lines = ['stateDiagram-v2', `  [*] --> ${machine.root.initial.target[0]!.key}`];
  for (const state of states) {
    for (const [target, labels] of arrowsFrom(state, machine)) lines.push(`  ${state.key} --> ${target} : ${labels.join('<br/>')}`);
  }
  for (const state of states) lines.push(`  note right of ${state.key}`, `    ${state.description}`, '  end note');
  return lines.join('\n');
}

/** The labels of a state's arrows by the state they lead to. Triggers of one arrow with the same outcomes share a label. */
function arrowsFrom(state: StateNode, machine: AnyStateMachine): Map<string, string[]> {
  const triggers = new Map<string, Map<string, string[]>>();
  for (const [eventType, candidates] of candidatesOf(state, machine)) {
    for (const [index, transition] of candidates.entries()) {
      const target = transition.target?.[0]?.key ?? state.key;
      const outcomes = outcomesOf(transition, eventType, machine).join(', ');
      const byOutcomes = entryOf(triggers, target, () => new Map<string, string[]>());
      entryOf(byOutcomes, outcomes, () => []).push(eventType + conditionOf(transition, index));
    }
  }
  return new Map([...triggers].map(([target, byOutcomes]) => [target, [...byOutcomes].map(([outcomes, events]) => `${events.join(', ')} / ${outcomes}`)]));
}

/** What is tried for each event, in order: the state's own transitions, then those that hold in every state. */
function candidatesOf(state: StateNode, machine: AnyStateMachine): Map<string, Transition[]> {
  const found = new Map<string, Transition[]>();
  for (const node of [state, machine.root]) {
    for (const [eventType, transitions] of node.transitions) entryOf(found, eventType, () => []).push(...transitions);
  }
  return found;
}

function conditionOf(transition: Transition, index: number): string {
  if (transition.guard !== undefined) return ` [${String(transition.guard)}]`;
  return index > 0 ? ' [else]' : '';
}

interface Emitter {
  readonly type: 'xstate.emit';
  readonly event: Outcome | ((args: { context: object; event: object }, params: unknown) => Outcome);
}

interface Outcome {
  readonly type: string;
  readonly code?: string | null;
}

/** What the transition's actions emit: a refusal's code, or the outcome's type with the action's parameters. */
function outcomesOf(transition: Transition, eventType: string, machine: AnyStateMachine): string[] {
  const labels: string[] = [];
  for (const action of transition.actions) {
    const { type, params } = typeof action === 'object' ? (action as { type: string; params?: object }) : { type: String(action), params: undefined };
    const implementation = machine.implementations.actions[type] as unknown as Emitter | { readonly type: 'xstate.assign' };
    if (implementation.type !== 'xstate.emit') continue;
    const { event } = implementation;
    const outcome = typeof event === 'function' ? event({ context: named({}), event: named({ type: eventType }) }, params) : event;
    const details = outcome.code === undefined || outcome.code === null ? Object.values(params ?? {}) : [outcome.code];
    labels.push([outcome.type, ...details].join(' '));
  }
  return labels;
}

/** An object whose unknown properties are their own names: what is drawn of a value that only a live actor has. */
const named = (known: Record<string, unknown>): object =>
  new Proxy(known, { get: (target, property) => target[String(property)] ?? `(${String(property)})`, has: () => true });

function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

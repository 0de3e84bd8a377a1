/** The charts of the machines, drawn from the definitions that run: no chart is kept beside its machine. */
import type { AnyStateMachine } from 'xstate';
import { kinds, type ActorKind } from '../../machines/all.ts';
import { describedStates, initialState, transitionsOf, type Transition } from '../../machines/transitions.ts';

/** The machines that have a chart. */
export { actorKinds as machineNames } from '../../machines/all.ts';

export type ChartFormat = 'mermaid' | 'json';

/**
 * The chart of a machine, without a newline at its end.
 * - `mermaid`: a `stateDiagram-v2` of the transitions that change the state. One arrow for each pair of states carries a
 *   line for each thing that can happen, `event [guard] / outcomes`; a refusal shows its error code, and `[else]` is what
 *   is left when no guard before it held. A value in round brackets is taken from the event.
 * - `json`: XState's definition of the machine, indented.
 */
export function chart(name: ActorKind, format: ChartFormat): string {
  const { machine } = kinds[name];
  return format === 'json' ? JSON.stringify(machine.definition, null, 2) : mermaid(machine);
}

function mermaid(machine: AnyStateMachine): string {
  const states = describedStates(machine);
  const transitions = transitionsOf(machine);
  const lines = ['stateDiagram-v2', `  [*] --> ${initialState(machine)}`];
  for (const { name } of states) {
    for (const [target, labels] of arrowsOf(transitions.filter(({ state }) => state === name))) {
      const lot = labels.map(({ events, outcomes }) => `${events} / ${outcomes}`);
      if (target !== name) lines.push(`  ${name} --> ${target} : ${lot.join('<br/>')}`);
    }
  }
  for (const { name, description } of states) lines.push(`  note right of ${name}`, `    ${description}`, '  end note');
  return lines.join('\n');
}

/** Transitions with the same outcomes: `event [guard], event [guard]` and the outcomes, separated by commas. */
interface Label {
  readonly events: string;
  readonly outcomes: string;
}

/** A label of a state in which the actor stays. */
export interface StayingLabel extends Label {
  readonly state: string;
}

/** Returns the transitions of a machine that keep its state: a chart does not draw them. */
export function stayingLabels(name: ActorKind): StayingLabel[] {
  const { machine } = kinds[name];
  const transitions = transitionsOf(machine).filter(({ state, target }) => state === target);
  return describedStates(machine).flatMap(({ name: state }) =>
    [...arrowsOf(transitions.filter((one) => one.state === state)).values()]
      .flat()
      .map((label) => ({ state, ...label })),
  );
}

/**
 * The labels of a state's arrows by the state they lead to. Triggers of one arrow with the same outcomes share a label.
 */
function arrowsOf(transitions: readonly Transition[]): Map<string, Label[]> {
  const triggers = new Map<string, Map<string, string[]>>();
  for (const { event, guard, otherwise, target, outcomes } of transitions) {
    const words = outcomes
      .map(({ type, code, details }) => [type, ...(code === null ? details : [code])].join(' '))
      .join(', ');
    const byOutcomes = entryOf(triggers, target, () => new Map<string, string[]>());
    entryOf(byOutcomes, words, () => []).push(event + (guard === null ? (otherwise ? ' [else]' : '') : ` [${guard}]`));
  }
  return new Map(
    [...triggers].map(([target, byOutcomes]) => [
      target,
      [...byOutcomes].map(([outcomes, events]) => ({ events: events.join(', '), outcomes })),
    ]),
  );
}

function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

/**
 * The transitions of a machine, for each state and event, read from its definition: charts are drawn from this, so they
 * cannot differ from the code that runs.
 */
import type { AnyStateMachine } from 'xstate';

export interface Outcome {
  readonly type: string;
  /**
   * The code of a refusal or a close, or the reason; null without one. A name in round brackets is taken from the event
   * or the context.
   */
  readonly code: string | null;
  /** The parameters in the definition, of an outcome without a code. */
  readonly details: readonly string[];
}

/**
 * A transition. The transitions of one state and event are tried in order, and the first whose guard holds is taken.
 */
export interface Transition {
  readonly state: string;
  readonly event: string;
  /** Null without a guard. */
  readonly guard: string | null;
  /** The default: taken if no guard before it held. */
  readonly otherwise: boolean;
  /** The state that follows, which may be the same. */
  readonly target: string;
  readonly outcomes: readonly Outcome[];
}

type StateNode = AnyStateMachine['root'];
type Candidate = StateNode['always'] extends readonly (infer One)[] | undefined ? One : never;

/** Every transition, state by state, in the order in which they are written and tried. */
export function transitionsOf(machine: AnyStateMachine): Transition[] {
  return statesOf(machine).flatMap((state) =>
    [...candidatesOf(state, machine)].flatMap(([event, candidates]) =>
      candidates.map((candidate, index) => ({
        state: state.key,
        event,
        guard: candidate.guard === undefined ? null : String(candidate.guard),
        otherwise: candidate.guard === undefined && index > 0,
        target: candidate.target?.[0]?.key ?? state.key,
        outcomes: outcomesOf(candidate, event, machine),
      })),
    ),
  );
}

export interface State {
  readonly name: string;
  readonly description: string;
}

/** The states in the order of the definition. */
export const describedStates = (machine: AnyStateMachine): State[] =>
  statesOf(machine).map(({ key, description }) => ({ name: key, description: description ?? '' }));

/** The state that an actor begins in. */
export const initialState = (machine: AnyStateMachine): string => machine.root.initial.target[0]!.key;

const statesOf = (machine: AnyStateMachine): StateNode[] => Object.values(machine.root.states);

/** Returns the transitions to try for each event, in order: the state's own, then those that every state shares. */
function candidatesOf(state: StateNode, machine: AnyStateMachine): Map<string, Candidate[]> {
  const candidates = new Map<string, Candidate[]>();
  for (const node of [state, machine.root]) {
    for (const [event, transitions] of node.transitions) {
      const own = candidates.get(event) ?? [];
      // Transitions after one without a guard are never tried.
      if (own.every(({ guard }) => guard !== undefined)) candidates.set(event, [...own, ...transitions]);
    }
  }
  return candidates;
}

interface Emitter {
  readonly type: 'xstate.emit';
  readonly event: Emitted | ((args: { context: object; event: object }, params: unknown) => Emitted);
}

interface Emitted {
  readonly type: string;
  readonly code?: string | null;
  readonly reason?: string;
}

/** Returns the outcomes that the transition's actions emit. */
function outcomesOf({ actions }: Candidate, eventType: string, machine: AnyStateMachine): Outcome[] {
  const outcomes: Outcome[] = [];
  for (const action of actions) {
    const { type, params } =
      typeof action === 'object'
        ? (action as { type: string; params?: object })
        : { type: String(action), params: undefined };
    const implementation = machine.implementations.actions[type] as unknown as
      | Emitter
      | { readonly type: 'xstate.assign' };
    if (implementation.type !== 'xstate.emit') continue;
    const { event } = implementation;
    const emitted =
      typeof event === 'function' ? event({ context: named({}), event: named({ type: eventType }) }, params) : event;
    const code = emitted.code ?? emitted.reason ?? null;
    outcomes.push({ type: emitted.type, code, details: code === null ? Object.values(params ?? {}).map(String) : [] });
  }
  return outcomes;
}

/**
 * Returns an object whose unknown properties are their own names: charts show these for a value that only a live actor
 * has.
 */
const named = (implementations: Record<string, unknown>): object =>
  new Proxy(implementations, {
    get: (target, property) => target[String(property)] ?? `(${String(property)})`,
    has: () => true,
  });

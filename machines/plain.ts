/**
 * Runs a machine's transitions without an interpreter. All of our machines are plain: states without entry, exit,
 * delays, calls or children, transitions whose actions only assign or emit. Such a definition, as XState resolves it,
 * is read into a table once; an event then costs a lookup, its guards and its actions. XState's own transition
 * allocates some sixty objects for the same.
 */
import type { AnyStateMachine } from 'xstate';
import type { MachineState } from './version.ts';

/** The result of an event in a state: the next state, and the outcomes emitted on the way. */
export interface MachineStep extends MachineState {
  readonly outcomes: { type: string }[];
}

/** Pure. Rethrows the exceptions of guards and actions. */
export type PlainTransition = (from: MachineState, event: { type: string }) => MachineStep;

interface Given {
  readonly context: unknown;
  readonly event: { type: string };
}

type Expression<Value> = (given: Given, params: unknown) => Value;

/** An action with its parameters: of the two expressions, one. */
interface Action {
  readonly params: unknown;
  readonly assigned: Expression<object> | null;
  readonly emitted: Expression<{ type: string }> | null;
}

interface Candidate {
  readonly guard: Expression<boolean> | null;
  readonly guardParams: unknown;
  /** Null where the state stays. */
  readonly target: string | null;
  readonly actions: readonly Action[];
  /**
   * The number of actions that emit an outcome: an array that grows reserves room for seventeen, and outcomes are kept
   * as long as their turn.
   */
  readonly outcomes: number;
}

type StateNode = AnyStateMachine['root'];
type Table = ReadonlyMap<string, ReadonlyMap<string, readonly Candidate[]>>;

/** The machine's transition as a function; null if the machine is not plain, so that XState must run it. */
export function plainTransition(machine: AnyStateMachine): PlainTransition | null {
  const table = tableOf(machine);
  return (
    table && (({ state, context }, event) => stepOf(table.get(state)!.get(event.type) ?? [], state, context, event))
  );
}

function stepOf(
  candidates: readonly Candidate[],
  state: string,
  context: unknown,
  event: { type: string },
): MachineStep {
  for (const candidate of candidates) {
    const args = { context, event };
    const { guard, guardParams, target, actions } = candidate;
    if (guard !== null && !guard(args, guardParams)) continue;
    const outcomes: { type: string }[] = candidate.outcomes > 0 ? new Array(candidate.outcomes) : [];
    let emits = 0;
    // An action sees the assignments of earlier actions.
    for (const { params, assigned, emitted } of actions) {
      if (emitted !== null) outcomes[emits++] = emitted(args, params);
      else args.context = withFields({ ...(args.context as Record<string, unknown>) }, assigned!(args, params));
    }
    return { state: target ?? state, context: args.context, outcomes };
  }
  return { state, context, outcomes: [] };
}

function withFields(context: Record<string, unknown>, fields: object): Record<string, unknown> {
  for (const name in fields) context[name] = (fields as Record<string, unknown>)[name];
  return context;
}

function tableOf(machine: AnyStateMachine): Table | null {
  const states = Object.values(machine.root.states);
  if (![machine.root, ...states].every(isPlain)) return null;
  const table = new Map<string, Map<string, Candidate[]>>();
  for (const state of states) {
    const events = new Map<string, Candidate[]>();
    // The state's own transitions are tried before those that every state shares.
    for (const node of [state, machine.root]) {
      for (const [event, transitions] of node.transitions) {
        const candidates = transitions.map((transition) => candidateOf(transition, machine));
        if (event.includes('*') || !candidates.every((candidate) => candidate !== null)) return null;
        events.set(event, [...(events.get(event) ?? []), ...candidates]);
      }
    }
    table.set(state.key, events);
  }
  return table;
}

/** The root is compound and its states are atomic; nothing happens but by events. */
const isPlain = (node: StateNode): boolean =>
  node.type === (node.parent === undefined ? 'compound' : 'atomic') &&
  [node.invoke, node.after, node.always ?? [], node.entry, node.exit].every(({ length }) => length === 0);

type Transition = StateNode['transitions'] extends ReadonlyMap<string, (infer One)[]> ? One : never;

function candidateOf({ guard, target, actions, reenter }: Transition, machine: AnyStateMachine): Candidate | null {
  const guardFunction =
    guard === undefined ? undefined : named<Expression<boolean>>(guard, machine.implementations.guards);
  const run = actions.map((action) => actionOf(action, machine));
  if (
    reenter ||
    !(target ?? []).every(({ parent }, index) => index === 0 && parent === machine.root) ||
    guardFunction === null ||
    (guardFunction && 'check' in guardFunction.implementation) ||
    !run.every((action) => action !== null)
  )
    return null;
  return {
    guard: guardFunction?.implementation ?? null,
    guardParams: guardFunction?.params,
    target: target?.[0]?.key ?? null,
    actions: run,
    outcomes: run.filter(({ emitted }) => emitted !== null).length,
  };
}

/** The arguments that XState's `assign` and `emit` keep. */
type Implementation =
  | { readonly type: 'xstate.assign'; readonly assignment: object | Expression<object> }
  | { readonly type: 'xstate.emit'; readonly event: { type: string } | Expression<{ type: string }> };

function actionOf(action: unknown, machine: AnyStateMachine): Action | null {
  const reference = named<Implementation | { readonly type?: undefined }>(action, machine.implementations.actions);
  if (reference === null) return null;
  const { implementation, params } = reference;
  if (implementation.type === 'xstate.emit')
    return { params, assigned: null, emitted: expressionOf(implementation.event) };
  if (implementation.type === 'xstate.assign')
    return { params, assigned: assignmentOf(implementation.assignment), emitted: null };
  return null;
}

/** The implementation that a definition names, with or without parameters; null if it names none. */
function named<Implementation>(
  reference: unknown,
  implementations: object,
): { implementation: Implementation; params: unknown } | null {
  const { type, params } =
    typeof reference === 'object'
      ? (reference as { type: string; params?: unknown })
      : { type: reference, params: undefined };
  const implementation =
    typeof type === 'string' ? (implementations as Record<string, Implementation>)[type] : undefined;
  return implementation === undefined || typeof params === 'function' ? null : { implementation, params };
}

const expressionOf = <Value>(value: Value | Expression<Value>): Expression<Value> =>
  typeof value === 'function' ? (value as Expression<Value>) : () => value;

/** An assignment may be a function, or an object that has functions as properties. */
function assignmentOf(assignment: object | Expression<object>): Expression<object> {
  if (typeof assignment === 'function') return assignment as Expression<object>;
  if (!Object.values(assignment).some((value) => typeof value === 'function')) return () => assignment;
  const properties = Object.entries(assignment).map(([name, value]) => [name, expressionOf(value)] as const);
  return (args, params) => Object.fromEntries(properties.map(([name, expression]) => [name, expression(args, params)]));
}

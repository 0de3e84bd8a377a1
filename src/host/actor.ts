/**
 * One actor's machine: it decides, the host hears what it decided. An actor is no more than the state and the context that it
 * stands in; the machine is run over them for each event. A live XState actor of its own would be some 5 KB that a conversation
 * holds for as long as it lasts, and 15 µs at each activation.
 */
import { createEmptyActor, type AnyActorScope, type AnyMachineSnapshot, type AnyStateMachine } from 'xstate';
import type { ErrorName } from '../errors.ts';
import type { Snapshot } from '../store.ts';
import type { ActorIdentity, Inspector } from './inspector.ts';

export interface Stateful<Event, Outcome> {
  /** Lets the machine consume the event: the outcomes it emitted, in order. A fault of the machine is thrown, and has moved nothing. */
  send(event: Event): Outcome[];
  /** The state it is in. */
  readonly state: string;
  readonly context: unknown;
  /** What to store. */
  snapshot(): Snapshot;
  /** Puts the machine back to a snapshot: a decision that was not committed never happened. */
  restore(snapshot: Snapshot): void;
}

/** Brings a machine to life from a snapshot, or from its beginning with `input`. */
export function openActor<Event extends { type: string }, Outcome extends { type: string }>(
  machine: AnyStateMachine,
  machineVersion: number,
  from: { snapshot: Snapshot } | { input: unknown },
  identity: ActorIdentity,
  inspector: Inspector,
): Stateful<Event, Outcome> {
  const steps = stepsOf(machine);
  const start = 'snapshot' in from ? from.snapshot : steps.begin(from.input);
  return new Standing<Event, Outcome>(steps, machineVersion, start, identity, inspector);
}

/** Where a machine stands. */
interface Standpoint {
  readonly state: string;
  readonly context: unknown;
}

class Standing<Event extends { type: string }, Outcome extends { type: string }> implements Stateful<Event, Outcome> {
  state: string;
  context: unknown;
  readonly #steps: Steps;
  readonly #version: number;
  readonly #identity: ActorIdentity;
  readonly #inspector: Inspector;

  constructor(steps: Steps, version: number, { state, context }: Standpoint, identity: ActorIdentity, inspector: Inspector) {
    this.#steps = steps;
    this.#version = version;
    this.state = state;
    this.context = context;
    this.#identity = identity;
    this.#inspector = inspector;
  }

  send(event: Event): Outcome[] {
    const before = this.state;
    const { state, context, outcomes } = this.#steps.step(this, event);
    this.state = state;
    this.context = context;
    if (this.#inspector.watched) this.#inspector.event(this.#identity, event, before, state, context, outcomes);
    return outcomes as Outcome[];
  }

  snapshot(): Snapshot {
    return { version: this.#version, state: this.state, context: { ...(this.context as object) } };
  }

  restore({ state, context }: Snapshot): void {
    this.state = state;
    this.context = context;
  }
}

/** A machine and what it needs to be run, shared by all who stand in it. */
class Steps {
  readonly #machine: AnyStateMachine;
  /** By state: what XState makes of it, whatever the context. */
  readonly #states = new Map<string, AnyMachineSnapshot>();
  readonly #scope: AnyActorScope;
  #outcomes: { type: string }[] = [];

  constructor(machine: AnyStateMachine) {
    this.#machine = machine;
    const self = createEmptyActor();
    this.#scope = {
      self,
      id: self.id,
      sessionId: self.sessionId,
      system: self.system,
      logger: () => {},
      stopChild: () => {},
      defer: (call) => call(),
      emit: (outcome) => void this.#outcomes.push(outcome),
      actionExecutor: (action) => action.exec?.(action.info, action.params),
    };
  }

  begin(input: unknown): Standpoint {
    const snapshot: AnyMachineSnapshot = this.#machine.getInitialSnapshot(this.#scope, input);
    if (snapshot.status === 'error') throw snapshot.error;
    this.#outcomes = [];
    return { state: String(snapshot.value), context: snapshot.context };
  }

  step({ state, context }: Standpoint, event: { type: string }): Standpoint & { outcomes: { type: string }[] } {
    const outcomes: { type: string }[] = (this.#outcomes = []);
    const next: AnyMachineSnapshot = this.#machine.transition({ ...this.#in(state), context }, event, this.#scope);
    return { state: String(next.value), context: next.context, outcomes };
  }

  #in(state: string): AnyMachineSnapshot {
    let found = this.#states.get(state);
    if (found === undefined) this.#states.set(state, (found = this.#machine.resolveState({ value: state, context: {} }) as AnyMachineSnapshot));
    return found;
  }
}

const known = new WeakMap<AnyStateMachine, Steps>();

function stepsOf(machine: AnyStateMachine): Steps {
  let steps = known.get(machine);
  if (steps === undefined) known.set(machine, (steps = new Steps(machine)));
  return steps;
}

/** The refusal among the outcomes, if there is one, as the table has it. */
export function refusalOf(outcomes: readonly { type: string }[]): ErrorName | null {
  const refused = outcomes.find((outcome) => outcome.type === 'refused') as { code: ErrorName } | undefined;
  return refused?.code ?? null;
}

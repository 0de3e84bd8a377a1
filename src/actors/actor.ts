/**
 * One actor's machine: the machine decides, and the host acts on the outcomes. An actor holds only its state and its
 * context; the machine is run over them for each event. A live XState actor would cost some 5 KB for as long as the
 * conversation lasts, and 15 µs at each activation.
 */
import type { AnyActorScope, AnyMachineSnapshot, AnyStateMachine } from 'xstate';
import { plainTransition, type PlainTransition, type MachineStep } from '../../machines/plain.ts';
import { scopeFor } from '../../machines/scope.ts';
import { migrated, type MachineKind, type MachineState } from '../../machines/version.ts';
import type { ErrorName } from '../base/errors.ts';
import type { Cause, Snapshot } from '../store/store.ts';
import { nobody } from './cause.ts';
import { Inspector, type ActorIdentity, type Decision } from './inspector.ts';

export interface MachineInstance<Event extends { type: string }, Outcome extends { type: string }, Context = unknown> {
  /**
   * Sends the machine an event that needs no commit, and shows it to the watchers: `seq` is the number of the step
   * before it. Returns the outcomes that the machine emitted, in order. Throws a fault of the machine, and then the
   * state is unchanged.
   */
  send(event: Event, seq?: number, cause?: Cause): Outcome[];
  /** Sends the machine an event that nobody sees yet: `publish` shows it once it is committed, `restore` undoes it. */
  decide(event: Event): Decision<Event, Outcome>;
  /** Shows the watchers a decision that can no longer be undone. */
  publish(decision: Decision, seq: number, cause: Cause): void;
  /** The machine's current state. */
  readonly state: string;
  readonly context: Context;
  /** The snapshot to store. */
  snapshot(): Snapshot;
  /**
   * Puts the machine back to a snapshot, as if a decision that was not committed had never been made. Throws
   * `UnreadableSnapshot` and then changes nothing.
   */
  restore(snapshot: Snapshot): void;
  /** A copy to decide on; no watcher sees its events. */
  draft(): MachineDraft<Event, Outcome, Context>;
}

/**
 * A copy of a machine. Its events change the copy only; the machine itself changes when the same events are sent to it.
 */
export interface MachineDraft<
  Event extends { type: string },
  Outcome extends { type: string },
  Context = unknown,
> extends Pick<MachineInstance<Event, Outcome, Context>, 'send' | 'state' | 'context' | 'snapshot'> {
  /** The copy's decision on each of its events, in order. */
  readonly decisions: readonly Decision<Event, Outcome>[];
}

/**
 * An actor's stored snapshot cannot be used by this process: a later version of its machine wrote it, or its state is
 * unknown. Nothing is run or written. Clients get 503 `api_error` for a snapshot of a later version, because during a
 * rolling restart a process of that version serves it. A state that the snapshot's own version does not have is a fault
 * of ours: 500 `api_error`.
 */
export class UnreadableSnapshot extends Error {
  readonly later: boolean;

  constructor({ name, version }: MachineKind, stored: Snapshot) {
    const why =
      stored.version === version
        ? `in the state ${JSON.stringify(stored.state)}, which its machine does not have`
        : `by version ${stored.version} of its machine`;
    super(`The ${name} was stored ${why}; this process runs version ${version}.`);
    this.later = stored.version > version;
  }
}

/** The stored snapshot, migrated to this version of the machine. Throws `UnreadableSnapshot`. */
export function migratedSnapshot(kind: MachineKind, stored: Snapshot): Snapshot {
  const snapshot = migrated(kind, stored);
  if (snapshot === null) throw new UnreadableSnapshot(kind, stored);
  return snapshot;
}

/**
 * Opens a machine from a snapshot of this version or an earlier one, or at its beginning with `input`. Throws
 * `UnreadableSnapshot`.
 */
export function openActor<Event extends { type: string }, Outcome extends { type: string }, Context = unknown>(
  kind: MachineKind,
  from: { snapshot: Snapshot } | { input: unknown },
  identity: ActorIdentity,
  inspector: Inspector,
): MachineInstance<Event, Outcome, Context> {
  const steps = stepsOf(kind.machine);
  const start = 'snapshot' in from ? migratedSnapshot(kind, from.snapshot) : steps.begin(from.input);
  return new LiveInstance<Event, Outcome>(steps, kind, start, identity, inspector) as MachineInstance<
    Event,
    Outcome,
    Context
  >;
}

class LiveInstance<Event extends { type: string }, Outcome extends { type: string }> implements MachineInstance<
  Event,
  Outcome
> {
  state: string;
  context: unknown;
  readonly #steps: MachineRunner;
  readonly #kind: MachineKind;
  readonly #identity: ActorIdentity;
  readonly #inspector: Inspector;

  constructor(
    steps: MachineRunner,
    kind: MachineKind,
    { state, context }: MachineState,
    identity: ActorIdentity,
    inspector: Inspector,
  ) {
    this.#steps = steps;
    this.#kind = kind;
    this.state = state;
    this.context = context;
    this.#identity = identity;
    this.#inspector = inspector;
  }

  send(event: Event, seq = 0, cause = nobody): Outcome[] {
    if (this.#inspector.watched) {
      const decision = this.decide(event);
      this.publish(decision, seq, cause);
      return decision.outcomes;
    }
    const { state, context, outcomes } = this.#steps.step(this, event);
    this.state = state;
    this.context = context;
    return outcomes as Outcome[];
  }

  decide(event: Event): Decision<Event, Outcome> {
    const from = this.state;
    const { state, context, outcomes } = this.#steps.step(this, event);
    this.state = state;
    this.context = context;
    return { event, from, to: state, context, outcomes: outcomes as Outcome[] };
  }

  publish(decision: Decision, seq: number, cause: Cause): void {
    this.#inspector.event(this.#identity, decision, seq, cause);
  }

  snapshot(): Snapshot {
    return { version: this.#kind.version, state: this.state, context: { ...(this.context as object) } };
  }

  restore(snapshot: Snapshot): void {
    const { state, context } = migratedSnapshot(this.#kind, snapshot);
    this.state = state;
    this.context = context;
  }

  draft(): MachineDraft<Event, Outcome> {
    return new Copy(this.#steps, this.#kind, this, this.#identity, unwatched);
  }
}

const unwatched = new Inspector();

class Copy<Event extends { type: string }, Outcome extends { type: string }>
  extends LiveInstance<Event, Outcome>
  implements MachineDraft<Event, Outcome>
{
  readonly decisions: Decision<Event, Outcome>[] = [];

  override send(event: Event): Outcome[] {
    const decision = this.decide(event);
    this.decisions.push(decision);
    return decision.outcomes;
  }
}

/** A machine with its functions and tables, shared by all actors of that machine. */
class MachineRunner {
  readonly #machine: AnyStateMachine;
  /** Null where only XState can run the machine. */
  readonly #plain: PlainTransition | null;
  /** XState's snapshot of each state, with an empty context. */
  readonly #states = new Map<string, AnyMachineSnapshot>();
  readonly #scope: AnyActorScope;
  #outcomes: { type: string }[] = [];

  constructor(machine: AnyStateMachine) {
    this.#machine = machine;
    this.#plain = plainTransition(machine);
    this.#scope = scopeFor((outcome) => void this.#outcomes.push(outcome));
  }

  begin(input: unknown): MachineState {
    const snapshot: AnyMachineSnapshot = this.#machine.getInitialSnapshot(this.#scope, input);
    if (snapshot.status === 'error') throw snapshot.error;
    this.#outcomes = [];
    return { state: String(snapshot.value), context: snapshot.context };
  }

  step(from: MachineState, event: { type: string }): MachineStep {
    if (this.#plain !== null) return this.#plain(from, event);
    const { state, context } = from;
    const outcomes: { type: string }[] = (this.#outcomes = []);
    const next: AnyMachineSnapshot = this.#machine.transition({ ...this.#in(state), context }, event, this.#scope);
    return { state: String(next.value), context: next.context, outcomes };
  }

  #in(state: string): AnyMachineSnapshot {
    let step = this.#states.get(state);
    if (step === undefined)
      this.#states.set(state, (step = this.#machine.resolveState({ value: state, context: {} }) as AnyMachineSnapshot));
    return step;
  }
}

const runnerByMachine = new WeakMap<AnyStateMachine, MachineRunner>();

function stepsOf(machine: AnyStateMachine): MachineRunner {
  let steps = runnerByMachine.get(machine);
  if (steps === undefined) runnerByMachine.set(machine, (steps = new MachineRunner(machine)));
  return steps;
}

/** The code of the first refusal among the outcomes; null without a refusal. */
export function refusalOf(outcomes: readonly { type: string }[]): ErrorName | null {
  const refused = outcomes.find((outcome) => outcome.type === 'refused') as { code: ErrorName } | undefined;
  return refused?.code ?? null;
}

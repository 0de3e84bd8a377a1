/** One live XState actor with its outcomes caught: the machine decides, the host hears what it decided. */
import { createActor, type AnyActor, type AnyStateMachine } from 'xstate';
import type { ErrorName } from '../errors.ts';
import type { Snapshot } from '../store.ts';
import type { ActorIdentity, Inspector } from './inspector.ts';

export interface Stateful<Event, Outcome> {
  /** Lets the machine consume the event: the outcomes it emitted, in order. */
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
  let outcomes: Outcome[] = [];
  let actor: AnyActor;
  const start = (options: object): void => {
    actor = createActor(machine, options);
    // An observer of errors keeps a fault of an action from becoming an uncaught exception.
    actor.subscribe({ error: () => {} });
    actor.on('*', (outcome) => outcomes.push(outcome as unknown as Outcome));
    actor.start();
  };
  const resolved = (snapshot: Snapshot) =>
    machine.resolveState({ value: snapshot.state, context: snapshot.context as never });
  start('snapshot' in from ? { snapshot: resolved(from.snapshot) } : { input: from.input });
  return {
    send(event) {
      outcomes = [];
      const before = actor.getSnapshot();
      actor.send(event);
      const after = actor.getSnapshot();
      if (inspector.watched) {
        inspector.event(identity, event, String(before.value), String(after.value), after.context, outcomes);
      }
      return outcomes;
    },
    get state() {
      return String(actor.getSnapshot().value);
    },
    get context() {
      return actor.getSnapshot().context;
    },
    snapshot() {
      const now = actor.getSnapshot();
      return { version: machineVersion, state: String(now.value), context: { ...now.context } };
    },
    restore(snapshot) {
      actor.stop();
      start({ snapshot: resolved(snapshot) });
    },
  };
}

/** The refusal among the outcomes, if there is one, as the table has it. */
export function refusalOf(outcomes: readonly { type: string }[]): ErrorName | null {
  const refused = outcomes.find((outcome) => outcome.type === 'refused') as { code: ErrorName } | undefined;
  return refused?.code ?? null;
}

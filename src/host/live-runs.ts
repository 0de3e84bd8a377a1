/** The runs of tests that this process plays, as the charts show them. */
import { runKind, type RunEvent, type RunOutcome } from '../../machines/run.ts';
import { openActor, type MachineInstance } from '../actors/actor.ts';
import type { ActorIdentity, Inspector } from '../actors/inspector.ts';
import { ownIdOf } from '../store/records/tests.ts';
import type { TestRun } from '../store/store.ts';

export type RunMachine = MachineInstance<RunEvent, RunOutcome>;

interface LiveRun {
  readonly identity: ActorIdentity;
  readonly machine: RunMachine;
  version: number;
}

export class LiveRuns {
  readonly #inspector: Inspector;
  readonly #live = new Map<string, LiveRun>();

  constructor(inspector: Inspector) {
    this.#inspector = inspector;
  }

  /** The run after an event of its machine, and whether the event has changed it. */
  sent(run: TestRun, event: RunEvent): { readonly machine: TestRun['machine']; readonly outcome: RunOutcome } {
    const { identity, machine } = this.#open(run);
    const { id } = identity;
    const [outcome = { type: 'unchanged' as const }] = machine.send(event);
    const live = this.#live.get(id);
    if (live !== undefined) this.#live.set(id, { identity, machine, version: live.version + 1 });
    return { machine: machine.snapshot(), outcome };
  }

  /** Shows a run that this process plays, until `left`. */
  entered(run: TestRun): void {
    const opened = this.#open(run);
    this.#live.set(opened.identity.id, { ...opened, version: 0 });
  }

  left(run: TestRun): void {
    this.#live.delete(ownIdOf(run));
  }

  #open(run: TestRun): Omit<LiveRun, 'version'> {
    const identity = { kind: runKind.name, id: ownIdOf(run), workspaceId: run.workspaceId };
    return { identity, machine: openActor(runKind, { snapshot: run.machine }, identity, this.#inspector) };
  }

  get size(): number {
    return this.#live.size;
  }

  residents(): LiveRun[] {
    return [...this.#live.values()];
  }

  find(id: string): LiveRun | undefined {
    return this.#live.get(id);
  }

  /** A run leaves when its process stops to play it. */
  discard(): void {}

  clear(): void {
    this.#live.clear();
  }
}

/** Workspace actors: the slots for turns in flight, as this process sees them. */
import {
  workspaceKind,
  type WorkspaceContext,
  type WorkspaceEvent,
  type WorkspaceOutcome,
} from '../../machines/workspace.ts';
import type { Clock } from '../base/clock.ts';
import type { Cause, Store, Workspace } from '../store/store.ts';
import { openActor, refusalOf } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import type { Inspector } from '../actors/inspector.ts';
import { CatalogActors, type CatalogActor } from './catalog-actors.ts';

export type WorkspaceActor = CatalogActor<'workspace', WorkspaceEvent, WorkspaceOutcome, WorkspaceContext>;

export class Workspaces extends CatalogActors<'workspace', WorkspaceEvent, WorkspaceOutcome, WorkspaceContext> {
  readonly #store: Store;
  /** Slots taken, by machine. The machine gets an event only if the event moves it, or if there is a watcher. */
  readonly #taken = new WeakMap<object, number>();

  constructor(store: Store, clock: Clock, inspector: Inspector) {
    super({
      kind: 'workspace',
      catalog: store.catalog,
      clock,
      shared: store.leaseMs !== null,
      inspector,
      // The machine is not opened from a stored snapshot: the store's slots decide its state.
      open: async (record, identity) => {
        const input = { inFlight: await store.turns.inFlight(record.id), max: record.turnsInFlightMax };
        const machine = openActor<WorkspaceEvent, WorkspaceOutcome, WorkspaceContext>(
          workspaceKind,
          { input },
          identity,
          inspector,
        );
        machine.decide({ type: 'sync', inFlight: input.inFlight });
        return machine;
      },
    });
    this.#store = store;
  }

  override of(id: string) {
    return super.of(id, id);
  }

  /** Replaces the settings, and sends the machine the new ceiling. */
  configure(
    id: string,
    change: (record: Workspace) => Workspace,
    cause: Cause = nobody,
  ): Promise<WorkspaceActor | null> {
    return this.change(
      id,
      id,
      ({ record, machine }) => {
        const changed = change(record);
        machine.send({ type: 'configure', max: changed.turnsInFlightMax });
        return { record: changed };
      },
      cause,
    );
  }

  /** Takes a slot. Before it refuses, it reads the store: another process may have freed a slot. */
  acquire(workspace: WorkspaceActor, cause: Cause = nobody): boolean | Promise<boolean> {
    return (
      this.#acquire(workspace, cause, false) ||
      this.sync(workspace.record.id).then(() => this.#acquire(workspace, cause, true))
    );
  }

  /** Frees a slot after a turn has ended or failed to begin. An actor that is not live has no count to correct. */
  release(id: string, cause: Cause = nobody): void {
    const workspace = this.population.peek(id);
    if (workspace === undefined) return;
    const { machine } = workspace;
    const taken = this.#takenOf(machine);
    if (!this.#quiet(workspace)) {
      this.#level(machine, taken);
      workspace.send({ type: 'release' }, this.options.clock.now(), cause);
    }
    this.#taken.set(machine, Math.max(0, taken - 1));
  }

  /** Adopts the store's count, after the store refused a step that this process expected to succeed. */
  async sync(id: string): Promise<void> {
    const inFlight = await this.#store.turns.inFlight(id);
    const workspace = this.population.peek(id);
    if (workspace === undefined) return;
    workspace.send({ type: 'sync', inFlight }, this.options.clock.now());
    this.#taken.set(workspace.machine, inFlight);
  }

  /** `last`: the refusal counts, and is shown. */
  #acquire(workspace: WorkspaceActor, cause: Cause, last: boolean): boolean {
    const { machine } = workspace;
    const taken = this.#takenOf(machine);
    const { max } = machine.context;
    if (!this.#quiet(workspace) || taken + 1 >= max) {
      this.#level(machine, taken);
      const decision = machine.decide({ type: 'acquire' });
      const isRefused = refusalOf(decision.outcomes) !== null;
      if (!isRefused || last) machine.publish(decision, workspace.version, cause);
      if (isRefused) return false;
    }
    this.#taken.set(machine, taken + 1);
    return true;
  }

  /** Whether a slot leaves the machine in its state and there is no watcher, so that the machine needs no event. */
  #quiet({ machine }: WorkspaceActor): boolean {
    return machine.state === 'available' && !this.options.inspector.watched;
  }

  protected override level({ machine }: WorkspaceActor): void {
    this.#level(machine, this.#takenOf(machine));
  }

  #takenOf(machine: WorkspaceActor['machine']): number {
    return this.#taken.get(machine) ?? machine.context.inFlight;
  }

  /**
   * Sends the machine the number of slots taken, if it did not get an event for each. Watchers need not see that: while
   * there is one, the machine gets each.
   */
  #level(machine: WorkspaceActor['machine'], inFlight: number): void {
    if (machine.context.inFlight !== inFlight) machine.decide({ type: 'sync', inFlight });
  }
}

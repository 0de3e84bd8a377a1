/** Workspace actors: the slots for turns in flight, as this process sees them. */
import { workspaceMachine, workspaceVersion, type WorkspaceContext, type WorkspaceEvent, type WorkspaceOutcome } from '../../machines/workspace.ts';
import type { Clock } from '../clock.ts';
import type { Store, Workspace } from '../store.ts';
import { openActor, refusalOf } from './actor.ts';
import type { Inspector } from './inspector.ts';
import { CatalogActors, type CatalogActor } from './residents.ts';

export type WorkspaceActor = CatalogActor<'workspace', WorkspaceEvent, WorkspaceOutcome>;

export class Workspaces extends CatalogActors<'workspace', WorkspaceEvent, WorkspaceOutcome> {
  readonly #store: Store;
  /** Slots taken, by machine: a machine learns of one only where that moves it, or where somebody watches. */
  readonly #taken = new WeakMap<object, number>();

  constructor(store: Store, clock: Clock, inspector: Inspector) {
    super({
      kind: 'workspace',
      catalog: store.catalog,
      clock,
      shared: store.leaseMs !== null,
      inspector,
      // Its snapshot is derived: the store's slots are the truth.
      open: async (record, identity) => {
        const input = { inFlight: await store.turnsInFlight(record.id), max: record.turnsInFlightMax };
        const machine = openActor<WorkspaceEvent, WorkspaceOutcome>(workspaceMachine, workspaceVersion, { input }, identity, inspector);
        machine.send({ type: 'sync', inFlight: input.inFlight });
        return machine;
      },
    });
    this.#store = store;
  }

  override of(id: string) {
    return super.of(id, id);
  }

  /** Replaces the settings; the machine learns of the ceiling. */
  configure(id: string, change: (record: Workspace) => Workspace): Promise<WorkspaceActor | null> {
    return this.change(id, id, ({ record, machine }) => {
      const changed = change(record);
      this.#level(machine, this.#takenOf(machine));
      machine.send({ type: 'configure', max: changed.turnsInFlightMax });
      return changed;
    });
  }

  /** Takes a slot; a refusal is checked against the store first, for another process may have freed one. */
  acquired(workspace: WorkspaceActor): boolean | Promise<boolean> {
    return this.#acquire(workspace) || this.sync(workspace.record.id).then(() => this.#acquire(workspace));
  }

  /** A turn is over, or never began. An actor that is not awake has nothing to correct. */
  released(id: string): void {
    const workspace = this.population.peek(id);
    if (workspace === undefined) return;
    const { machine } = workspace;
    const taken = this.#takenOf(machine);
    if (!this.#quiet(workspace)) {
      this.#level(machine, taken);
      machine.send({ type: 'release' });
    }
    this.#taken.set(machine, Math.max(0, taken - 1));
  }

  /** Takes over what the store says, after it refused what this process had thought possible. */
  async sync(id: string): Promise<void> {
    const inFlight = await this.#store.turnsInFlight(id);
    const machine = this.population.peek(id)?.machine;
    if (machine === undefined) return;
    machine.send({ type: 'sync', inFlight });
    this.#taken.set(machine, inFlight);
  }

  #acquire(workspace: WorkspaceActor): boolean {
    const { machine } = workspace;
    const taken = this.#takenOf(machine);
    const { max } = machine.context as WorkspaceContext;
    if (!this.#quiet(workspace) || taken + 1 >= max) {
      this.#level(machine, taken);
      if (refusalOf(machine.send({ type: 'acquire' })) !== null) return false;
    }
    this.#taken.set(machine, taken + 1);
    return true;
  }

  /** Whether the machine would stay where it is, and nobody looks. */
  #quiet({ machine }: WorkspaceActor): boolean {
    return machine.state === 'available' && !this.options.inspector.watched;
  }

  #takenOf(machine: WorkspaceActor['machine']): number {
    return this.#taken.get(machine) ?? (machine.context as WorkspaceContext).inFlight;
  }

  /** Tells the machine how many are taken, where it was not told of each. */
  #level(machine: WorkspaceActor['machine'], inFlight: number): void {
    if ((machine.context as WorkspaceContext).inFlight !== inFlight) machine.send({ type: 'sync', inFlight });
  }
}

/** Workspace actors: the slots for turns in flight, as this process sees them. */
import { workspaceMachine, workspaceVersion, type WorkspaceEvent, type WorkspaceOutcome } from '../../machines/workspace.ts';
import type { Clock } from '../clock.ts';
import type { Store } from '../store.ts';
import { openActor, refusalOf } from './actor.ts';
import type { Inspector } from './inspector.ts';
import { CatalogActors, type CatalogActor } from './residents.ts';

export type WorkspaceActor = CatalogActor<'workspace', WorkspaceEvent, WorkspaceOutcome>;

export class Workspaces extends CatalogActors<'workspace', WorkspaceEvent, WorkspaceOutcome> {
  readonly #store: Store;

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

  /** Takes a slot; a refusal is checked against the store first, for another process may have freed one. */
  async acquired(workspace: WorkspaceActor): Promise<boolean> {
    if (refusalOf(workspace.machine.send({ type: 'acquire' })) === null) return true;
    await this.sync(workspace.record.id);
    return refusalOf(workspace.machine.send({ type: 'acquire' })) === null;
  }

  /** A turn is over, or never began. An actor that is not awake has nothing to correct. */
  released(id: string): void {
    this.population.peek(id)?.machine.send({ type: 'release' });
  }

  /** Takes over what the store says, after it refused what this process had thought possible. */
  async sync(id: string): Promise<void> {
    const inFlight = await this.#store.turnsInFlight(id);
    this.population.peek(id)?.machine.send({ type: 'sync', inFlight });
  }
}

/** Workspace actors: the slots for turns in flight, as this process sees them. */
import { workspaceMachine, workspaceVersion, type WorkspaceEvent, type WorkspaceOutcome } from '../../machines/workspace.ts';
import type { Clock } from '../clock.ts';
import type { Store } from '../store.ts';
import { openActor } from './actor.ts';
import type { Inspector } from './inspector.ts';
import { CatalogActors } from './residents.ts';

export class Workspaces extends CatalogActors<'workspace', WorkspaceEvent, WorkspaceOutcome> {
  readonly #store: Store;

  constructor(store: Store, clock: Clock, inspector: Inspector) {
    super({
      kind: 'workspace',
      catalog: store.catalog,
      clock,
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

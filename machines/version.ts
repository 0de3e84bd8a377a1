/**
 * Versions of a machine. An actor's stored snapshot has the version of the machine that wrote it. A change of the
 * states or of the context takes the next version and a migration to it. So during a rolling restart the new processes
 * can read what the old ones have stored, and the old ones notice that they cannot read what the new ones store.
 */
import type { AnyStateMachine } from 'xstate';

/** A machine's state and context. */
export interface MachineState {
  readonly state: string;
  readonly context: unknown;
}

/** A stored snapshot of a machine. */
export interface StoredState extends MachineState {
  /** The version of the machine that wrote it, from 1. */
  readonly version: number;
}

/** Turns the state that one version has stored into the state of the next version. Pure. */
export type Migration = (stored: MachineState) => MachineState;

/** A machine with its version and its migrations from earlier ones. */
export interface MachineKind {
  readonly name: string;
  readonly machine: AnyStateMachine;
  readonly version: number;
  /** One migration for each earlier version, in order: the first leads from version 1 to 2. */
  readonly migrations: readonly Migration[];
}

/** The version follows from the number of migrations: writing one raises it. */
export const versionAfter = (migrations: readonly Migration[]): number => migrations.length + 1;

/**
 * The stored state as this version has it; null if a later version wrote it or the machine does not have the state.
 * Pure.
 */
export function migrated<Stored extends StoredState>(
  { machine, version, migrations }: MachineKind,
  stored: Stored,
): Stored | null {
  const state = stored.version === version ? stored : broughtUp(stored, version, migrations);
  return state !== null && Object.hasOwn(machine.states, state.state) ? state : null;
}

function broughtUp<Stored extends StoredState>(
  stored: Stored,
  version: number,
  migrations: readonly Migration[],
): Stored | null {
  if (!Number.isInteger(stored.version) || stored.version < 1 || stored.version > version) return null;
  let migrating: MachineState = stored;
  for (const migration of migrations.slice(stored.version - 1)) migrating = migration(migrating);
  const { state, context } = migrating;
  return { ...stored, version, state, context };
}

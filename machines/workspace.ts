/**
 * A workspace's slots for turns in flight (contract 5). The store's atomic step decides; a process asks this machine
 * first, and `sync` reports what other processes have changed.
 */
import { assign, emit, setup } from 'xstate';
import { versionAfter, type MachineKind, type Migration } from './version.ts';
import { typesOf } from './types.ts';

/** Migrations from each earlier version to the next. */
const migrations: readonly Migration[] = [];
export const workspaceVersion = versionAfter(migrations);

export interface WorkspaceContext {
  readonly inFlight: number;
  /** The ceiling, at least 1. */
  readonly max: number;
}

export type WorkspaceEvent =
  /** A turn needs a slot. */
  | { type: 'acquire' }
  /** A turn has ended. */
  | { type: 'release' }
  /** The console changed the ceiling. */
  | { type: 'configure'; max: number }
  /** The number of slots taken, read from the store. */
  | { type: 'sync'; inFlight: number };

export type WorkspaceOutcome =
  | { type: 'refused'; code: string }
  | { type: 'acquired'; inFlight: number }
  | { type: 'released'; inFlight: number }
  | { type: 'configured' };

export const workspaceMachine = setup({
  types: typesOf<WorkspaceContext, WorkspaceEvent, WorkspaceOutcome, { inFlight: number; max: number }>(),
  guards: {
    isFull: ({ context }) => context.inFlight >= context.max,
    takesTheLast: ({ context }) => context.inFlight + 1 >= context.max,
    staysFull: ({ context }) => context.inFlight - 1 >= context.max,
    leavesRoom: ({ context, event }) =>
      (event.type === 'configure' && context.inFlight < event.max) ||
      (event.type === 'sync' && event.inFlight < context.max),
  },
  actions: {
    refuse: emit({ type: 'refused', code: 'rate_limited' }),
    add: assign({ inFlight: ({ context }) => context.inFlight + 1 }),
    subtract: assign({ inFlight: ({ context }) => Math.max(0, context.inFlight - 1) }),
    set: assign(({ event }) =>
      event.type === 'configure' ? { max: event.max } : event.type === 'sync' ? { inFlight: event.inFlight } : {},
    ),
    acquired: emit(({ context }) => ({ type: 'acquired' as const, inFlight: context.inFlight })),
    released: emit(({ context }) => ({ type: 'released' as const, inFlight: context.inFlight })),
    configured: emit({ type: 'configured' }),
  },
}).createMachine({
  id: 'workspace',
  context: ({ input }) => ({ inFlight: input.inFlight, max: input.max }),
  initial: 'available',
  on: {
    configure: [
      { guard: 'leavesRoom', target: '.available', actions: ['set', 'configured'] },
      { target: '.full', actions: ['set', 'configured'] },
    ],
    sync: [
      { guard: 'leavesRoom', target: '.available', actions: ['set', 'configured'] },
      { target: '.full', actions: ['set', 'configured'] },
    ],
  },
  states: {
    // A workspace that is activated while its slots are taken begins in this state too; its first event corrects that.
    available: {
      description: 'Has a free slot.',
      on: {
        acquire: [
          { guard: 'isFull', target: 'full', actions: 'refuse' },
          { guard: 'takesTheLast', target: 'full', actions: ['add', 'acquired'] },
          { actions: ['add', 'acquired'] },
        ],
        release: [
          { guard: 'staysFull', target: 'full', actions: ['subtract', 'released'] },
          { actions: ['subtract', 'released'] },
        ],
      },
    },
    full: {
      description: 'Every slot is taken; further turns are refused.',
      on: {
        acquire: { actions: 'refuse' },
        release: [
          { guard: 'staysFull', actions: ['subtract', 'released'] },
          { target: 'available', actions: ['subtract', 'released'] },
        ],
      },
    },
  },
});

export const workspaceKind: MachineKind = {
  name: 'workspace',
  machine: workspaceMachine,
  version: workspaceVersion,
  migrations,
};

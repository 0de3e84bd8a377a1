/**
 * A run of tests, or a replay of stored conversations (contract 21): it waits, one process plays it, and it ends. A
 * process that dies or drains leaves it to another one; a run that several processes in a row begin without progress,
 * and die, is interrupted.
 */
import { assign, emit, setup } from 'xstate';
import { versionAfter, type MachineKind, type Migration } from './version.ts';
import { typesOf } from './types.ts';

/** Migrations from each earlier version to the next. */
const migrations: readonly Migration[] = [];
export const runVersion = versionAfter(migrations);

/** Processes that may begin a run in a row without progress. */
export const attemptsMax = 3;

export interface RunContext {
  /** Processes that have begun it since its last progress. */
  readonly attempts: number;
}

export type RunEvent =
  /** A process begins to play it, or to continue it. */
  | { type: 'begin' }
  /** A part of it is done. */
  | { type: 'advance' }
  /** The process that plays it ends in order and leaves it to another one: that is no failed attempt. */
  | { type: 'leave' }
  /** All parts are done. `passed`: each of them has passed. */
  | { type: 'finish'; passed: boolean }
  /** A person cancels it. */
  | { type: 'cancel' }
  /** The tests or conversations of the run are gone. */
  | { type: 'interrupt' };

export type RunOutcome =
  | { type: 'begun' }
  | { type: 'advanced' }
  | { type: 'left' }
  | { type: 'ended'; status: 'passed' | 'failed' | 'cancelled' | 'interrupted' }
  | { type: 'unchanged' };

const ended = (status: 'passed' | 'failed' | 'cancelled' | 'interrupted') => ({
  target: status,
  actions: { type: 'end', params: { status } } as const,
});
const final = (description: string) => ({
  description,
  on: {
    begin: { actions: 'unchanged' },
    advance: { actions: 'unchanged' },
    leave: { actions: 'unchanged' },
    finish: { actions: 'unchanged' },
    cancel: { actions: 'unchanged' },
    interrupt: { actions: 'unchanged' },
  } as const,
});

export const runMachine = setup({
  types: typesOf<RunContext, RunEvent, RunOutcome, Record<string, never>>(),
  guards: {
    isStuck: ({ context }) => context.attempts >= attemptsMax,
    hasPassed: ({ event }) => event.type === 'finish' && event.passed,
  },
  actions: {
    count: assign({ attempts: ({ context }) => context.attempts + 1 }),
    uncount: assign({ attempts: ({ context }) => Math.max(0, context.attempts - 1) }),
    clear: assign({ attempts: 0 }),
    begun: emit({ type: 'begun' }),
    advanced: emit({ type: 'advanced' }),
    left: emit({ type: 'left' }),
    unchanged: emit({ type: 'unchanged' }),
    end: emit((_, { status }: { status: 'passed' | 'failed' | 'cancelled' | 'interrupted' }) => ({
      type: 'ended' as const,
      status,
    })),
  },
}).createMachine({
  id: 'run',
  context: { attempts: 0 },
  initial: 'queued',
  states: {
    queued: {
      description: 'The run starts when the earlier runs have ended.',
      on: {
        begin: { target: 'running', actions: ['count', 'begun'] },
        advance: { actions: 'unchanged' },
        leave: { actions: 'unchanged' },
        finish: { actions: 'unchanged' },
        cancel: ended('cancelled'),
        interrupt: ended('interrupted'),
      },
    },
    running: {
      description: 'Its parts are played.',
      on: {
        begin: [{ guard: 'isStuck', ...ended('interrupted') }, { actions: ['count', 'begun'] }],
        advance: { actions: ['clear', 'advanced'] },
        leave: { actions: ['uncount', 'left'] },
        finish: [{ guard: 'hasPassed', ...ended('passed') }, ended('failed')],
        cancel: ended('cancelled'),
        interrupt: ended('interrupted'),
      },
    },
    passed: final('Every part has passed.'),
    failed: final('A part has not passed.'),
    cancelled: final('A person has cancelled it.'),
    interrupted: final('It could not be continued.'),
  },
});

/** The states in which a run has ended. */
export const endedRuns: readonly string[] = ['passed', 'failed', 'cancelled', 'interrupted'];

export const runKind: MachineKind = { name: 'run', machine: runMachine, version: runVersion, migrations };

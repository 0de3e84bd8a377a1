/**
 * The versions that an assistant answers with (contract 20): none, one for everybody, or a candidate for a share of new
 * sessions beside the current one. The store halts a rollout in the step that seals a turn, by the rule below.
 */
import { assign, emit, setup } from 'xstate';
import { versionAfter, type MachineKind, type Migration } from './version.ts';
import { typesOf } from './types.ts';

/** Migrations from each earlier version to the next. */
const migrations: readonly Migration[] = [];
export const releaseVersion = versionAfter(migrations);

export interface ReleaseContext {
  /** The number of the version that people get; null before the first. */
  readonly current: number | null;
  /** The number of the version that is rolled out; null without a rollout. */
  readonly candidate: number | null;
}

export type ReleaseEvent =
  /** The number of the draft as a version: the current one or the candidate if it equals one of them, else a new one. */
  | { type: 'publish'; version: number }
  | { type: 'rollback'; version: number }
  | { type: 'rollout'; version: number }
  | { type: 'promote' }
  | { type: 'end' }
  /** Every open session moves to the current version at its next turn. */
  | { type: 'recall' }
  /** Too many of the candidate's turns have failed. */
  | { type: 'halt' };

export type ReleaseOutcome =
  | { type: 'refused'; code: string }
  | { type: 'unchanged' }
  /** The version is current. */
  | { type: 'released'; version: number }
  /** The rollout has ended, and its version is not current. */
  | { type: 'retired'; version: number }
  /** The rollout began, or began anew: its turns are counted from zero. */
  | { type: 'started'; version: number }
  /** The rollout continues with another percent or rule. */
  | { type: 'adjusted' }
  | { type: 'recalled' }
  | { type: 'halted'; version: number };

/** The rule and the counts of a rollout. */
interface Failures {
  readonly failedPercent: number;
  readonly afterTurns: number;
  readonly turns: number;
  readonly failedTurns: number;
}

/** Whether a rollout is halted: enough of its turns have ended, and more than the permitted share of them failed. */
export const isExceeded = ({ failedPercent, afterTurns, turns, failedTurns }: Failures): boolean =>
  turns >= afterTurns && failedTurns * 100 > failedPercent * turns;

const versionIn = (event: ReleaseEvent): number => (event as { version: number }).version;

/** Transitions that several states have. */
const notFound = { actions: { type: 'refuse', params: { code: 'version_not_found' } } } as const;
const isCurrentRefused = {
  guard: 'isCurrent',
  actions: { type: 'refuse', params: { code: 'invalid_request' } },
} as const;
const releases = [{ guard: 'isCurrent', actions: 'unchanged' }, { actions: ['release', 'released'] }] as const;
/** Another version becomes current, or the current one stays, and the rollout ends. */
const endsRollout = [
  { guard: 'isCurrent', target: 'released', actions: ['retired', 'retire'] },
  { guard: 'isCandidate', target: 'released', actions: ['release', 'released'] },
  { target: 'released', actions: ['retired', 'release', 'released'] },
] as const;
const promote = { target: 'released', actions: ['promote', 'released'] } as const;
const end = { target: 'released', actions: ['retired', 'retire'] } as const;

export const releaseMachine = setup({
  types: typesOf<ReleaseContext, ReleaseEvent, ReleaseOutcome, ReleaseContext>(),
  guards: {
    isCurrent: ({ context, event }) => versionIn(event) === context.current,
    isCandidate: ({ context, event }) => versionIn(event) === context.candidate,
  },
  actions: {
    refuse: emit((_, { code }: { code: string }) => ({ type: 'refused' as const, code })),
    unchanged: emit({ type: 'unchanged' }),
    release: assign(({ event }) => ({ current: versionIn(event), candidate: null })),
    released: emit(({ context }) => ({ type: 'released' as const, version: context.current! })),
    promote: assign(({ context }) => ({ current: context.candidate, candidate: null })),
    retired: emit(({ context }) => ({ type: 'retired' as const, version: context.candidate! })),
    retire: assign({ candidate: null }),
    start: assign(({ event }) => ({ candidate: versionIn(event) })),
    started: emit(({ context }) => ({ type: 'started' as const, version: context.candidate! })),
    adjusted: emit({ type: 'adjusted' }),
    recalled: emit({ type: 'recalled' }),
    halted: emit(({ context }) => ({ type: 'halted' as const, version: context.candidate! })),
  },
}).createMachine({
  id: 'release',
  context: ({ input }) => ({ ...input }),
  initial: 'unpublished',
  states: {
    unpublished: {
      description: 'No version yet: the assistant answers in trials alone.',
      on: {
        publish: { target: 'released', actions: ['release', 'released'] },
        rollback: notFound,
        rollout: notFound,
        promote: notFound,
        end: notFound,
        recall: notFound,
        halt: { actions: 'unchanged' },
      },
    },
    released: {
      description: 'New sessions get the current version.',
      on: {
        publish: releases,
        rollback: releases,
        rollout: [isCurrentRefused, { target: 'rolling', actions: ['start', 'started'] }],
        promote: notFound,
        end: notFound,
        recall: { actions: 'recalled' },
        halt: { actions: 'unchanged' },
      },
    },
    rolling: {
      description: 'A share of new sessions gets the candidate, the others the current version.',
      on: {
        publish: endsRollout,
        rollback: endsRollout,
        rollout: [
          isCurrentRefused,
          { guard: 'isCandidate', actions: 'adjusted' },
          { actions: ['retired', 'start', 'started'] },
        ],
        promote,
        end,
        recall: { actions: 'recalled' },
        halt: { target: 'halted', actions: 'halted' },
      },
    },
    halted: {
      description: 'Too many turns of the candidate failed: new sessions get the current version.',
      on: {
        publish: endsRollout,
        rollback: endsRollout,
        rollout: [
          isCurrentRefused,
          { guard: 'isCandidate', target: 'rolling', actions: 'started' },
          { target: 'rolling', actions: ['retired', 'start', 'started'] },
        ],
        promote,
        end,
        recall: { actions: 'recalled' },
        halt: { actions: 'unchanged' },
      },
    },
  },
});

export const releaseKind: MachineKind = {
  name: 'release',
  machine: releaseMachine,
  version: releaseVersion,
  migrations,
};

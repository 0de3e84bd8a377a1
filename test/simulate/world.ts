/** The parts of a run: processes, clients, store, and the weather. */
import type { Disk } from './disk.ts';
import type { StepName } from '../../src/store/steps.ts';
import type { Assistant, Webhook } from '../../src/store/store.ts';
import type { MemoryEngine } from '../../src/store/memory.ts';
import type { Bug } from './bugs.ts';
import type { History } from './history.ts';
import type { SimulatedHost } from './host.ts';
import type { Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';
import type { Server } from './server.ts';

/** One process that owns its store; several on a shared one; and such whose store fails over and forgets. */
export const modes = ['embedded', 'shared', 'failover'] as const;
export type Mode = (typeof modes)[number];

/** The mode of a seed that is given none. */
export const modeOf = (seed: number): Mode => modes[seed % modes.length]!;

/** Typical times in milliseconds, and probabilities. */
export interface Weather {
  /** Between a process and the shared store, or a client. */
  netMs: number;
  losesRequests: number;
  losesReplies: number;
  /** A request to the store arrives when its sender has given up. */
  isLate: number;
  losesNotices: number;
  /** One verb of the shared store whose answers are lost for good, and how often. */
  mutes: StepName | null;
  mutesShare: number;
  /** A client's connection breaks. */
  cuts: number;
  /** A reader is slow for a while. */
  slowReaders: number;
  diskMs: number;
  diskFails: number;
  /** The model fails, hangs and takes its time. */
  modelErrs: boolean;
}

/** Every step that goes over the network, those that only read as well. */
const verbs = [
  ...[
    'createSession',
    'session',
    'sessions',
    'saveSession',
    'messages',
    'recentMessages',
    'remembered',
    'takeBudgets',
    'readBudgets',
    'takeLimits',
    'usedLimits',
    'usage',
    'sweep',
    'ping',
    'history',
  ],
  ...[
    'beginTurn',
    'appendOutput',
    'releaseOutput',
    'stepTurn',
    'renewTurn',
    'requestStop',
    'finishTurn',
    'withdrawTurn',
    'claimTurn',
    'takeOverTurn',
    'orphans',
    'turn',
    'output',
    'outputAfter',
    'turnsInFlight',
    'countUsage',
  ],
  ...[
    'catalog.create',
    'catalog.read',
    'catalog.replace',
    'catalog.remove',
    'catalog.list',
    'catalog.keyByPublicId',
    'catalog.assistantBySlug',
  ],
] as const satisfies readonly StepName[];

/** A world without faults. */
const calm = {
  losesRequests: 0,
  losesReplies: 0,
  isLate: 0,
  losesNotices: 0,
  cuts: 0,
  slowReaders: 0,
  diskFails: 0,
  modelErrs: false,
  netMs: 2,
  mutes: null,
};

/** Each run has a separate weather, so that bugs that need much of one fault and little of another show too. */
export function drawWeather(random: Random): Weather {
  const often = (probability: number): number => (random.chance(0.5) ? 0 : random.next() * probability);
  return {
    netMs: random.pick([1, 3, 20, 60]),
    losesRequests: often(0.1),
    losesReplies: often(0.1),
    isLate: often(0.05),
    losesNotices: often(1),
    mutes: random.chance(0.6) ? random.pick(verbs) : null,
    mutesShare: random.pick([0.1, 0.3, 0.6]),
    cuts: often(0.3),
    slowReaders: often(0.3),
    diskMs: random.pick([1, 5, 30]),
    diskFails: often(0.03),
    modelErrs: true,
  };
}

export const clearUp = (weather: Weather): void => void Object.assign(weather, calm);

export interface ClientKey {
  readonly id: string;
  readonly text: string;
}

/** The records in the store before the first request. */
export interface Seeds {
  readonly workspaceId: string;
  readonly turnsInFlightMax: number;
  readonly assistantIds: readonly string[];
  /** Whether a person changes their versions. */
  readonly hasReleases: boolean;
  /** The assistants as they were planted. */
  readonly assistants: readonly Assistant[];
  /** Another, whose sessions last a few seconds; clients leave it alone until all has come to rest. */
  readonly briefId: string;
  readonly keys: readonly ClientKey[];
  /** Cookies of the people of the desk; none in a run without a desk. */
  readonly people: readonly string[];
  /** Null in a run without one. */
  readonly webhook: Webhook | null;
}

export interface World {
  readonly mode: Mode;
  readonly scheduler: Scheduler;
  readonly history: History;
  readonly weather: Weather;
  readonly bug: Bug | null;
  /** The store's server, in the shared modes. */
  readonly server: Server;
  /** Rows on the disk of the embedded mode, and the process that has it open. */
  readonly rows: MemoryEngine;
  disk: Disk | null;
  /** Processes that do not reach the server. */
  readonly cutOff: Set<string>;
  readonly hosts: readonly SimulatedHost[];
  readonly seeds: Seeds;
}

export const operatorToken = 'operator-token-of-the-simulation';

export function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

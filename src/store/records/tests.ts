/** The stored records of tests of assistants, and of their runs (contract 21). */
import type { VersionedSettings } from './settings.ts';
import type { VersionedTool } from './versions.ts';

type Arguments = Readonly<Record<string, unknown>>;

/** The expectations of a step. Each is optional: without any, the turn must complete. */
export interface TestExpectation {
  readonly contains?: readonly string[];
  readonly notContains?: readonly string[];
  readonly calls?: readonly { readonly name: string; readonly arguments?: Arguments }[];
  readonly noCalls?: true;
  readonly stopReason?: string;
  readonly charactersMax?: number;
  /** A criterion in words, on which the assistant's own model decides. */
  readonly judge?: string;
}

/** A result that a function returns in a test. */
export interface ScriptedResult {
  readonly status: 'completed' | 'failed';
  readonly output: string;
}

/** A scripted conversation with expectations. */
export interface AssistantTest {
  /** `testKey` of the assistant and the test's own id: tests of an assistant are stored in their order of creation. */
  readonly id: string;
  readonly workspaceId: string;
  readonly assistantId: string;
  readonly name: string;
  readonly visitor: Readonly<Record<string, string | number | boolean>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly message: string; readonly expect: TestExpectation }[];
  /** The results of each function, in the order in which its calls get them. */
  readonly toolResults: Readonly<Record<string, readonly ScriptedResult[]>>;
  readonly repeat: number;
  /** The session that the test was made of; null for none. */
  readonly fromSessionId: string | null;
  /** The visitor who held that session; null for none. */
  readonly fromVisitorId: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** The conversations whose words a run repeats, and the visitors who held them: an erasure of either removes the run. */
export interface Origins {
  readonly sessionIds: readonly string[];
  readonly visitorIds: readonly string[];
}

/** The key of a record that belongs to an assistant, by its own id. */
export const testKey = (assistantId: string, ownId: string): string => `${assistantId}_${ownId}`;

/** The own id of such a record. */
export const ownIdOf = ({ id, assistantId }: { readonly id: string; readonly assistantId: string }): string =>
  id.slice(assistantId.length + 1);

/** The parts of a run: tests, or stored conversations that are played again. */
export type TestPlan =
  | {
      readonly kind: 'tests';
      readonly testIds: readonly string[];
      /** Whether these are all tests of the assistant. */
      readonly all: boolean;
      /** Overrides the repetitions of each test; null for none. */
      readonly repeat: number | null;
    }
  | { readonly kind: 'replay'; readonly sessionIds: readonly string[] };

/** Numbers of conversations of a replay that differ. */
export interface ReplayCounts {
  readonly callsDifferent: number;
  readonly endedDifferent: number;
}

/** A run of tests, or a replay, on the settings as they were when it was made. */
export interface TestRun {
  /** `testKey` of the assistant and the run's own id. */
  readonly id: string;
  readonly workspaceId: string;
  readonly assistantId: string;
  /** Null for the draft. */
  readonly version: number | null;
  readonly digest: string;
  readonly settings: VersionedSettings;
  readonly tools: readonly VersionedTool[];
  readonly plan: TestPlan;
  readonly origins: Origins;
  /** The snapshot of its machine. */
  readonly machine: { readonly version: number; readonly state: string; readonly context: unknown };
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly done: number;
  readonly of: number;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  readonly counts: ReplayCounts | null;
  /** The digest of all tests of the assistant as the run has played them; null if it has not played all. */
  readonly testsDigest: string | null;
  /** Present once the sessions of the run are deleted. */
  readonly cleared?: true;
}

/** A call of a function in a run. */
export interface PlayedCall {
  readonly name: string;
  readonly arguments: Arguments | null;
  readonly status: string;
  readonly error: string | null;
}

export interface PlayedStep {
  readonly message: string;
  readonly reply: string;
  readonly stopReason: string | null;
  readonly calls: readonly PlayedCall[];
  readonly failures: readonly { readonly expect: string; readonly saw: string }[];
  readonly judged: boolean;
}

export type Verdict = 'passed' | 'flaky' | 'failed' | 'error';

export interface TestOutcome {
  readonly kind: 'test';
  readonly testId: string;
  readonly testDigest: string;
  readonly name: string;
  readonly verdict: Verdict;
  readonly repeats: readonly {
    readonly verdict: Verdict;
    /** The time that it took; absent in results of earlier versions. */
    readonly seconds?: number;
    readonly steps: readonly PlayedStep[];
  }[];
}

export interface ReplayOutcome {
  readonly kind: 'replay';
  readonly sessionId: string;
  readonly messages: readonly { readonly message: string; readonly stored: string; readonly reply: string }[];
  readonly calls: 'same' | 'different';
  readonly ended: 'same' | 'different';
  readonly characters: { readonly stored: number; readonly reply: number };
  /** The model's provider failed. */
  readonly failed?: true;
}

/** The result of one part of a run. */
export interface TestResult {
  /** The key of its run and its place in the run: results of a run are stored in its order. */
  readonly id: string;
  readonly workspaceId: string;
  readonly assistantId: string;
  /** The sessions that were held for it. */
  readonly sessionIds: readonly string[];
  /** Null until it has ended. */
  readonly outcome: TestOutcome | ReplayOutcome | null;
}

const placeDigits = 4;
const runPrefix = 'run_';

/**
 * The beginning of the keys of a run's results. The prefix of the run's own id is left out: a store keeps the order of
 * keys of at most 64 characters.
 */
export const resultsBegin = (run: { readonly id: string; readonly assistantId: string }): string =>
  `${run.assistantId}_${ownIdOf(run).slice(runPrefix.length)}_`;

/** The key of a run's result, by its place. */
export const resultKey = (run: Parameters<typeof resultsBegin>[0], place: number): string =>
  `${resultsBegin(run)}${String(place).padStart(placeDigits, '0')}`;

/** The key of the run that a result belongs to. */
export function runKeyOf(result: { readonly id: string; readonly assistantId: string }): string {
  const ownId = ownIdOf(result);
  return testKey(result.assistantId, runPrefix + ownId.slice(0, ownId.lastIndexOf('_')));
}

/**
 * The runs of an assistant that have not ended. The queues of all workspaces are in one list, so that each process finds
 * them with one read. In another installation nothing runs: queues, runs and results are not exported.
 */
export interface TestQueue {
  /** The assistant's id. */
  readonly id: string;
  /** The name of the list: `installation`. */
  readonly workspaceId: string;
  readonly inWorkspaceId: string;
  /** The own ids of runs, the next one first. */
  readonly waiting: readonly { readonly runId: string; readonly atMs: number }[];
  /** The run that is played, with the process that plays it and the end of its lease. */
  readonly running: { readonly runId: string; readonly owner: string; readonly untilMs: number } | null;
}

/** Kinds of records that belong to one assistant and go with it. */
export const kindsOfAssistant = ['assistant_version', 'assistant_test', 'test_run', 'test_result'] as const;

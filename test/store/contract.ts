/**
 * The contract of every store, as cases that throw where a store breaks it. They can be run by a test or by anybody
 * else (`verdict`), so that the suite itself can be shown to reject broken stores (`broken.test.ts`).
 */
import { auditCases } from './contract/audit.ts';
import { catalogCases } from './contract/catalog.ts';
import { countingCases } from './contract/counting.ts';
import { cutCases } from './contract/cuts.ts';
import { erasureCases } from './contract/erasures.ts';
import { deskCases } from './contract/desk.ts';
import { followingCases } from './contract/following.ts';
import { historyCases } from './contract/history.ts';
import { limitCases } from './contract/limits.ts';
import { ownershipCases } from './contract/ownership.ts';
import { releaseCases } from './contract/releases.ts';
import { rolloutCases } from './contract/rollouts.ts';
import { stepCases } from './contract/steps.ts';
import { sessionCases } from './contract/sessions.ts';
import { sweepCases } from './contract/sweep.ts';
import { turnCases } from './contract/turns.ts';
import { testRunCases } from './contract/test-runs.ts';
import { textCases } from './contract/text.ts';
import { webhookCases } from './contract/webhooks.ts';
import type { Store } from '../../src/store/store.ts';
import { Scene } from './fixtures.ts';

export interface Case {
  readonly name: string;
  /** The scene has a separate workspace, and the time is the real one unless `callersTime`. */
  readonly run: (scene: Scene) => Promise<void>;
  /** Needs a store that takes the caller's word for the time. */
  readonly callersTime?: boolean;
}

export const cases: readonly Case[] = [
  ...catalogCases,
  ...sessionCases,
  ...turnCases,
  ...ownershipCases,
  ...deskCases,
  ...followingCases,
  ...textCases,
  ...cutCases,
  ...releaseCases,
  ...rolloutCases,
  ...stepCases,
  ...countingCases,
  ...limitCases,
  ...historyCases,
  ...erasureCases,
  ...testRunCases,
  ...auditCases,
  ...sweepCases,
  ...webhookCases,
];

/** Opens a store for one case; `dispose` closes it and removes its data. */
export type Factory = () => Promise<{ store: Store; dispose(): Promise<void> }>;

export async function runCase(each: Case, factory: Factory): Promise<void> {
  const { store, dispose } = await factory();
  try {
    await each.run(new Scene(store, Date.now()));
  } finally {
    await dispose();
  }
}

/** The cases that a store fails, with why. */
export async function verdict(
  factory: Factory,
  chosen: (each: Case) => boolean = () => true,
): Promise<{ name: string; error: Error }[]> {
  const failed: { name: string; error: Error }[] = [];
  for (const each of cases.filter(chosen)) {
    try {
      await runCase(each, factory);
    } catch (error) {
      failed.push({ name: each.name, error: error as Error });
    }
  }
  return failed;
}

/** Repeats an experiment, wave by wave, and adds up what was found. */
import { Teardowns, Trial, type Experiment, type StoreKind } from './experiment.ts';

export interface Outcome {
  readonly experiment: Experiment;
  readonly store: StoreKind;
  /** Why nothing was run, or null. */
  readonly skipped: string | null;
  readonly done: number;
  readonly failed: readonly Trial[];
  readonly longest: ReadonlyMap<string, number>;
  readonly sums: ReadonlyMap<string, number>;
}

export interface Wanted {
  readonly times: number;
  /** Of the first repetition; the next has the next. */
  readonly seed: number;
  readonly abreast?: number;
  /** Whether what came late has failed. */
  readonly strict: boolean;
  onTrial?(trial: Trial, done: number): void;
}

/** A repetition that has not ended by then never will. */
const trialMsMax = 180_000;

export async function repeat(experiment: Experiment, store: StoreKind, wanted: Wanted): Promise<Outcome> {
  const { times, seed, strict } = wanted;
  const outcome = { experiment, store, done: 0, failed: [] as Trial[], longest: new Map<string, number>(), sums: new Map<string, number>() };
  const skipped = experiment.lacking?.(store) ?? null;
  if (skipped !== null) return { ...outcome, skipped };
  const abreast = Math.min(wanted.abreast ?? experiment.abreast[store], experiment.abreast[store]);
  let scene: Scene | null = null;
  try {
    while (outcome.done < times) {
      scene ??= await openScene(experiment, store);
      const wave = Array.from({ length: Math.min(abreast, times - outcome.done) }, (_, index) => new Trial(seed + outcome.done + index));
      await Promise.all(wave.map((trial) => within(trial, scene!.run(trial))));
      const failed = wave.filter(({ wrong, late }) => wrong.length > 0 || (strict && late.length > 0));
      for (const trial of wave) {
        outcome.failed.push(...failed.filter((one) => one === trial));
        for (const [what, ms] of trial.longest) outcome.longest.set(what, Math.max(ms, outcome.longest.get(what) ?? 0));
        for (const [what, sum] of trial.sums) outcome.sums.set(what, sum + (outcome.sums.get(what) ?? 0));
        outcome.done++;
        wanted.onTrial?.(trial, outcome.done);
      }
      // What a violation left behind would be found again by the repetitions after it.
      if (failed.length > 0) scene = await scene.close();
    }
  } finally {
    await scene?.close();
  }
  return { ...outcome, skipped };
}

interface Scene {
  run(trial: Trial): Promise<void>;
  close(): Promise<null>;
}

async function openScene(experiment: Experiment, store: StoreKind): Promise<Scene> {
  const teardowns = new Teardowns();
  const close = async (): Promise<null> => (await teardowns.close(), null);
  try {
    return { run: await experiment.open(teardowns, store), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Whatever a repetition throws is a violation as well: an answer that nobody expected. */
async function within(trial: Trial, run: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(new Error(`it has not ended within ${trialMsMax / 1000} s`)), trialMsMax)));
  try {
    await Promise.race([run, tooLong]);
  } catch (error) {
    trial.wrong.push((error as Error).stack ?? String(error));
  } finally {
    clearTimeout(timer);
  }
}

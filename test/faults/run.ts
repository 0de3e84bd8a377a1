/** Repeats an experiment and adds up its findings. */
import { Teardowns, Trial, type Experiment, type StoreKind } from './experiment.ts';
import { patient } from '../run/speed.mjs';

export interface Outcome {
  readonly experiment: Experiment;
  readonly store: StoreKind;
  /** Reason for which the experiment did not run, or null. */
  readonly skipped: string | null;
  readonly done: number;
  /** Whether a signal kept some repetitions from being done. */
  readonly interrupted: boolean;
  readonly failed: readonly Trial[];
  readonly most: ReadonlyMap<string, number>;
  readonly sums: ReadonlyMap<string, number>;
}

export interface Wanted {
  readonly times: number;
  /** The seed of the first repetition; each later one adds one. */
  readonly seed: number;
  /** Maximum number of concurrent repetitions. */
  readonly abreast?: number;
  /** Whether a late outcome has failed. */
  readonly strict: boolean;
  /**
   * Aborted by a signal: then no repetition begins any more, and one that runs has a moment to end. Its failure says
   * nothing, since the servers got the signal too.
   */
  readonly stop?: AbortSignal;
  onTrial?(trial: Trial, done: number): void;
}

/** A repetition that has not ended by then never will. */
const trialMsMax = patient(180_000);
/** The moment that a repetition has to end once a signal has come. */
const stoppedMsMax = 5_000;

export async function repeat(experiment: Experiment, store: StoreKind, wanted: Wanted): Promise<Outcome> {
  const { times, seed, strict } = wanted;
  const outcome = {
    experiment,
    store,
    done: 0,
    interrupted: false,
    failed: [] as Trial[],
    most: new Map<string, number>(),
    sums: new Map<string, number>(),
  };
  const skipped = experiment.lacking?.(store) ?? null;
  if (skipped !== null) return { ...outcome, skipped };
  let begun = 0;
  // Each lane has a separate scene, so the faults of one do not hit the others.
  const lane = async (): Promise<void> => {
    let scene: Scene | null = null;
    try {
      while (begun < times && !wanted.stop?.aborted) {
        const trial = new Trial(seed + begun++);
        await within(trial, wanted.stop, async () => {
          scene ??= await openScene(experiment, store);
          await scene.run(trial);
        });
        const failed = trial.wrong.length > 0 || (strict && trial.late.length > 0);
        if (failed && wanted.stop?.aborted) break;
        if (failed) outcome.failed.push(trial);
        for (const [what, value] of trial.most) outcome.most.set(what, Math.max(value, outcome.most.get(what) ?? 0));
        for (const [what, sum] of trial.sums) outcome.sums.set(what, sum + (outcome.sums.get(what) ?? 0));
        outcome.done++;
        wanted.onTrial?.(trial, outcome.done);
        // Later repetitions would find the remains of a violation again.
        if (failed) scene = await closed(scene);
      }
    } finally {
      await closed(scene);
    }
  };
  const lanes = Math.min(wanted.abreast ?? experiment.abreast[store], experiment.abreast[store], times);
  await Promise.all(Array.from({ length: lanes }, lane));
  return { ...outcome, skipped, interrupted: outcome.done < times };
}

interface Scene {
  run(trial: Trial): Promise<void>;
  close(): Promise<void>;
}

const closed = async (scene: Scene | null): Promise<null> => (await scene?.close(), null);

async function openScene(experiment: Experiment, store: StoreKind): Promise<Scene> {
  const teardowns = new Teardowns();
  try {
    return { run: await experiment.open(teardowns, store), close: () => teardowns.close() };
  } catch (error) {
    await teardowns.close();
    throw error;
  }
}

/** An error that a repetition throws is a violation as well: an unexpected answer. */
async function within(trial: Trial, stop: AbortSignal | undefined, run: () => Promise<void>): Promise<void> {
  const timers: NodeJS.Timeout[] = [];
  let hurry = (): void => {};
  const tooLong = new Promise<never>((_, reject) => {
    const endAfter = (ms: number): unknown =>
      timers.push(setTimeout(() => reject(new Error(`it has not ended within ${ms / 1000} s`)), ms));
    endAfter(trialMsMax);
    hurry = () => endAfter(stoppedMsMax);
  });
  stop?.addEventListener('abort', hurry);
  try {
    await Promise.race([run(), tooLong]);
  } catch (error) {
    for (let one: unknown = error; one instanceof Error; one = one.cause) trial.wrong.push(one.stack ?? one.message);
  } finally {
    stop?.removeEventListener('abort', hurry);
    for (const timer of timers) clearTimeout(timer);
  }
}

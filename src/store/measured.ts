/** A store whose steps are timed and whose faults are counted. */
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Store } from './store.ts';
import { wrapStore, type AnyStep, type StepName } from './steps.ts';

/** The steps worth a histogram; reads of the embedded store cost less than measuring them. */
const measuredSteps: readonly StepName[] = [
  'createSession', 'saveSession', 'beginTurn', 'appendOutput', 'finishTurn', 'withdrawTurn', 'claimTurn', 'takeOverTurn', 'takeLimits', 'sweep', 'ping',
];

export function measureStore(store: Store, metrics: Metrics, clock: Clock): Store {
  for (const step of measuredSteps) {
    // A step that never failed, or was never taken, has samples too: they begin at 0 (contract 12).
    metrics.storeErrors.inc({ step }, 0);
  }
  return wrapStore(store, (step, plain) => (measuredSteps.includes(step) ? timeStep(step, plain, metrics, clock) : undefined));
}

function timeStep(step: StepName, plain: AnyStep, metrics: Metrics, clock: Clock): AnyStep {
  const seconds = metrics.storeSeconds.sample({ step });
  const observe = (answer: Promise<unknown>, startedAt: number): Promise<unknown> =>
    answer.then(
      (answer) => {
        seconds.observe((clock.monotonic() - startedAt) / 1000);
        return answer;
      },
      (error) => {
        metrics.storeErrors.inc({ step });
        throw error;
      },
    );
  return (...given: unknown[]) => observe(plain(...given), clock.monotonic());
}

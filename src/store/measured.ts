/** A store whose steps are timed and whose faults are counted. */
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Store } from './store.ts';
import { wrapStore, type AnyStep, type StepName } from './steps.ts';

/** The steps worth a histogram; reads of the embedded store cost less than measuring them. */
const measuredSteps: readonly StepName[] = [
  'createSession',
  'saveSession',
  'beginTurn',
  'appendOutput',
  'finishTurn',
  'withdrawTurn',
  'claimTurn',
  'takeOverTurn',
  'takeLimits',
  'sweep',
  'ping',
];

/** The other steps that write: whether they fail is of interest. */
const watchedSteps: readonly StepName[] = [
  'catalog.create',
  'catalog.replace',
  'catalog.remove',
  'chargeSession',
  'takeBudgets',
  'countUsage',
  'requestStop',
  'renewTurn',
  'stepTurn',
  'rateTurn',
  'attendSession',
  'confirm',
  'beginErasure',
  'eraseSession',
  'eraseRecord',
  'forgetTraces',
  'finishErasure',
  'settleDelivery',
  'failDeliveries',
  'retryDelivery',
];

/** `onFailure` is called for each step that writes and fails. */
export function measureStore(store: Store, metrics: Metrics, clock: Clock, onFailure: () => void = () => {}): Store {
  for (const step of measuredSteps) {
    // A step that never failed, or was never taken, has samples too: they begin at 0 (contract 11).
    metrics.storeErrors.inc({ step }, 0);
  }
  return wrapStore(store, (step, plain) => {
    if (measuredSteps.includes(step)) return timeStep(step, plain, { metrics, clock, onFailure });
    return watchedSteps.includes(step) ? watchStep(plain, onFailure) : undefined;
  });
}

/** An embedded store answers some steps at once. */
function watchStep(plain: AnyStep, onFailure: () => void): AnyStep {
  return (...given: unknown[]) => {
    const answer: unknown = plain(...given);
    if (answer instanceof Promise) answer.catch(onFailure);
    return answer;
  };
}

interface Watch {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly onFailure: () => void;
}

function timeStep(step: StepName, plain: AnyStep, { metrics, clock, onFailure }: Watch): AnyStep {
  const seconds = metrics.storeSeconds.sample({ step });
  const observe = (answer: Promise<unknown>, startedAt: number): Promise<unknown> =>
    answer.then(
      (answer) => {
        seconds.observe((clock.monotonic() - startedAt) / 1000);
        return answer;
      },
      (error) => {
        metrics.storeErrors.inc({ step });
        if (step !== 'ping') onFailure();
        throw error;
      },
    );
  return (...given: unknown[]) => observe(plain(...given), clock.monotonic());
}

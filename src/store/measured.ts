/** A store whose steps are timed and whose faults are counted. */
import type { Clock } from '../clock.ts';
import type { Metrics } from '../metrics.ts';
import type { Store } from '../store.ts';

/** The steps worth a histogram; reads of the embedded store cost less than measuring them. */
const steps = ['createSession', 'saveSession', 'beginTurn', 'appendOutput', 'finishTurn', 'withdrawTurn', 'claimTurn', 'takeOverTurn', 'takeLimits', 'sweep', 'ping'] as const;

export function measured(store: Store, metrics: Metrics, clock: Clock): Store {
  for (const step of steps) {
    // A step that was never taken has samples too: they begin at 0 (contract 12).
    metrics.storeErrors.inc({ step }, 0);
    metrics.storeSeconds.zero({ step });
    const seconds = metrics.storeSeconds.labels({ step });
    const plain = store[step].bind(store) as (...given: unknown[]) => Promise<unknown>;
    const observe = (await_: Promise<unknown>, startedAt: number) =>
      await_.then(
        (answer) => {
          seconds.observe((clock.monotonic() - startedAt) / 1000);
          return answer;
        },
        (error) => {
          metrics.storeErrors.inc({ step });
          throw error;
        },
      );
    Object.assign(store, { [step]: (...given: unknown[]) => observe(plain(...given), clock.monotonic()) });
  }
  return store;
}

/** The doctor within the test's own process, with settings of the test's alone. */
import { WheelClock } from '../../../src/base/clock.ts';
import type { Clock } from '../../../src/base/clock.ts';
import type { Check, Status } from '../../../src/store/doctor/check.ts';
import { examine } from '../../../src/operations/doctor.ts';
import { randomIds } from '../../../src/base/ids.ts';

export const secret = 'a-secret-of-the-tests-with-enough-characters';

export interface Diagnosed {
  readonly ok: boolean;
  readonly store: string | null;
  readonly checks: readonly Check[];
  /** The check, or a placeholder for one that was not made. */
  of(id: string): Pick<Check, 'found' | 'advice'> & { readonly status: Status | 'not looked at' };
  /** The checks that are not well, as `status id`. */
  readonly unwell: readonly string[];
}

/**
 * The embedded voice is off, unless the environment turns it on: it takes seconds to look at. `clockOffMs`: how far the
 * doctor's own clock is ahead. `url`: where clients reach the server.
 */
export async function diagnose(
  environment: Readonly<Record<string, string>>,
  clockOffMs = 0,
  url?: string,
): Promise<Diagnosed> {
  const wheel = new WheelClock();
  const clock: Clock = {
    now: () => wheel.now() + clockOffMs,
    monotonic: () => wheel.monotonic(),
    after: (delayMs, callback) => wheel.after(delayMs, callback),
    stop: () => wheel.stop(),
  };
  try {
    const { ok, store, checks } = await examine(
      {
        PORT: '0',
        PARLEY_SECRET: secret,
        PARLEY_OPERATOR_TOKEN: 'operator-token-of-the-tests',
        PARLEY_VOICE_PROCESSES: '0',
        ...environment,
      },
      { clock, ids: randomIds(clock), url },
    );
    const of: Diagnosed['of'] = (id) => checks.find((one) => one.id === id) ?? { status: 'not looked at', found: '' };
    return {
      ok,
      store,
      checks,
      of,
      unwell: checks.filter(({ status }) => status !== 'ok').map(({ status, id }) => `${status} ${id}`),
    };
  } finally {
    wheel.stop();
  }
}

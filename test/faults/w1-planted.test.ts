/** The experiment of W1 with programs that are changed on purpose: each fault is found. */
import t from 'tap';
import { patient } from '../run/speed.mjs';
import { changedProgram, type Change } from '../secrets/changed-program.ts';
import { findsFault } from './planted.ts';
import { eventExperiment } from './w1-events.ts';

/** Repetitions within which a fault must have been found: each kills one process. */
const timesMax = 12;
/** Long for an event that comes at once; an event that came later would be found as well. */
const waitMs = patient(5_000);

interface Fault {
  readonly change: Change;
  /** The violation that it leads to. */
  readonly wrong: RegExp;
}

const faults: Readonly<Record<string, Fault>> = {
  'an event that is stored after its end, by another step': {
    change: [
      /putDelivery\(draft\w*, (\{[^}]*\})\)/,
      'setTimeout(() => void this.#batcher.step((later) => putDelivery(later, $1)), 100)',
    ],
    wrong: /the end .* has no event/,
  },
  'an event that is signed with another secret': {
    change: [
      /signatureHeaders\((id\w*), ([^;]*?), body, \[secret\w*\]\)/,
      'signatureHeaders($1, $2, body, ["whsec_AAAA"])',
    ],
    wrong: /is not signed with the webhook's secret/,
  },
  'an event whose status is another than its end has': {
    change: [/(turn_id: id\w*, status)(, error_code: errorCode)/, '$1: "failed"$2'],
    wrong: /the event .* has no stored end/,
  },
};

for (const [what, { change, wrong }] of Object.entries(faults))
  t.test(`${what} is found [W1]`, async (t) => {
    const experiment = eventExperiment({ command: await changedProgram(t, change), waitMs });
    await findsFault(t, experiment, wrong, { timesMax });
  });

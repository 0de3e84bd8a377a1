/** The experiment of A1 with programs that are changed on purpose: each fault is found. */
import t from 'tap';
import { changedProgram, type Change } from '../secrets/changed-program.ts';
import { rolloutExperiment } from './a1-rollouts.ts';
import { findsFault } from './planted.ts';

/** Repetitions within which a fault must have been found: each kills one process. */
const timesMax = 12;

interface Fault {
  readonly change: Change;
  /** The violation that it leads to. */
  readonly wrong: RegExp;
}

const faults: Readonly<Record<string, Fault>> = {
  'a candidate whose counts die with the process': {
    change: [
      /candidateCountsOf\(this\.#batcher\.get\((key\w*)\)\);([^]*?)(draft\w*)\.count\(\1, \[(counts\w*)\.turns, \4\.failedTurns\]\);/,
      'candidateCountsOf(this.lost?.get($1));$2(this.lost ??= new Map()).set($1, [$4.turns, $4.failedTurns]);',
    ],
    wrong: /the candidate counts \d+ turns/,
  },
  'a rollout that is halted a turn too late': {
    change: [/turns\w* >= afterTurns\w*/, 'turns > afterTurns'],
    wrong: /the rollout is rolling after/,
  },
  'a turn that is answered by the draft': {
    change: [
      /return this\.#numbered\((record\w*), (release\w*) == null/,
      'return (this.odd = !this.odd) ? { ...$1, version: { number: 2, tools: null } } : this.#numbered($1, $2 == null',
    ],
    wrong: /says draft/,
  },
};

for (const [what, { change, wrong }] of Object.entries(faults))
  t.test(`${what} is found [A1]`, async (t) => {
    const experiment = rolloutExperiment({ command: await changedProgram(t, change) });
    await findsFault(t, experiment, wrong, { timesMax });
  });

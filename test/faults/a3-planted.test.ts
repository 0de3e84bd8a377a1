/** The experiment of A3 with programs that are changed on purpose: each fault is found. */
import t from 'tap';
import { patient } from '../run/speed.mjs';
import { changedProgram, type Change } from '../secrets/changed-program.ts';
import { problemsOf, runExperiment } from './a3-runs.ts';
import { findsFault } from './planted.ts';

/** Repetitions within which a fault must have been found: each kills one process or more. */
const timesMax = 10;
/** A run on LMDB continues as soon as the next process has started. */
const waitMs = patient(8_000);

interface Fault {
  readonly changes: readonly Change[];
  /** The violation that it leads to. */
  readonly wrong: RegExp;
  readonly firstSeed?: number;
}

const faults: Readonly<Record<string, Fault>> = {
  'a run with tools that have a transport': {
    changes: [[/tools: new ScriptedTools\d*\(next\)/, 'tools: services.tools']],
    wrong: /calls of a run have reached the tool/,
  },
  'a run that no other process continues': {
    changes: [[/(running\w*\.owner === owner\w*) \|\| running\w*\.untilMs <= nowMs\w* \|\| alone\w*/, '$1']],
    wrong: /is running \d+ ms after its process died/,
    firstSeed: 2,
  },
  'a part that is done, played again and counted twice': {
    changes: [
      [/if \(!done\w*\.has\(resultKey\(/, 'if (true || !done.has(resultKey('],
      [/if \(!isFirst\d*\) return;/, ''],
    ],
    wrong: /parts are done instead of/,
    firstSeed: 2,
  },
};

for (const [what, { changes, wrong, firstSeed }] of Object.entries(faults))
  t.test(`${what} is found [A3]`, async (t) => {
    const experiment = runExperiment({ command: await changedProgram(t, ...changes), waitMs });
    await findsFault(t, experiment, wrong, { timesMax, firstSeed });
  });

t.test('a run with a missing or a wrong result has problems [A3]', async (t) => {
  const result = (id: string, repeats = 2) => ({ test_id: id, repeats: Array.from({ length: repeats }) });
  const run = { status: 'passed', progress: { done: 2, of: 2 }, results: [result('a'), result('b')] };
  const wanted = { tests: ['a', 'b'], repeat: 2, of: 2 };
  t.same(problemsOf(run, wanted), []);
  t.same(problemsOf({ ...run, results: [] }, { ...wanted, tests: null }), ['it has 0 results instead of 2']);
  t.equal(problemsOf({ ...run, status: 'failed' }, wanted).length, 1);
  t.equal(problemsOf({ ...run, results: [result('b'), result('a', 1)] }, wanted).length, 2);
  t.equal(problemsOf({ ...run, results: [result('a'), result('b', 1)] }, wanted).length, 1);
  t.equal(problemsOf({ ...run, progress: { done: 1, of: 2 } }, wanted).length, 1);
});

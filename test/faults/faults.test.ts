/** Every experiment of `npm run faults` at its smallest: one repetition, all at once, since most of each is a wait for a lease. */
import t from 'tap';
import { idOf } from './experiment.ts';
import { experiments } from './experiments.ts';
import { repeat } from './run.ts';

const seed = 20;

const running = experiments.flatMap((experiment) =>
  experiment.stores.map((store) => ({ name: `${idOf(experiment)} on ${store}: ${experiment.does}`, outcome: repeat(experiment, store, { times: 1, seed, strict: false }) })),
);
for (const { name, outcome } of running) {
  t.test(name, async (t) => {
    const { skipped, failed, longest, sums } = await outcome;
    if (skipped !== null) return t.pass(name, { skip: skipped });
    t.same(failed.flatMap(({ wrong }) => wrong), []);
    for (const [what, value] of [...longest, ...sums]) t.comment(`${what}: ${value}`);
  });
}

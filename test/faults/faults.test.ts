/** Every experiment of `npm run faults` at its smallest: one repetition. A failover has its own in test/bench.test.ts. */
import t from 'tap';
import { idOf, type StoreKind } from './experiment.ts';
import { experiments } from './experiments.ts';
import { repeat, type Outcome } from './run.ts';

const seed = 20;
/** Much of each is a wait for a lease. */
const abreast = 8;

/** Where there is a choice, the store on which there is more to it. */
const onRedis = ['P5/seal'];
/** Of these each has a test or a command of its own; V1 speaks at the pace of speech, which a machine that runs all tests does not keep. */
const elsewhere = ['P4', 'V1'];
const chosen = experiments.filter((experiment) => !elsewhere.includes(experiment.promise)).map((experiment) => ({ experiment, store: onRedis.includes(idOf(experiment)) ? 'redis' : experiment.stores[0]! }) as const);

const next = chosen.values();
const outcomes = new Map<string, Outcome>();
const lane = async (): Promise<void> => {
  for (const { experiment, store } of next) outcomes.set(idOf(experiment), await repeat(experiment, store as StoreKind, { times: 1, seed, strict: false }));
};
await Promise.all(Array.from({ length: abreast }, lane));

for (const { experiment, store } of chosen) {
  const { skipped, failed, most, sums } = outcomes.get(idOf(experiment))!;
  t.test(`${idOf(experiment)} on ${store}: ${experiment.does}`, { skip: skipped ?? false }, async (t) => {
    t.same(failed.flatMap(({ wrong }) => wrong), []);
    for (const [what, value] of [...most, ...sums]) t.comment(`${what}: ${value}`);
  });
}

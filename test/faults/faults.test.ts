/**
 * Experiments of `npm run faults` at their smallest: one repetition. A failover has its own in
 * test/store/redis-failover.test.ts.
 */
import t from 'tap';
import { idOf } from './experiment.ts';
import { experiments } from './experiments.ts';
import { repeat, type Outcome } from './run.ts';

const seed = 20;
/** Much of each is a wait for a lease. */
const abreast = 8;

/** Each experiment runs on the store that proves more if it can run on both. */
const onRedis = ['P5/seal', 'D2/answers'];
/**
 * Promises with a separate test: P4 in test/store/redis-failover.test.ts, P12 in test/api/rolling-restart.test.ts and
 * test/soak, C1 to C5 in test/api/calls.test.ts, P25 in test/store/redis-moving-slots.test.ts. V1 and the calls speak
 * at the pace of speech, and the tools of T4 answer within a second; a machine that runs all tests keeps neither.
 */
const elsewhere = ['P4', 'P12', 'P25', 'V1', 'C1', 'C2', 'C3', 'C4', 'C5', 'T4'];
/**
 * Two faults of experiments that run here meet in P1/network: P1/owners has its checks, P11/network its loss in
 * silence. T2/calls looks at what T1/calls does, and at more. P3/cluster and P3/settings are P3/errors with more
 * processes and by other means. D2/answers has the checks of D1/kills, D3 and D4.
 */
const larger = ['P1/network', 'P3/cluster', 'P3/settings', 'T1/calls', 'D1/kills', 'D3/history', 'D4/stream'];
const chosen = experiments
  .filter((experiment) => !elsewhere.includes(experiment.promise) && !larger.includes(idOf(experiment)))
  .map(
    (experiment) =>
      ({ experiment, store: onRedis.includes(idOf(experiment)) ? 'redis' : experiment.stores[0]! }) as const,
  );

/** Experiments in which a late step is a failed one: they run after the others. */
const isTimed = ({ experiment }: (typeof chosen)[number]): boolean => experiment.promise === 'P9';

const outcomes = new Map<string, Outcome>();
const run = async (some: Iterable<(typeof chosen)[number]>): Promise<void> => {
  for (const { experiment, store } of some)
    outcomes.set(idOf(experiment), await repeat(experiment, store, { times: 1, seed, strict: false }));
};
const next = chosen.filter((each) => !isTimed(each)).values();
await Promise.all(Array.from({ length: abreast }, () => run(next)));
await run(chosen.filter(isTimed));

for (const { experiment, store } of chosen) {
  const { skipped, failed, most, sums } = outcomes.get(idOf(experiment))!;
  t.test(`${idOf(experiment)} on ${store}: ${experiment.does}`, { skip: skipped ?? false }, async (t) => {
    t.same(
      failed.flatMap(({ wrong }) => wrong),
      [],
    );
    for (const [what, value] of [...most, ...sums]) t.comment(`${what}: ${value}`);
  });
}

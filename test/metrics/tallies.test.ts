/** Tallied samples are what prom-client would have made of the same observations. */
import fc from 'fast-check';
import { AggregatorRegistry, Counter, Histogram, Registry } from 'prom-client';
import t from 'tap';
import { tallyCounter, TallyHistogram } from '../../src/metrics/tallies.ts';

const about = (name: string, registry: Registry) => ({ name, help: `Help of ${name}.`, registers: [registry] });

/** Labels of one metric may stand in another order. */
const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.replace(/\{(.*)\}/, (_, labels: string) => `{${labels.split(',').sort().join()}}`));

t.test('a histogram has the samples of prom-client', async (t) => {
  const buckets = [0.5, 1, 2.5];
  const seconds = fc.oneof(fc.double({ min: 0, max: 4, noNaN: true }), fc.constantFrom(0, 0.5, 1, 2.5, 3));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom('read', 'write'), seconds), { maxLength: 30 }),
      async (observed) => {
        const [ours, theirs] = [new Registry(), new Registry()];
        const tallied = new TallyHistogram(about('seconds', ours), buckets, ['step']);
        for (const step of ['read', 'write']) tallied.sample({ step });
        // A sample is made once, however often it is wanted.
        const samples = new Map(['read', 'write'].map((step) => [step, tallied.sample({ step })]));
        const histogram = new Histogram({ ...about('seconds', theirs), buckets, labelNames: ['step'] });
        for (const step of samples.keys()) histogram.zero({ step });
        for (const [step, value] of observed) {
          samples.get(step)!.observe(value);
          histogram.observe({ step }, value);
        }
        const texts = [await ours.metrics(), await theirs.metrics()].map(lines);
        const sums = await Promise.all(
          [ours, theirs].map(async (registry) =>
            lines(
              await AggregatorRegistry.aggregate([
                await registry.getMetricsAsJSON(),
                await registry.getMetricsAsJSON(),
              ]).metrics(),
            ),
          ),
        );
        return (
          JSON.stringify(texts[0]) === JSON.stringify(texts[1]) && JSON.stringify(sums[0]) === JSON.stringify(sums[1])
        );
      },
    ),
  );
  t.pass();
});

t.test('a counter has the samples of prom-client, however often it is read', async (t) => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const count = tallyCounter(about('requests_total', ours), ['route', 'status']);
  const counter = new Counter({ ...about('requests_total', theirs), labelNames: ['route', 'status'] });
  const found = count({ route: '/a', status: 200 });
  count({ route: '/b', status: 404 });
  counter.inc({ route: '/b', status: 404 }, 0);
  for (const times of [0, 1, 3]) {
    for (let time = 0; time < times; time++) found.inc();
    counter.inc({ route: '/a', status: 200 }, times);
    t.strictSame(lines(await ours.metrics()).sort(), lines(await theirs.metrics()).sort());
    t.strictSame(await ours.metrics(), await ours.metrics());
  }
});

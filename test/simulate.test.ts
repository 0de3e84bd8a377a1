/** The simulation: a few seeds of each mode, and that it is what it claims to be: exact, and able to find what is wrong. */
import t from 'tap';
import { bugs } from './simulate/bugs.ts';
import { run } from './simulate/run.ts';
import { modes } from './simulate/world.ts';

const seedsOfEach = 8;
/** Runs within which a deliberate bug must have been found. */
const runsMax = 30;

for (const mode of modes) {
  t.test(`${mode}: nothing is wrong`, async (t) => {
    for (let seed = 1; seed <= seedsOfEach; seed++) t.same((await run(seed, mode)).wrong, [], `seed ${seed}`);
  });
}

t.test('a seed is one story, and no two are the same', async (t) => {
  const digests = new Set<string>();
  for (const mode of modes) {
    for (const seed of [3, 7]) {
      const stories: string[][] = [[], []];
      const [first, second] = [await run(seed, mode, { tell: (line) => stories[0]!.push(line) }), await run(seed, mode, { tell: (line) => stories[1]!.push(line) })];
      t.ok(stories[0]!.length > 100);
      t.same(stories[1], stories[0]);
      t.equal(first.digest, second.digest);
      digests.add(first.digest);
    }
  }
  t.equal(digests.size, 6);
});

for (const [name, bug] of Object.entries(bugs)) {
  t.test(`found: ${name}`, async (t) => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= runsMax; seed++) {
      const made = bug();
      const rules = (await run(seed, made.mode, { bug: made })).wrong.map((line) => line.split(':')[0]!);
      if (rules.some((rule) => made.breaks.includes(rule))) return t.pass(`with seed ${seed}`);
      for (const rule of rules) seen.add(rule);
    }
    t.fail(`not in ${runsMax} runs; only ${[...seen]} was`);
  });
}

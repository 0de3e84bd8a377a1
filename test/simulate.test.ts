/** The simulation: a few seeds of each mode, and that it is what it claims to be: exact, and able to find what is wrong. */
import t from 'tap';
import { bugs } from './simulate/bugs.ts';
import { run } from './simulate/run.ts';
import { modes } from './simulate/world.ts';

const seedsOfEach = 8;
/** Runs within which a deliberate bug must have been found. */
const runsMax = 30;
/** Those that are not found by the first, with one that finds them. */
const knownSeeds: Readonly<Record<string, number>> = {
  'no fence: whoever writes to a turn is let in': 5,
  'a piece that is sent again is stored again': 2,
  'an Idempotency-Key is forgotten': 5,
  'a request whose answer was lost on the way from the store is charged again': 8,
  'a stop that was asked for is forgotten with the process': 17,
  'no turn is withdrawn: it is sealed once its lease has run out': 10,
  'a turn that failed for a fault of ours is stored as aborted': 5,
  'a revoked key is never heard of': 8,
};

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
      t.equal(stories[1]!.join('\n'), stories[0]!.join('\n'));
      t.equal(first.digest, second.digest);
      digests.add(first.digest);
    }
  }
  t.equal(digests.size, 6);
});

for (const [name, bug] of Object.entries(bugs)) {
  t.test(`found: ${name}`, async (t) => {
    const seen = new Set<string>();
    // A seed that is known to find it goes first. What the simulation draws may have changed since: then it is one like the others.
    const first = knownSeeds[name] ?? 1;
    for (const seed of [first, ...Array.from({ length: runsMax }, (_, index) => index + 1).filter((seed) => seed !== first)]) {
      const made = bug();
      const rules = (await run(seed, made.mode, { bug: made })).wrong.map((line) => line.split(':')[0]!);
      if (rules.some((rule) => made.breaks.includes(rule))) return t.pass(`with seed ${seed}`);
      for (const rule of rules) seen.add(rule);
    }
    t.fail(`not in ${runsMax} runs; only ${[...seen]} was`);
  });
}

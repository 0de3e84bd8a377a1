/** The simulation: a few seeds of each mode, and that it is what it claims to be: exact, and able to find what is wrong. */
import t from 'tap';
import { bugs } from './simulate/bugs.ts';
import { run } from './simulate/run.ts';
import { modes } from './simulate/world.ts';

const seedsOfEach = 5;
/** Runs within which a deliberate bug must have been found. */
const runsMax = 30;
/** Those that are not found by the first, with one that finds them. */
const knownSeeds: Readonly<Record<string, number>> = {
  'no fence: whoever writes to a turn is let in': 5,
  'a piece that is sent again is stored again': 2,
  'an Idempotency-Key is forgotten': 5,
  'a request whose answer was lost on the way from the store is charged again': 7,
  'what a dead process left is sealed though nothing was said in it': 2,
  'release twice: a turn that is over frees two slots': 3,
  'a stop that was asked for is forgotten with the process': 17,
  'no turn is withdrawn: it is sealed once its lease has run out': 10,
  'a turn that failed for a fault of ours is stored as aborted': 5,
  'a revoked key is never heard of': 8,
};

const digests = new Set<string>();

for (const mode of modes) {
  t.test(`${mode}: nothing is wrong, and a seed is one story`, async (t) => {
    const stories: string[][] = [[], []];
    const into = (story: string[]) => ({ tell: (line: string): unknown => story.push(line) });
    for (let seed = 1; seed <= seedsOfEach; seed++) {
      const { wrong, digest } = await run(seed, mode, seed === 1 ? into(stories[0]!) : {});
      t.same(wrong, [], `seed ${seed}`);
      digests.add(digest);
    }
    const again = await run(1, mode, into(stories[1]!));
    t.ok(stories[0]!.length > 100);
    t.equal(stories[1]!.join('\n'), stories[0]!.join('\n'));
    t.ok(digests.has(again.digest));
  });
}

t.test('no two stories are the same', async (t) => {
  t.equal(digests.size, modes.length * seedsOfEach);
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

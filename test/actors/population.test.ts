import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { Population, type Resident } from '../../src/actors/population.ts';
import { ManualClock } from '../providers/model/provider.ts';

class Someone implements Resident {
  usedAt = 0;
  left = 0;
  /** Number of checks whether it is busy. */
  looks = 0;
  isBusy = false;
  readonly id: string;

  constructor(id: string) {
    this.id = id;
  }

  get busy(): boolean {
    this.looks++;
    return this.isBusy;
  }

  set busy(busy: boolean) {
    this.isBusy = busy;
  }

  passivated(): void {
    this.left++;
  }
}

const idle = { actorIdleMs: 1000, actorsLiveMax: 3 };
/** For how long a use keeps an actor from being evicted. */
const held = Math.ceil(idle.actorIdleMs / 32);
const make = (): { clock: ManualClock; population: Population<Someone>; wake(id: string): Promise<Someone> } => {
  const clock = new ManualClock();
  const population = new Population<Someone>(clock, idle);
  return { clock, population, wake: async (id) => (await population.activate(id, async () => new Someone(id)))! };
};
const ids = (population: Population<Someone>): string[] => [...population.residents()].map(({ id }) => id);

t.test('concurrent activations load once', async (t) => {
  const { population } = make();
  let loads = 0;
  let arrive!: (someone: Someone | null) => void;
  const load = () => {
    loads++;
    return new Promise<Someone | null>((resolve) => (arrive = resolve));
  };
  const asks = [1, 2, 3].map(() => population.activate('a', load));
  arrive(new Someone('a'));
  const [first, ...others] = await Promise.all(asks);
  t.ok(others.every((one) => one === first));
  t.equal(await population.activate('a', load), first);
  t.equal(loads, 1);
});

t.test('a load for one asker is not the answer for another', async (t) => {
  const { population } = make();
  const foreign = population.activate('a', async () => null, 'foreigner');
  const own = population.activate('a', async () => new Someone('a'), 'owner');
  const again = population.activate('a', async () => new Someone('a'), 'friend');
  t.equal(await foreign, null);
  t.equal((await own)!.id, 'a');
  t.equal(await again, await own, 'the first one loaded counts');
});

t.test('a failed load is retried', async (t) => {
  const { population, wake } = make();
  await t.rejects(Promise.resolve(population.activate('a', () => Promise.reject(new Error('away')))), {
    message: 'away',
  });
  t.equal(await population.activate('a', async () => null), null);
  t.equal(population.size, 0, 'nobody is nobody');
  t.equal((await wake('a')).id, 'a');
});

t.test('above the bound the longest idle leave first, the busy ones never', async (t) => {
  const { clock, population, wake } = make();
  const [a, b, c] = [await wake('a'), await wake('b'), await wake('c')];
  clock.advance(10);
  population.peek('a');
  clock.advance(held);
  population.peek('b');
  await wake('d');
  t.same([ids(population), a.left], [['b', 'c', 'd'], 1], 'uses that follow one another at once count as one');
  clock.advance(held);
  c.busy = true;
  await wake('e');
  t.same([ids(population), b.left, c.left], [['c', 'd', 'e'], 1, 0]);
  t.not(await wake('b'), b, 'one that left comes back as a new one');
});

t.test('an actor that was just loaded or used stays', async (t) => {
  const { clock, population, wake } = make();
  const busy = [await wake('a'), await wake('b'), await wake('c'), await wake('d')];
  for (const one of busy) one.busy = true;
  clock.advance(held);
  const e = await wake('e');
  t.same([e.left, await wake('e')], [0, e], 'among none but busy ones');
  const f = await wake('f');
  t.same([e.left, f.left], [0, 0], 'though another comes before it is sent anything');
  clock.advance(held);
  population.peek('e');
  await wake('g');
  t.same([e.left, f.left], [0, 1]);
});

t.test('a busy actor is checked once and not at each admission', async (t) => {
  const clock = new ManualClock();
  const liveMax = 2_000;
  const population = new Population<Someone>(clock, { actorIdleMs: 1000, actorsLiveMax: liveMax });
  const all: Someone[] = [];
  const wake = async (busy: boolean): Promise<void> => {
    const one = (await population.activate(String(all.length), async () => new Someone(String(all.length))))!;
    one.busy = busy;
    all.push(one);
  };
  const looks = (): number => all.reduce((sum, one) => sum + one.looks, 0);
  for (let count = 0; count < liveMax; count++) await wake(true);
  for (let count = 0; count < 10_000; count++) {
    if (count % 100 === 0) clock.advance(1);
    await wake(true);
  }
  t.ok(looks() <= all.length, `${looks()} looks at ${all.length}`);
  for (const one of all) one.busy = false;
  clock.advance(1000);
  const before = looks();
  for (let count = 0; count < 10_000; count++) {
    if (count % 10 === 0) clock.advance(1);
    await wake(false);
  }
  t.ok(looks() - before <= all.length * 2 + 10_000, `${looks() - before} looks at ${all.length}`);
  t.ok(population.size <= liveMax + 10 * held + 10, `${population.size} are left`);
});

t.test('idle actors are passivated in time', async (t) => {
  const { clock, population, wake } = make();
  const a = await wake('a');
  clock.advance(600);
  const b = await wake('b');
  b.busy = true;
  clock.advance(400);
  t.same([a.left, ids(population)], [1, ['b']]);
  clock.advance(10_000);
  t.equal(b.left, 0, 'not while it is busy');
  b.busy = false;
  clock.advance(500);
  t.same([b.left, population.size, clock.timers], [1, 0, 0], 'an empty house needs no timer');
});

t.test('an actor evicted while it loads is dropped', async (t) => {
  const { clock, population, wake } = make();
  let arrive!: (someone: Someone) => void;
  const asked = population.activate('a', () => new Promise<Someone>((resolve) => (arrive = resolve)));
  population.discard('a');
  const first = new Someone('a');
  arrive(first);
  await turnOfTheLoop();
  t.same([first.left, population.size], [1, 0]);
  const second = new Someone('a');
  arrive(second);
  t.equal(await asked, second, 'what is stored by then is loaded');
  population.discard('a');
  const b = await wake('b');
  population.clear();
  t.same([b.left, population.size, clock.timers], [1, 0, 0]);
});

type Step = readonly ['wake' | 'forget' | 'busy' | 'idle' | 'arrive', number] | readonly ['pass', number];

t.test('an id has one live actor at most', async (t) => {
  const id = fc.nat(7);
  const step: fc.Arbitrary<Step> = fc.oneof(
    { arbitrary: fc.tuple(fc.constant('wake' as const), id), weight: 6 },
    { arbitrary: fc.tuple(fc.constantFrom('forget' as const, 'busy' as const, 'idle' as const), id), weight: 3 },
    { arbitrary: fc.tuple(fc.constant('arrive' as const), fc.nat(3)), weight: 4 },
    { arbitrary: fc.tuple(fc.constant('pass' as const), fc.constantFrom(1, held, 500, 1500)), weight: 1 },
  );
  await t.resolves(
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { clock, population } = make();
        const all: Someone[] = [];
        /** Loads that are not over. */
        const loads: (() => void)[] = [];
        const load = (id: string) => () =>
          new Promise<Someone>((resolve) => {
            loads.push(() => {
              const one = new Someone(id);
              all.push(one);
              resolve(one);
            });
          });
        const problems: string[] = [];
        const arrive = async (at: number): Promise<void> => {
          loads.splice(at % Math.max(1, loads.length), 1)[0]?.();
          await turnOfTheLoop();
        };
        for (const [what, n] of steps) {
          const id = String(n);
          if (what === 'pass') clock.advance(n);
          else if (what === 'forget') population.discard(id);
          else if (what === 'arrive') await arrive(n);
          else if (what === 'wake') {
            const got = population.activate(id, load(id));
            const given = (one: Someone | null): void => {
              if (one!.left > 0 || population.find(id) !== one) problems.push(`${id} was given away when it had left`);
              else one.isBusy ||= n % 2 === 0;
            };
            // A live one is given at once, before it can be forgotten.
            if (got instanceof Promise) void got.then(given);
            else given(got);
          } else {
            const one = population.find(id);
            if (one !== undefined) one.isBusy = what === 'busy';
          }
          const live = all.filter(({ left }) => left === 0);
          if (new Set(live.map((one) => one.id)).size < live.length)
            problems.push(`two of ${live.map((one) => one.id).join()}`);
          if (live.some((one) => population.find(one.id) !== one)) problems.push('one lives outside');
          if (all.some(({ left }) => left > 1)) problems.push('one left twice');
        }
        while (loads.length > 0) await arrive(0);
        if (problems.length > 0) throw new Error(problems.join('; '));
      }),
      { numRuns: 300 },
    ),
  );
});

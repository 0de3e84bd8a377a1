import t from 'tap';
import { Population, type Resident } from '../../src/host/population.ts';
import { ManualClock } from '../model/provider.ts';

class Someone implements Resident {
  usedAt = 0;
  busy = false;
  left = 0;
  readonly id: string;

  constructor(id: string) {
    this.id = id;
  }

  passivated(): void {
    this.left++;
  }
}

const idle = { actorIdleMs: 1000, actorsLiveMax: 3 };
const make = (): { clock: ManualClock; population: Population<Someone>; wake(id: string): Promise<Someone> } => {
  const clock = new ManualClock();
  const population = new Population<Someone>(clock, idle);
  return { clock, population, wake: async (id) => (await population.activate(id, async () => new Someone(id)))! };
};
const ids = (population: Population<Someone>): string[] => [...population.residents()].map(({ id }) => id);

t.test('concurrent asks load once', async (t) => {
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

t.test('what could not be loaded is asked for again', async (t) => {
  const { population, wake } = make();
  await t.rejects(Promise.resolve(population.activate('a', () => Promise.reject(new Error('away')))), { message: 'away' });
  t.equal(await population.activate('a', async () => null), null);
  t.equal(population.size, 0, 'nobody is nobody');
  t.equal((await wake('a')).id, 'a');
});

t.test('above the bound the longest idle leave first, the busy ones never', async (t) => {
  const { clock, population, wake } = make();
  const [a, b, c] = [await wake('a'), await wake('b'), await wake('c')];
  population.peek('a');
  t.same(ids(population), ['a', 'b', 'c'], 'uses that follow one another at once count as one');
  clock.advance(20);
  population.peek('a');
  await wake('d');
  t.same([ids(population), b.left], [['c', 'a', 'd'], 1]);
  c.busy = true;
  await wake('e');
  t.same([ids(population), a.left, c.left], [['c', 'd', 'e'], 1, 0]);
  t.not(await wake('b'), b, 'one that left comes back as a new one');
});

t.test('the idle leave in time', async (t) => {
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

t.test('one that is thrown away while it loads does not come to stay', async (t) => {
  const { clock, population, wake } = make();
  let arrive!: (someone: Someone) => void;
  const asked = population.activate('a', () => new Promise<Someone>((resolve) => (arrive = resolve)));
  population.discard('a');
  arrive(new Someone('a'));
  await asked;
  t.equal(population.size, 0);
  const b = await wake('b');
  population.clear();
  t.same([b.left, population.size, clock.timers], [1, 0, 0]);
});

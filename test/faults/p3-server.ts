/** P3: every acknowledged step stands after the server, or Redis, was killed. */
import type { House } from '../api/house.ts';
import { Customer } from './customer.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis, until } from './ground.ts';

const customersCount = 6;

/** Customers run until enough of their turns were reported and the fault has ended. */
export async function liveUntil(
  trial: Trial,
  ground: Ground,
  house: House,
  fault: () => Promise<unknown>,
): Promise<Customer[]> {
  const customers = Array.from(
    { length: customersCount },
    (_, index) => new Customer(ground, house, trial.random, `s${trial.seed}c${index}`),
  );
  let stopped = false;
  const lives = Promise.all(customers.map((customer) => customer.live(() => stopped)));
  const enough = trial.random.between(10, 150);
  try {
    await Promise.race([
      lives,
      until(() => stopped || customers.reduce((sum, { acknowledged }) => sum + acknowledged, 0) >= enough),
    ]);
    await fault();
  } finally {
    stopped = true;
  }
  await lives;
  for (const { acknowledged } of customers) trial.count('acknowledged', acknowledged);
  return customers;
}

export const survivesServer: Experiment = {
  promise: 'P3',
  name: 'server',
  does: 'kill -9 of the server in the middle of everything',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    let house = await ground.server();
    return async (trial) => {
      const victim = house;
      const customers = await liveUntil(trial, ground, victim, () => victim.kill('SIGKILL'));
      house = await ground.server();
      for (const customer of customers) await customer.check(trial, house);
    };
  },
};

export const survivesRedis: Experiment = {
  promise: 'P3',
  name: 'redis',
  does: 'kill -9 of Redis, appendfsync no or always, and a start on its file',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const house = await ground.server();
    const redis = ground.redis!;
    return async (trial) => {
      // With everysec Redis answers before it writes while a flush of its disk hangs. With no it always writes first,
      // as with everysec otherwise.
      await redis.command('CONFIG', 'SET', 'appendfsync', trial.random.pick(['no', 'always']));
      const back = async (): Promise<void> => (await redis.kill(), await redis.run());
      // Streams that wait for their end get it, or are cut off while Redis stays away.
      const returns = trial.random.chance(0.5);
      const customers = await liveUntil(trial, ground, house, () => (returns ? back() : redis.kill()));
      if (!returns) await redis.run();
      await until(async () => (await house.ask('/assistants')).status === 200);
      for (const customer of customers) await customer.check(trial, house);
    };
  },
};

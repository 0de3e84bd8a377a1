/**
 * P3: a disk that is really full. Refused requests get 503, acknowledged writes stay, and the server continues once
 * there is room again.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ballastOf, fill, lackingDisk, smallDisk } from '../small-disk.ts';
import { appendOnly } from '../store/redis-server.ts';
import { Customer } from './customer.ts';
import type { Experiment } from './experiment.ts';
import { Ground, lackingRedis, until } from './ground.ts';

export const fullDisk: Experiment = {
  promise: 'P3',
  name: 'disk',
  does: 'a disk that is full to the last byte, sometimes with kill -9 while it is',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 1, redis: 1 },
  lacking: (store) => lackingDisk() ?? lackingRedis(store),
  async open(t, store) {
    const disk = await smallDisk(t, '192m');
    await mkdir(join(disk, 'redis'));
    const ground = await Ground.open(
      t,
      store,
      [...appendOnly, '--dir', join(disk, 'redis')],
      store === 'lmdb' ? disk : undefined,
    );
    let house = await ground.server();
    return async (trial) => {
      const customers = Array.from(
        { length: 4 },
        (_, index) => new Customer(ground, house, trial.random, `s${trial.seed}c${index}`),
      );
      let stopped = false;
      const lives = Promise.all(customers.map((customer) => customer.live(() => stopped, true)));
      const enough = trial.random.between(1, 60);
      try {
        await Promise.race([
          lives,
          until(() => stopped || customers.some(({ acknowledged }) => acknowledged >= enough)),
        ]);
        // A journal that is not needed any more makes room again.
        const full = until(async () => {
          await fill(disk);
          return stopped || customers.every(({ refused }) => refused > 0);
        });
        await Promise.race([lives, full]);
      } finally {
        stopped = true;
      }
      const dies = store === 'lmdb' && trial.random.chance(0.5);
      if (dies) await house.kill('SIGKILL');
      await lives;
      await rm(ballastOf(disk));
      if (dies) house = await ground.server();
      await until(
        async () => (await house.ask('/sessions', { body: { assistant_id: ground.assistantId } })).status === 201,
      );
      for (const customer of customers) {
        await customer.check(trial, house);
        trial.count('acknowledged', customer.acknowledged);
        trial.count('refused', customer.refused);
      }
    };
  },
};

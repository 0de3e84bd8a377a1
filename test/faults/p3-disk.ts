/** P3: a disk that is really full. Refused requests get 503, acknowledged writes stay, and with room again all goes on. */
import { spawnSync } from 'node:child_process';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder, type Owner } from '../folders.ts';
import { appendOnly } from '../store/redis-server.ts';
import { Customer } from './customer.ts';
import type { Experiment, StoreKind } from './experiment.ts';
import { Ground, lackingRedis, until } from './ground.ts';

const diskBytes = '192m';

const mounted = (folder: string): boolean => spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'none', folder]).status === 0;
const unmount = (folder: string): unknown => spawnSync('umount', ['-l', folder]);

let reason: string | null | undefined;

/** A small disk can be had where a file system can be mounted. */
function lackingDisk(store: StoreKind): string | null {
  if (reason === undefined) {
    const folder = '/tmp';
    const tried = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', folder]);
    reason = process.getuid?.() === 0 && tried.status === 0 ? null : 'only an administrator may mount a small disk to fill';
  }
  return reason ?? lackingRedis(store);
}

async function smallDisk(t: Owner): Promise<string> {
  const folder = await temporaryFolder(t);
  if (!mounted(folder)) throw new Error('The small disk cannot be mounted.');
  process.once('exit', () => unmount(folder));
  t.teardown(async () => unmount(folder));
  return folder;
}

/** Takes all the room that is left, to the last byte. */
async function fill(folder: string): Promise<void> {
  const file = await open(join(folder, 'ballast'), 'a');
  try {
    for (const size of [1024 * 1024, 4096, 1]) {
      const bytes = Buffer.alloc(size);
      while ((await file.write(bytes).catch(() => null)) !== null);
    }
  } finally {
    await file.close();
  }
}

export const fullDisk: Experiment = {
  promise: 'P3',
  name: 'disk',
  does: 'a disk that is full to the last byte, sometimes with kill -9 while it is',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 1, redis: 1 },
  lacking: lackingDisk,
  async open(t, store) {
    const disk = await smallDisk(t);
    await mkdir(join(disk, 'redis'));
    const ground = await Ground.open(t, store, [...appendOnly, '--dir', join(disk, 'redis')], store === 'lmdb' ? disk : undefined);
    let house = await ground.server();
    return async (trial) => {
      const customers = Array.from({ length: 4 }, (_, index) => new Customer(ground, house, trial.random, `s${trial.seed}c${index}`));
      let stopped = false;
      const lives = Promise.all(customers.map((customer) => customer.live(() => stopped, true)));
      const enough = trial.random.between(1, 60);
      try {
        await Promise.race([lives, until(() => stopped || customers.some(({ acknowledged }) => acknowledged >= enough))]);
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
      await rm(join(disk, 'ballast'));
      if (dies) house = await ground.server();
      await until(async () => (await house.ask('/sessions', { body: { assistant_id: ground.assistantId } })).status === 201);
      for (const customer of customers) {
        await customer.check(trial, house);
        trial.count('acknowledged', customer.acknowledged);
        trial.count('refused', customer.refused);
      }
    };
  },
};

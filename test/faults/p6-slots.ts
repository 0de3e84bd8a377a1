/**
 * P6: four processes under load are killed and replaced; the workspace's turns in flight never pass its ceiling, and no
 * slot leaks.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '../../src/base/limits.ts';
import { must, type House } from '../api/house.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis } from './ground.ts';
import { talk } from './listener.ts';

const ceiling = 10;
const processesCount = 4;
const talkersCount = 24;
const freeMs = limits.leaseMs + 1000;

export const neverAboveTheCeiling: Experiment = {
  promise: 'P6',
  name: 'slots',
  does: `kill -9 of one of ${processesCount} processes after the other, ${talkersCount} clients on ${ceiling} slots`,
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const houses = await Promise.all(Array.from({ length: processesCount }, () => ground.server()));
    await must(
      () =>
        houses[0]!.console(`/workspaces/${houses[0]!.workspaceId}`, {
          method: 'PATCH',
          body: { turns_in_flight_max: ceiling },
        }),
      200,
    );
    // Each process has heard of the ceiling by then.
    await pause(limits.catalogFreshMs + 200);
    return (trial) => killings(trial, ground, houses);
  },
};

async function killings(trial: Trial, ground: Ground, houses: House[]): Promise<void> {
  const { random } = trial;
  ground.speaker.most = 0;
  let over = false;
  const talkers = Array.from({ length: talkersCount }, async (_, index) => {
    for (let count = 0; !over; count++) {
      const place = houses[(index + count) % processesCount]!;
      const id = await ground.session(place).catch(() => null);
      if (id === null) continue;
      const listener = talk(place, id, {
        tag: `s${trial.seed}t${index}n${count}`,
        words: random.between(5, 60),
        delayMs: 10,
      });
      await listener.over;
      trial.count(listener.status === 200 ? 'turns' : listener.status === 429 ? 'refused' : 'cut');
      if (listener.status === 429) await pause(20);
    }
  });
  const kills = random.between(1, 6);
  for (let count = 0; count < kills; count++) {
    await pause(random.between(50, 600));
    const at = random.between(0, processesCount - 1);
    await houses[at]!.kill('SIGKILL');
    trial.count('kills');
    houses[at] = await ground.server();
  }
  over = true;
  await Promise.all(talkers);
  trial.must(
    ground.speaker.most <= ceiling,
    `${ground.speaker.most} turns were in flight at once, and ${ceiling} may be`,
  );
  const found = await freeSlots(ground, houses, `s${trial.seed}f`, performance.now() + freeMs);
  trial.must(
    found === ceiling,
    `${found} turns could be begun at once ${freeMs} ms after all was quiet, instead of ${ceiling}`,
  );
}

/** Begins more turns at once than there are slots, counts the ones that began, and ends them. */
async function freeSlots(ground: Ground, houses: readonly House[], tag: string, fromMs: number): Promise<number> {
  const places = await Promise.all(
    Array.from({ length: ceiling + 3 }, async (_, index) => ({
      house: houses[index % processesCount]!,
      id: await ground.session(houses[0]!),
    })),
  );
  await pause(Math.max(0, fromMs - performance.now()));
  const tries = places.map(({ house, id }, index) => ({
    house,
    id,
    listener: talk(house, id, { tag: `${tag}n${index}`, words: 100_000, delayMs: 50 }),
  }));
  await Promise.all(tries.map(({ listener }) => listener.answered));
  for (const { house, id, listener } of tries) {
    await house.ask(`/sessions/${id}/end`, { method: 'POST' });
    await listener.over;
  }
  return tries.filter(({ listener }) => listener.status === 200).length;
}

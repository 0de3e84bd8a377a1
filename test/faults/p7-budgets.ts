/** P7: one key on four processes whose clocks are minutes apart, against the most that a bucket may let through. */
import { setTimeout as pause } from 'node:timers/promises';
import type { House } from '../api/house.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis } from './ground.ts';
import { clockAhead, lackingFaketime } from './moved-clock.ts';

const clientsOfEach = 8;

export const exactLimits: Experiment = {
  promise: 'P7',
  name: 'budgets',
  does: 'one key on four processes with clocks ±5 min and five times as fast, for some hundred calls or 8,000',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 1 },
  lacking: (store) => lackingFaketime() ?? lackingRedis(store),
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const houses = [
      await ground.server(clockAhead(-300)),
      await ground.server(clockAhead(300)),
      await ground.server(clockAhead(0, 5)),
      await ground.server(),
    ];
    return (trial) => against(trial, houses);
  },
};

async function against(trial: Trial, houses: readonly House[]): Promise<void> {
  const ceiling = trial.random.chance(0.5) ? trial.random.between(300, 600) : trial.random.between(7000, 8000);
  const { key } = await houses[0]!.newKey({ limits: { requests: ceiling } });
  const perSecond = ceiling / 60;
  let [passed, refused] = [0, 0];
  const startedAt = performance.now();
  // Each stops at its first refusal: the debt, and so the wait, stays short. A machine that is slower than the refill
  // refuses none.
  const client = async (house: House): Promise<void> => {
    for (let status = 200; status === 200 && passed < 2 * ceiling;) {
      const { headers, ...answer } = await house.ask('/assistants', { key });
      status = answer.status;
      if (status === 200) passed++;
      if (status === 429) refused++;
      const resetIn = Number(headers.get('x-ratelimit-reset')) - Date.now() / 1000;
      trial.must(status === 200 || status === 429, `a request is answered ${status}`);
      trial.must(resetIn > -2 && resetIn < 122, `X-RateLimit-Reset lies ${resetIn.toFixed(1)} s ahead`);
    }
  };
  await Promise.all(houses.flatMap((house) => Array.from({ length: clientsOfEach }, () => client(house))));
  const refilled = ((performance.now() - startedAt) / 1000) * perSecond;
  trial.must(
    (refused === 0 || passed >= ceiling) && passed <= ceiling + Math.floor(refilled),
    `${passed} passed, with a ceiling of ${ceiling} and ${refilled.toFixed(2)} refilled`,
  );
  trial.count('passed', passed);
  trial.count('refused', refused);
  if (refused > 0 && perSecond < slowRefill) await checkWait(trial, houses, key);
}

/** Requests a second: a faster refill may have paid the debt before the next request. */
const slowRefill = 20;

/** Checks that a refused caller that waits for `Retry-After` passes, at whichever process. */
async function checkWait(trial: Trial, houses: readonly House[], key: string): Promise<void> {
  const { status, headers } = await trial.random.pick(houses).ask('/assistants', { key });
  const waitSeconds = Number(headers.get('retry-after'));
  trial.must(
    status === 429 && waitSeconds >= 1 && waitSeconds <= 60,
    `a request is answered ${status} with Retry-After ${waitSeconds}`,
  );
  await pause(waitSeconds * 1000);
  const again = await trial.random.pick(houses).ask('/assistants', { key });
  trial.must(again.status === 200, `after a wait of ${waitSeconds} s, as told, it is answered ${again.status}`);
}

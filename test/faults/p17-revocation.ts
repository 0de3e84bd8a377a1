/** P17: a key that one of three processes revokes is refused by all, under any fault between the others and Redis. */
import { setTimeout as pause } from 'node:timers/promises';
import type { House } from '../api/house.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis, several, until, type Member } from './ground.ts';
import { directions } from './way.ts';

const promisedMs = 5000;

export const revoked: Experiment = {
  promise: 'P17',
  name: 'revocation',
  does: 'a key revoked on one of three processes while another’s way to Redis is cut, stalled or slow',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const members = await several(3, () => ground.member());
    return (trial) => revocation(trial, members);
  },
};

async function revocation(trial: Trial, members: readonly Member[]): Promise<void> {
  const { random } = trial;
  const revoker = random.pick(members);
  await until(async () => (await revoker.house.console('/workspaces')).status === 200);
  const { key, id } = await revoker.house.newKey();
  // A process that was cut or stalled before may take a moment to recover.
  await Promise.all(
    members.map(({ house }) => until(async () => (await house.ask('/assistants', { key })).status === 200)),
  );
  const troubled = random.pick(members.filter((each) => each !== revoker)).way;
  const trouble = random.pick(['none', 'cut', 'stalled', 'slow'] as const);
  const path = `/workspaces/${revoker.house.workspaceId}/keys/${id}/revoke`;
  if (trouble === 'cut') troubled.close();
  if (trouble === 'stalled') troubled.stall(random.pick(directions));
  if (trouble === 'slow') troubled.delayMs = 200;
  const answer = await revoker.house.console(path, { method: 'POST' });
  const revokedAt = performance.now();
  trial.must(answer.status === 200, `the revocation is answered ${answer.status}`);
  const mended = pause(random.between(0, 3000)).then(() => troubled.mend());
  await Promise.all(members.map(({ house }) => refusedBy(trial, house, key, revokedAt)));
  await mended;
}

/** Asks until the key is refused as revoked; a process that is cut off may refuse it as it refuses all. */
async function refusedBy(trial: Trial, house: House, key: string, revokedAt: number): Promise<void> {
  for (;;) {
    const askedAt = performance.now();
    const { status, json } = await house.ask('/assistants', { key });
    if (status === 200) trial.took('until last accepted', askedAt - revokedAt, promisedMs);
    if (status === 401) {
      trial.must(json.error.code === 'revoked_api_key', `it is refused as ${json.error.code}`);
      return;
    }
    trial.must(status === 200 || status === 503, `it is answered ${status}`);
    await pause(20);
  }
}

/** P2: the server is killed when a client has so many bytes of a stream, a number drawn anew each time. */
import type { House } from '../api/house.ts';
import type { Experiment, Trial } from './experiment.ts';
import { checkPartial, checkUsable, Ground, lackingRedis, sealed } from './ground.ts';
import { begun } from './listener.ts';

const wordsWithoutEnd = 1_000_000;
/** Short of the longest output that a turn may have. */
const bytesMax = 100_000;

export const seenIsStored: Experiment = {
  promise: 'P2',
  name: 'kill',
  does: 'kill -9 of the server at a random byte of a stream',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 6 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    let house = await ground.server();
    const survivor = house;
    return async (trial) => {
      const victim = store === 'lmdb' ? house : await ground.server();
      // A refused turn, on a machine too busy for Redis to answer in time, does not count.
      const talks = (await killAtByte(trial, ground, victim)).filter(({ listener }) => listener.status === 200);
      if (store === 'lmdb') house = await ground.server();
      const place = store === 'lmdb' ? house : survivor;
      for (const { id, tag, listener } of talks) {
        await sealed(place, id);
        await checkPartial(trial, place, id, { tag, seen: listener.seen });
        await checkUsable(trial, place, id, `${tag}again`);
        trial.count('bytes seen', listener.bytes);
      }
      if (talks.every(({ listener }) => listener.seen === '')) trial.count('times that nobody saw anything');
    };
  },
};

/** Several talk at once; the first one's bytes are counted. */
async function killAtByte({ random, seed }: Trial, ground: Ground, victim: House) {
  const killAt = Math.floor(400 * (bytesMax / 400) ** random.next());
  const talks = await Promise.all(
    Array.from({ length: random.between(1, 4) }, async (_, index) => {
      const tag = `s${seed}t${index}`;
      const id = await ground.session(victim);
      return {
        id,
        tag,
        listener: await begun(victim, id, { tag, words: wordsWithoutEnd, delayMs: random.pick([0, 0, 1, 3]) }),
      };
    }),
  );
  const { listener } = talks[0]!;
  await Promise.all(talks.map((each) => each.listener.heard()));
  await listener.reached(killAt);
  victim.child.kill('SIGKILL');
  await Promise.all([victim.ended, ...talks.map((each) => each.listener.over)]);
  return talks;
}

/** Time of a server from its start to its first answer. */
import { startServer, storeFolder, type Server } from '../contenders/parley.ts';
import { startRedis, whyNoRedis } from '../contenders/redis.ts';
import { floor } from '../contenders/simple.ts';
import type { Contender, Instance } from '../harness/contender.ts';
import { pick, type Question } from '../harness/question.ts';
import { parleyFormat } from '../load/stream.ts';

const [first, wall] = ['from nothing', 'to the first answer'];
const startedIn = new WeakMap<Instance, number>();

/** The time of starting belongs to the instance, since the runner starts it. */
function timed(contender: Contender, start: Contender['start']): Contender {
  return {
    ...contender,
    async start(surroundings) {
      const startedAt = performance.now();
      const instance = await start(surroundings);
      startedIn.set(instance, performance.now() - startedAt);
      return instance;
    },
  };
}

const instanceOf = ({ server, port, stop }: Server, remove: () => Promise<void>): Instance => ({
  processes: [server],
  ports: [port],
  format: parleyFormat,
  conversations: async () => [],
  stop: () => stop().then(remove),
});

const parley = timed(
  {
    name: 'parley',
    note: 'An empty embedded store, which is given its first workspace, assistant and key.',
    standing: 'always',
    start: floor.start,
  },
  async (surroundings) => {
    const { folder, remove } = await storeFolder();
    return instanceOf(await startServer(`lmdb:${folder}`, surroundings), remove);
  },
);

const parleyRedis: Contender = {
  name: 'parley, Redis',
  note: 'An empty Redis that runs already.',
  standing: 'always',
  absent: whyNoRedis,
  async start(surroundings) {
    const redis = await startRedis();
    const startedAt = performance.now();
    const instance = instanceOf(await startServer(redis.url, surroundings), redis.stop);
    startedIn.set(instance, performance.now() - startedAt);
    return instance;
  },
};

export const start: Question = {
  name: 'start',
  title: 'Starting',
  method: 'From the start of the process to its first answer; the built server as it is, on one core.',
  figures: [{ name: wall, unit: 'ms' }],
  contenders: [timed(floor, floor.start), parley, parleyRedis],
  yardstick: { contender: floor.name, figure: wall },
  cases: () => [first],
  fresh: true,
  goals: [
    {
      text: 'start to first answer ≤ 0.2 s',
      headline: 'Start of the process to its first answer',
      kind: 'value',
      of: pick(parley.name, first, wall),
      most: 200,
    },
  ],
  measure: async ({ instance }) => ({ [wall]: startedIn.get(instance)! }),
};

/** Whether a second process on the same Redis makes a turn dearer. */
import { startHouse, startServer } from '../contenders/parley.ts';
import { startRedis, whyNoRedis } from '../contenders/redis.ts';
import { floor } from '../contenders/simple.ts';
import type { Contender } from '../harness/contender.ts';
import { pick, type Question } from '../harness/question.ts';
import { turn } from './turn.ts';

const [one, cpu] = ['one token', 'CPU per turn'];

const obstacle =
  'Two processes have half as many clients each, so what is shared by all who wait together is shared by fewer: a round trip to Redis, a write of the log, a wake-up of the event loop.';

const processesOn = (name: string, count: number): Contender => ({
  name,
  note: `${count} server processes on one Redis, both on the server's core; a client keeps to its process, a session does not.`,
  standing: 'always',
  absent: whyNoRedis,
  async start(surroundings) {
    const redis = await startRedis();
    const house = await startHouse({ store: redis.url, surroundings });
    const others = await Promise.all(Array.from({ length: count - 1 }, () => startServer(redis.url, surroundings)));
    const servers = [house.server, ...others.map(({ server }) => server)];
    const stop = async (): Promise<void> => {
      for (const one of [house, ...others]) await one.stop();
      await redis.stop();
    };
    return {
      ...house,
      beside: [redis.process],
      processes: servers,
      ports: [...house.ports, ...others.map(({ port }) => port)],
      stop,
    };
  },
});

const alone = processesOn('one process', 1);
const two = processesOn('two processes', 2);

export const processes: Question = {
  ...turn,
  name: 'processes',
  title: 'Several processes',
  method: `${turn.method} All processes together, on one Redis.`,
  contenders: [floor, alone, two],
  cases: () => [one],
  goals: [
    {
      text: 'two processes ≤ 1.15 × one',
      headline: 'CPU time of a turn in two processes, beside one process',
      kind: 'ratio',
      of: pick(two.name, one, cpu),
      against: pick(alone.name, one, cpu),
      most: 1.15,
      obstacle,
    },
  ],
};

/** P12: two workers under a supervisor are replaced one after the other, under load; no turn is lost. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Experiment } from './experiment.ts';
import { checkRefusal } from './customer.ts';
import { Ground, lackingRedis, until } from './ground.ts';
import { talk } from './listener.ts';
import { wordsOf } from './words.ts';

const workers = 2;
const talkersCount = 8;
/** Connections that the system gives to a worker in the instant in which it closes: docs/many-processes.md. */
const resetsMax = 2 * workers;

export const drained: Experiment = {
  promise: 'P12',
  name: 'restarts',
  does: `a rolling restart of ${workers} workers with ${talkersCount} conversations going on`,
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 1 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const house = await ground.server({ PARLEY_PROCESSES: String(workers), PARLEY_LOG: 'info' });
    let restarts = 0;
    const done = (): number => house.stdout().split('"rolling restart done"').length - 1;
    return async (trial) => {
      let over = false;
      let resets = 0;
      const talkers = Array.from({ length: talkersCount }, async (_, index) => {
        const id = await ground.session(house);
        for (let count = 0; !over; count++) {
          const tag = `s${trial.seed}t${index}n${count}`;
          const words = trial.random.between(1, 120);
          const listener = talk(house, id, { tag, words, delayMs: 10 });
          await listener.over;
          if (listener.status === 0) resets++;
          else if (listener.status === 503) checkRefusal(503, listener.text, listener.requestId);
          else
            trial.must(
              listener.ending === 'turn.completed' && listener.seen === wordsOf(tag, words),
              `${tag}: ${listener.status} ${listener.ending} ${listener.error}, ${listener.seen.length} characters`,
            );
          trial.count(listener.status === 200 ? 'turns' : listener.status === 503 ? 'refused' : 'reset');
          // A session whose turn was sent on a connection that was reset may have it all the same.
          if (listener.status === 409) await pause(100);
        }
      });
      await pause(trial.random.between(100, 1000));
      house.child.kill('SIGHUP');
      restarts++;
      await until(() => done() === restarts);
      over = true;
      await Promise.all(talkers);
      trial.must(resets <= resetsMax, `${resets} connections were reset`);
      trial.must(!house.stdout().includes('worker died'), 'a worker died');
    };
  },
};

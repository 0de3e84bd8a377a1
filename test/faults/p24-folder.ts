/**
 * P24: one folder has one owner, also across namespaces, and no acknowledged write is lost when a second server wants
 * it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { House } from '../api/house.ts';
import { containers, lackingContainers, signalWithin } from '../containers.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, until } from './ground.ts';
import { liveUntil } from './p3-server.ts';

/** A server that ends because it has lost its folder. */
const lostCode = 1;
const lostSentence = /was taken over by another process, moved or removed/;

/** A server that finds that another one owns the folder, or may. */
const waiting = /in use by a process in another container|cannot be seen from here/;

interface Rivals {
  readonly trial: Trial;
  readonly first: House;
  /** The second server, which has been started. */
  readonly second: Promise<House>;
}

/** Ends of the first server while the second one waits; each resolves once the first has ended. */
const ends = {
  /** A rolling update. */
  async updated({ trial, first }: Rivals): Promise<void> {
    signalWithin(first.child, 'SIGTERM');
    const { code } = await first.ended;
    trial.must(code === 0, `the first server ended with ${code}: ${first.stderr()}`);
  },
  async killed({ first }: Rivals): Promise<void> {
    signalWithin(first.child, 'SIGKILL');
    await first.ended;
  },
  async paused({ trial, first }: Rivals): Promise<void> {
    signalWithin(first.child, 'SIGSTOP');
    await pause(trial.random.between(10, 2000));
    signalWithin(first.child, 'SIGCONT');
    await pause(trial.random.between(10, 300));
    signalWithin(first.child, trial.random.pick(['SIGTERM', 'SIGKILL']));
    await first.ended;
  },
  /**
   * The owner is stopped for longer than its lease. It continues when another owns the folder, with requests that wait
   * for it.
   */
  async lapsed({ trial, first, second }: Rivals): Promise<void> {
    signalWithin(first.child, 'SIGSTOP');
    await second;
    await pause(trial.random.between(0, 300));
    signalWithin(first.child, 'SIGCONT');
    const { code } = await first.ended;
    trial.must(
      code === lostCode && lostSentence.test(first.stderr()),
      `the owner that lost its folder ended with ${code}: ${first.stderr()}`,
    );
  },
};

const sharedFolder = (
  name: string,
  does: string,
  within: readonly string[],
  kinds: readonly (keyof typeof ends)[],
): Experiment => ({
  promise: 'P24',
  name,
  does,
  stores: ['lmdb'],
  abreast: { lmdb: 2, redis: 1 },
  lacking: lackingContainers,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const server = (onOutput = (_: string): void => {}): Promise<House> =>
      ground.server({ PARLEY_LOG: 'warn' }, undefined, { within, onOutput });
    let house = await server();
    return async (trial) => {
      const first = house;
      const kind = trial.random.pick(kinds);
      let second: Promise<House> | undefined;
      const customers = await liveUntil(trial, ground, first, async () => {
        let output = '';
        const started = server((text) => (output += text));
        second = started;
        const isWaiting = await Promise.race([until(() => waiting.test(output)), started]);
        trial.must(isWaiting === true, 'two servers serve one folder');
        await pause(trial.random.between(0, 500));
        await ends[kind]({ trial, first, second });
      });
      house = await second!;
      trial.count(kind);
      for (const customer of customers) await customer.check(trial, house);
    };
  },
});

export const oneOwner: readonly Experiment[] = [
  sharedFolder(
    'containers',
    'a second container on the folder, and the first one updated, killed or stopped for a while',
    containers.container,
    ['updated', 'killed', 'paused'],
  ),
  sharedFolder(
    'lease',
    'the same where no lock of the system can be had, and the first one stopped for longer than its lease',
    containers.lockless,
    ['lapsed', 'lapsed', 'updated', 'killed'],
  ),
];

/**
 * Measures the loss of a client when a primary of a Redis Cluster is killed: three primaries with a replica each,
 * speakers who begin and end turns all the time, clerks who revoke, publish, remove, end, abort and withdraw, and `kill
 * -9` of the primary that has a speaker's workspace, so many times. The dead server starts again, as a supervisor would
 * have it, when a replica has taken its place. `node --import=tsx bench/failover.ts --help`
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Option } from 'commander';
import { openStore } from '../test/store/redis-stores.ts';
import { StoreUnavailable } from '../src/store/store.ts';
import { Clerk } from '../test/store/clerks.ts';
import { RedisCluster } from '../test/store/redis-server.ts';
import { Speaker } from '../test/store/speakers.ts';
import { developmentCommand, numberOption } from './harness/development-command.ts';

export const durabilities = ['committed', 'replicated', 'replicated-output'] as const;
export type Durability = (typeof durabilities)[number];

/**
 * Counts of turns, by the answers to their speakers and the text found afterwards; `forgotten` are turns, finished or
 * not, with less text than was stored, and the clerks' pieces of text that are gone. `done` counts the clerks'
 * acknowledged steps, `undone` lists those that were lost. `firstMs` until a speaker on the dead primary's shard is
 * answered again; `isReplaced` if another server has that shard then, on which each speaker has had a turn since.
 */
export interface Failover {
  readonly acknowledged: number;
  readonly refused: number;
  readonly failed: number;
  readonly lost: number;
  readonly mixed: number;
  readonly forgotten: number;
  readonly done: number;
  readonly undone: readonly string[];
  readonly firstMs: number;
  readonly isReplaced: boolean;
}

/** Number of sessions that speak, and number that take other steps, at one time. */
const crowd = { speakers: 24, clerks: 12 };

/** Kills a primary `times` times, its replica stopped and cut off so long before, and reports each. */
export async function failovers(
  times: number,
  durability: Durability,
  stoppedMs: number,
  report: (each: Failover) => void,
): Promise<void> {
  const cluster = await RedisCluster.start();
  try {
    for (let count = 0; count < times; count++) {
      report(await failover(cluster, durability, stoppedMs));
      await cluster.settles();
    }
  } finally {
    await cluster.stop();
  }
}

/** Kills the primary once; the replica is stopped and cut off so long before, and misses the writes in between. */
export async function failover(
  cluster: RedisCluster,
  durability: Durability,
  stoppedMs = 0,
  counts = crowd,
): Promise<Failover> {
  const { store, dispose } = await openStore(cluster.url, { durability });
  const speakers = Array.from({ length: counts.speakers }, () => new Speaker(store));
  const clerks = Array.from({ length: counts.clerks }, () => new Clerk(store));
  let ended = false;
  const all = Promise.all([
    ...speakers.map((speaker) => speaker.speak(() => ended)),
    ...clerks.map((clerk) => clerk.work(() => ended)),
  ]);
  const until = (isSo: () => boolean | Promise<boolean>): Promise<void> => cluster.until(isSo, all);
  try {
    await until(
      () =>
        speakers.every(({ acknowledged }) => acknowledged > 2) && clerks.every(({ acknowledged }) => acknowledged > 6),
    );
    const { workspaceId } = speakers[0]!.scene;
    const primary = await cluster.primaryOf(workspaceId);
    const replicas = stoppedMs > 0 ? await cluster.replicasOf(primary) : [];
    for (const replica of replicas) replica.signal('SIGSTOP');
    // Writes from now on would be buffered in the replica's socket.
    if (replicas.length > 0) await primary.command('CLIENT', 'KILL', 'TYPE', 'replica');
    await pause(stoppedMs);
    await primary.kill();
    for (const replica of replicas) replica.signal('SIGCONT');
    const killedAt = performance.now();
    await until(async () => (await cluster.primaries()).length === 3);
    const heir = await cluster.primaryOf(workspaceId);
    const replacedAt = performance.now();
    await primary.run();
    // The first speaker's workspace lies on that primary; other speakers there are answered by then or soon after.
    let firstMs = 0;
    await until(() => (firstMs = speakers[0]!.spokeAt - killedAt) > 0);
    await until(() => speakers.every(({ spokeAt }) => spokeAt > Math.max(killedAt + firstMs, replacedAt)));
    ended = true;
    await all;
    const sum = (of: (speaker: Speaker) => number): number =>
      speakers.reduce((total, speaker) => total + of(speaker), 0);
    let [lost, mixed, forgotten] = [0, 0, 0];
    for (const speaker of speakers) {
      lost += await answered(cluster, () => speaker.lost());
      mixed += (await answered(cluster, () => speaker.mixed())).length;
      forgotten += await answered(cluster, () => speaker.forgotten());
    }
    const turns = {
      acknowledged: sum((each) => each.acknowledged),
      refused: sum((each) => each.refused),
      failed: sum((each) => each.failed),
      lost,
      mixed,
      forgotten,
    };
    const done = clerks.reduce((total, { acknowledged }) => total + acknowledged, 0);
    const gone = (await Promise.all(clerks.map((clerk) => answered(cluster, () => clerk.undone())))).flat();
    const undone = gone.filter((what) => what !== 'text');
    return {
      ...turns,
      forgotten: turns.forgotten + gone.length - undone.length,
      done,
      undone,
      firstMs: Math.round(firstMs),
      isReplaced: heir !== primary,
    };
  } finally {
    ended = true;
    await all.catch(() => {});
    await dispose();
  }
}

/** Retries a read while the cluster still settles. */
async function answered<T>(cluster: RedisCluster, read: () => Promise<T>): Promise<T> {
  const found: T[] = [];
  await cluster.until(async () => {
    try {
      found.push(await read());
      return true;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      return false;
    }
  });
  return found[0]!;
}

if (import.meta.filename === process.argv[1]) {
  const {
    times,
    stopped,
    durability: only,
  } = developmentCommand(
    'node --import=tsx bench/failover.ts',
    'Kills primaries of a Redis Cluster of its own and tells, a line for each, what clients lost.',
    'node --import=tsx bench/failover.ts --times 20 --durability replicated',
  )
    .addOption(numberOption('--times <number>', 'how many are killed for each durability', 1).default(10))
    .addOption(
      numberOption('--stopped <ms>', 'how long the replica is stopped before, and misses what is written').default(0),
    )
    .addOption(
      new Option('--durability <durability>', 'what a step waits for')
        .choices(durabilities)
        .default(null, 'one after the other'),
    )
    .parse()
    .opts<{ times: number; stopped: number; durability: Durability | null }>();
  for (const durability of only === null ? durabilities : [only]) {
    await failovers(times, durability, stopped, (each) =>
      process.stdout.write(`${durability} ${JSON.stringify(each)}\n`),
    );
  }
}

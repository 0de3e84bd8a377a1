/**
 * What a client loses when a primary of a Redis Cluster is killed: three primaries with a replica each, speakers who begin and
 * end turns all the time, and `kill -9` of the primary that has a speaker's workspace, so many times. The dead server starts
 * again, as a supervisor would have it, when a replica has taken its place.
 * `node --import=tsx bench/failover.ts --help`
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Option } from 'commander';
import { openStore } from '../test/store/redis-stores.ts';
import { RedisCluster } from '../test/store/redis-server.ts';
import { Speaker } from '../test/store/speakers.ts';
import { developmentCommand, numberOption } from './harness/development-command.ts';

const durabilities = ['committed', 'replicated'] as const;
export type Durability = (typeof durabilities)[number];

/** Turns, by what their speakers were told and what was found; `firstMs` until a speaker on the dead primary's shard is answered again. */
export interface Failover {
  readonly acknowledged: number;
  readonly refused: number;
  readonly failed: number;
  readonly lost: number;
  readonly mixed: number;
  readonly firstMs: number;
}

const speakersCount = 24;
const pollMs = 20;

/** Kills a primary `times` times and reports each. */
export async function failovers(times: number, durability: Durability, report: (each: Failover) => void): Promise<void> {
  const cluster = await RedisCluster.start();
  try {
    for (let count = 0; count < times; count++) {
      report(await failover(cluster, durability));
      while (!(await cluster.settled().catch(() => false))) await pause(pollMs);
    }
  } finally {
    await cluster.stop();
  }
}

/** One of them; the replica is stopped so long before, and misses what is written meanwhile. */
export async function failover(cluster: RedisCluster, durability: Durability, stoppedMs = 0): Promise<Failover> {
  const { store, dispose } = await openStore(cluster.url, { durability: durability === 'replicated' ? 'replicated' : 'local' });
  const speakers = Array.from({ length: speakersCount }, () => new Speaker(store));
  let ended = false;
  const all = Promise.all(speakers.map((speaker) => speaker.speak(() => ended)));
  const until = async (done: () => boolean | Promise<boolean>): Promise<void> => {
    while (!(await done())) await Promise.race([all, pause(pollMs)]);
  };
  try {
    await until(() => speakers.every(({ acknowledged }) => acknowledged > 2));
    const primary = await cluster.primaryOf(speakers[0]!.scene.workspaceId);
    const replicas = stoppedMs > 0 ? await cluster.replicasOf(primary) : [];
    for (const replica of replicas) replica.signal('SIGSTOP');
    await pause(stoppedMs);
    await primary.kill();
    for (const replica of replicas) replica.signal('SIGCONT');
    const killedAt = performance.now();
    await until(async () => (await cluster.primaries()).length === 3);
    await primary.run();
    // The first speaker's workspace lies on that primary; whoever else does is heard by then or soon after.
    let firstMs = 0;
    await until(() => (firstMs = speakers[0]!.spokeAt - killedAt) > 0);
    await until(() => speakers.every(({ spokeAt }) => spokeAt > killedAt + firstMs));
    ended = true;
    await all;
    const sum = (of: (speaker: Speaker) => number): number => speakers.reduce((total, speaker) => total + of(speaker), 0);
    let [lost, mixed] = [0, 0];
    for (const speaker of speakers) {
      lost += await speaker.lost();
      mixed += (await speaker.mixed()).length;
    }
    return { acknowledged: sum((each) => each.acknowledged), refused: sum((each) => each.refused), failed: sum((each) => each.failed), lost, mixed, firstMs: Math.round(firstMs) };
  } finally {
    ended = true;
    await all.catch(() => {});
    await dispose();
  }
}

if (import.meta.filename === process.argv[1]) {
  const { times, durability: only } = developmentCommand(
    'node --import=tsx bench/failover.ts',
    'Kills primaries of a Redis Cluster of its own and tells, a line for each, what clients lost.',
    'node --import=tsx bench/failover.ts --times 20 --durability replicated',
  )
    .addOption(numberOption('--times <number>', 'how many are killed for each durability', 1).default(10))
    .addOption(new Option('--durability <durability>', 'what a step waits for').choices(durabilities).default(null, 'one after the other'))
    .parse()
    .opts<{ times: number; durability: Durability | null }>();
  for (const durability of only === null ? durabilities : [only]) {
    await failovers(times, durability, (each) => process.stdout.write(`${durability} ${JSON.stringify(each)}\n`));
  }
}

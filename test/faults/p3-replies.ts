/**
 * P3, where the replies of the store are lost: an acknowledged step is stored, and a step answered 503 has left nothing
 * behind.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { RedisCluster, type RedisServer } from '../store/redis-server.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis, several, until, type Member } from './ground.ts';
import { Insistent } from './insistent.ts';
import { ReplacingWay } from './replacing.ts';
import { isRedisStep, type Way } from './way.ts';

const customersCount = 4;
const actsCount = 6;
/** No failover happens by itself on a busy machine. */
const nodeTimeoutMs = 15_000;

export const answeredIsStored: Experiment = {
  promise: 'P3',
  name: 'replies',
  does: 'replies of Redis cut, stalled and lost in the middle of everything',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const members = await several(2, () => ground.member());
    return (trial) => inTrouble(trial, members, trouble);
  },
};

/** The steps of Redis are not run: it refuses them, one connection after the other or all at once. */
export const refusedIsNothing: Experiment = {
  promise: 'P3',
  name: 'errors',
  does: 'errors of Redis in place of steps in the middle of everything',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const members = await several(2, async () => {
      const way = await ReplacingWay.open(t, ground.redis!.port);
      return { way, house: await ground.server({}, `redis://127.0.0.1:${way.port}`) };
    });
    return (trial) => inTrouble(trial, members, refusals);
  },
};

/** The same by settings and commands of Redis itself. */
export const settingsRefuse: Experiment = {
  promise: 'P3',
  name: 'settings',
  does: 'Redis without memory or replicas, as a replica, paused, busy, without scripts, connections or rights',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const redis = ground.redis!;
    await redis.command('CONFIG', 'SET', 'busy-reply-threshold', '50');
    const members = [
      { way: redis, house: await ground.server() },
      { way: null, house: await ground.server() },
    ];
    return (trial) => inTrouble(trial, members, misset);
  },
};

/** The same in a cluster, whose members announce the ways to them as their addresses. */
export const refusedInCluster: Experiment = {
  promise: 'P3',
  name: 'cluster',
  does: 'errors of a Redis Cluster in place of steps in the middle of everything',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 1 },
  lacking: lackingRedis,
  async open(t) {
    const cluster = await RedisCluster.start(nodeTimeoutMs);
    t.teardown(() => cluster.stop());
    const ways = await Promise.all(cluster.servers.map(({ port }) => ReplacingWay.open(t, port)));
    const ports = ways.map(({ port }) => String(port));
    for (const [index, server] of cluster.servers.entries())
      await server.command('CONFIG', 'SET', 'cluster-announce-port', ports[index]!);
    await until(async () => {
      const told = await Promise.all(cluster.servers.map((server) => server.command('CLUSTER', 'NODES')));
      return told.every((nodes) => ports.every((port) => nodes.includes(`127.0.0.1:${port}@`)));
    });
    const ground = await Ground.onCluster(t, `redis-cluster://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`);
    // Both servers use all ways.
    const members = [
      { way: ways, house: await ground.server() },
      { way: [], house: await ground.server() },
    ];
    const refuse: Trouble<readonly ReplacingWay[]> = (trial, ways, over) =>
      Promise.all(ways.map((way) => refusals(trial, way, over, stepsOnly)));
    return (trial) => inTrouble(trial, members, refuse);
  },
};

type Trouble<To> = (trial: Trial, way: To, over: () => boolean) => Promise<unknown>;

async function inTrouble<To>(trial: Trial, members: readonly Member<To>[], befall: Trouble<To>): Promise<void> {
  const { house } = members[0]!;
  const credentialId = (await house.console(`/workspaces/${house.workspaceId}/credentials`)).json.data.at(-1).id;
  const customers: Insistent[] = [];
  for (let index = 0; index < customersCount; index++) {
    const { id } = await house.assistant({
      model: { provider: 'openai', name: 'speaker', credential_id: credentialId },
    });
    customers.push(
      new Insistent(
        members.map((member) => member.house),
        trial,
        `s${trial.seed}c${index}`,
        id,
      ),
    );
  }
  let over = false;
  const troubled = members.map(({ way }) => befall(trial, way, () => over));
  try {
    await Promise.all(customers.map((customer) => customer.live(actsCount)));
  } finally {
    over = true;
    await Promise.all(troubled);
  }
  for (const customer of customers) for (const member of members) await customer.check(member.house);
  for (const member of members) {
    const { text } = await member.house.ask('/metrics', { key: null });
    trial.must(
      text.includes('\nparley_unhandled_rejections_total 0\n'),
      `a rejection was handled by nobody: ${member.house.stdout()}`,
    );
  }
}

/** Recognises the replies of steps that move something. */
const replies: Readonly<Record<string, RegExp>> = {
  creations: /\$7\r\ncreated\r\n/,
  beginnings: /\$5\r\nbegun\r\n/,
  pieces: /\$6\r\nstored\r\n/,
  endings: /\$8\r\nfinished\r\n/,
  moves: /^\*\d+\r\n:\d+\r\n/,
};

type Fault = (trial: Trial, way: Way) => Promise<void>;

const faults: Readonly<Record<string, Fault>> = {
  /** The connection is cut instead of a reply; the step is sent again. */
  cut: async ({ random }, way) => {
    way.loseReply(random.between(1, 20));
    await pause(random.between(20, 300));
  },
  /** The reply of a step of one kind is lost, and for a while there is no way to send it again. */
  lost: async (trial, way) => {
    const [what, reply] = trial.random.pick(Object.entries(replies));
    const closed = new Promise<void>((resolve) => {
      way.isReply = (bytes) => {
        const isWanted = isRedisStep(bytes) && reply.test(bytes.toString('latin1'));
        if (isWanted) way.close();
        if (isWanted) resolve();
        return isWanted;
      };
    });
    way.loseReply(1);
    await Promise.race([closed, pause(trial.random.between(500, 2000))]);
    if (way.lost) trial.count(`${what} lost`);
    await pause(trial.random.between(500, 3000));
    way.isReply = isRedisStep;
  },
  /** Steps are taken, and their replies come late or too late. */
  stalled: async ({ random }, way) => {
    way.stall(['back']);
    await pause(random.between(200, 3000));
  },
};

/** One fault after the other on a connection, with pauses in which the work continues. */
async function trouble(trial: Trial, way: Way, over: () => boolean): Promise<void> {
  while (!over()) {
    const what = trial.random.pick(Object.keys(faults));
    await faults[what]!(trial, way);
    way.mend();
    trial.count(what);
    await pause(trial.random.between(200, 800));
  }
}

/** Errors by which Redis refuses a command that it has not run. */
const errors = [
  "OOM command not allowed when used memory > 'maxmemory'.",
  'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.',
  "READONLY You can't write against a read only replica.",
  'LOADING Redis is loading the dataset in memory',
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  'NOREPLICAS Not enough good replicas to write.',
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  'NOAUTH Authentication required.',
  'NOPERM this user has no permissions to run this command',
  'CLUSTERDOWN The cluster is down',
  'TRYAGAIN Multiple keys request during rehashing of slot',
  'MOVED 1 127.0.0.1:1',
  'ASK 1 127.0.0.1:1',
  'NOSCRIPT No matching script.',
  'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
  'ERR unknown command',
  'ERR max number of clients reached',
] as const;

/** Replicas follow their primaries on the same ways. */
const stepsOnly = (name: string): boolean => ['evalsha', 'eval', 'set', 'cluster', 'exists'].includes(name);

/** Commands that make Redis refuse steps, and those that mend it. */
const settings: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
  full: [
    ['CONFIG', 'SET', 'maxmemory', '1'],
    ['CONFIG', 'SET', 'maxmemory', '0'],
  ],
  'without replicas': [
    ['CONFIG', 'SET', 'min-replicas-to-write', '1'],
    ['CONFIG', 'SET', 'min-replicas-to-write', '0'],
  ],
  // No server listens at this address, so no write is replicated.
  'a replica': [
    ['REPLICAOF', '127.0.0.1', '1'],
    ['REPLICAOF', 'NO', 'ONE'],
  ],
  paused: [
    ['CLIENT', 'PAUSE', '60000', 'WRITE'],
    ['CLIENT', 'UNPAUSE'],
  ],
  busy: [
    ['EVAL', 'while true do end', '0'],
    ['SCRIPT', 'KILL'],
  ],
  'without scripts': [['SCRIPT', 'FLUSH'], ['PING']],
  'without connections': [
    ['CLIENT', 'KILL', 'TYPE', 'normal'],
    ['CLIENT', 'KILL', 'TYPE', 'pubsub'],
  ],
  'without rights': [
    ['ACL', 'SETUSER', 'default', '-evalsha', '-set'],
    ['ACL', 'SETUSER', 'default', '+@all'],
  ],
};

async function misset(trial: Trial, redis: RedisServer | null, over: () => boolean): Promise<void> {
  while (redis !== null && !over()) {
    const what = trial.random.pick(Object.keys(settings));
    const [fault, mending] = settings[what]!;
    // A script that runs for ever answers only once it is killed.
    const begun = redis.command(...fault);
    await Promise.race([begun, pause(500)]);
    await pause(trial.random.pick([50, 300, 1000, 3000]));
    await redis.command(...mending);
    await begun;
    trial.count(what);
    await pause(trial.random.between(100, 800));
  }
}

/** Refuses a part of the commands, or all of them, for a while, and then none for a while. */
async function refusals(
  trial: Trial,
  way: ReplacingWay,
  over: () => boolean,
  may: (name: string) => boolean = () => true,
): Promise<void> {
  const { random } = trial;
  while (!over()) {
    const error = random.pick(errors);
    const share = random.pick([0.05, 0.3, 1]);
    const only = random.pick([null, null, 'evalsha', 'eval']);
    way.refuse = ([name]) => (may(name!) && (only === null || name === only) && random.chance(share) ? error : null);
    trial.count(error.split(' ', 1)[0]!);
    await pause(random.pick([50, 300, 1000, 3000]));
    way.refuse = () => null;
    await pause(random.between(100, 800));
  }
}

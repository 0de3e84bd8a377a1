/**
 * The cost of waiting for a replica: a primary and a replica on this machine, and turns that are begun, given many
 * pieces of output and finished, under each durability in turn within every round. `node --import=tsx
 * bench/replication.ts --help`
 */
import type { Store } from '../src/store/store.ts';
import type { Durability } from '../src/store/redis/link.ts';
import { api, Scene } from '../test/store/fixtures.ts';
import { appendOnly, RedisServer } from '../test/store/redis-server.ts';
import { openStore } from '../test/store/redis-stores.ts';
import { developmentCommand, numberOption } from './harness/development-command.ts';
import { median, quantile } from './harness/statistics.ts';

const durabilities = ['committed', 'replicated', 'replicated-output'] as const satisfies readonly Durability[];
const pieces = 50;
const piece = 'an answer ';

/**
 * Medians over the rounds: milliseconds, and microseconds of CPU time for a piece of output, begin and finish of its
 * turn included.
 */
export interface Price {
  readonly durability: Durability;
  readonly abreast: number;
  readonly beginMs: number;
  readonly pieceMs: number;
  readonly pieceP99Ms: number;
  readonly finishMs: number;
  readonly ownUs: number;
  readonly redisUs: number;
  readonly piecesPerSecond: number;
}

type Round = Omit<Price, 'durability' | 'abreast'>;

interface Times {
  readonly begin: number[];
  readonly piece: number[];
  readonly finish: number[];
}

const cpuOf = async (server: RedisServer): Promise<number> => {
  const info = await server.command('INFO', 'cpu');
  return ['used_cpu_sys', 'used_cpu_user'].reduce(
    (sum, name) => sum + Number(new RegExp(`${name}:([\\d.]+)`).exec(info)![1]) * 1e6,
    0,
  );
};

async function timed<T>(into: number[], call: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const answer = await call();
  into.push(performance.now() - startedAt);
  return answer;
}

async function turn(scene: Scene, times: Times): Promise<void> {
  const session = await scene.created();
  const begun = await timed(times.begin, () => scene.begun(session, 1, { slot: api(100_000) }));
  for (let count = 0; count < pieces; count++)
    await timed(times.piece, () => begun.append(count * piece.length, piece));
  await timed(times.finish, () =>
    scene.store.turns.finish(begun.finishStep({ tail: { position: pieces * piece.length, text: '' } })),
  );
}

async function round(store: Store, servers: readonly RedisServer[], abreast: number, turns: number): Promise<Round> {
  const times: Times = { begin: [], piece: [], finish: [] };
  const scene = new Scene(store, Date.now());
  let left = turns;
  const lane = async (): Promise<void> => {
    while (left-- > 0) await turn(scene, times);
  };
  const redisCpu = async (): Promise<number> =>
    (await Promise.all(servers.map(cpuOf))).reduce((sum, each) => sum + each, 0);
  const [redisBefore, ownBefore, startedAt] = [await redisCpu(), process.cpuUsage(), performance.now()];
  await Promise.all(Array.from({ length: abreast }, lane));
  const seconds = (performance.now() - startedAt) / 1000;
  const own = process.cpuUsage(ownBefore);
  const count = turns * pieces;
  return {
    ...{
      beginMs: median(times.begin),
      pieceMs: median(times.piece),
      pieceP99Ms: quantile(times.piece, 0.99),
      finishMs: median(times.finish),
    },
    ...{
      ownUs: (own.user + own.system) / count,
      redisUs: ((await redisCpu()) - redisBefore) / count,
      piecesPerSecond: count / seconds,
    },
  };
}

/** Measures each durability with so many turns abreast, in so many rounds of so many turns. */
export async function prices(abreast: number, rounds: number, turns: number): Promise<Price[]> {
  const primary = await RedisServer.start(...appendOnly, '--repl-diskless-sync-delay', '0');
  const replica = await RedisServer.start(...appendOnly, '--replicaof', `127.0.0.1 ${primary.port}`).catch(
    async (error) => (await primary.stop(), Promise.reject(error)),
  );
  const opened: Awaited<ReturnType<typeof openStore>>[] = [];
  try {
    await primary.replies('state=online', 'INFO', 'replication');
    for (const durability of durabilities) opened.push(await openStore(primary.url, { durability }));
    const found = durabilities.map((): Round[] => []);
    for (const { store } of opened) await round(store, [], abreast, abreast);
    for (let count = 0; count < rounds; count++) {
      // Each goes first as often as the others.
      for (let place = 0; place < durabilities.length; place++) {
        const which = (place + count) % durabilities.length;
        found[which]!.push(await round(opened[which]!.store, [primary, replica], abreast, turns));
      }
    }
    const names = Object.keys(found[0]![0]!) as (keyof Round)[];
    return durabilities.map((durability, which) => {
      const medians = Object.fromEntries(
        names.map((name) => [name, median(found[which]!.map((each) => each[name]))]),
      ) as unknown as Round;
      return { durability, abreast, ...medians };
    });
  } finally {
    for (const { dispose } of opened) await dispose();
    await Promise.all([primary.stop(), replica.stop()]);
  }
}

if (import.meta.filename === process.argv[1]) {
  const { abreast, rounds, turns } = developmentCommand(
    'node --import=tsx bench/replication.ts',
    'Measures what waiting for a replica costs, on a primary and a replica of its own, a line for each durability.',
    'node --import=tsx bench/replication.ts --abreast 64 --turns 640',
  )
    .addOption(numberOption('--abreast <number>', 'turns at one time', 1).default(1))
    .addOption(numberOption('--rounds <number>', 'of all durabilities', 1).default(9))
    .addOption(numberOption('--turns <number>', 'in each round for each durability', 1).default(40))
    .parse()
    .opts<{ abreast: number; rounds: number; turns: number }>();
  for (const each of await prices(abreast, rounds, turns))
    process.stdout.write(
      `${JSON.stringify(each, (_, value: unknown) => (typeof value === 'number' ? Number(value.toFixed(3)) : value))}\n`,
    );
}

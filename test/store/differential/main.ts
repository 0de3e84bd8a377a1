/** `npm run differential`: random lives of all stores, which must be the same. */
import { randomInt } from 'node:crypto';
import { developmentCommand, numberOption } from '../../../bench/harness/development-command.ts';
import { Progress } from '../../../bench/harness/progress.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../redis-server.ts';

interface Wanted {
  readonly runs: number;
  readonly seed: number;
  readonly path?: string;
  readonly length: number;
}

const command = developmentCommand(
  'npm run differential --',
  'Takes the same random steps on memory, LMDB and a Redis of its own, and compares what they answer, announce and hold. Ends with 1 and the shortest life that differs.',
  `
  npm run differential -- --runs 2000                       as many lives, from a new seed
  npm run differential -- --runs 2000 --seed 7 --path 3:0   what differed again, as it was printed`,
)
  .addOption(numberOption('--runs <number>', 'how many lives').default(500))
  .addOption(numberOption('--seed <number>', 'what they are drawn from').default(randomInt(1, 1e9), 'a new one'))
  .option('--path <path>', 'the path of a difference, as it was printed; goes with its --seed, --runs and --length')
  .addOption(numberOption('--length <number>', 'steps in a life, at most').default(150));
const { runs, seed, path, length } = command.parse().opts<Wanted>();
const missing = whyNoRedis();
if (missing !== null) command.error(missing);
// The stores' packages take a second to load, which the help need not.
const { inMemory, onLmdb, onRedis, timedServer } = await import('./contenders.ts');
const { runDifferential } = await import('./run.ts');
const server = await RedisServer.start(...appendOnly);
const timed = await timedServer(server.url);
const progress = new Progress(1);
try {
  let done = 0;
  const onRun = (): void => progress.tell(++done, runs, `differential: seed ${seed}`);
  await runDifferential([inMemory, onLmdb(), onRedis(timed)], {
    seed,
    runs,
    length,
    onRun,
    ...(path !== undefined && { path }),
  });
  progress.end();
  process.stdout.write(
    `${runs} lives of up to ${length} steps are the same on memory, LMDB and Redis (seed ${seed})\n`,
  );
} catch (error) {
  progress.end();
  process.stdout.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  timed.close();
  await server.stop();
}

/** `npm run sequences`: random commands against a live server, which must agree with the machines (promise P8). */
import { randomInt } from 'node:crypto';
import { InvalidArgumentError, Option } from 'commander';
import { developmentCommand, numberOption } from '../../bench/harness/development-command.ts';
import { Progress } from '../../bench/harness/progress.ts';
import { readConfig } from '../../src/base/config.ts';
import { openHouse } from '../api/house.ts';
import type { Owner } from '../folders.ts';
import { runSequences } from './run.ts';

interface Wanted {
  readonly runs: number;
  readonly seed: number;
  readonly path?: string;
  readonly length: number;
  readonly store: string;
  readonly edge: string;
}

const secret = 'the secret of the sequences, 32 or more';

function storeUrl(text: string): string {
  try {
    readConfig({ PARLEY_STORE: text });
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message.replace('PARLEY_STORE', 'It'));
  }
  return text;
}

const { runs, seed, path, length, store, edge } = developmentCommand(
  'npm run sequences --',
  'Sends random commands to a live server and holds each answer to the machines. Ends with 1 and the shortest sequence that disagrees.',
  `
  npm run sequences -- --runs 10000                        as many sequences, from a new seed
  npm run sequences -- --runs 10000 --seed 7 --path 3:0    what failed again, as it was printed
  npm run sequences -- --store redis://127.0.0.1:6379 --edge node --length 100`,
)
  .addOption(numberOption('--runs <number>', 'how many sequences').default(1000))
  .addOption(numberOption('--seed <number>', 'what they are drawn from').default(randomInt(1, 1e9), 'a new one'))
  .option('--path <path>', 'the path of a failure, as it was printed; goes with its --seed and --runs')
  .addOption(numberOption('--length <number>', 'commands in a sequence, at most').default(40))
  .option(
    '--store <url>',
    'lmdb:FOLDER (within a temporary one, where it is relative), memory: or redis://HOST:PORT',
    storeUrl,
    'lmdb:./data',
  )
  .addOption(
    new Option('--edge <engine>', 'the HTTP engine')
      .choices(['uws', 'node'])
      .default('', 'uws where it loads, else node'),
  )
  .parse()
  .opts<Wanted>();
const undo: (() => Promise<unknown>)[] = [];
const owner: Owner = { teardown: (run) => undo.unshift(run) };
const progress = new Progress(1);
try {
  const env = { PARLEY_STORE: store, PARLEY_SECRET: secret, PARLEY_EDGE: edge, PARLEY_TRUSTED_PROXIES: '127.0.0.1' };
  const house = await openHouse(owner, { env });
  let done = 0;
  const onRun = (): void => progress.tell(++done, runs, `sequences: seed ${seed}`);
  await runSequences(house, { seed, runs, length, onRun, path });
  progress.end();
  process.stdout.write(`${runs} sequences of up to ${length} commands agree with the machines (seed ${seed})\n`);
} catch (error) {
  progress.end();
  process.stdout.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  for (const run of undo) await run();
}

/**
 * `npm run sequences`: random commands against a live server, which must agree with the machines (promise P8).
 *
 *   npm run sequences -- --runs 10000                     as many sequences, from a new seed
 *   npm run sequences -- --runs 10000 --seed 7 --path …   what failed again, as it was printed
 *   npm run sequences -- --store redis://127.0.0.1:6379   on that store; lmdb in a folder of its own otherwise
 *   npm run sequences -- --edge node --length 100         with that engine, and sequences of up to so many commands
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Progress } from '../../bench/harness/progress.ts';
import { openHouse } from '../api/house.ts';
import type { Owner } from '../folders.ts';
import { runSequences } from './run.ts';

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { runs: text, seed: text, path: text, length: text, store: text, edge: text } });
const number = (name: 'runs' | 'seed' | 'length', fallback: number): number => {
  const value = values[name] ?? String(fallback);
  if (!/^\d{1,9}$/.test(value)) throw new Error(`--${name} takes a whole number of at most nine digits.`);
  return Number(value);
};

const runs = number('runs', 1000);
const seed = number('seed', randomInt(1, 1e9));
const length = number('length', 40);
const undo: (() => Promise<unknown>)[] = [];
const owner: Owner = { teardown: (run) => undo.unshift(run) };
const progress = new Progress(1);
try {
  const env = { PARLEY_STORE: values.store ?? 'lmdb:./data', PARLEY_SECRET: 'the secret of the sequences, 32 or more', PARLEY_EDGE: values.edge ?? '' };
  const house = await openHouse(owner, { env });
  let done = 0;
  const onRun = (): void => progress.tell(++done, runs, `sequences: seed ${seed}`);
  await runSequences(house, { seed, runs, length, onRun, ...(values.path === undefined ? {} : { path: values.path }) });
  progress.end();
  process.stdout.write(`${runs} sequences of up to ${length} commands agree with the machines (seed ${seed})\n`);
} catch (error) {
  progress.end();
  process.stdout.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  for (const run of undo) await run();
}

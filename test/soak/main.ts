/**
 * `npm run soak`: an installation under mixed load with restarts, by the clock (promises P12 and P22).
 *
 *   npm run soak -- --minutes 60                    three processes on Redis, replaced one after another every minute
 *   npm run soak -- --store lmdb --minutes 10       one process on the embedded store, stopped and started
 *   npm run soak -- --guests 64 --restart-seconds 20 --processes 2 --seed 7
 */
import { parseArgs } from 'node:util';
import { Progress } from '../../bench/harness/progress.ts';
import { Teardowns } from '../faults/experiment.ts';
import { whyNoRedis } from '../store/redis-server.ts';
import { soak, type Found, type SoakOptions } from './soak.ts';

const print = (line: string): unknown => process.stdout.write(`${line}\n`);

function readArguments(): SoakOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { minutes: text, store: text, processes: text, guests: text, 'restart-seconds': text, seed: text } });
  const number = (name: keyof typeof values, preset: number): number => {
    const given = values[name];
    if (given === undefined) return preset;
    if (!/^\d{1,6}(\.\d{1,3})?$/.test(given) || Number(given) === 0) throw new Error(`--${name} takes a number above 0.`);
    return Number(given);
  };
  const store = values.store ?? 'redis';
  if (store !== 'redis' && store !== 'lmdb') throw new Error('--store is redis or lmdb.');
  const lacking = store === 'redis' ? whyNoRedis() : null;
  if (lacking !== null) throw new Error(`${lacking}; --store lmdb needs none.`);
  return {
    store,
    seconds: Math.ceil(number('minutes', 60) * 60),
    processes: number('processes', 3),
    guests: number('guests', 16),
    restartSeconds: number('restart-seconds', 60),
    seed: number('seed', 1),
  };
}

/** The memory of each tenth of the run, and what was found. */
function summary({ tally, restarts, residentMb, wrong }: Found): string {
  const tenths = Array.from({ length: 10 }, (_, tenth) => residentMb.slice(Math.floor((tenth * residentMb.length) / 10), Math.floor(((tenth + 1) * residentMb.length) / 10)));
  const means = tenths.filter(({ length }) => length > 0).map((part) => Math.round(part.reduce((sum, one) => sum + one, 0) / part.length));
  return [
    `${tally.sessions} sessions, ${tally.turns} turns (${tally.aborted} aborted), ${tally.resumed} streams taken up again, ${tally.repeated} requests repeated, ${restarts} restarts`,
    `resident memory by tenths of the run, in MB: ${means.join(' ')}`,
    ...wrong.slice(0, 20),
    wrong.length === 0 ? 'nothing lost, nothing twice' : `${wrong.length} WRONG`,
  ].join('\n');
}

let options: SoakOptions;
try {
  options = readArguments();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(2);
}
const progress = new Progress(1);
const teardowns = new Teardowns();
try {
  const found = await soak(teardowns, {
    ...options,
    onSecond: (second, { tally, restarts, wrong }) => progress.tell(second, options.seconds, `${options.store}: ${tally.turns} turns, ${restarts} restarts, ${wrong.length} wrong`),
  });
  progress.end();
  print(summary(found));
  process.exitCode = found.wrong.length === 0 ? 0 : 1;
} finally {
  await teardowns.close();
}

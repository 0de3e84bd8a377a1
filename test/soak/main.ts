/** `npm run soak`: an installation under mixed load with restarts, by the clock (promises P12 and P22). */
import { InvalidArgumentError, Option } from 'commander';
import { developmentCommand, numberOption } from '../../bench/harness/development-command.ts';
import { Progress } from '../../bench/harness/progress.ts';
import { limits } from '../../src/base/limits.ts';
import { Teardowns } from '../faults/experiment.ts';
import { whyNoRedis } from '../store/redis-server.ts';
import { soak, type Found, type SoakOptions } from './soak.ts';

const print = (line: string): unknown => process.stdout.write(`${line}\n`);

/** A number above 0, with three places at most behind the point. */
function positive(text: string): number {
  if (!/^\d{1,6}(\.\d{1,3})?$/.test(text) || Number(text) === 0)
    throw new InvalidArgumentError('It must be a number above 0, of at most six digits, such as 30 or 0.5.');
  return Number(text);
}

function readArguments(): SoakOptions {
  const command = developmentCommand(
    'npm run soak --',
    'Keeps an installation under mixed load and restarts it all the time. Ends with 1 if anything was lost or came twice.',
    `
    npm run soak -- --minutes 60                   processes on Redis, replaced one after another every minute
    npm run soak -- --store lmdb --minutes 10      one process on the embedded store, stopped and started
    npm run soak -- --guests 64 --restart-seconds 20 --processes 2 --seed 7`,
  )
    .addOption(new Option('--minutes <number>', 'for how long').argParser(positive).default(60))
    .addOption(
      new Option('--store <store>', 'where state lives, in a store of its own')
        .choices(['redis', 'lmdb'])
        .default('redis'),
    )
    .addOption(numberOption('--processes <number>', 'how many serve on Redis', 1, limits.processesMax).default(3))
    .addOption(numberOption('--guests <number>', 'how many talk at one time', 1).default(16))
    .addOption(new Option('--restart-seconds <number>', 'from one restart to the next').argParser(positive).default(60))
    .addOption(numberOption('--seed <number>', 'what the guests do is drawn from it', 1).default(1))
    .parse();
  const { minutes, ...wanted } = command.opts<Omit<SoakOptions, 'seconds'> & { minutes: number }>();
  const lacking = wanted.store === 'redis' ? whyNoRedis() : null;
  if (lacking !== null) command.error(`${lacking}. --store lmdb needs none`);
  return { ...wanted, seconds: Math.ceil(minutes * 60) };
}

/** The memory of each tenth of the run, and the faults found. */
function summary({ tally, restarts, residentMb, wrong }: Found): string {
  const tenths = Array.from({ length: 10 }, (_, tenth) =>
    residentMb.slice(Math.floor((tenth * residentMb.length) / 10), Math.floor(((tenth + 1) * residentMb.length) / 10)),
  );
  const means = tenths
    .filter(({ length }) => length > 0)
    .map((part) => Math.round(part.reduce((sum, one) => sum + one, 0) / part.length));
  return [
    `${tally.sessions} sessions, ${tally.turns} turns (${tally.aborted} aborted), ${tally.resumed} streams taken up again, ${tally.repeated} requests repeated, ${restarts} restarts`,
    `resident memory by tenths of the run, in MB: ${means.join(' ')}`,
    ...wrong.slice(0, 20),
    wrong.length === 0 ? 'nothing lost, nothing twice' : `${wrong.length} WRONG`,
  ].join('\n');
}

const options = readArguments();
const progress = new Progress(1);
const teardowns = new Teardowns();
try {
  const found = await soak(teardowns, {
    ...options,
    onSecond: (second, { tally, restarts, wrong }) =>
      progress.tell(
        second,
        options.seconds,
        `${options.store}: ${tally.turns} turns, ${restarts} restarts, ${wrong.length} wrong`,
      ),
  });
  progress.end();
  print(summary(found));
  process.exitCode = found.wrong.length === 0 ? 0 : 1;
} finally {
  await teardowns.close();
}

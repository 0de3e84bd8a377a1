/**
 * `npm run faults`: real faults on real processes, promise by promise (docs/promises.md); `--list` prints the promises.
 */
import { randomInt } from 'node:crypto';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { developmentCommand, numberOption, stopping } from '../../bench/harness/development-command.ts';
import { Progress } from '../../bench/harness/progress.ts';
import { idOf, storeKinds, type Experiment, type StoreKind, type Trial } from './experiment.ts';
import { experiments } from './experiments.ts';
import { repeat, type Outcome } from './run.ts';
import { tableOf } from './table.ts';

interface Wanted {
  readonly chosen: readonly Experiment[];
  readonly stores: readonly StoreKind[];
  readonly times: number;
  readonly seed: number;
  readonly abreast: number | undefined;
}

interface Given {
  readonly promise?: readonly string[];
  readonly store: StoreKind | 'both';
  readonly times: number | null;
  readonly seed: number | null;
  readonly abreast?: number;
  readonly list?: true;
}

const print = (line: string): unknown => process.stdout.write(`${line}\n`);

const fits = (word: string, one: Experiment): boolean => word === 'all' || word === one.promise || word === idOf(one);

const which = `It must be all, one of ${[...new Set(experiments.map(({ promise }) => promise))].join(', ')}, or an experiment that --list tells.`;

function gatherKnown(word: string, before: readonly string[] = []): readonly string[] {
  if (!experiments.some((one) => fits(word, one))) throw new InvalidArgumentError(which);
  return [...before, word];
}

function readArguments(): Wanted | null {
  const command: Command = developmentCommand(
    'npm run faults --',
    'Puts promises (docs/promises.md) to real faults on real processes. Prints the seeds of what fails, and ends with 1; with 130 if a signal cut it short.',
    `
    npm run faults -- --promise P5 --times 200                  as many repetitions
    npm run faults -- --promise P2 --promise P3/disk            these promises or single experiments
    npm run faults -- --promise P2 --store lmdb                 on one store
    npm run faults -- --promise P2 --store lmdb --seed 42       a repetition again, with the same choices`,
  )
    .option(
      '--promise <name>',
      'a promise such as P5, an experiment such as P3/disk, or all; may be given several times',
      gatherKnown,
    )
    .addOption(new Option('--store <store>', 'on which store').choices([...storeKinds, 'both']).default('both'))
    .addOption(numberOption('--times <number>', 'repetitions of each experiment', 1).default(null, '10; with --seed 1'))
    .addOption(
      numberOption('--seed <number>', 'of the first repetition; the next has the next', 1).default(null, 'a new one'),
    )
    .addOption(
      numberOption(
        '--abreast <number>',
        'repetitions at one time, at most; each experiment has a bound of its own too',
        1,
      ),
    )
    .option('--list', 'list the experiments and do nothing')
    .parse();
  const { promise, store, times, seed, abreast, list } = command.opts<Given>();
  if (list) return null;
  if (promise === undefined) command.error(`--promise is missing. ${which}`);
  return {
    chosen: experiments.filter((one) => promise.some((word) => fits(word, one))),
    stores: storeKinds.filter((kind) => store === 'both' || store === kind),
    times: times ?? (seed === null ? 10 : 1),
    seed: seed ?? randomInt(1, 900_000_000),
    abreast,
  };
}

const listed = (): string =>
  experiments.map((one) => `  ${idOf(one).padEnd(14)} ${one.stores.join(', ').padEnd(12)} ${one.does}`).join('\n');

function tellFailure(experiment: Experiment, store: StoreKind, { seed, wrong, late }: Trial): void {
  print(`${idOf(experiment)} on ${store}, seed ${seed}, failed:`);
  for (const line of [...wrong, ...late]) print(`  ${line}`);
  print(`  again: npm run faults -- --promise ${idOf(experiment)} --store ${store} --seed ${seed}`);
}

async function go({ chosen, stores, times, seed, abreast }: Wanted): Promise<number> {
  const asked = chosen.flatMap((experiment) =>
    experiment.stores.filter((store) => stores.includes(store)).map((store) => ({ experiment, store })),
  );
  const progress = new Progress(asked.length);
  print(
    `${times} times from seed ${seed}: ${asked.map(({ experiment, store }) => `${idOf(experiment)} on ${store}`).join(', ')}`,
  );
  const outcomes: Outcome[] = [];
  const stop = stopping();
  for (const { experiment, store } of asked) {
    const doing = `${idOf(experiment)} on ${store}`;
    if (!stop.aborted) progress.tell(0, times, doing);
    const onTrial = (trial: Trial, done: number): void => {
      if (trial.wrong.length + trial.late.length > 0) {
        progress.end();
        tellFailure(experiment, store, trial);
      }
      progress.tell(done, times, `${doing}: ${done} of ${times}`);
    };
    outcomes.push(
      await repeat(experiment, store, { times, seed, strict: true, onTrial, stop, ...(abreast && { abreast }) }),
    );
    progress.next();
  }
  progress.end();
  print(tableOf(outcomes));
  if (outcomes.some(({ failed }) => failed.length > 0)) return 1;
  return outcomes.some(({ interrupted }) => interrupted) ? 130 : 0;
}

const wanted = readArguments();
if (wanted === null) print(listed());
// A repetition that has not ended in its time never ends.
else process.exit(await go(wanted));

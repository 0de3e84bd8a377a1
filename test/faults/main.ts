/**
 * `npm run faults`: real faults on real processes, promise by promise (docs/promises.md).
 *
 *   npm run faults -- --promise P5 --times 200       as many repetitions; prints the seeds of those that fail
 *   npm run faults -- --promise P2 --promise P3/disk these promises or single experiments; `all` for all of them
 *   npm run faults -- --promise P2 --store lmdb      on one store; both, otherwise
 *   npm run faults -- --promise P2 --store lmdb --seed 42    a repetition again, with the same choices
 *   npm run faults -- --list                         what there is
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
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

const print = (line: string): unknown => process.stdout.write(`${line}\n`);

function readArguments(): Wanted | null {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { promise: { ...text, multiple: true }, times: text, store: text, seed: text, abreast: text, list: { type: 'boolean' } } });
  if (values.list) return null;
  const number = (name: 'times' | 'seed' | 'abreast'): number | undefined => {
    if (values[name] === undefined) return undefined;
    if (!/^[1-9]\d{0,8}$/.test(values[name])) throw new Error(`--${name} takes a whole number from 1, of at most nine digits.`);
    return Number(values[name]);
  };
  const asked = values.promise ?? [];
  const fits = (word: string, one: Experiment): boolean => word === 'all' || word === one.promise || word === idOf(one);
  const unknown = asked.filter((word) => !experiments.some((one) => fits(word, one)));
  if (asked.length === 0 || unknown.length > 0) {
    throw new Error(`${asked.length === 0 ? '--promise says which, or all.' : `There is no experiment for ${unknown.join(', ')}.`} There are:\n${listed()}`);
  }
  const stores = values.store === undefined || values.store === 'both' ? storeKinds : storeKinds.filter((kind) => kind === values.store);
  if (stores.length === 0) throw new Error('--store is one of lmdb, redis, both.');
  const seed = number('seed');
  return {
    chosen: experiments.filter((one) => asked.some((word) => fits(word, one))),
    stores,
    times: number('times') ?? (seed === undefined ? 10 : 1),
    seed: seed ?? randomInt(1, 900_000_000),
    abreast: number('abreast'),
  };
}

const listed = (): string => experiments.map((one) => `  ${idOf(one).padEnd(14)} ${one.stores.join(', ').padEnd(12)} ${one.does}`).join('\n');

function tellFailure(experiment: Experiment, store: StoreKind, { seed, wrong, late }: Trial): void {
  print(`${idOf(experiment)} on ${store}, seed ${seed}, failed:`);
  for (const line of [...wrong, ...late]) print(`  ${line}`);
  print(`  again: npm run faults -- --promise ${idOf(experiment)} --store ${store} --seed ${seed}`);
}

async function go({ chosen, stores, times, seed, abreast }: Wanted): Promise<number> {
  const asked = chosen.flatMap((experiment) => experiment.stores.filter((store) => stores.includes(store)).map((store) => ({ experiment, store })));
  const progress = new Progress(asked.length);
  print(`${times} times from seed ${seed}: ${asked.map(({ experiment, store }) => `${idOf(experiment)} on ${store}`).join(', ')}`);
  const outcomes: Outcome[] = [];
  for (const { experiment, store } of asked) {
    if (stopped) break;
    const doing = `${idOf(experiment)} on ${store}`;
    progress.tell(0, times, doing);
    const onTrial = (trial: Trial, done: number): void => {
      if (trial.wrong.length + trial.late.length > 0) {
        progress.end();
        tellFailure(experiment, store, trial);
      }
      progress.tell(done, times, `${doing}: ${done} of ${times}`);
    };
    outcomes.push(await repeat(experiment, store, { times, seed, strict: true, onTrial, stopped: () => stopped, ...(abreast && { abreast }) }));
    progress.next();
  }
  progress.end();
  print(tableOf(outcomes));
  return outcomes.some(({ failed }) => failed.length > 0) ? 1 : 0;
}

// What has begun goes on to its end and into the table; whoever asks a second time waits for nothing.
let stopped = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => (stopped ? process.exit(130) : (stopped = true)));

let wanted: Wanted | null;
try {
  wanted = readArguments();
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exit(2);
}
if (wanted === null) print(listed());
else process.exitCode = await go(wanted);

/** `npm run simulate`: whole worlds from seeds; `--help` lists the options. */
import { randomInt } from 'node:crypto';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { InvalidArgumentError, Option } from 'commander';
import { developmentCommand, numberOption, stopping } from '../../bench/harness/development-command.ts';
import { Progress } from '../../bench/harness/progress.ts';
import { bugs } from './bugs.ts';
import type { RunOptions, Verdict } from './run.ts';
import { modeOf, modes, type Mode } from './world.ts';

interface Wanted {
  readonly seed?: number;
  readonly runs: number;
  readonly from: number;
  readonly mode: Mode | null;
  readonly story?: true;
  readonly bug: string | null;
}

const print = (line: string): unknown => process.stdout.write(`${line}\n`);

function readArguments(): Wanted {
  return developmentCommand(
    'npm run simulate --',
    'Runs whole worlds of processes, a store, clients and faults, each from a seed, and checks what came of them. Ends with 1 if something is wrong.',
    `
    npm run simulate -- --seed 42                  one run again, exactly
    npm run simulate -- --seed 42 --story          the same, and all that happens in it
    npm run simulate -- --runs 10000               as many new seeds; prints those that fail
    npm run simulate -- --runs 100 --from 1        these seeds
    npm run simulate -- --runs 50 --bug fence      with a deliberate bug`,
  )
    .addHelpText('after', ['\nDeliberate bugs:', ...Object.keys(bugs)].join('\n  '))
    .addOption(
      numberOption(
        '--seed <number>',
        'run this one again, and once more to see that it is the same; instead of --runs',
      ),
    )
    .addOption(numberOption('--runs <number>', 'as many seeds, one after another').default(100))
    .addOption(numberOption('--from <number>', 'the first of them').default(randomInt(1, 1e9 - 1e6), 'a new one'))
    .addOption(
      new Option('--mode <mode>', 'how the processes are set up')
        .choices(modes)
        .default(null, "the bug's; without one the seed says which"),
    )
    .option('--story', 'tell all that happens in the run of --seed')
    .addOption(
      new Option('--bug <words>', 'put in the deliberate bug, listed below, whose name has these words')
        .argParser(bugOf)
        .default(null, 'none'),
    )
    .parse()
    .opts<Wanted>();
}

function bugOf(words: string): string {
  const name = words === '' ? undefined : Object.keys(bugs).find((one) => one.includes(words));
  if (name === undefined)
    throw new InvalidArgumentError('It must be a part of the name of a deliberate bug, which --help lists.');
  return name;
}

function go(seed: number, { mode, bug }: Wanted, options: RunOptions = {}): Promise<Verdict> {
  const made = bug === null ? null : bugs[bug]!();
  return run(seed, mode ?? made?.mode ?? modeOf(seed), { ...options, bug: made });
}

/** Prints the command that repeats the run. */
const again = ({ seed, mode }: Verdict, { bug }: Wanted): string =>
  `npm run simulate -- --seed ${seed} --mode ${mode}${bug === null ? '' : ` --bug ${JSON.stringify(bug)}`}`;

/** One run, twice: the second shows that it is the same. */
async function replay(seed: number, wanted: Wanted): Promise<number> {
  const verdict = await go(seed, wanted, { tell: wanted.story ? print : null });
  const { digest } = await go(seed, wanted);
  for (const line of verdict.wrong) print(line);
  print(
    `seed ${seed}, ${verdict.mode}, ${verdict.requests} requests, digest ${verdict.digest.slice(0, 16)}: ${verdict.wrong.length} wrong`,
  );
  if (digest !== verdict.digest)
    print(`The second run had the digest ${digest.slice(0, 16)}: something does not follow from the seed.`);
  return verdict.wrong.length > 0 || digest !== verdict.digest ? 1 : 0;
}

async function explore(wanted: Wanted): Promise<number> {
  const { from, runs } = wanted;
  const progress = new Progress(1);
  print(`${runs} runs from seed ${from}`);
  let [done, failed] = [0, 0];
  const stop = stopping();
  for (; done < runs && !stop.aborted; done++) {
    progress.tell(done, runs, `simulate: seed ${from + done}, ${failed} failed`);
    const verdict = await go(from + done, wanted);
    await turnOfTheLoop();
    if (verdict.wrong.length === 0) continue;
    failed++;
    progress.end();
    print(
      `seed ${verdict.seed} failed: ${verdict.wrong[0]}${verdict.wrong.length > 1 ? ` (and ${verdict.wrong.length - 1} more)` : ''}\n  ${again(verdict, wanted)}`,
    );
  }
  progress.end();
  print(`${done - failed} runs are well, ${failed} failed${done < runs ? `; stopped before seed ${from + done}` : ''}`);
  return failed > 0 ? 1 : 0;
}

const wanted = readArguments();
// Imported once it is wanted, so that help comes at once: it is all of the server.
const { run } = await import('./run.ts');
process.exitCode = wanted.seed === undefined ? await explore(wanted) : await replay(wanted.seed, wanted);

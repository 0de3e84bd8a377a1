/**
 * `npm run simulate`: whole worlds from seeds.
 *
 *   npm run simulate -- --seed 42                one run again, exactly; ends with 1 if the checker finds something
 *   npm run simulate -- --seed 42 --story        the same, and all that happens in it
 *   npm run simulate -- --runs 10000             as many new seeds; prints those that fail
 *   npm run simulate -- --runs 100 --from 1      these seeds
 *   npm run simulate -- --mode failover          one of embedded, shared and failover; the seed says which, otherwise
 *   npm run simulate -- --runs 50 --bug fence    with the deliberate bug whose name has the word
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Progress } from '../../bench/harness/progress.ts';
import { bugs } from './bugs.ts';
import { run, type RunOptions, type Verdict } from './run.ts';
import { modeOf, modes, type Mode } from './world.ts';

interface Wanted {
  readonly seed: number | null;
  readonly runs: number;
  readonly from: number;
  readonly mode: Mode | null;
  readonly story: boolean;
  readonly bug: string | null;
}

const print = (line: string): unknown => process.stdout.write(`${line}\n`);

function readArguments(): Wanted {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { seed: text, runs: text, from: text, mode: text, story: { type: 'boolean' }, bug: text } });
  const number = (name: 'seed' | 'runs' | 'from'): number | null => {
    if (values[name] === undefined) return null;
    if (!/^\d{1,9}$/.test(values[name])) throw new Error(`--${name} takes a whole number of at most nine digits.`);
    return Number(values[name]);
  };
  const mode = modes.find((one) => one === values.mode) ?? null;
  if (values.mode !== undefined && mode === null) throw new Error(`--mode is one of ${modes.join(', ')}.`);
  const bug = Object.keys(bugs).find((name) => values.bug !== undefined && name.includes(values.bug)) ?? null;
  if (values.bug !== undefined && bug === null) throw new Error(`--bug is part of one of these:\n${Object.keys(bugs).join('\n')}`);
  return { seed: number('seed'), runs: number('runs') ?? 100, from: number('from') ?? randomInt(1, 1e9 - 1e6), mode, story: values.story ?? false, bug };
}

function go(seed: number, { mode, bug }: Wanted, options: RunOptions = {}): Promise<Verdict> {
  const made = bug === null ? null : bugs[bug]!();
  return run(seed, mode ?? made?.mode ?? modeOf(seed), { ...options, bug: made });
}

/** How to see it again. */
const again = ({ seed, mode }: Verdict, { bug }: Wanted): string =>
  `npm run simulate -- --seed ${seed} --mode ${mode}${bug === null ? '' : ` --bug ${JSON.stringify(bug)}`}`;

/** One run, twice: the second shows that it is the same. */
async function replay(seed: number, wanted: Wanted): Promise<number> {
  const verdict = await go(seed, wanted, { tell: wanted.story ? print : null });
  const { digest } = await go(seed, wanted);
  for (const line of verdict.wrong) print(line);
  print(`seed ${seed}, ${verdict.mode}, ${verdict.requests} requests, digest ${verdict.digest.slice(0, 16)}: ${verdict.wrong.length} wrong`);
  if (digest !== verdict.digest) print(`The second run had the digest ${digest.slice(0, 16)}: something does not follow from the seed.`);
  return verdict.wrong.length > 0 || digest !== verdict.digest ? 1 : 0;
}

async function explore(wanted: Wanted): Promise<number> {
  const { from, runs } = wanted;
  const progress = new Progress(1);
  print(`${runs} runs from seed ${from}`);
  let failed = 0;
  for (let done = 0; done < runs; done++) {
    progress.tell(done, runs, `simulate: seed ${from + done}, ${failed} failed`);
    const verdict = await go(from + done, wanted);
    if (verdict.wrong.length === 0) continue;
    failed++;
    progress.end();
    print(`seed ${verdict.seed} failed: ${verdict.wrong[0]}${verdict.wrong.length > 1 ? ` (and ${verdict.wrong.length - 1} more)` : ''}\n  ${again(verdict, wanted)}`);
  }
  progress.end();
  print(`${runs - failed} runs are well, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}

try {
  const wanted = readArguments();
  process.exitCode = wanted.seed === null ? await explore(wanted) : await replay(wanted.seed, wanted);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
}

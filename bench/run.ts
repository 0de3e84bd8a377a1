/**
 * `npm run bench`: asks every question and ends in a table and a report.
 *
 *   npm run bench -- relay --quick     one question in about a minute
 *   npm run bench -- --rounds 9        more rounds than five
 *   npm run bench -- --peers           other people's frameworks too (installs bench/peers)
 *   npm run bench -- --write           writes docs/performance.md
 *   npm run bench -- --smoke           only shows that it runs
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { answer, type Wanted } from './answer.ts';
import { build } from './contenders/parley.ts';
import { Progress } from './harness/progress.ts';
import { takePlace, whyNoMeasure } from './harness/process.ts';
import type { Size } from './harness/question.ts';
import { tableOf } from './harness/table.ts';
import { questions } from './questions.ts';

const roundsOf: Readonly<Record<Size, number>> = { full: 5, quick: 3, smoke: 1 };

function readArguments(): Wanted & { readonly write: boolean } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: 'boolean' }, smoke: { type: 'boolean' }, rounds: { type: 'string' }, peers: { type: 'boolean' }, write: { type: 'boolean' } },
  });
  const unknown = positionals.filter((name) => !questions.some((one) => one.name === name));
  if (unknown.length > 0) throw new Error(`There is no question ${unknown.join(', ')}; there are ${questions.map(({ name }) => name).join(', ')}.`);
  const size: Size = values.smoke ? 'smoke' : values.quick ? 'quick' : 'full';
  const rounds = values.rounds === undefined ? roundsOf[size] : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds takes a whole number.');
  const asked = questions.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  return { asked, size, rounds, peers: values.peers ?? false, write: values.write ?? false };
}

const wanted = readArguments();
const reason = whyNoMeasure();
if (reason !== null) throw new Error(`Nothing can be measured here: ${reason}.`);
build();
takePlace();
const progress = new Progress(wanted.asked.length);
const result = await answer(wanted, progress);
const results = fileURLToPath(new URL('./results', import.meta.url));
await mkdir(results, { recursive: true });
await writeFile(`${results}/result.json`, `${JSON.stringify(result, null, 2)}\n`);
process.stdout.write(tableOf(result));
const failures = result.answers.flatMap(({ question, failures }) => failures.map(({ contender, reason }) => `${question}, ${contender}: ${reason}`));
for (const failure of failures) process.stderr.write(`${failure}\n`);
process.exitCode = failures.length > 0 ? 1 : 0;

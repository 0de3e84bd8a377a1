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
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { answer, type Wanted } from './answer.ts';
import { build } from './contenders/parley.ts';
import { installPeers } from './contenders/peers.ts';
import { Progress } from './harness/progress.ts';
import { endOnSignal, takePlace, whyNoMeasure } from './harness/process.ts';
import type { Size } from './harness/question.ts';
import { performanceOf } from './harness/performance.ts';
import { reportOf } from './harness/report.ts';
import type { Result } from './harness/result.ts';
import { tableOf, toldOf, type QuestionTold } from './harness/table.ts';
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

/** Leaves the result and the report behind, and writes the document if that is wanted. Returns where the report is. */
async function keep(result: Result, told: readonly QuestionTold[], write: boolean): Promise<string> {
  const folder = fileURLToPath(new URL('./results', import.meta.url));
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}/result.json`, `${JSON.stringify(result, null, 2)}\n`);
  await writeFile(`${folder}/report.html`, reportOf(result, told));
  if (write) await writeFile(fileURLToPath(new URL('../docs/performance.md', import.meta.url)), performanceOf(result, told));
  return relative(process.cwd(), `${folder}/report.html`);
}

const { write, ...wanted } = readArguments();
const reason = whyNoMeasure();
if (reason !== null) throw new Error(`Nothing can be measured here: ${reason}.`);
if (wanted.peers) installPeers();
build();
takePlace();
endOnSignal();
const result = await answer(wanted, new Progress(wanted.asked.length));
const told = toldOf(result, questions);
process.stdout.write(`${tableOf(told)}\nPlots: ${await keep(result, told, write)}\n`);
const failures = result.answers.flatMap(({ question, failures }) => failures.map(({ contender, reason }) => `${question}, ${contender}: ${reason}`));
for (const failure of failures) process.stderr.write(`${failure}\n`);
process.exitCode = failures.length > 0 ? 1 : 0;

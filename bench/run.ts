/** `npm run bench`: asks every question and ends in a table and a report; `--help` tells how to ask fewer. */
import { mkdir, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InvalidArgumentError } from 'commander';
import { answer, type Wanted } from './answer.ts';
import { build } from './contenders/parley.ts';
import { installPeers } from './contenders/peers.ts';
import { developmentCommand, numberOption } from './harness/development-command.ts';
import { Progress } from './harness/progress.ts';
import { endOnSignal, takePlace, whyNoMeasure } from './harness/process.ts';
import type { Question, Size } from './harness/question.ts';
import { performanceOf } from './harness/performance.ts';
import type { Result } from './harness/result.ts';
import { tableOf, toldOf, type QuestionTold } from './harness/table.ts';
import { questions } from './questions.ts';

const roundsOf: Readonly<Record<Size, number>> = { full: 5, quick: 3, smoke: 1 };

interface Given {
  readonly quick?: true;
  readonly smoke?: true;
  readonly rounds: number | null;
  readonly peers?: true;
  readonly write?: true;
}

function question(name: string, before: readonly Question[] = []): readonly Question[] {
  const found = questions.find((one) => one.name === name);
  if (found === undefined) throw new InvalidArgumentError(`It must be one of ${questions.map((one) => one.name).join(', ')}.`);
  return [...before, found];
}

function readArguments(): Wanted & { readonly write: boolean } {
  const command = developmentCommand(
    'npm run bench --',
    'What the product costs, against the least that it could: every question, or those named. Leaves a report in bench/results.',
    `
    npm run bench -- relay --quick      one question in about a minute
    npm run bench -- --rounds 9         every question, in more rounds than five
    npm run bench -- --peers --write    other people's frameworks too, and docs/performance.md anew`,
  )
    .argument('[question...]', `${questions.map(({ name }) => name).join(', ')} (default: all)`, question)
    .option('--quick', 'fewer cases and shorter measurements, for a first look')
    .option('--smoke', 'only show that it runs')
    .addOption(numberOption('--rounds <number>', 'rounds, whose median counts', 1).default(null, `${roundsOf.full}; ${roundsOf.quick} with --quick, ${roundsOf.smoke} with --smoke`))
    .option('--peers', "measure other people's frameworks too, which installs bench/peers")
    .option('--write', 'write docs/performance.md')
    .parse();
  const { quick, smoke, rounds, peers = false, write = false } = command.opts<Given>();
  const named: readonly Question[] = command.processedArgs[0] ?? questions;
  const size: Size = smoke ? 'smoke' : quick ? 'quick' : 'full';
  return { asked: questions.filter((one) => named.includes(one)), size, rounds: rounds ?? roundsOf[size], peers, write };
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
// Imported once it is wanted, so that help comes at once: the library that draws is large.
const { reportOf } = await import('./harness/report.ts');
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

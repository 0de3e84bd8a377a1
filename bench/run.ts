/** `npm run bench`: asks every question and ends in a table and a report; `--help` lists ways to ask fewer. */
import { mkdir, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answer } from './answer.ts';
import { readArguments } from './arguments.ts';
import { build } from './contenders/parley.ts';
import { installPeers } from './contenders/peers.ts';
import { Progress } from './harness/progress.ts';
import { endOnSignal, takePlace, whyNoMeasure } from './harness/process.ts';
import { performanceOf } from './harness/performance.ts';
import { readKept, withNew, writeKept } from './harness/kept.ts';
import type { Result } from './harness/result.ts';
import { tableOf, toldOf, type QuestionTold } from './harness/table.ts';
import { questions } from './questions.ts';

/**
 * Writes the result and the report, and the document anew if wanted, with older answers to questions not asked. Returns
 * the report's path.
 */
async function keep(result: Result, told: readonly QuestionTold[], write: boolean): Promise<string> {
  const folder = fileURLToPath(new URL('./results', import.meta.url));
  await mkdir(folder, { recursive: true });
  await writeFile(`${folder}/result.json`, `${JSON.stringify(result, null, 2)}\n`);
  await writeFile(`${folder}/report.html`, reportOf(result, told));
  if (write) {
    const kept = withNew(await readKept(), result, questions);
    await writeKept(kept);
    await writeFile(fileURLToPath(new URL('../docs/performance.md', import.meta.url)), performanceOf(kept, questions));
  }
  return relative(process.cwd(), `${folder}/report.html`);
}

const { write, ...wanted } = readArguments(process.argv.slice(2));
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
process.stdout.write(`${tableOf(told, result)}\nPlots: ${await keep(result, told, write)}\n`);
const failures = result.answers.flatMap(({ question, failures }) =>
  failures.map(({ contender, reason }) => `${question}, ${contender}: ${reason}`),
);
for (const failure of failures) process.stderr.write(`${failure}\n`);
process.exitCode = failures.length > 0 ? 1 : 0;

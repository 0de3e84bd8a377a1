/** `parley import` */
import { statSync } from 'node:fs';
import type { Command } from 'commander';
import { CommandFailure } from './exit.ts';
import type { Io } from './io.ts';
import { runMove, countsText, withSettings, type MovingVariables } from './moving.ts';
import { note } from './output.ts';
import { bar } from './progress.ts';
import type { Flags } from './serve.ts';
import { codeOfThrown } from '../base/thrown.ts';

const variables: MovingVariables = ['PARLEY_STORE', 'PARLEY_SECRET', 'PARLEY_DURABILITY', 'PARLEY_ALLOW_VOLATILE'];

export function registerImport(program: Command, io: Io): void {
  withSettings(program.command('import').description('fill an empty store from a file of `parley export`'), variables)
    .option('--from <file>', 'the input file; compressed if the name ends in .gz, and - is stdin', '-')
    .addHelpText('after', examples)
    .action((options: Flags) => run(io, options));
}

const examples = `
The store must be empty, and no server starts on it before the import is complete. PARLEY_SECRET must be the one of
the exported installation. Run an interrupted import again with the same file to resume it; a complete one changes
nothing when it is run again. The file is checked whole before anything is stored; stdin is kept in a temporary file
for that.

Examples:
  parley import --from parley.jsonl.gz --store redis://127.0.0.1:6379
  PARLEY_SECRET=$(cat data/secret) parley import --from parley.jsonl.gz --store lmdb:./other`;

async function run(io: Io, options: Flags): Promise<void> {
  const from = options['from'] === '-' ? io.stdin : String(options['from']);
  const size = typeof from === 'string' ? sizeOf(from) : null;
  const { importFrom, leaveSecret, openTarget, secretOf } = await import('../operations/moving.ts');
  let rows = 0;
  let doing = 'checking';
  let file: { readonly bytesRead: number } | null = null;
  const line = (): string =>
    `${doing}  ${size === null || file === null ? '' : `${bar(file.bytesRead / Math.max(1, size))}  `}${rows} rows`;
  const done = await runMove(io, { options, variables }, line, async (config, clock) => {
    const secret = secretOf(config);
    const imported = await importFrom({
      target: await openTarget(config, clock),
      secret,
      from,
      opened: (opened) => void (file = opened),
      onRows: (what, count) => {
        doing = what;
        rows = count;
      },
    });
    leaveSecret(config, secret);
    return imported;
  });
  if (done.before === done.rows && done.rows > 0)
    note(io, `The file was imported before: nothing has changed. It has ${countsText(done.rows, done.counts)}.`);
  else
    note(
      io,
      `${done.before === 0 ? '' : `Went on after ${done.before} rows. `}Imported ${countsText(done.rows, done.counts)}.`,
    );
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    throw new CommandFailure(`The file ${path} cannot be read (${codeOfThrown(error)}).`);
  }
}

/** `parley import` */
import { statSync } from 'node:fs';
import type { Command } from 'commander';
import { CommandFailure } from './exit.ts';
import { moving, note, countsText, withSettings } from './moving.ts';
import { bar } from './progress.ts';
import type { Flags } from './serve.ts';

export function registerImport(program: Command): void {
  withSettings(program.command('import').description('fill an empty store from a file of `parley export`'), ['PARLEY_STORE', 'PARLEY_SECRET', 'PARLEY_DURABILITY', 'PARLEY_ALLOW_VOLATILE'])
    .option('--from <file>', 'where from; compressed if the name ends in .gz, and - is stdin', '-')
    .addHelpText('after', examples)
    .action(run);
}

const examples = `
The store must be empty, and no server starts on it before all is in. PARLEY_SECRET must be that of the installation
that the file comes from. An import that was cut goes on when it is run again with the same file; one that is
done changes nothing when it is run again.

Examples:
  parley import --from parley.jsonl.gz --store redis://127.0.0.1:6379
  PARLEY_SECRET=$(cat data/secret) parley import --from parley.jsonl.gz --store lmdb:./other`;

async function run(options: Flags): Promise<void> {
  const from = options['from'] === '-' ? null : String(options['from']);
  const size = from === null ? null : sizeOf(from);
  const { importFrom, leaveSecret, openTarget, secretOf } = await import('../moving.ts');
  let rows = 0;
  let doing = 'checking';
  let file: { readonly bytesRead: number } | null = null;
  const line = (): string => `${doing}  ${size === null || file === null ? '' : `${bar(file.bytesRead / Math.max(1, size))}  `}${rows} rows`;
  const done = await moving(options, line, async (config, clock) => {
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
  if (done.before === done.rows && done.rows > 0) note(`The file was imported before: nothing has changed. It has ${countsText(done.rows, done.counts)}.`);
  else note(`${done.before === 0 ? '' : `Went on after ${done.before} rows. `}Imported ${countsText(done.rows, done.counts)}.`);
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch (error) {
    throw new CommandFailure(`The file ${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

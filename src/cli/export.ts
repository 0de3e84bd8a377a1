/** `parley export` */
import type { Command } from 'commander';
import about from '../../package.json' with { type: 'json' };
import { randomIds } from '../ids.ts';
import { UsageFailure } from './exit.ts';
import { moving, note, countsText, withSettings } from './moving.ts';
import type { Flags } from './serve.ts';

export function registerExport(program: Command): void {
  withSettings(program.command('export').description('write all that a store holds to a file'), ['PARLEY_STORE', 'PARLEY_SECRET'])
    .option('--out <file>', 'where to; compressed if the name ends in .gz, and - is stdout', '-')
    .option('--resume', 'go on with an export to the same file that was cut')
    .addHelpText('after', examples)
    .action(run);
}

const examples = `
The server may run meanwhile: of a data folder the file holds one state, of Redis each conversation as it was
at one moment. Stop the servers first if nothing may be missing. Turns in flight come along as far as they got.
The file holds conversations, and credentials encrypted under PARLEY_SECRET: keep it as you keep the store.

Examples:
  parley export --out parley.jsonl.gz
  parley export --store lmdb:/var/lib/parley | parley import --store redis://127.0.0.1:6379`;

async function run(options: Flags): Promise<void> {
  const out = options['out'] === '-' ? null : String(options['out']);
  const resume = options['resume'] === true;
  if (out === null && resume) throw new UsageFailure('--resume needs the name of a file, as in --out parley.jsonl.gz.');
  const { exportTo, openSource, secretOf } = await import('../moving.ts');
  let rows = 0;
  const done = await moving(options, () => `exporting  ${rows} rows`, async (config, clock) => {
    const secret = secretOf(config);
    const source = await openSource(config, clock);
    await source.open();
    try {
      const onRows = (count: number): void => void (rows = count);
      return await exportTo({ source, secret, version: about.version, clock, ids: randomIds(clock), out, resume, onRows });
    } finally {
      await source.close();
    }
  });
  if (resume) note(done.resumed === null ? 'There was nothing to go on with: exported anew.' : `Went on after ${done.resumed} rows.`);
  if (done.unopened > 0) note(`Of the credentials, ${done.unopened} ${done.unopened === 1 ? 'does' : 'do'} not open with this PARLEY_SECRET. Is it the one that the servers use?`);
  note(`Exported ${countsText(done.rows, done.counts)}.`);
}

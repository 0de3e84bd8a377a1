/** `parley export` */
import type { Command } from 'commander';
import about from '../../package.json' with { type: 'json' };
import { randomIds } from '../base/ids.ts';
import type { Io } from './io.ts';
import { runMove, countsText, withSettings, type MovingVariables } from './moving.ts';
import { note } from './output.ts';
import type { Flags } from './serve.ts';

const variables: MovingVariables = ['PARLEY_STORE', 'PARLEY_SECRET', 'PARLEY_ACCEPT_LOSS'];

export function registerExport(program: Command, io: Io): void {
  withSettings(program.command('export').description("write all of a store's data to a file"), variables)
    .option('--out <file>', 'the output file; compressed if the name ends in .gz, and - is stdout', '-')
    .addHelpText('after', examples)
    .action((options: Flags) => run(io, options));
}

const examples = `
The server may run meanwhile: from a data folder the file gets one snapshot, from Redis a snapshot of each
conversation. Stop the servers first if nothing may be missing. Turns in flight are exported with their output so far.
The file holds conversations, and credentials encrypted under PARLEY_SECRET: protect it like the store.

Examples:
  parley export --out parley.jsonl.gz
  parley export --store lmdb:/var/lib/parley | parley import --store redis://127.0.0.1:6379`;

async function run(io: Io, options: Flags): Promise<void> {
  const out = options['out'] === '-' ? io.stdout : String(options['out']);
  const { exportTo, openSource, secretOf } = await import('../operations/moving.ts');
  let rows = 0;
  const done = await runMove(
    io,
    { options, variables },
    () => `exporting  ${rows} rows`,
    async (config, clock) => {
      const secret = secretOf(config);
      const source = await openSource(config, clock);
      await source.open();
      try {
        const onRows = (count: number): void => void (rows = count);
        return await exportTo({
          source,
          secret,
          version: about.version,
          clock,
          ids: randomIds(clock),
          out,
          onRows,
        });
      } finally {
        await source.close();
      }
    },
  );
  if (done.unopened > 0)
    note(
      io,
      `${done.unopened} ${done.unopened === 1 ? 'credential does' : 'credentials do'} not open with this PARLEY_SECRET. Is it the one that the servers use?`,
    );
  note(io, `Exported ${countsText(done.rows, done.counts)}.`);
}

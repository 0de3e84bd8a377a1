/**
 * `npm run repeat`: sends a new server each thing that a client or a provider can send, again and again. Ends with 1 if
 * the event loop stood still or the process grew.
 */
import { Option } from 'commander';
import { developmentCommand, numberOption } from '../../bench/harness/development-command.ts';
import { Progress } from '../../bench/harness/progress.ts';

const { engine, times, row } = developmentCommand(
  'npm run repeat --',
  "Sends a server each request, message and provider's answer again and again. Ends with 1 if its loop stood still for 250 ms or it grew by 64 MB.",
  `
  npm run repeat                                        every row, a hundred thousand times or until it is refused, on both engines
  npm run repeat -- --engine node --times 5000          a smaller look at one engine
  npm run repeat -- --row flush                         the rows with this in their name`,
)
  .addOption(new Option('--engine <engine>', 'the HTTP engine').choices(['uws', 'node', 'both']).default('both'))
  .addOption(numberOption('--times <number>', 'how often each row is sent', 1).default(100_000))
  .addOption(new Option('--row <name>', 'only the rows with this in their name').default('', 'all'))
  .parse()
  .opts<{ engine: 'uws' | 'node' | 'both'; times: number; row: string }>();
// Imported once they are wanted, so that help comes at once.
const { repeat } = await import('./run.ts');
const { rows } = await import('./rows.ts');

const wanted = rows.filter(({ name }) => name.includes(row));
const [edges, progress] = [
  engine === 'both' ? (['uws', 'node'] as const) : [engine],
  new Progress(engine === 'both' ? 2 : 1),
];
let failed = 0;
for (const edge of edges) {
  let done = 0;
  const teardowns: (() => unknown)[] = [];
  for await (const { name, sent, came, stoodMs, megabytes, peakMegabytes, failure } of repeat(
    { teardown: (run) => void teardowns.unshift(run) },
    edge,
    wanted,
    times,
  )) {
    if (failure !== null) failed++;
    progress.end();
    process.stdout.write(
      `${failure === null ? 'ok    ' : 'not ok'} ${edge} ${name}: ${sent} sent, ${stoodMs} ms, ${megabytes} MB (${peakMegabytes} at most), ${came}${failure === null ? '' : `: ${failure}`}\n`,
    );
    progress.tell(++done, wanted.length, `${edge}: ${done} of ${wanted.length} rows`);
  }
  progress.next();
  for (const run of teardowns) await run();
}
progress.end();
process.stdout.write(`${failed} of ${wanted.length} rows failed\n`);
process.exit(failed === 0 ? 0 : 1);

/** `parley inspect` */
import { Option, type Command } from 'commander';
import { wholeNumber, gather } from './arguments.ts';
import { addConnectionOptions } from './connection.ts';
import type { InspectOptions } from './inspect-run.ts';
import type { Io } from './io.ts';

export function registerInspect(program: Command, io: Io): void {
  const inspect = program
    .command('inspect')
    .description('print live actors and their events as lines of JSON, until Ctrl-C');
  addConnectionOptions(
    inspect
      .option('--stately', "in the messages of Stately's inspection protocol")
      .addOption(
        new Option('--kind <kind>', 'only actors of this kind').choices([
          'session',
          'turn',
          'call',
          'reply',
          'key',
          'workspace',
          'assistant',
          'socket',
          'visitor',
        ]),
      )
      .option('--id <id>', 'only this actor')
      .addOption(
        new Option(
          '--port <number>',
          "with --stately: a WebSocket for Stately's receivers on this port of 127.0.0.1 in place of lines; 0 takes a free one",
        ).argParser(wholeNumber(0, 65_535)),
      )
      .option(
        '--origin <origin>',
        'with --port: a site whose pages may connect to it; may be given several times (default: none, programs alone)',
        gather,
      ),
  )
    .addHelpText('after', examples)
    .action(async (options: InspectOptions) => (await import('./inspect-run.ts')).inspect(io, options));
}

const examples = `
The feed has the context of every actor. A page that --origin names reads all of it.

Examples:
  parley inspect --kind session
  parley inspect --stately > events.ndjson
  parley inspect --stately --port 8081 --origin https://stately.ai`;

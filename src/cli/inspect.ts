/** `parley inspect` */
import { Option, type Command } from 'commander';
import { wholeNumber, gather } from './arguments.ts';
import { connected } from './connection.ts';
import type { InspectOptions } from './inspect-run.ts';

export function registerInspect(program: Command): void {
  const inspect = program.command('inspect').description('live actors and what happens to them, a line of JSON each, until Ctrl-C');
  connected(
    inspect
      .option('--stately', "in the messages of Stately's inspection protocol")
      .addOption(new Option('--kind <kind>', 'only actors of this kind').choices(['session', 'key', 'workspace', 'assistant', 'socket', 'visitor']))
      .option('--id <id>', 'only this actor')
      .addOption(new Option('--port <number>', "with --stately: a WebSocket for Stately's receivers on this port of 127.0.0.1 in place of lines; 0 takes a free one").argParser(wholeNumber(0, 65_535)))
      .option('--origin <origin>', 'with --port: a site whose pages may connect to it; may be given several times (default: none, programs alone)', gather),
  )
    .addHelpText('after', examples)
    .action(async (options: InspectOptions) => (await import('./inspect-run.ts')).inspect(options));
}

const examples = `
What it shows has the context of every actor. A page that --origin names reads all of it.

Examples:
  parley inspect --kind session
  parley inspect --stately > events.ndjson
  parley inspect --stately --port 8081 --origin https://stately.ai`;

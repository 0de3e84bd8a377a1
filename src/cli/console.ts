/** `parley console` */
import type { Command } from 'commander';
import { limits } from '../base/limits.ts';
import type { SignInLinkView } from '../base/wire.ts';
import { atServer, addConnectionOptions, type ConnectionOptions } from './connection.ts';
import type { Io } from './io.ts';
import { oneLine } from './output.ts';

interface ConsoleOptions extends ConnectionOptions {
  readonly name?: string;
}

export function registerConsole(program: Command, io: Io): void {
  const console = program.command('console').description('print a link that signs one person in to the console, once');
  addConnectionOptions(
    console.option('--name <name>', "the person's name, as others see it (default: operator)"),
  ).action(link(io));
}

const link =
  (io: Io) =>
  (options: ConsoleOptions): Promise<void> =>
    atServer(io, options, async (client, _clock, show) => {
      const made = await client.post<SignInLinkView>('/sign-in-links', { name: options.name ?? 'operator' });
      show(
        made,
        ({ url, name }) =>
          `${url}\n\nIt signs "${oneLine(name)}" in once, within ${limits.signInLinkSeconds / 60} minutes.`,
      );
    });

/** `parley console` */
import type { Command } from 'commander';
import { limits } from '../limits.ts';
import type { SignInLinkView } from '../wire.ts';
import { atServer, connected, type ConnectionOptions } from './connection.ts';
import { oneLine } from './output.ts';

interface ConsoleOptions extends ConnectionOptions {
  readonly name?: string;
}

export function registerConsole(program: Command): void {
  const console = program.command('console').description('print a link that signs one person in to the console, once');
  connected(console.option('--name <name>', 'whom it is for, as others see it (default: operator)')).action(link);
}

const link = (options: ConsoleOptions): Promise<void> =>
  atServer(options, async (client, _clock, show) => {
    const made = await client.post<SignInLinkView>('/sign-in-links', { name: options.name ?? 'operator' });
    show(made, ({ url, name }) => `${url}\n\nIt signs "${oneLine(name)}" in once, within ${limits.signInLinkSeconds / 60} minutes.`);
  });

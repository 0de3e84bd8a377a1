/** `parley console` */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { limits } from '../base/limits.ts';
import { roles } from '../base/roles.ts';
import { isOneLine } from '../base/text.ts';
import type { SignInLinkView } from '../wire/wire.ts';
import { atServer, addConnectionOptions, type ConnectionOptions } from './connection.ts';
import type { Io } from './io.ts';
import { oneLine } from './output.ts';

interface ConsoleOptions extends ConnectionOptions {
  readonly name?: string;
  readonly role?: string;
}

export function registerConsole(program: Command, io: Io): void {
  const console = program.command('console').description('print a link that signs one person in to the console, once');
  addConnectionOptions(
    console
      .option('--name <name>', "the person's name, as others see it (default: operator)", personName)
      .addOption(
        new Option(
          '--role <role>',
          'what the person may do, in all workspaces or in that of --workspace (default: owner)',
        ).choices(roles),
      ),
  ).action(link(io));
}

function personName(text: string): string {
  if (isOneLine(text) && [...text].length <= limits.personNameCharactersMax) return text;
  throw new InvalidArgumentError(`It must be one line of 1 to ${limits.personNameCharactersMax} characters.`);
}

const link =
  (io: Io) =>
  (options: ConsoleOptions): Promise<void> =>
    atServer(io, options, async (client, _clock, show) => {
      const made = await client.post<SignInLinkView>('/sign-in-links', {
        name: options.name ?? 'operator',
        ...(options.role !== undefined && { role: options.role }),
        ...(options.workspace !== undefined && { workspace_id: await client.workspace(options.workspace) }),
      });
      show(
        made,
        ({ url, name, role, workspace_id: workspaceId }) =>
          `${url}\n\nIt signs "${oneLine(name)}" in once, as ${role} of ${workspaceId ?? 'all workspaces'}, within ${limits.signInLinkSeconds / 60} minutes.`,
      );
    });

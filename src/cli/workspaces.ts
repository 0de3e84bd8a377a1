/** `parley workspaces` */
import type { Command } from 'commander';
import { limits } from '../base/limits.ts';
import type { WorkspaceView } from '../wire/wire.ts';
import { wholeNumber } from './arguments.ts';
import { atServer, addConnectionOptions, type ConnectionOptions } from './connection.ts';
import type { Io } from './io.ts';
import { addPageOptions, pageQuery, showPage, type ListView, type PageOptions } from './list.ts';
import { oneLine, time } from './output.ts';

interface CreateOptions extends ConnectionOptions {
  readonly retentionDays?: number;
  readonly turnsInFlightMax?: number;
}

export function registerWorkspaces(program: Command, io: Io): void {
  const workspaces = program
    .command('workspaces')
    .description('workspaces: each owns its assistants, keys and sessions');
  workspaces.addHelpText('after', examples);
  addPageOptions(workspaces.command('list').description('list the workspaces')).action(list(io));
  addConnectionOptions(workspaces.command('create').description('create a workspace').argument('<name>'))
    .option(
      '--retention-days <number>',
      `days that sessions are kept after their last activity (default: ${limits.retentionDaysDefault})`,
      wholeNumber(1, limits.retentionDaysMax),
    )
    .option(
      '--turns-in-flight-max <number>',
      `turns at one time (default: ${limits.turnsInFlightMax})`,
      wholeNumber(1, limits.turnsInFlightCeiling),
    )
    .action(create(io));
}

const examples = `
Examples:
  parley workspaces list
  parley workspaces create support --retention-days 90`;

const list =
  (io: Io) =>
  (options: PageOptions): Promise<void> =>
    atServer(io, options, (client, _clock, show) =>
      showPage({ client, show }, '/workspaces', pageQuery(options), workspaceList),
    );

const create =
  (io: Io) =>
  (name: string, options: CreateOptions): Promise<void> =>
    atServer(io, options, async (client, _clock, show) => {
      const body = { name, retention_days: options.retentionDays, turns_in_flight_max: options.turnsInFlightMax };
      show(
        await client.post<WorkspaceView>('/workspaces', body),
        (workspace) => `Created the workspace "${oneLine(workspace.name)}": ${workspace.id}`,
      );
    });

const workspaceList: ListView<WorkspaceView> = {
  empty: 'No workspaces.',
  columns: [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'RETENTION', right: true, cell: (workspace) => `${workspace.retention_days} d` },
    { title: 'TURNS AT ONCE', right: true, cell: (workspace) => workspace.turns_in_flight_max },
    { title: 'CREATED', cell: (workspace) => time(workspace.created_at) },
  ],
};

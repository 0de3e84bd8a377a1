/** `parley workspaces` */
import type { Command } from 'commander';
import type { List } from '../client/types.ts';
import { limits } from '../base/limits.ts';
import type { WorkspaceView } from '../wire/wire.ts';
import { wholeNumber } from './arguments.ts';
import {
  atServer,
  addConnectionOptions,
  moreLine,
  addPageOptions,
  pageQuery,
  type ConnectionOptions,
  type PageOptions,
} from './connection.ts';
import type { Io } from './io.ts';
import { oneLine, table, time } from './output.ts';

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
  (options: ConnectionOptions & PageOptions): Promise<void> =>
    atServer(io, options, async (client, _clock, show) => {
      show(await client.get<List<WorkspaceView>>('/workspaces', pageQuery(options)), render);
    });

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

function render(workspaces: List<WorkspaceView>): string {
  if (workspaces.data.length === 0) return 'No workspaces.';
  const columns = [
    { title: 'ID' },
    { title: 'NAME' },
    { title: 'RETENTION', right: true },
    { title: 'TURNS AT ONCE', right: true },
    { title: 'CREATED' },
  ];
  const rows = workspaces.data.map((one) => [
    one.id,
    one.name,
    `${one.retention_days} d`,
    String(one.turns_in_flight_max),
    time(one.created_at),
  ]);
  return table(columns, rows) + moreLine(workspaces);
}

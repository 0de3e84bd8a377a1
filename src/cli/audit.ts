/** `parley audit` (contract 22) */
import { once } from 'node:events';
import { Option, type Command } from 'commander';
import type { AuditEntryView } from '../wire/wire.ts';
import { addConnectionOptions, atServer, type ConnectionOptions } from './connection.ts';
import type { ConsoleClient, Query } from './console-client.ts';
import type { Io } from './io.ts';
import { addPageOptions, pageQuery, showPage, type ListView, type PageOptions } from './list.ts';
import { time } from './output.ts';

interface FilterOptions extends ConnectionOptions {
  readonly by?: string;
  readonly object?: string;
}

interface ExportOptions extends FilterOptions {
  readonly after?: string;
  readonly order: string;
}

export function registerAudit(program: Command, io: Io): void {
  const audit = program.command('audit').description('changes made in the console, by whom and when: list, export');
  audit.addHelpText('after', examples);
  addFilters(
    addPageOptions(audit.command('list').description('list the changes, newest first'), everyWorkspace),
  ).action(list(io));
  addFilters(
    addConnectionOptions(
      audit.command('export').description('print every change as a line of JSON, oldest first'),
      everyWorkspace,
    ),
  )
    .option('--after <id>', 'begin after the entry with this id')
    .addOption(new Option('--order <order>', 'by time').choices(['asc', 'desc']).default('asc'))
    .action(exportAll(io));
}

const everyWorkspace = 'changes in this workspace only (default: all workspaces)';

const addFilters = (command: Command): Command =>
  command
    .option('--by <id|name>', 'changes by this person only')
    .option('--object <id>', 'changes of this assistant, tool, key, … only');

const examples = `
An export is printed while it is read. It contains prompts and no secrets. After a failure, continue with --after and
the id of the last line.

Examples:
  parley audit list --by Anna
  parley audit list --object asst_01jm3k4q8z9v5x7w2r6t0y1n3b
  parley audit export > audit.jsonl
  parley audit export --workspace default --after aud_01jm3k4q8z9v5x7w2r6t0y1n3b >> audit.jsonl`;

const filterOf = async (client: ConsoleClient, { workspace, by, object }: FilterOptions): Promise<Query> => ({
  workspace: workspace === undefined ? undefined : await client.workspace(workspace),
  by,
  object_id: object,
});

const list =
  (io: Io) =>
  (options: FilterOptions & PageOptions): Promise<void> =>
    atServer(io, options, async (client, _clock, show) => {
      const query = { ...(await filterOf(client, options)), ...pageQuery(options) };
      await showPage({ client, show }, '/audit', query, changeList);
    });

const exportAll =
  (io: Io) =>
  (options: ExportOptions): Promise<void> =>
    atServer(io, options, async (client) => {
      const query = { ...(await filterOf(client, options)), order: options.order };
      for await (const entry of client.all<AuditEntryView>('/audit', query, options.after))
        if (!io.stdout.write(`${JSON.stringify(entry)}\n`)) await once(io.stdout, 'drain');
    });

/** The most fields that a row of the table names. */
const fieldsMax = 3;

function fieldsOf(changes: AuditEntryView['changes']): string {
  const names = changes.slice(0, fieldsMax).map(({ path }) => path);
  return names.join(', ') + (changes.length > fieldsMax ? ` and ${changes.length - fieldsMax} more` : '');
}

const changeList: ListView<AuditEntryView> = {
  empty: 'No changes.',
  columns: [
    { title: 'TIME', cell: ({ at }) => time(at) },
    { title: 'BY', cell: ({ by }) => by.name },
    { title: 'ROLE', cell: ({ by }) => by.role },
    { title: 'ACTION', cell: ({ action, object_type: type }) => `${action} ${type}` },
    { title: 'OBJECT', cell: ({ object_id: id }) => id },
    { title: 'FIELDS', cell: ({ changes }) => fieldsOf(changes) },
  ],
};

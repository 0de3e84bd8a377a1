/** Commands that print a list: their flags, their request, and a page of it as a table. */
import { Option, type Command } from 'commander';
import type { List } from '../client/types.ts';
import { limits } from '../base/limits.ts';
import { wholeNumber } from './arguments.ts';
import { addConnectionOptions, inWorkspace, type ConnectionOptions, type ConsoleConnection } from './connection.ts';
import type { Collection, Query } from './console-client.ts';
import type { Io } from './io.ts';
import { table, type Column } from './output.ts';

export interface PageOptions extends ConnectionOptions {
  readonly limit?: number;
  readonly after?: string;
  readonly order?: string;
}

/** A list as a table: a row for each item. */
export interface ListView<Item> {
  /** The text for a page without items. */
  readonly empty: string;
  readonly columns: readonly (Column & { cell(item: Item): string | number | null | undefined })[];
}

/** Adds the flags of a list. */
export const addPageOptions = (command: Command, workspaces?: string): Command =>
  addConnectionOptions(
    command
      .option(
        '--limit <number>',
        `items a page, 1 to ${limits.listMax} (default: ${limits.listDefault})`,
        wholeNumber(1, limits.listMax),
      )
      .option('--after <cursor>', 'the next_cursor of the previous page')
      .addOption(new Option('--order <order>', 'by time of creation').choices(['asc', 'desc'])),
    workspaces,
  );

export const pageQuery = ({ limit, after, order }: PageOptions): Query => ({ limit, after, order });

/** Formats a page as a table, with a line below it if the list has more pages. */
export function listText<Item>(
  { data, has_more, next_cursor }: List<Item>,
  { empty, columns }: ListView<Item>,
): string {
  if (data.length === 0) return empty;
  const rows = data.map((item) => columns.map(({ cell }) => String(cell(item) ?? '')));
  return table(columns, rows) + (has_more ? `\n\nThere are more: add --after ${next_cursor}` : '');
}

/** Prints a page of the list at `path`. */
export async function showPage<Item>(
  { client, show }: Pick<ConsoleConnection, 'client' | 'show'>,
  path: string,
  query: Query,
  view: ListView<Item>,
): Promise<void> {
  show(await client.get<List<Item>>(path, query), (list) => listText(list, view));
}

/** The command that prints a collection of the workspace. */
export const listOf =
  <Item>(io: Io, collection: Collection, view: ListView<Item>) =>
  (options: PageOptions): Promise<void> =>
    inWorkspace(io, options, (connection) =>
      showPage(connection, `${connection.workspace}/${collection}`, pageQuery(options), view),
    );

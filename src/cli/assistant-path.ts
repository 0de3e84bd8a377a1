/** The commands that name an assistant, and its path in the console's API. */
import type { Command } from 'commander';
import type { ConsoleConnection } from './connection.ts';
import { segment } from './console-client.ts';

export const addCommand = (parent: Command, name: string, description: string): Command =>
  parent.command(name).description(description).argument('<assistant>', 'id or name');

export async function pathOf({ client, workspace }: ConsoleConnection, selector: string): Promise<string> {
  const id = await client.idOf(workspace, 'assistants', selector);
  return `${workspace}/assistants/${segment(id)}`;
}

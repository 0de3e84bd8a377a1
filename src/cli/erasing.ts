/** `parley visitors`, and the erasing of `parley sessions` (contract 22). */
import type { Command } from 'commander';
import { counted } from '../base/text.ts';
import type { ErasureView } from '../wire/wire.ts';
import { addConnectionOptions, inWorkspace, type ConnectionOptions } from './connection.ts';
import { segment } from './console-client.ts';
import type { Io } from './io.ts';
import { oneLine } from './output.ts';

export function registerVisitors(program: Command, io: Io): void {
  const visitors = program
    .command('visitors')
    .description('visitors of links and widgets: erase one with all sessions');
  visitors.addHelpText('after', examples);
  addErase(visitors, io, 'visitors', 'erase all sessions that a visitor held; this cannot be undone');
}

/** Milliseconds that an erasure may take, as of a visitor with many thousands of sessions. */
const eraseMs = 600_000;

const examples = `
Examples:
  parley visitors erase vis_01jm3k4q8z9v5x7w2r6t0y1n3b`;

/** Adds the subcommand `erase`. */
export function addErase(command: Command, io: Io, kind: 'sessions' | 'visitors', description: string): void {
  addConnectionOptions(command.command('erase').description(description).argument('<id>')).action(erase(io, kind));
}

const erase =
  (io: Io, kind: 'sessions' | 'visitors') =>
  (id: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, workspace, show }) => {
      const path = `${workspace}/${kind}/${segment(id)}`;
      show(await client.delete<ErasureView>(path, eraseMs), (receipt) => render(id, receipt));
    });

function render(id: string, { sessions, messages, turns, feedback, tests }: ErasureView): string {
  if (sessions === 0) return `Nothing of ${oneLine(id)} is stored.`;
  const counts = [
    counted(sessions, 'session'),
    counted(messages, 'message'),
    counted(turns, 'turn'),
    ...(feedback > 0 ? [counted(feedback, 'rating')] : []),
    ...(tests > 0 ? [counted(tests, 'test')] : []),
  ];
  return `Erased ${oneLine(id)}: ${counts.join(', ')}.`;
}

/** The command `parley` as a process. */
import { runCommand } from './command.ts';

// A reader that has seen enough, as in `parley keys list | head -1`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

void runCommand(process.argv.slice(2), process);

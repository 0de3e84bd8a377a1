/** `parley chat` */
import type { Command } from 'commander';
import { gather } from './arguments.ts';
import type { ChatOptions } from './chat-run.ts';
import { addConnectionOptions } from './connection.ts';
import type { Io } from './io.ts';

export function registerChat(program: Command, io: Io): void {
  addConnectionOptions(program.command('chat').description('talk to an assistant in the terminal'))
    .option('--assistant <id|name>', 'default: the only published one, or the one called "demo"')
    .option(
      '--key <key>',
      'the API key to use (PARLEY_API_KEY; default: one made for this conversation and revoked at its end)',
    )
    .option('--session <id>', 'continue this session')
    .option('--once <message>', 'send one message, print the reply and leave')
    .option('--visitor <name=value>', 'a visitor field; may be given several times', gather)
    .option('--keep', 'leave the session open at the end')
    .addHelpText('after', explanation)
    .action(async (options: ChatOptions) => {
      const { runChat } = await import('./chat-run.ts');
      await runChat(io, options);
    });
}

const explanation = `
In a terminal, Ctrl-C during a reply aborts it; at the prompt Ctrl-C and Ctrl-D end the session and leave. Otherwise each line
of stdin is one turn, stdout holds the replies alone, and the first turn that fails ends it with exit code 1. With --json the
events of the stream are printed, one JSON object a line. Leaving ends the session, unless --keep is given or --once went on
with one of --session.

Examples:
  parley chat
  parley chat --assistant support --visitor email=ada@example.com
  parley chat --once "What can you do?"
  parley chat --keep --once "My name is Ada." && parley chat --session ses_… --once "What is my name?"
  parley chat < questions.txt`;

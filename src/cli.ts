/** The command `parley`. What a command needs beyond its flags is imported when it runs, so that help and `serve` start fast. */
import { Command, CommanderError } from 'commander';
import about from '../package.json' with { type: 'json' };
import { registerAssistants } from './cli/assistants.ts';
import { registerChat } from './cli/chat.ts';
import { registerConsole } from './cli/console.ts';
import { registerCredentials } from './cli/credentials.ts';
import { registerDoctor } from './cli/doctor.ts';
import { registerExport } from './cli/export.ts';
import { exitCode, failureJson, failureLine } from './cli/exit.ts';
import { registerImport } from './cli/import.ts';
import { registerInspect } from './cli/inspect.ts';
import { registerKeys } from './cli/keys.ts';
import { registerLink } from './cli/link.ts';
import { registerMachines } from './cli/machines.ts';
import { registerServe } from './cli/serve.ts';
import { registerSessions } from './cli/sessions.ts';
import { registerUsage } from './cli/usage.ts';
import { registerVoice } from './cli/voice.ts';
import { registerWorkspaces } from './cli/workspaces.ts';

const help = `
Exit codes: 0 done, 1 it failed, 2 it was called the wrong way or a setting cannot be used.

Examples:
  parley serve                                   run the server on http://127.0.0.1:8080
  parley chat                                    talk to its assistant in the terminal
  parley speak "Hello there" > hello.wav         have it speak
  parley listen hello.wav                        write down what is said
  parley keys create "web shop" --expires 90d    make an API key
  parley sessions list --json                    the conversations, as the API's JSON
  parley console                                 a link to sign in to the console with
  parley machines session                        the session's states as a Mermaid diagram

Each command has its own help: parley keys create --help`;

let json = false;

function command(): Command {
  const program = new Command('parley')
    .description('An actor runtime for conversations.')
    .version(about.version, '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help of a command')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(usageLine(text)) })
    .addHelpText('after', help)
    .hook('preAction', (_program, action) => {
      json = action.opts().json === true;
    });
  const registrations = [registerServe, registerChat, registerVoice, registerAssistants, registerLink, registerKeys, registerCredentials, registerSessions, registerUsage, registerWorkspaces, registerConsole, registerMachines, registerInspect, registerDoctor, registerExport, registerImport];
  for (const register of registrations) register(program);
  return program;
}

/** What is wrong with the arguments, as one line: a suggestion comes on a line of its own. */
function usageLine(text: string): string {
  const said = text.replace(/^error: /, '').trim().replaceAll('\n', ' ');
  return `parley: ${said}${said.endsWith('.') ? '' : '.'} Add --help to see how it is used.\n`;
}

/** Ends the process once the line is out: a server that failed to start may have left something running. */
function fail(error: unknown): void {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? 0 : 2;
    return;
  }
  const line = json ? failureJson(error) : `parley: ${failureLine(error)}`;
  process.stderr.write(`${line}\n`, () => process.exit(exitCode(error)));
}

// A reader that has seen enough, as in `parley keys list | head -1`, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

void command().parseAsync().catch(fail);

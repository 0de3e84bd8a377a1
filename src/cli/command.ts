/** Runs the command `parley`. A subcommand imports its code when it runs, so that help and `serve` start fast. */
import { Command, CommanderError } from 'commander';
import about from '../../package.json' with { type: 'json' };
import { registerApply } from './apply.ts';
import { registerAssistants } from './assistants.ts';
import { registerAudit } from './audit.ts';
import { registerChat } from './chat.ts';
import { registerConsole } from './console.ts';
import { registerCredentials } from './credentials.ts';
import { registerDesk } from './desk.ts';
import { registerTools } from './tools.ts';
import { registerDoctor } from './doctor.ts';
import { registerVisitors } from './erasing.ts';
import { registerExport } from './export.ts';
import { exitCode, failureJson, failureLine } from './exit.ts';
import { registerImport } from './import.ts';
import { registerInspect } from './inspect.ts';
import type { Io } from './io.ts';
import { registerKeys } from './keys.ts';
import { registerLink } from './link.ts';
import { registerMachines } from './machines.ts';
import { usualColumns } from './output.ts';
import { registerPull } from './pull.ts';
import { registerServe } from './serve.ts';
import { registerSessions } from './sessions.ts';
import { registerTalk } from './talk.ts';
import { registerTests } from './tests.ts';
import { registerUsage } from './usage.ts';
import { registerVoice } from './voice.ts';
import { registerWebhooks } from './webhooks.ts';
import { registerWorkspaces } from './workspaces.ts';

const help = `
Exit codes: 0 done, 1 it failed, 2 it was called the wrong way or a setting cannot be used.

Examples:
  parley serve                                   run the server on http://127.0.0.1:8080
  parley chat                                    talk to its assistant in the terminal
  parley talk                                    the same aloud
  parley speak "Hello there" > hello.wav         have it speak
  parley listen hello.wav                        transcribe it
  parley keys create "web shop" --expires 90d    make an API key
  parley tests run demo                          run the tests of an assistant
  parley desk                                    the conversations whose visitors wait for a person
  parley sessions list --json                    the conversations, as the API's JSON
  parley console                                 a link to sign in to the console with
  parley machines session                        the session's states as a Mermaid diagram

Each command has its own help: parley keys create --help`;

/** Runs the command that the arguments name, to its end. */
export async function runCommand(args: readonly string[], io: Io): Promise<void> {
  let json = false;
  const program = commandOf(io).hook('preAction', (_program, action) => {
    json = action.opts().json === true;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) io.exitCode = error.exitCode === 0 ? 0 : 2;
    else await fail(error, json, io);
  }
}

function commandOf(io: Io): Command {
  const program = new Command('parley')
    .description('An actor runtime for conversations.')
    .version(about.version, '--version', 'print the version')
    // `--version` behind a subcommand is the subcommand's own.
    .enablePositionalOptions()
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help of a command')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      getOutHelpWidth: () => (io.stdout.isTTY ? io.stdout.columns : undefined) ?? usualColumns,
      outputError: (text, write) => write(usageLine(text)),
    })
    .addHelpText('after', help);
  const registrations = [
    registerServe,
    registerChat,
    registerTalk,
    registerVoice,
    registerAssistants,
    registerLink,
    registerKeys,
    registerCredentials,
    registerTools,
    registerPull,
    registerApply,
    registerTests,
    registerWebhooks,
    registerSessions,
    registerDesk,
    registerVisitors,
    registerUsage,
    registerWorkspaces,
    registerConsole,
    registerAudit,
    registerMachines,
    registerInspect,
    registerDoctor,
    registerExport,
    registerImport,
  ];
  for (const register of registrations) register(program, io);
  return program;
}

/** Returns the usage error as one line: commander puts its suggestion on a second line. */
function usageLine(text: string): string {
  const sentence = text
    .replace(/^error: /, '')
    .trim()
    .replaceAll('\n', ' ');
  return `parley: ${sentence}${sentence.endsWith('.') ? '' : '.'} Add --help to see how it is used.\n`;
}

/**
 * Ends the process once the line is out: a server that failed to start may have left something running. It ends within
 * the callback, because a stderr that is broken emits an error right after it.
 */
async function fail(error: unknown, json: boolean, io: Io): Promise<void> {
  const line = json ? failureJson(error) : `parley: ${failureLine(error)}`;
  await new Promise<void>((done) => io.stderr.write(`${line}\n`, () => done(io.exit(exitCode(error)))));
}

/** The flags that all commands over HTTP share: server, credentials and workspace. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { WheelClock, type Clock } from '../base/clock.ts';
import { readConfig } from '../base/config.ts';
import { ConsoleClient, segment } from './console-client.ts';
import { CommandFailure, UsageFailure } from './exit.ts';
import type { Environment, Io } from './io.ts';
import { print } from './output.ts';
import { codeOfThrown } from '../base/thrown.ts';

export interface ConnectionOptions {
  readonly url?: string;
  readonly operatorToken?: string;
  readonly workspace?: string;
  readonly json?: boolean;
}

const oneWorkspace = 'default: the only workspace, or the one called "default"';

/** Adds the shared flags to a command; `workspaces` describes the flag `--workspace`. */
export const addConnectionOptions = (command: Command, workspaces: string = oneWorkspace): Command =>
  command
    .option('--url <address>', "the server's address (PARLEY_URL, default: http://127.0.0.1:$PORT)", serverAddress)
    .option(
      '--operator-token <token>',
      "the token for the console's API (PARLEY_OPERATOR_TOKEN, default: the file operator-token in the data folder of PARLEY_STORE)",
    )
    .option('--workspace <id|name>', workspaces)
    .option('--json', "print the API's JSON as it is; failures too, on stderr");

function serverAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    throw new InvalidArgumentError('It must be an http or https address without a user name.');
  }
  return url.origin + url.pathname.replace(/(?<!\/)\/+$/, '');
}

/** The server's address without a slash at its end. */
export function serverUrl(options: ConnectionOptions, environment: Environment): string {
  if (options.url !== undefined) return options.url;
  if (!environment.PARLEY_URL) return `http://127.0.0.1:${readConfig({ PORT: environment.PORT }).port}`;
  try {
    return serverAddress(environment.PARLEY_URL);
  } catch {
    throw new UsageFailure('PARLEY_URL must be an http or https address without a user name.');
  }
}

/** The operator token: from the flag, the environment or the server's data folder. */
export function operatorToken(options: ConnectionOptions, environment: Environment): string {
  const config = readConfig({
    PARLEY_OPERATOR_TOKEN: options.operatorToken || environment.PARLEY_OPERATOR_TOKEN,
  }).operatorToken;
  if (config !== null) return config;
  const { store } = readConfig({ PARLEY_STORE: environment.PARLEY_STORE });
  const ask = 'Give it with --operator-token or PARLEY_OPERATOR_TOKEN';
  if (store.kind !== 'lmdb') throw new UsageFailure(`No operator token. ${ask}.`);
  const file = join(store.folder, 'operator-token');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (codeOfThrown(error) !== 'ENOENT')
      throw new CommandFailure(`The operator token in ${file} cannot be read (${codeOfThrown(error)}).`);
    throw new UsageFailure(
      `No operator token. ${ask}, or run this where the server's data folder is (there is no ${file}; the first start of a server writes it).`,
    );
  }
}

export interface ConsoleConnection {
  readonly client: ConsoleClient;
  readonly clock: Clock;
  /** The path of the workspace, as in `/workspaces/wks_…`. */
  readonly workspace: string;
  /** Prints the answer: as JSON text with `--json`, otherwise as `render` formats it. */
  show<T>(answer: { readonly body: T; readonly text: string }, render: (body: T) => string): void;
}

/** Runs a command on the console's API in the chosen workspace. */
export async function inWorkspace(
  io: Io,
  options: ConnectionOptions,
  run: (connection: ConsoleConnection) => Promise<void>,
): Promise<void> {
  await atServer(io, options, async (client, clock, show) => {
    const workspace = `/workspaces/${segment(await client.workspace(options.workspace))}`;
    await run({ client, clock, workspace, show });
  });
}

/** Runs a command on the console's API without a workspace. */
export async function atServer(
  io: Io,
  options: ConnectionOptions,
  run: (client: ConsoleClient, clock: Clock, show: ConsoleConnection['show']) => Promise<void>,
): Promise<void> {
  const clock = new WheelClock();
  const client = new ConsoleClient(serverUrl(options, io.env), operatorToken(options, io.env));
  try {
    await run(client, clock, (answer, render) => {
      if (!options.json) print(io, render(answer.body));
      else if (answer.text !== '') print(io, answer.text);
    });
  } finally {
    clock.stop();
  }
}

/** `parley tools` */
import { Option, type Command } from 'commander';
import { limits } from '../base/limits.ts';
import type {
  ConsoleAssistantView,
  CreatedToolView,
  CredentialView,
  RefreshedToolView,
  RotatedSecretView,
  ToolTestView,
  ToolView,
} from '../wire/wire.ts';
import { wholeNumber } from './arguments.ts';
import { fileText } from './assistant-body.ts';
import { addConnectionOptions, inWorkspace, type ConnectionOptions, type ConsoleConnection } from './connection.ts';
import { segment, type ConsoleAnswer } from './console-client.ts';
import { AdvisedFailure, UsageFailure } from './exit.ts';
import type { Io } from './io.ts';
import { addPageOptions, listOf } from './list.ts';
import { oneLine, printable, secretText } from './output.ts';
import { refreshErrorText, renderTool, stateOf, toolList } from './tool-view.ts';

interface SettingOptions extends ConnectionOptions {
  readonly toolUrl?: string;
  readonly credential?: string;
  readonly apiKey?: string;
  readonly functions?: string;
  readonly approval?: string;
  readonly show?: string;
  readonly timeoutSeconds?: number;
  readonly callsPerMinute?: number;
  readonly repeatable?: boolean;
  readonly disabled?: boolean;
}

interface CreateOptions extends SettingOptions {
  readonly kind: string;
}

/** False for `--no-…`. */
interface UpdateOptions extends Omit<SettingOptions, 'credential' | 'callsPerMinute'> {
  readonly name?: string;
  readonly credential?: string | false;
  readonly callsPerMinute?: number | false;
}

export function registerTools(program: Command, io: Io): void {
  const tools = program
    .command('tools')
    .description('tools that assistants may call: create, show, update, refresh, turn on, test');
  tools.addHelpText('after', examples);
  addPageOptions(tools.command('list').description('list the tools with their functions')).action(
    listOf(io, 'tools', toolList),
  );
  addConnectionOptions(
    withTool(tools, 'show', 'show a tool with its settings, its functions, and why its list could not be read'),
  ).action(show(io));
  const make = addConnectionOptions(
    tools
      .command('create')
      .description('create a tool; the secret that signs the requests to an http tool is shown once')
      .argument('<name>'),
  );
  make.addOption(
    new Option(
      '--kind <kind>',
      'http: signed requests to your URL; mcp: an MCP server; client: run by the caller of the API',
    )
      .choices(['http', 'mcp', 'client'])
      .default('http'),
  );
  settingOptions(make, (value) => ` (default: ${value})`).action(create(io));
  const alter = addConnectionOptions(
    withTool(tools, 'update', 'change settings of a tool; the others stay as they are'),
  ).option('--name <name>', 'its new name');
  settingOptions(alter, () => '')
    .option('--no-credential', 'send no secret any more')
    .option('--no-calls-per-minute', 'no limit of calls a minute any more')
    .option('--no-repeatable', 'a call is never sent again once the tool may have it')
    .option('--disabled', 'switch the whole tool off at once: none of its functions is offered, no call is sent')
    .option('--no-disabled', 'switch it on again')
    .action(update(io));
  addConnectionOptions(withTool(tools, 'refresh', "read an MCP server's list again, and show what has changed"))
    .option('--enable', 'turn all of its functions on, those too that are new or changed')
    .action(refresh(io));
  for (const [verb, enabled, description] of switches) {
    addConnectionOptions(
      withTool(tools, verb, description).argument('[functions...]', 'default: all of the tool'),
    ).action(change(io, enabled));
  }
  addConnectionOptions(
    withTool(tools, 'test', 'call a function once; exit 1 if the call fails')
      .argument('<function>')
      .argument('[arguments]', 'a JSON object; - reads stdin', '{}'),
  ).action(test(io));
  addConnectionOptions(
    withTool(
      tools,
      'rotate-secret',
      'give an http tool a new signing secret, which is shown once; the old one signs too for 24 hours',
    ),
  ).action(rotate(io));
  addConnectionOptions(withTool(tools, 'delete', 'delete a tool, also from the assistants that have it')).action(
    remove(io),
  );
}

/** The settings of a tool. `byDefault`: the note of a value that holds where none is given. */
const settingOptions = (command: Command, byDefault: (value: string) => string): Command =>
  command
    .option(
      '--tool-url <url>',
      'address that gets the tool calls; https://, or http:// to a private address, which needs PARLEY_ALLOW_PRIVATE_PROVIDERS=1 on the server',
    )
    .option('--credential <id>', "a credential of the kind tool, for the URL's origin")
    .addOption(
      new Option(
        '--api-key <secret>',
        'the secret that its server wants, stored as a credential for the URL',
      ).conflicts('credential'),
    )
    .option(
      '--functions <file>',
      'its functions as JSON, a list of {name, description, parameters}; - reads stdin; of an mcp tool `refresh` reads them',
    )
    .addOption(
      new Option('--approval <when>', `whether a person approves each call${byDefault('never')}`).choices([
        'never',
        'always',
      ]),
    )
    .addOption(
      new Option('--show <what>', `how much of a call the API's callers see${byDefault('name')}`).choices([
        'none',
        'name',
        'full',
      ]),
    )
    .option(
      '--timeout-seconds <number>',
      `maximum seconds of a tool call${byDefault(String(limits.toolTimeoutSeconds))}`,
      wholeNumber(1, limits.toolTimeoutSecondsMax),
    )
    .option('--calls-per-minute <number>', `calls a minute${byDefault('no limit')}`, wholeNumber(1, limits.ceilingMax))
    .option('--repeatable', 'a call may be sent again although the tool may have it');

const withTool = (parent: Command, name: string, description: string): Command =>
  parent.command(name).description(description).argument('<tool>', 'id or name');

const switches = [
  ['enable', true, 'offer functions to the models of its assistants'],
  ['disable', false, 'offer functions no more'],
] as const;

const examples = `
Examples:
  parley tools create Orders --tool-url https://orders.example.com/call --functions functions.json
  parley tools create Docs --kind mcp --tool-url https://docs.example.com/mcp
  parley tools refresh Docs
  parley tools show Docs
  parley tools update Docs --timeout-seconds 60 --approval always
  parley tools enable Docs search            # or all at once: parley tools refresh Docs --enable
  parley tools test Docs search '{"query":"refunds"}'
  parley assistants update support --tool Docs --tool Orders`;

/** The id of the tool that `selector` names by id or by name. */
export const toolId = ({ client, workspace }: ConsoleConnection, selector: string): Promise<string> =>
  client.idOf(workspace, 'tools', selector);

const pathOf = async (connection: ConsoleConnection, selector: string): Promise<string> =>
  `${connection.workspace}/tools/${segment(await toolId(connection, selector))}`;

const show =
  (io: Io) =>
  (selector: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      connection.show(await connection.client.get<ToolView>(await pathOf(connection, selector)), renderTool);
    });

const create =
  (io: Io) =>
  (name: string, options: CreateOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const body = { kind: options.kind, name, ...(await settingsOf(io, options)), credential_id: options.credential };
      const created = await withSecret(connection, options.apiKey, options.toolUrl, (made) =>
        connection.client.post<CreatedToolView>(`${connection.workspace}/tools`, { ...body, ...made }),
      );
      connection.show(
        created,
        (tool) =>
          `Created the tool "${oneLine(tool.name)}" (${tool.id}).${signingText(tool.signing_secret)}${tool.kind === 'mcp' ? ` Read its list with \`parley tools refresh ${tool.id}\`.` : ''}`,
      );
    });

const update =
  (io: Io) =>
  (selector: string, options: UpdateOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const { name, credential, apiKey } = options;
      const settings = await settingsOf(io, options);
      const body = Object.fromEntries(
        Object.entries({ name, ...settings, credential_id: credential === false ? null : credential }).filter(
          ([, value]) => value !== undefined,
        ),
      );
      if (Object.keys(body).length === 0 && apiKey === undefined)
        throw new UsageFailure('Name a setting to change: `parley tools update --help` has the options.');
      const path = await pathOf(connection, selector);
      const url =
        options.toolUrl ??
        (apiKey === undefined ? undefined : ((await connection.client.get<ToolView>(path)).body.url ?? undefined));
      const updated = await withSecret(connection, apiKey, url, (made) =>
        connection.client.patch<ToolView>(path, { ...body, ...made }),
      );
      const isVersioned = Object.keys(body).some((field) => !unversioned.includes(field));
      const hint = isVersioned ? await unpublishedHint(connection, updated.body, options) : '';
      connection.show(
        updated,
        (tool) => `Changed the tool "${oneLine(tool.name)}" (${tool.id}).${disabledHint(options)}${hint}`,
      );
    });

/** Settings that are effective at once, in every version. */
const unversioned: readonly string[] = ['name', 'credential_id', 'disabled'];

/** Says that `--disabled` needs no new version. */
const disabledHint = ({ disabled }: Pick<SettingOptions, 'disabled'>): string =>
  disabled === undefined
    ? ''
    : ` It is ${disabled ? 'disabled' : 'enabled'} in every version at once, without publishing.`;

/**
 * Says which published assistants with the tool have a draft that people do not get yet. Empty with
 * `--json`.
 */
async function unpublishedHint(
  { client, workspace }: ConsoleConnection,
  { id }: Pick<ToolView, 'id'>,
  { json }: ConnectionOptions,
): Promise<string> {
  if (json) return '';
  const lines: string[] = [];
  for await (const one of client.all<ConsoleAssistantView>(`${workspace}/assistants`))
    if (one.tool_ids?.includes(id) && one.status === 'published' && one.draft.changed)
      lines.push(
        `\nPeople still get version ${one.version} of "${oneLine(one.name)}": publish its draft with \`parley assistants publish ${one.id}\`.`,
      );
  return lines.join('');
}

/** The settings of the options, as the API has them; undefined where none is given. */
async function settingsOf(
  io: Io,
  {
    toolUrl,
    functions,
    approval,
    show: shown,
    timeoutSeconds,
    callsPerMinute,
    repeatable,
    disabled,
  }: Omit<UpdateOptions, 'name' | 'credential'>,
): Promise<Record<string, unknown>> {
  const listed =
    functions === undefined ? undefined : parse(await fileText(io, functions), `${functions} is not valid JSON.`);
  if (listed !== undefined && !Array.isArray(listed))
    throw new UsageFailure(`${functions} must hold a list of functions.`);
  return {
    url: toolUrl,
    approval,
    show: shown,
    timeout_seconds: timeoutSeconds,
    calls_per_minute: callsPerMinute === false ? null : callsPerMinute,
    repeatable,
    disabled,
    functions: listed,
  };
}

/** Stores a secret as a credential for a URL, where one is given, and uses it; removes it again if that fails. */
async function withSecret<T>(
  { client, workspace }: ConsoleConnection,
  secret: string | undefined,
  url: string | undefined,
  use: (made: { credential_id?: string }) => Promise<T>,
): Promise<T> {
  if (secret === undefined) return use({});
  const { id } = (
    await client.post<CredentialView>(`${workspace}/credentials`, { kind: 'tool', base_url: url, api_key: secret })
  ).body;
  return use({ credential_id: id }).catch(async (error: unknown) => {
    await client.delete(`${workspace}/credentials/${segment(id)}`).catch(() => {});
    throw error;
  });
}

const signingText = (secret: string | undefined): string =>
  secret === undefined ? '' : ` The requests to it are signed with${secretText(secret)}`;

const refresh =
  (io: Io) =>
  (selector: string, options: ConnectionOptions & { readonly enable?: boolean }): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const path = await pathOf(connection, selector);
      const refreshed = await connection.client
        .post<RefreshedToolView>(`${path}/refresh`, undefined, callMs)
        .catch(async (error: unknown) => {
          throw await refreshFailure(connection, path, error);
        });
      const { changes } = refreshed.body;
      const lines =
        changes.length === 0
          ? ['Nothing has changed.']
          : changes.map(({ name, change }) => `${change.padEnd(8)} ${oneLine(name)}`);
      const turnedOn = options.enable ? await turned(connection, path, refreshed.body, true) : null;
      const hint = await unpublishedHint(connection, refreshed.body, options);
      const summary = (tool: ToolView): string => [...lines, stateOf(tool)].join('\n') + hint;
      if (turnedOn === null) return connection.show(refreshed, summary);
      const body = { ...turnedOn.body, changes };
      connection.show({ body, text: JSON.stringify(body) }, summary);
    });

/** A list that could not be read, with the reason that the server keeps at the tool. */
async function refreshFailure({ client }: ConsoleConnection, path: string, error: unknown): Promise<unknown> {
  if (!(error instanceof AdvisedFailure) || error.answer.status !== 503) return error;
  const tool = await client.get<ToolView>(path).catch(() => null);
  const fault = tool?.body.refresh_error;
  return fault ? new AdvisedFailure(`The list was not read. ${refreshErrorText(fault)}`, error.answer) : error;
}

const change =
  (io: Io, enabled: boolean) =>
  (selector: string, names: readonly string[], options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const path = await pathOf(connection, selector);
      const tool = await turned(connection, path, await toolWith(connection, path, names), enabled, names);
      const hint = await unpublishedHint(connection, tool.body, options);
      connection.show(tool, (after) => stateOf(after) + hint);
    });

/** The tool, if it has functions of these names. */
async function toolWith({ client }: ConsoleConnection, path: string, names: readonly string[]): Promise<ToolView> {
  const tool = (await client.get<ToolView>(path)).body;
  const unknown = names.find((name) => !tool.functions.some((one) => one.name === name));
  if (unknown !== undefined)
    throw new UsageFailure(
      `The tool has no function "${unknown}". It has ${tool.functions.map(({ name }) => name).join(', ') || 'none'}.`,
    );
  return tool;
}

/**
 * Turns functions on or off, without names all. An http tool's list replaces the one before, so all are sent back; of
 * an MCP server their names say which.
 */
function turned(
  { client }: ConsoleConnection,
  path: string,
  { kind, functions }: Pick<ToolView, 'kind' | 'functions'>,
  enabled: boolean,
  names: readonly string[] = [],
): Promise<ConsoleAnswer<ToolView>> {
  const isNamed = ({ name }: { readonly name: string }): boolean => names.length === 0 || names.includes(name);
  const sent =
    kind === 'mcp'
      ? functions.filter(isNamed).map(({ name }) => ({ name, enabled }))
      : functions.map((one) => (isNamed(one) ? { ...one, enabled } : one));
  return client.patch<ToolView>(path, { functions: sent });
}

const test =
  (io: Io) =>
  (selector: string, name: string, given: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const args = parse(given === '-' ? await fileText(io, given) : given, objectWanted);
      if (typeof args !== 'object' || args === null || Array.isArray(args)) throw new UsageFailure(objectWanted);
      const path = await pathOf(connection, selector);
      await toolWith(connection, path, [name]);
      const result = await connection.client.post<ToolTestView>(`${path}/test`, { name, arguments: args }, callMs);
      connection.show(
        result,
        ({ status, error, reason, output, milliseconds }) =>
          `${error === null ? status : `${status}: ${error}`}, ${milliseconds} ms${reason == null ? '' : `\n${printable(reason)}`}${output === null ? '' : `\n${printable(output)}`}`,
      );
      if (result.body.status !== 'completed') io.exitCode = 1;
    });

const objectWanted = 'The arguments must be a JSON object, as in \'{"order":"7"}\'.';

/** Longer than the longest call. */
const callMs = limits.toolTimeoutSecondsMax * 1000 + limits.commandAnswerMs;

const rotate =
  (io: Io) =>
  (selector: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const rotated = await connection.client.post<RotatedSecretView>(
        `${await pathOf(connection, selector)}/rotate-secret`,
      );
      connection.show(
        rotated,
        ({ signing_secret: secret }) =>
          `The new signing secret:${secretText(secret)} Requests are signed with the old one too for 24 hours.`,
      );
    });

const remove =
  (io: Io) =>
  (selector: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const answer = await connection.client.delete(await pathOf(connection, selector));
      connection.show(answer, () => `Deleted the tool ${selector}.`);
    });

function parse(content: string, complaint: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    throw new UsageFailure(complaint);
  }
}

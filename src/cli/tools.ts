/** `parley tools` */
import { Option, type Command } from 'commander';
import type { List } from '../client/types.ts';
import { limits } from '../base/limits.ts';
import type { CreatedToolView, CredentialView, RefreshedToolView, RotatedSecretView, ToolTestView, ToolView } from '../base/wire.ts';
import { wholeNumber } from './arguments.ts';
import { fileText } from './assistant-body.ts';
import { addConnectionOptions, inWorkspace, moreLine, addPageOptions, pageQuery, type ConnectionOptions, type ConsoleConnection, type PageOptions } from './connection.ts';
import { segment, type ConsoleAnswer } from './console-client.ts';
import { UsageFailure } from './exit.ts';
import type { Io } from './io.ts';
import { oneLine, print, printable, table, time } from './output.ts';

interface CreateOptions extends ConnectionOptions {
  readonly kind: string;
  readonly toolUrl?: string;
  readonly credential?: string;
  readonly apiKey?: string;
  readonly functions?: string;
  readonly approval?: string;
  readonly show?: string;
  readonly timeoutSeconds?: number;
  readonly callsPerMinute?: number;
  readonly repeatable?: boolean;
}

export function registerTools(program: Command, io: Io): void {
  const tools = program.command('tools').description('tools that assistants may call: create, refresh, turn on, test');
  tools.addHelpText('after', examples);
  addPageOptions(tools.command('list').description('list the tools with their functions')).action(list(io));
  addConnectionOptions(tools.command('create').description('create a tool; the secret that signs the requests to an http tool is shown once').argument('<name>'))
    .addOption(new Option('--kind <kind>', 'http: signed requests to your URL; mcp: an MCP server; client: run by the caller of the API').choices(['http', 'mcp', 'client']).default('http'))
    .option('--tool-url <url>', 'where its calls go; https://, or http:// to a private address, which needs PARLEY_ALLOW_PRIVATE_PROVIDERS=1 on the server')
    .option('--credential <id>', "a credential of the kind tool, for the URL's origin")
    .addOption(new Option('--api-key <secret>', 'the secret that its server wants, stored as a credential for the URL').conflicts('credential'))
    .option('--functions <file>', 'its functions as JSON, a list of {name, description, parameters}; - reads stdin; of an mcp tool `refresh` reads them')
    .addOption(new Option('--approval <when>', 'whether a person approves each call (default: never)').choices(['never', 'always']))
    .addOption(new Option('--show <what>', "how much of a call the API's callers see (default: name)").choices(['none', 'name', 'full']))
    .option('--timeout-seconds <number>', `time of a call (default: ${limits.toolTimeoutSeconds})`, wholeNumber(1, limits.toolTimeoutSecondsMax))
    .option('--calls-per-minute <number>', 'calls a minute (default: no limit)', wholeNumber(1, limits.ceilingMax))
    .option('--repeatable', 'a call may be sent again although the tool may have it')
    .action(create(io));
  addConnectionOptions(withTool(tools, 'refresh', "read an MCP server's list again, and show what has changed"))
    .option('--enable', 'turn all of its functions on, those too that are new or changed')
    .action(refresh(io));
  for (const [verb, enabled, description] of switches) {
    addConnectionOptions(withTool(tools, verb, description).argument('[functions...]', 'default: all of the tool')).action(change(io, enabled));
  }
  addConnectionOptions(withTool(tools, 'test', 'call a function once; exit 1 if the call fails').argument('<function>').argument('[arguments]', 'a JSON object; - reads stdin', '{}')).action(test(io));
  addConnectionOptions(withTool(tools, 'rotate-secret', 'give an http tool a new signing secret, which is shown once; the old one signs too for 24 hours')).action(rotate(io));
  addConnectionOptions(withTool(tools, 'delete', 'delete a tool, also from the assistants that have it')).action(remove(io));
}

const withTool = (parent: Command, name: string, description: string): Command => parent.command(name).description(description).argument('<tool>', 'id or name');

const switches = [
  ['enable', true, 'offer functions to the models of its assistants'],
  ['disable', false, 'offer functions no more'],
] as const;

const examples = `
Examples:
  parley tools create Orders --tool-url https://orders.example.com/call --functions functions.json
  parley tools create Docs --kind mcp --tool-url https://docs.example.com/mcp
  parley tools refresh Docs
  parley tools enable Docs search            # or all at once: parley tools refresh Docs --enable
  parley tools test Docs search '{"query":"refunds"}'
  parley assistants update support --tool Docs --tool Orders`;

/** The id of the tool that `selector` names by id or by name. */
export const toolId = ({ client, workspace }: ConsoleConnection, selector: string): Promise<string> => client.idOf(`${workspace}/tools`, 'tool', 'tool', selector);

const pathOf = async (connection: ConsoleConnection, selector: string): Promise<string> => `${connection.workspace}/tools/${segment(await toolId(connection, selector))}`;

const list = (io: Io) => (options: ConnectionOptions & PageOptions): Promise<void> =>
  inWorkspace(io, options, async ({ client, workspace, show }) => {
    show(await client.get<List<ToolView>>(`${workspace}/tools`, pageQuery(options)), render);
  });

const create = (io: Io) => (name: string, options: CreateOptions): Promise<void> =>
  inWorkspace(io, options, async ({ client, workspace, show }) => {
    const { kind, toolUrl, functions, approval, timeoutSeconds, callsPerMinute, repeatable } = options;
    const settings = { approval, show: options.show, timeout_seconds: timeoutSeconds, calls_per_minute: callsPerMinute, repeatable };
    const listed = functions === undefined ? undefined : parse(await fileText(io, functions), `${functions} is not valid JSON.`);
    if (listed !== undefined && !Array.isArray(listed)) throw new UsageFailure(`${functions} must hold a list of functions.`);
    const made = options.apiKey === undefined ? undefined : (await client.post<CredentialView>(`${workspace}/credentials`, { kind: 'tool', base_url: toolUrl, api_key: options.apiKey })).body.id;
    const tool = { kind, name, url: toolUrl, credential_id: made ?? options.credential, ...settings, functions: listed };
    const created = await client.post<CreatedToolView>(`${workspace}/tools`, tool).catch(async (error: unknown) => {
      if (made !== undefined) await client.delete(`${workspace}/credentials/${segment(made)}`).catch(() => {});
      throw error;
    });
    show(created, (tool) => `Created the tool "${oneLine(tool.name)}" (${tool.id}).${secretText(tool.signing_secret)}${tool.kind === 'mcp' ? ` Read its list with \`parley tools refresh ${tool.id}\`.` : ''}`);
  });

const secretText = (secret: string | undefined): string => (secret === undefined ? '' : ` The requests to it are signed with\n\n  ${secret}\n\nKeep it now: it is not shown again.`);

const refresh = (io: Io) => (selector: string, options: ConnectionOptions & { readonly enable?: boolean }): Promise<void> =>
  inWorkspace(io, options, async (connection) => {
    const path = await pathOf(connection, selector);
    const refreshed = await connection.client.post<RefreshedToolView>(`${path}/refresh`, undefined, callMs);
    const { functions, changes } = refreshed.body;
    const lines = changes.length === 0 ? ['Nothing has changed.'] : changes.map(({ name, change }) => `${change.padEnd(8)} ${oneLine(name)}`);
    const told = (tool: ToolView): string => [...lines, stateOf(tool)].join('\n');
    if (!options.enable) return connection.show(refreshed, told);
    const body = { ...(await turned(connection, path, functions, true)).body, changes };
    connection.show({ body, text: JSON.stringify(body) }, told);
  });

const change = (io: Io, enabled: boolean) => (selector: string, names: readonly string[], options: ConnectionOptions): Promise<void> =>
  inWorkspace(io, options, async (connection) => {
    const path = await pathOf(connection, selector);
    const functions = await functionsWith(connection, path, names);
    connection.show(await turned(connection, path, functions, enabled, names), stateOf);
  });

/** The tool's functions, if the names are among them. */
async function functionsWith({ client }: ConsoleConnection, path: string, names: readonly string[]): Promise<ToolView['functions']> {
  const { functions } = (await client.get<ToolView>(path)).body;
  const unknown = names.find((name) => !functions.some((one) => one.name === name));
  if (unknown !== undefined) throw new UsageFailure(`The tool has no function "${unknown}". It has ${functions.map(({ name }) => name).join(', ') || 'none'}.`);
  return functions;
}

/** Turns functions on or off, without names all. All are sent back: an http tool's list replaces the one before. */
const turned = ({ client }: ConsoleConnection, path: string, functions: ToolView['functions'], enabled: boolean, names: readonly string[] = []): Promise<ConsoleAnswer<ToolView>> =>
  client.patch<ToolView>(path, { functions: functions.map((one) => (names.length === 0 || names.includes(one.name) ? { ...one, enabled } : one)) });

function stateOf({ name, id, functions }: ToolView): string {
  const on = functions.filter(({ enabled }) => enabled).map(({ name: one }) => one);
  const off = functions.length - on.length;
  const more = off === 0 ? '' : ` Off are ${off} of ${functions.length}: turn them on with \`parley tools enable ${id}\`.`;
  return `The tool "${oneLine(name)}" (${id}) offers ${on.length === 0 ? 'no function' : on.join(', ')}.${more}`;
}

const test = (io: Io) => (selector: string, name: string, given: string, options: ConnectionOptions): Promise<void> =>
  inWorkspace(io, options, async (connection) => {
    const args = parse(given === '-' ? await fileText(io, given) : given, objectWanted);
    if (typeof args !== 'object' || args === null || Array.isArray(args)) throw new UsageFailure(objectWanted);
    const path = await pathOf(connection, selector);
    await functionsWith(connection, path, [name]);
    const result = await connection.client.post<ToolTestView>(`${path}/test`, { name, arguments: args }, callMs);
    connection.show(result, ({ status, error, reason, output, milliseconds }) => `${error === null ? status : `${status}: ${error}`}, ${milliseconds} ms${reason == null ? '' : `\n${printable(reason)}`}${output === null ? '' : `\n${printable(output)}`}`);
    if (result.body.status !== 'completed') io.exitCode = 1;
  });

const objectWanted = 'The arguments must be a JSON object, as in \'{"order":"7"}\'.';

/** Longer than the longest call. */
const callMs = limits.toolTimeoutSecondsMax * 1000 + limits.commandAnswerMs;

const rotate = (io: Io) => (selector: string, options: ConnectionOptions): Promise<void> =>
  inWorkspace(io, options, async (connection) => {
    const rotated = await connection.client.post<RotatedSecretView>(`${await pathOf(connection, selector)}/rotate-secret`);
    connection.show(rotated, ({ signing_secret: secret }) => `The new signing secret:\n\n  ${secret}\n\nKeep it now: it is not shown again. Requests are signed with the old one too for 24 hours.`);
  });

const remove = (io: Io) => (selector: string, options: ConnectionOptions): Promise<void> =>
  inWorkspace(io, options, async (connection) => {
    await connection.client.delete(await pathOf(connection, selector));
    if (!options.json) print(io, `Deleted the tool ${selector}.`);
  });

function parse(content: string, complaint: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    throw new UsageFailure(complaint);
  }
}

function render(tools: List<ToolView>): string {
  if (tools.data.length === 0) return 'No tools.';
  const columns = [{ title: 'ID' }, { title: 'NAME' }, { title: 'KIND' }, { title: 'FUNCTIONS' }, { title: 'URL' }, { title: 'UPDATED' }];
  const functionsOf = ({ functions }: ToolView): string => functions.map(({ name, enabled, quarantined }) => (!enabled ? `${name} (off)` : quarantined ? `${name} (refused by ${quarantined.provider})` : name)).join(', ');
  const rows = tools.data.map((one) => [one.id, one.name, one.kind, functionsOf(one), one.url ?? '', time(one.updated_at)]);
  return table(columns, rows) + moreLine(tools);
}

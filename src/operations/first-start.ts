/**
 * The text that the server prints at its start; on an empty store, a first workspace, assistant and key to try it with
 * (contract 11).
 */
import { freshAssistant } from '../http/console/assistants.ts';
import { issueKey } from '../http/console/keys.ts';
import { signInUrl } from '../http/console/sign-in.ts';
import { draftSnapshot } from '../host/assistants.ts';
import { nobody } from '../actors/cause.ts';
import { createdMove } from '../actors/history.ts';
import { secondsOf } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import { limits } from '../base/limits.ts';
import type { Services } from '../conversation/services.ts';
import { operatorPerson } from '../access/people.ts';
import type { Workspace } from '../store/store.ts';

/** The address that the command uses without a flag. */
const defaultUrl = 'http://127.0.0.1:8080';
/** The folder in which the command finds the operator token without a variable. */
const defaultFolder = './data';

/** The destination of the printed text. */
interface Output {
  /** The process that was started: the server, or its supervisor. */
  readonly pid: number;
  readonly isTerminal: boolean;
}

/**
 * Whether a log keeps what is printed, which then holds neither a key nor a link to sign in: under systemd, in the
 * first process of a container, or where the operator says so. A terminal may have inherited systemd's variable from
 * the desktop that it runs on.
 */
export const isLogged = (
  { quiet, underSystemd }: Pick<Config, 'quiet' | 'underSystemd'>,
  { pid, isTerminal }: Output,
): boolean => quiet || pid === 1 || (underSystemd && !isTerminal);

/**
 * The text to print. On an empty store it makes the first workspace and assistant, and a key if one may be printed.
 * `worker`: the number of this process under a supervisor.
 */
export async function firstStart(services: Services, url: string, engine: string, worker?: number): Promise<string> {
  const { store, config, clock, signIns } = services;
  const logged = isLogged(config, {
    pid: worker === undefined ? process.pid : process.ppid,
    isTerminal: process.stdout.isTTY,
  });
  const any = await store.catalog.list('workspace', '', { limit: 1, after: null, order: 'asc' });
  const installed = any.items.length === 0 ? await install(services, !logged) : null;
  await signIns.endThoseBefore();
  if (logged) {
    const line = {
      level: 'info',
      time: clock.now(),
      worker,
      url,
      engine,
      store: store.name,
      operator_token: placeOfToken(config),
      msg: hint,
    };
    return `${JSON.stringify(line)}\n`;
  }
  const lines = ['', `  parley listens on ${url}  (${store.name}, ${engine})`, ''];
  if (installed !== null) lines.push(...trialLines(installed, services, url));
  if (config.store.kind === 'memory' && config.operatorToken === null)
    lines.push(`  Operator token  ${services.operatorToken}`, '');
  else lines.push(`  Operator token  ${placeOfToken(config)}; the console's API is at ${url}/console/api`, '');
  lines.push(...(await signInLines(services, url)));
  return `${lines.join('\n')}\n`;
}

const hint = '`parley console` prints a link to sign in to the console, `parley keys create` makes an API key';

/** The place of the operator token, without which neither command works; a store in memory keeps none. */
function placeOfToken({ store, operatorToken }: Config): string {
  if (operatorToken !== null) return 'as set';
  return store.kind === 'lmdb' ? `in ${store.folder}/operator-token` : 'not set: PARLEY_OPERATOR_TOKEN';
}

/** A link to sign in with, at every start. */
async function signInLines(services: Services, url: string): Promise<string[]> {
  const { signIns, config } = services;
  const { token } = await signIns.links.make(operatorPerson.name);
  const origin = config.consoleOrigins[0] ?? config.publicUrl ?? browsable(url);
  return [
    `  Console         ${signInUrl(origin, token)}`,
    `                  It signs one person in once, within ${limits.signInLinkSeconds / 60} minutes; \`${commandAt(services, url, 'console')}\` prints another.`,
    '',
  ];
}

/** Replaces an address that stands for all of this machine's, which no browser can open. */
const browsable = (url: string): string => url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

function firstWorkspace({ store, ids, clock }: Services): Workspace {
  const at = secondsOf(clock.now());
  const id = store.leaseMs === null ? ids.make('wks') : sharedWorkspaceId;
  return {
    id,
    name: 'default',
    retentionDays: limits.retentionDaysDefault,
    turnsInFlightMax: limits.turnsInFlightMax,
    createdAt: at,
    updatedAt: at,
  };
}

/**
 * Processes that start at once on one empty store all make the same workspace; only the process that moves it first
 * continues.
 */
async function mayInstall(workspace: Workspace, { store }: Services): Promise<boolean> {
  if (store.leaseMs === null) return true;
  await store.catalog.create('workspace', workspace);
  return (await store.catalog.replace('workspace', workspace, 1)) !== null;
}

/** The same for every process. */
const sharedWorkspaceId = `wks_${'1'.padStart(26, '0')}`;

interface Installed {
  readonly assistantId: string;
  /** The key's text; null without one. */
  readonly key: string | null;
}

/** Makes the first workspace and assistant, and a key for somebody to read. Null if another process does. */
async function install(services: Services, withKey: boolean): Promise<Installed | null> {
  const workspace = firstWorkspace(services);
  if (!(await mayInstall(workspace, services))) return null;
  const { store, ids, clock } = services;
  const at = secondsOf(clock.now());
  const workspaceId = workspace.id;
  const assistantId = ids.make('asst');
  const stamps = { createdAt: at, updatedAt: at };
  const machine = { ...draftSnapshot(true), state: 'published' };
  // Requested in one tick, so that an embedded store keeps all of it or nothing: after an interrupted start the next
  // one begins anew.
  const [, , issued] = await Promise.all([
    store.catalog.create('workspace', workspace),
    store.catalog.create(
      'assistant',
      {
        ...freshAssistant,
        id: assistantId,
        workspaceId,
        name: 'demo',
        // Clients of OpenAI's API have it as their model.
        alias: 'demo',
        description: 'The embedded assistant: rule-based, for trying things out.',
        ...stamps,
        // The embedded voice needs neither network nor credential, as the assistant itself.
        channels: { ...freshAssistant.channels, voice: true },
        machine,
      },
      createdMove(machine, clock.now(), nobody),
    ),
    withKey ? issueKey(workspaceId, { name: 'first' }, at, services) : null,
  ]);
  return { assistantId, key: issued?.text ?? null };
}

/** A command as it works in another terminal, in the folder of the clone: with the address and the operator token. */
function commandAt({ config: { store, operatorToken: isSet }, operatorToken }: Services, url: string, command: string) {
  const there = url === defaultUrl ? '' : ` --url ${url}`;
  const line = `npx parley ${command}${there}`;
  if (isSet !== null || store.kind === 'redis') return line;
  if (store.kind === 'memory') return `PARLEY_OPERATOR_TOKEN=${operatorToken} ${line}`;
  return store.folder === defaultFolder ? line : `PARLEY_STORE='lmdb:${store.folder}' ${line}`;
}

/** Lines with which to try the first assistant. */
function trialLines({ assistantId, key }: Installed, services: Services, url: string): string[] {
  const session = `$(curl -s '${url}/sessions' -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{"assistant_id":"${assistantId}"}' | sed 's/^{"id":"\\([^"]*\\)".*/\\1/')`;
  return [
    `  API key         ${key}`,
    `                  It is shown this once; \`${commandAt(services, url, 'keys create NAME')}\` makes another.`,
    `  Assistant       ${assistantId}`,
    '',
    '  Try it:',
    '',
    `  ${commandAt(services, url, 'chat')}`,
    `  ${commandAt(services, url, 'speak "Hello there"')}`,
    '',
    `  curl -N "${url}/sessions/${session}/chat" -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{"message":"Hello! What can you do?"}'`,
    '',
  ];
}

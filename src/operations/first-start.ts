/** The text that the server prints at its start; on an empty store, a first workspace, assistant and key to try it with (contract 11). */
import { freshAssistant } from '../http/console/assistants.ts';
import { issueKey } from '../http/console/keys.ts';
import { signInUrl } from '../http/console/sign-in.ts';
import { draftSnapshot } from '../host/assistants.ts';
import { nobody } from '../actors/cause.ts';
import { createdMove } from '../actors/history.ts';
import { secondsOf } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Services } from '../conversation/services.ts';
import { operatorPerson } from '../access/sign-ins.ts';
import type { Workspace } from '../store/store.ts';

/** The address that the command uses without a flag. */
const defaultUrl = 'http://127.0.0.1:8080';

/** The lines to print. */
export async function firstStart(services: Services, url: string, engine: string): Promise<string> {
  const { store, config } = services;
  const any = await store.catalog.list('workspace', '', { limit: 1, after: null, order: 'asc' });
  const lines = ['', `  parley listens on ${url}  (${store.name}, ${engine})`, ''];
  if (any.items.length === 0) {
    const workspace = firstWorkspace(services);
    if (await mayInstall(workspace, services)) lines.push(...(await firstInstallation(workspace, services, url)));
  }
  const token = config.store.kind === 'lmdb' && config.operatorToken === null ? `in ${config.store.folder}/operator-token` : 'as set';
  if (config.store.kind === 'memory' && config.operatorToken === null) lines.push(`  Operator token  ${services.operatorToken}`, '');
  else lines.push(`  Operator token  ${token}; the console's API is at ${url}/console/api`, '');
  lines.push(...(await signInLines(services, url)));
  return `${lines.join('\n')}\n`;
}

/** A link to sign in with, at every start. */
async function signInLines({ signIns, config }: Services, url: string): Promise<string[]> {
  await signIns.endThoseBefore();
  const { token } = await signIns.makeLink(operatorPerson.name);
  const origin = config.consoleOrigins[0] ?? config.publicUrl ?? browsable(url);
  const there = url === defaultUrl ? '' : ` --url ${url}`;
  return [
    `  Console         ${signInUrl(origin, token)}`,
    `                  It signs one person in once, within ${limits.signInLinkSeconds / 60} minutes; \`parley console${there}\` prints another.`,
    '',
  ];
}

/** Replaces an address that stands for all of this machine's, which no browser can open. */
const browsable = (url: string): string => url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');

function firstWorkspace({ store, ids, clock }: Services): Workspace {
  const at = secondsOf(clock.now());
  const id = store.leaseMs === null ? ids.make('wks') : sharedWorkspaceId;
  return { id, name: 'default', retentionDays: limits.retentionDaysDefault, turnsInFlightMax: limits.turnsInFlightMax, createdAt: at, updatedAt: at };
}

/** Processes that start at once on one empty store all make the same workspace; only the process that moves it first goes on. */
async function mayInstall(workspace: Workspace, { store }: Services): Promise<boolean> {
  if (store.leaseMs === null) return true;
  await store.catalog.create('workspace', workspace);
  return (await store.catalog.replace('workspace', workspace, 1)) !== null;
}

/** The same for every process. */
const sharedWorkspaceId = `wks_${'1'.padStart(26, '0')}`;

async function firstInstallation(workspace: Workspace, services: Services, url: string): Promise<string[]> {
  const { store, ids, clock } = services;
  const at = secondsOf(clock.now());
  const workspaceId = workspace.id;
  const assistantId = ids.make('asst');
  const stamps = { createdAt: at, updatedAt: at };
  const machine = { ...draftSnapshot(true), state: 'published' };
  // Requested in one tick, so that an embedded store keeps all of it or nothing: after an interrupted start the next one begins anew.
  const [, , { text }] = await Promise.all([
    store.catalog.create('workspace', workspace),
    store.catalog.create('assistant', {
      ...freshAssistant,
      id: assistantId,
      workspaceId,
      name: 'demo',
      description: 'The embedded assistant: rule-based, for trying things out.',
      ...stamps,
      // The embedded voice needs neither network nor credential, as the assistant itself.
      channels: { ...freshAssistant.channels, voice: true },
      machine,
    }, createdMove(machine, clock.now(), nobody)),
    issueKey(workspaceId, { name: 'first' }, at, services),
  ]);
  const session = `$(curl -s '${url}/sessions' -H 'Authorization: Bearer ${text}' -H 'Content-Type: application/json' -d '{"assistant_id":"${assistantId}"}' | sed 's/^{"id":"\\([^"]*\\)".*/\\1/')`;
  const there = url === defaultUrl ? '' : ` --url ${url}`;
  return [
    `  API key         ${text}`,
    '                  It is shown this once; `parley keys create` makes more.',
    `  Assistant       ${assistantId}`,
    '',
    '  Try it:',
    '',
    `  npx parley chat${there}`,
    `  npx parley speak "Hello there"${there}`,
    '',
    `  curl -N "${url}/sessions/${session}/chat" -H 'Authorization: Bearer ${text}' -H 'Content-Type: application/json' -d '{"message":"Hello! What can you do?"}'`,
    '',
  ];
}

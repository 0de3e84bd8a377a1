/** `parley keys` */
import type { Command } from 'commander';
import { secondsOf } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { CreatedKeyView, KeyView } from '../wire/wire.ts';
import { gather, moment, wholeNumber } from './arguments.ts';
import { addConnectionOptions, inWorkspace, type ConsoleConnection, type ConnectionOptions } from './connection.ts';
import { segment } from './console-client.ts';
import type { Io } from './io.ts';
import { addPageOptions, listOf, type ListView } from './list.ts';
import { oneLine, secretText, time } from './output.ts';

interface CreateOptions extends ConnectionOptions {
  readonly assistant?: readonly string[];
  readonly expires?: string;
  readonly requests?: number;
  readonly speech?: number;
  readonly transcriptionTokens?: number;
  readonly tokensPerDay?: number;
}

interface RotateOptions extends ConnectionOptions {
  readonly overlap?: number;
}

export function registerKeys(program: Command, io: Io): void {
  const keys = program.command('keys').description('API keys: create, list, rotate, revoke');
  keys.addHelpText('after', examples);
  addPageOptions(keys.command('list').description('list the keys, revoked and expired ones included')).action(
    listOf(io, 'keys', keyList),
  );
  const ceiling = wholeNumber(1, limits.ceilingMax);
  addConnectionOptions(keys.command('create').description('create a key; it is shown once').argument('<name>'))
    .option('--assistant <id|name>', 'restrict the key to this assistant; may be given several times', gather)
    .option('--expires <when>', 'a span such as 30d, a date or Unix seconds (default: never)')
    .option('--requests <number>', `requests a minute (default: ${limits.requestsPerMinute})`, ceiling)
    .option('--speech <number>', `speech requests a minute (default: ${limits.speechPerMinute})`, ceiling)
    .option(
      '--transcription-tokens <number>',
      `transcription tokens a minute (default: ${limits.transcriptionTokensPerMinute})`,
      ceiling,
    )
    .option(
      '--tokens-per-day <number>',
      'model tokens of its turns a UTC day, input and output (default: no limit)',
      wholeNumber(1, Number.MAX_SAFE_INTEGER),
    )
    .action(create(io));
  addConnectionOptions(
    keys
      .command('rotate')
      .description('replace a key by a new one of the same name, limits, assistants and expiry, which is shown once')
      .argument('<key>', 'id or name'),
  )
    .option(
      '--overlap <seconds>',
      `seconds for which the old key stays valid, at most ${limits.keyOverlapSecondsMax} (30 days) (default: 0, it ends at once)`,
      wholeNumber(0, limits.keyOverlapSecondsMax),
    )
    .action(rotate(io));
  addConnectionOptions(
    keys.command('revoke').description('revoke a key, for good').argument('<key>', 'id or name'),
  ).action(revoke(io));
}

const examples = `
Examples:
  parley keys create "web shop" --assistant demo --expires 90d
  parley keys list
  parley keys rotate key_… --overlap 86400
  parley keys revoke "web shop"`;

const create =
  (io: Io) =>
  (name: string, options: CreateOptions): Promise<void> =>
    inWorkspace(io, options, async (connection) => {
      const expires_at =
        options.expires === undefined
          ? undefined
          : moment('--expires', options.expires, secondsOf(connection.clock.now()));
      const ceilings = {
        requests: options.requests,
        speech: options.speech,
        transcription_tokens: options.transcriptionTokens,
        tokens_per_day: options.tokensPerDay,
      };
      const body = {
        name,
        assistant_ids: await assistantIds(connection, options.assistant),
        expires_at,
        limits: ceilings,
      };
      const created = await connection.client.post<KeyView & { key: string }>(`${connection.workspace}/keys`, body);
      connection.show(created, (key) => `Created the key "${oneLine(key.name)}" (${key.id}):${secretText(key.key)}`);
    });

async function assistantIds(
  { client, workspace }: ConsoleConnection,
  selectors: readonly string[] | undefined,
): Promise<string[] | undefined> {
  if (selectors === undefined) return undefined;
  const ids: string[] = [];
  for (const selector of selectors) ids.push(await client.idOf(workspace, 'assistants', selector));
  return ids;
}

const rotate =
  (io: Io) =>
  (selector: string, options: RotateOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, workspace, show }) => {
      const id = await client.idOf(workspace, 'keys', selector);
      const made = await client.post<CreatedKeyView>(`${workspace}/keys/${segment(id)}/rotate`, {
        overlap_seconds: options.overlap,
      });
      const old = options.overlap
        ? `The old key works for another ${options.overlap} seconds at most.`
        : 'The old key has ended.';
      show(made, (key) => `Replaced the key "${oneLine(key.name)}" (${id}) by ${key.id}:${secretText(key.key)} ${old}`);
    });

const revoke =
  (io: Io) =>
  (selector: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, workspace, show }) => {
      const id = await client.idOf(workspace, 'keys', selector);
      show(
        await client.post<KeyView>(`${workspace}/keys/${segment(id)}/revoke`),
        (key) => `Revoked the key "${oneLine(key.name)}" (${key.id}).`,
      );
    });

const keyList: ListView<KeyView> = {
  empty: 'No keys.',
  columns: [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'STATUS', cell: ({ status }) => status },
    { title: 'ASSISTANTS', cell: ({ assistant_ids: ids }) => (ids === null ? 'all' : ids.join(' ') || 'none') },
    { title: 'REQUESTS/MIN', right: true, cell: (key) => key.limits.requests },
    { title: 'EXPIRES', cell: ({ expires_at: at }) => (at === null ? 'never' : time(at)) },
    { title: 'CREATED', cell: (key) => time(key.created_at) },
  ],
};

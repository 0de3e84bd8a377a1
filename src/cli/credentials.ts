/** `parley credentials` */
import { Option, type Command } from 'commander';
import type { CredentialTestView, CredentialView } from '../wire/wire.ts';
import { addConnectionOptions, inWorkspace, type ConnectionOptions } from './connection.ts';
import { segment } from './console-client.ts';
import { UsageFailure } from './exit.ts';
import type { Io } from './io.ts';
import { addPageOptions, listOf, type ListView } from './list.ts';
import { time } from './output.ts';

interface UpdateOptions extends ConnectionOptions {
  readonly name?: string;
  readonly provider?: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly header?: string;
}

interface CreateOptions extends UpdateOptions {
  readonly kind: string;
}

export function registerCredentials(program: Command, io: Io): void {
  const credentials = program
    .command('credentials')
    .description('credentials of model and voice providers and of tools, stored encrypted');
  credentials.addHelpText('after', examples);
  addPageOptions(credentials.command('list').description('list the credentials, without their secrets')).action(
    listOf(io, 'credentials', credentialList),
  );
  addConnectionOptions(credentials.command('create').description('store a credential; its secret is never shown again'))
    .option('--name <name>', nameHelp)
    .option('--provider <name>', 'openai (any OpenAI-compatible endpoint) or anthropic; a tool has none')
    .addOption(new Option('--kind <kind>', 'what it is for').choices(['model', 'voice', 'tool']).default('model'))
    .option(
      '--base-url <url>',
      `${endpoint} (default: the provider's own); of a tool: its origin, which alone gets the secret`,
    )
    .option('--api-key <secret>', secret)
    .option('--header <name>', header)
    .action(create(io));
  addConnectionOptions(
    credentials
      .command('update')
      .description('replace the secret of a credential, and its provider or base URL if they change; or name it')
      .argument('<id>'),
  )
    .option('--name <name>', `${nameHelp}; alone it needs no secret, and an empty one removes the name`)
    .option('--provider <name>', 'openai or anthropic (default: unchanged)')
    .option('--base-url <url>', `${endpoint} (default: unchanged)`)
    .option('--api-key <secret>', secret)
    .option('--header <name>', header)
    .action(update(io));
  addConnectionOptions(
    credentials
      .command('test')
      .description('ask the provider whether it accepts a credential; exit 1 if not')
      .argument('<id>'),
  ).action(test(io));
  addConnectionOptions(
    credentials
      .command('delete')
      .description('delete a credential; assistants that use it cannot answer any more')
      .argument('<id>'),
  ).action(remove(io));
}

const endpoint =
  'the endpoint, its /v1 included; https://, or http:// to a private address, which needs PARLEY_ALLOW_PRIVATE_PROVIDERS=1 on the server';
const nameHelp = 'its name in the workspace, by which files of `parley pull` refer to it';
const header = 'of a tool: the header that has the secret as it is (default: Authorization, with Bearer before it)';
const secret = 'the secret (PARLEY_PROVIDER_API_KEY; otherwise it is asked for, or read from stdin)';

const examples = `
Examples:
  parley credentials create --provider openai --base-url https://api.example.com/v1
  PARLEY_PROVIDER_API_KEY=… parley credentials create --provider anthropic
  parley credentials create --kind tool --base-url https://orders.example.com --header X-Api-Key
  parley credentials update crd_… --name main
  parley credentials update crd_… --base-url https://api.example.org/v1
  parley credentials test crd_…
  parley credentials list`;

const create =
  (io: Io) =>
  (options: CreateOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, workspace, show }) => {
      const { kind, name, provider, baseUrl, header } = options;
      if (kind !== 'tool' && provider === undefined) throw new UsageFailure('Name the provider with --provider.');
      const body = { kind, name, provider, base_url: baseUrl, header, api_key: await secretOf(io, options) };
      const created = await client.post<CredentialView>(`${workspace}/credentials`, body);
      show(
        created,
        (credential) =>
          `Stored the credential ${credential.id} for ${holderOf(credential)}. Its secret is not shown again.`,
      );
    });

const update =
  (io: Io) =>
  (id: string, options: UpdateOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, workspace, show }) => {
      const { name, provider, baseUrl, header, apiKey } = options;
      const isNamedAlone = name !== undefined && [provider, baseUrl, header, apiKey].every((one) => one === undefined);
      const body = {
        name: name === '' ? null : name,
        provider,
        base_url: baseUrl,
        header,
        api_key: isNamedAlone ? undefined : await secretOf(io, options),
      };
      const updated = await client.patch<CredentialView>(`${workspace}/credentials/${segment(id)}`, body);
      show(
        updated,
        (credential) =>
          `Changed the credential ${credential.id} for ${holderOf(credential)}.${isNamedAlone ? '' : ' Its secret is not shown again.'}`,
      );
    });

const holderOf = ({ kind, provider, base_url: baseUrl }: CredentialView): string =>
  kind === 'tool' ? `the tools at ${baseUrl}` : provider;

const test =
  (io: Io) =>
  (id: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, workspace, show }) => {
      const result = await client.post<CredentialTestView>(`${workspace}/credentials/${segment(id)}/test`);
      show(result, ({ result, message }) => `${result}: ${message}`);
      if (result.body.result !== 'works') io.exitCode = 1;
    });

async function secretOf(io: Io, { apiKey }: UpdateOptions): Promise<string> {
  const key = apiKey || io.env.PARLEY_PROVIDER_API_KEY;
  if (key) return key;
  const { readSecret } = await import('./terminal.ts');
  const secret = (await readSecret(io, 'API key of the provider (not shown): ')).trim();
  if (secret === '')
    throw new UsageFailure('No API key for the provider: give --api-key or PARLEY_PROVIDER_API_KEY, or type it in.');
  return secret;
}

const remove =
  (io: Io) =>
  (id: string, options: ConnectionOptions): Promise<void> =>
    inWorkspace(io, options, async ({ client, workspace, show }) => {
      show(await client.delete(`${workspace}/credentials/${segment(id)}`), () => `Deleted the credential ${id}.`);
    });

const credentialList: ListView<CredentialView> = {
  empty: 'No credentials.',
  columns: [
    { title: 'ID', cell: ({ id }) => id },
    { title: 'NAME', cell: ({ name }) => name },
    { title: 'KIND', cell: ({ kind }) => kind },
    { title: 'PROVIDER', cell: ({ provider }) => provider },
    { title: 'BASE URL', cell: (credential) => credential.base_url },
    { title: 'UPDATED', cell: (credential) => time(credential.updated_at) },
  ],
};

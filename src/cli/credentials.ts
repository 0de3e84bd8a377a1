/** `parley credentials` */
import { Option, type Command } from 'commander';
import { connected, inWorkspace, moreLine, paged, pageQuery, type ConnectionOptions, type PageOptions } from './connection.ts';
import { segment } from './console-client.ts';
import { UsageFailure } from './failure.ts';
import { print, table, time } from './output.ts';
import type { CredentialRecord, List } from './records.ts';

interface CreateOptions extends ConnectionOptions {
  readonly provider: string;
  readonly kind: string;
  readonly baseUrl?: string;
  readonly apiKey?: string;
}

export function registerCredentials(program: Command): void {
  const credentials = program.command('credentials').description('credentials of model and voice providers, stored encrypted');
  credentials.addHelpText('after', examples);
  paged(credentials.command('list').description('list the credentials, without their secrets')).action(list);
  connected(credentials.command('create').description('store a credential; its secret is never shown again'))
    .requiredOption('--provider <name>', 'openai (any OpenAI-compatible endpoint) or anthropic')
    .addOption(new Option('--kind <kind>', 'what it is for').choices(['model', 'voice']).default('model'))
    .option('--base-url <url>', "the endpoint, its /v1 included; a private address needs PARLEY_ALLOW_PRIVATE_PROVIDERS=1 on the server (default: the provider's own)")
    .option('--api-key <secret>', 'the secret (PARLEY_PROVIDER_API_KEY; otherwise it is asked for, or read from stdin)')
    .action(create);
  connected(credentials.command('delete').description('delete a credential; assistants that use it cannot answer any more').argument('<id>')).action(remove);
}

const examples = `
Examples:
  parley credentials create --provider openai --base-url https://api.example.com/v1
  PARLEY_PROVIDER_API_KEY=… parley credentials create --provider anthropic
  parley credentials list`;

const list = (options: ConnectionOptions & PageOptions): Promise<void> =>
  inWorkspace(options, async ({ client, workspace, show }) => {
    show(await client.get<List<CredentialRecord>>(`${workspace}/credentials`, pageQuery(options)), render);
  });

const create = (options: CreateOptions): Promise<void> =>
  inWorkspace(options, async ({ client, workspace, show }) => {
    const api_key = options.apiKey || process.env.PARLEY_PROVIDER_API_KEY || (await askSecret());
    const body = { kind: options.kind, provider: options.provider, base_url: options.baseUrl, api_key };
    const created = await client.post<CredentialRecord>(`${workspace}/credentials`, body);
    show(created, (credential) => `Stored the credential ${credential.id} for ${credential.provider}. Its secret is not shown again.`);
  });

async function askSecret(): Promise<string> {
  const { readSecret } = await import('./terminal.ts');
  const secret = (await readSecret('API key of the provider (not shown): ')).trim();
  if (secret === '') throw new UsageFailure('No API key for the provider: give --api-key or PARLEY_PROVIDER_API_KEY, or type it in.');
  return secret;
}

const remove = (id: string, options: ConnectionOptions): Promise<void> =>
  inWorkspace(options, async ({ client, workspace }) => {
    await client.delete(`${workspace}/credentials/${segment(id)}`);
    if (!options.json) print(`Deleted the credential ${id}.`);
  });

function render(credentials: List<CredentialRecord>): string {
  if (credentials.data.length === 0) return 'No credentials.';
  const columns = [{ title: 'ID' }, { title: 'KIND' }, { title: 'PROVIDER' }, { title: 'BASE URL' }, { title: 'UPDATED' }];
  const rows = credentials.data.map((one) => [one.id, one.kind, one.provider, one.base_url ?? '', time(one.updated_at)]);
  return table(columns, rows) + moreLine(credentials);
}

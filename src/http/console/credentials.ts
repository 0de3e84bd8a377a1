/** `/console/api/workspaces/{w}/credentials`: a secret can be written and is never returned. */
import { Failure } from '../../base/errors.ts';
import type { PageFields } from '../handlers/lists.ts';
import { endsInOperation } from '../../providers/model.ts';
import { maySendIn } from '../../providers/tool/credential-header.ts';
import type { Reply } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import { changeRecord } from '../../store/parts/change-record.ts';
import { NameTaken, type Credential } from '../../store/store.ts';
import { credentialView } from '../../conversation/views.ts';
import { audited } from './audit.ts';
import { listRecords, noContent, nowhere, nowSeconds, present, reachWorkspace, type ConsoleRequest } from './common.ts';

interface CredentialBody {
  readonly name?: string | null;
  readonly kind: string;
  /** Left out for a tool's. */
  readonly provider?: string;
  readonly base_url?: string | null;
  readonly api_key: string;
  readonly header?: string | null;
}

export const listCredentials = (request: ConsoleRequest<PageFields>): Promise<Reply> =>
  listRecords(request, 'credential', credentialView);

export async function createCredential(request: ConsoleRequest<unknown, CredentialBody>): Promise<Reply> {
  const { body, services } = request;
  check(body, body.kind, request);
  const ofTool = body.kind === 'tool';
  const provider = ofTool ? 'tool' : body.provider;
  if (provider === undefined) throw new Failure('missing_field', { field: 'provider' });
  if (ofTool && body.base_url == null) throw new Failure('missing_field', { field: 'base_url' });
  const { id: workspaceId } = await reachWorkspace(request);
  const at = nowSeconds(request);
  const id = services.ids.make('crd');
  const holder = { id, workspaceId, provider, baseUrl: body.base_url ?? null };
  const credential: Credential = {
    ...holder,
    kind: body.kind as Credential['kind'],
    sealed: services.vault.seal(holder, body.api_key.trim()),
    ...(ofTool && { header: body.header ?? null }),
    name: body.name ?? null,
    createdAt: at,
    updatedAt: at,
  };
  const row = audited(request, 'credential')(null, credential);
  await withName(services.store.catalog.create('credential', credential, undefined, row));
  return { status: 201, json: credentialView(credential) };
}

export async function patchCredential(request: ConsoleRequest<unknown, Partial<CredentialBody>>): Promise<Reply> {
  const { body, params, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  // The mailbox runs changes of this process one at a time; the version comparison covers other processes.
  return services.host.credentials.changes.post(async () => {
    const credential = present(
      await withName(
        changeRecord(
          services.store.catalog,
          'credential',
          workspaceId,
          params.id,
          (before) => {
            check(body, before.kind, request);
            return { ...changed(before, body, services), updatedAt: nowSeconds(request) };
          },
          audited(request, 'credential'),
        ),
      ),
    );
    services.host.forgetCredentials(workspaceId, credential.id);
    return { status: 200, json: credentialView(credential) };
  });
}

/** Waits for a credential to be stored; rejects a name that another one has. */
async function withName<T>(stored: Promise<T>): Promise<T> {
  try {
    return await stored;
  } catch (error) {
    throw error instanceof NameTaken ? new Failure('invalid_field', { field: 'name' }) : error;
  }
}

/**
 * A caller who may change a secret's destination could otherwise have it sent to themselves: a change of base URL or
 * provider requires the secret again (contract 9).
 */
function changed(
  before: Credential,
  {
    name = before.name ?? null,
    provider = before.provider,
    base_url: baseUrl = before.baseUrl,
    api_key: secret,
    header = before.header,
  }: Partial<CredentialBody>,
  { vault }: Services,
): Credential {
  if (before.kind === 'tool' && baseUrl === null) throw new Failure('missing_field', { field: 'base_url' });
  const holder = { ...before, name, provider, baseUrl, ...(before.kind === 'tool' && { header: header ?? null }) };
  if (secret !== undefined) return { ...holder, sealed: vault.seal(holder, secret.trim()) };
  if (provider !== before.provider || baseUrl !== before.baseUrl)
    throw new Failure('missing_field', { field: 'api_key' });
  return holder;
}

export async function deleteCredential(request: ConsoleRequest): Promise<Reply> {
  const { id: workspaceId } = await reachWorkspace(request);
  const { store, host } = request.services;
  const id = request.params.id;
  const found = await store.catalog.read('credential', workspaceId, id);
  const row = found === null ? undefined : audited(request, 'credential')(found.record, null);
  if (!(await store.catalog.remove('credential', workspaceId, id, row))) throw nowhere();
  host.forgetCredentials(workspaceId, request.params.id);
  return noContent;
}

/**
 * A provider that is not offered, an address that may not be called or that would be wrong: refused here, not in a
 * turn.
 */
function check(
  { provider, base_url: baseUrl, header }: Partial<CredentialBody>,
  kind: string,
  { services }: ConsoleRequest,
): void {
  const { models, voice, baseUrlProblem } = services;
  if (header != null && (kind !== 'tool' || !maySendIn(header)))
    throw new Failure('invalid_field', { field: 'header' });
  if (kind === 'tool' && provider !== undefined && provider !== 'tool')
    throw new Failure('invalid_field', { field: 'provider' });
  if (kind !== 'tool' && provider !== undefined && !models.has(provider) && !voice.providers.has(provider))
    throw new Failure('invalid_field', { field: 'provider' });
  if (baseUrl === null || baseUrl === undefined) return;
  const problem = baseUrlProblem(baseUrl) ?? (kind !== 'tool' && endsInOperation(baseUrl) ? 'invalid_field' : null);
  if (problem !== null) throw new Failure(problem, { field: 'base_url' });
}

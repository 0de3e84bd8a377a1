/** `/console/api/workspaces/{w}/credentials`: a secret goes in and never comes out again. */
import { Failure } from '../errors.ts';
import type { PageFields } from '../handlers/lists.ts';
import { limits } from '../limits.ts';
import type { Reply } from '../request.ts';
import { StoreUnavailable, type Credential } from '../store.ts';
import { credentialView } from '../views.ts';
import { listRecords, noContent, nowhere, nowSeconds, reachWorkspace, type ConsoleRequest } from './common.ts';

interface CredentialBody {
  readonly kind: string;
  readonly provider: string;
  readonly base_url?: string | null;
  readonly api_key: string;
}

export const listCredentials = (request: ConsoleRequest<PageFields>): Promise<Reply> =>
  listRecords(request, 'credential', credentialView);

export async function createCredential(request: ConsoleRequest<unknown, CredentialBody>): Promise<Reply> {
  const { body, services } = request;
  checkBaseUrl(body.base_url, request);
  const { id: workspaceId } = await reachWorkspace(request);
  const at = nowSeconds(request);
  const id = services.ids.make('crd');
  const credential: Credential = {
    id,
    workspaceId,
    kind: body.kind as Credential['kind'],
    provider: body.provider,
    baseUrl: body.base_url ?? null,
    sealed: services.vault.seal(workspaceId, id, body.api_key),
    createdAt: at,
    updatedAt: at,
  };
  await services.store.catalog.create('credential', credential);
  return { status: 201, json: credentialView(credential) };
}

export async function patchCredential(request: ConsoleRequest<unknown, Partial<CredentialBody>>): Promise<Reply> {
  const { body, params, services } = request;
  checkBaseUrl(body.base_url, request);
  const { id: workspaceId } = await reachWorkspace(request);
  // One at a time here; the comparison is for other processes.
  return services.host.credentials.post(async () => {
    for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
      const found = await services.store.catalog.read('credential', workspaceId, params.id!);
      if (found === null) throw nowhere();
      const credential: Credential = {
        ...found.record,
        baseUrl: body.base_url === undefined ? found.record.baseUrl : body.base_url,
        sealed: body.api_key === undefined ? found.record.sealed : services.vault.seal(workspaceId, found.record.id, body.api_key),
        updatedAt: nowSeconds(request),
      };
      if ((await services.store.catalog.replace('credential', credential, found.version)) !== null) {
        services.vault.forget(workspaceId, credential.id);
        return { status: 200, json: credentialView(credential) };
      }
    }
    throw new StoreUnavailable('a credential would not hold still');
  });
}

export async function deleteCredential(request: ConsoleRequest): Promise<Reply> {
  const { id: workspaceId } = await reachWorkspace(request);
  const { store, vault } = request.services;
  if (!(await store.catalog.remove('credential', workspaceId, request.params.id!))) throw nowhere();
  vault.forget(workspaceId, request.params.id!);
  return noContent;
}

function checkBaseUrl(baseUrl: string | null | undefined, { services }: ConsoleRequest): void {
  if (baseUrl === null || baseUrl === undefined) return;
  if (services.baseUrlProblem(baseUrl) !== null) throw new Failure('invalid_field', { field: 'base_url' });
}

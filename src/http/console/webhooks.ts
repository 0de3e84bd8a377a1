/** `/console/api/workspaces/{w}/webhooks` (contract 17): a secret is shown once and stored sealed. */
import { Failure } from '../../base/errors.ts';
import { webhookHolder } from '../../access/vault.ts';
import { limits } from '../../base/limits.ts';
import type { CreateWebhookBody, PatchWebhookBody } from '../../wire/wire.ts';
import { webhookView } from '../../conversation/views.ts';
import type { Services } from '../../conversation/services.ts';
import { newSecret } from '../../providers/tool/signature.ts';
import { StoreUnavailable, WebhooksFull, type Versioned, type Webhook } from '../../store/store.ts';
import type { PageFields } from '../handlers/lists.ts';
import type { Reply } from '../request.ts';
import { audited } from './audit.ts';
import { listRecords, noContent, nowhere, nowSeconds, present, reachWorkspace, type ConsoleRequest } from './common.ts';

export const listWebhooks = (request: ConsoleRequest<PageFields>): Promise<Reply> =>
  listRecords(request, 'webhook', webhookView);

export async function getWebhook(request: ConsoleRequest): Promise<Reply> {
  return { status: 200, json: webhookView((await reachWebhook(request)).record) };
}

export async function createWebhook(request: ConsoleRequest<unknown, CreateWebhookBody>): Promise<Reply> {
  const { body, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  checkUrl(body.url, services);
  const at = nowSeconds(request);
  const secret = newSecret(services.ids);
  const id = services.ids.make('whk');
  const webhook: Webhook = {
    id,
    workspaceId,
    url: body.url,
    events: body.events,
    enabled: body.enabled ?? true,
    sealed: services.vault.seal(webhookHolder({ id, workspaceId }), secret),
    createdAt: at,
    updatedAt: at,
  };
  try {
    await services.store.catalog.create('webhook', webhook, undefined, audited(request, 'webhook')(null, webhook));
  } catch (error) {
    if (error instanceof WebhooksFull) throw new Failure('invalid_field', { field: 'webhooks' });
    throw error;
  }
  return {
    status: 201,
    headers: { location: `/console/api/workspaces/${workspaceId}/webhooks/${id}` },
    json: { ...webhookView(webhook), secret },
  };
}

export async function patchWebhook(request: ConsoleRequest<unknown, PatchWebhookBody>): Promise<Reply> {
  const { body, services } = request;
  const audit = audited(request, 'webhook');
  for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
    const { record, version } = await reachWebhook(request);
    if (body.url !== undefined) checkUrl(body.url, services);
    const webhook = merged(record, body, nowSeconds(request));
    const row = audit(record, webhook);
    if ((await services.store.catalog.replace('webhook', webhook, version, undefined, row)) !== null)
      return { status: 200, json: webhookView(webhook) };
  }
  throw new StoreUnavailable(
    `Other writers changed the webhook ${limits.decisionAttemptsMax} times in a row. Repeat the request.`,
  );
}

/** The webhook with the fields of the body. */
const merged = (before: Webhook, body: PatchWebhookBody, at: number): Webhook => ({
  ...before,
  url: body.url ?? before.url,
  events: body.events ?? before.events,
  enabled: body.enabled ?? before.enabled,
  updatedAt: at,
});

export async function deleteWebhook(request: ConsoleRequest): Promise<Reply> {
  const { record } = await reachWebhook(request);
  const row = audited(request, 'webhook')(record, null);
  if (!(await request.services.store.catalog.remove('webhook', record.workspaceId, record.id, row))) throw nowhere();
  return noContent;
}

/** The webhook of the path, in its workspace. */
async function reachWebhook(request: ConsoleRequest<unknown, unknown>): Promise<Versioned<Webhook>> {
  const { id: workspaceId } = await reachWorkspace(request);
  return present(await request.services.store.catalog.read('webhook', workspaceId, request.params.id!));
}

/** Rejects an address that may not be called, by the rule for tools. */
function checkUrl(url: string, services: Services): void {
  const problem = services.baseUrlProblem(url);
  if (problem !== null) throw new Failure(problem, { field: 'url' });
}

/** `/console/api/workspaces/{w}/webhooks` (contract 17): a secret is shown once and stored sealed. */
import { Failure } from '../../base/errors.ts';
import { webhookHolder } from '../../access/vault.ts';
import { limits } from '../../base/limits.ts';
import type { CreateWebhookBody, PatchWebhookBody } from '../../wire/wire.ts';
import { deliveryView, webhookView } from '../../conversation/views.ts';
import type { Services } from '../../conversation/services.ts';
import { changesOf } from '../../store/parts/audit.ts';
import { newSecret } from '../../providers/tool/signature.ts';
import { changeRecord } from '../../store/parts/change-record.ts';
import {
  RecordsFull,
  type Page,
  type PageRequest,
  type Versioned,
  type Webhook,
  type WebhookDelivery,
} from '../../store/store.ts';
import { list, pageRequest, type PageFields } from '../handlers/lists.ts';
import type { Reply } from '../request.ts';
import { audited, recordAct } from './audit.ts';
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
    if (error instanceof RecordsFull) throw new Failure('invalid_field', { field: 'webhooks' });
    throw error;
  }
  return {
    status: 201,
    headers: { location: `/console/api/workspaces/${workspaceId}/webhooks/${id}` },
    json: { ...webhookView(webhook), secret },
  };
}

export async function patchWebhook(request: ConsoleRequest<unknown, PatchWebhookBody>): Promise<Reply> {
  const { body, params, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  const webhook = await changeRecord(
    services.store.catalog,
    'webhook',
    workspaceId,
    params.id,
    (before) => {
      if (body.url !== undefined) checkUrl(body.url, services);
      return merged(before, body, nowSeconds(request));
    },
    audited(request, 'webhook'),
  );
  return { status: 200, json: webhookView(present(webhook)) };
}

/** The webhook with the fields of the body. A webhook that is enabled, or moved, begins without failures. */
function merged(before: Webhook, body: PatchWebhookBody, at: number): Webhook {
  const { failingSinceMs, ...record } = before;
  const after = {
    ...record,
    url: body.url ?? record.url,
    events: body.events ?? record.events,
    enabled: body.enabled ?? record.enabled,
    updatedAt: at,
  };
  const isSame = after.url === before.url && (before.enabled || !after.enabled);
  return isSame && failingSinceMs !== undefined ? { ...after, failingSinceMs } : after;
}

export async function deleteWebhook(request: ConsoleRequest): Promise<Reply> {
  const { record } = await reachWebhook(request);
  const row = audited(request, 'webhook')(record, null);
  if (!(await request.services.store.catalog.remove('webhook', record.workspaceId, record.id, row))) throw nowhere();
  return noContent;
}

/** Lists the newest deliveries, as many as a list may have. */
export async function listDeliveries(request: ConsoleRequest<PageFields>): Promise<Reply> {
  const { workspaceId, id } = (await reachWebhook(request)).record;
  const newest = await request.services.store.webhooks.list(workspaceId, id);
  const wanted = pageRequest({ limit: limits.listMax, ...request.query }, 'desc');
  const ordered = wanted.order === 'desc' ? newest : [...newest].reverse();
  return list(wanted, (page) => pageOf(ordered, page), deliveryView);
}

function pageOf(deliveries: readonly WebhookDelivery[], { after, limit }: PageRequest): Page<WebhookDelivery> {
  const from = after === null ? 0 : deliveries.findIndex(({ id }) => id === after) + 1;
  const items = deliveries.slice(from, from + limit);
  return { items, next: from + limit < deliveries.length ? (items.at(-1)?.id ?? null) : null };
}

/** Makes a delivery of any status due at once. */
export async function retryDelivery(request: ConsoleRequest): Promise<Reply> {
  const { services, params } = request;
  const { workspaceId, id } = (await reachWebhook(request)).record;
  const deliveryId = params.delivery_id;
  const { webhooks } = services.store;
  if (!(await webhooks.list(workspaceId, id)).some((each) => each.id === deliveryId)) throw nowhere();
  await recordAct(request, workspaceId, {
    action: 'retry',
    objectType: 'webhook',
    objectId: id,
    changes: changesOf(null, { delivery_id: deliveryId }),
  });
  const delivery = present(await webhooks.retry(workspaceId, id, deliveryId, services.clock.now()));
  services.webhooks.wake();
  return { status: 202, json: deliveryView(delivery) };
}

/** The webhook of the path, in its workspace. */
async function reachWebhook(request: ConsoleRequest<unknown, unknown>): Promise<Versioned<Webhook>> {
  const { id: workspaceId } = await reachWorkspace(request);
  return present(await request.services.store.catalog.read('webhook', workspaceId, request.params.id));
}

/** Rejects an address that may not be called, by the rule for tools. */
function checkUrl(url: string, services: Services): void {
  const problem = services.baseUrlProblem(url);
  if (problem !== null) throw new Failure(problem, { field: 'url' });
}

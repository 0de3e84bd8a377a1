/** The console's API of webhooks (contract 17). */
import * as webhooks from '../console/webhooks.ts';
import type { Route } from '../request.ts';
import * as wire from '../../wire/wire.ts';
import { json, nothingLeft, operator } from './row.ts';

const path = '/console/api/workspaces/{w}/webhooks';

export const webhookRoutes: readonly Route[] = [
  operator('GET', path, 'webhooks.read', webhooks.listWebhooks, {
    summary: 'Lists webhooks.',
    query: wire.WebhooksQuery,
    success: json(wire.WebhookList, 'A page of webhooks.'),
    errors: ['route_not_found'],
  }),
  operator('POST', path, 'webhooks.write', webhooks.createWebhook, {
    summary: 'Creates a webhook.',
    body: wire.CreateWebhookBody,
    success: json(wire.CreatedWebhookView, 'The webhook, with the secret that signs its deliveries.', 201, [
      'Location',
      'Cache-Control',
    ]),
    errors: ['route_not_found', 'unencrypted_url'],
  }),
  operator('GET', `${path}/{id}`, 'webhooks.read', webhooks.getWebhook, {
    summary: 'Fetches a webhook.',
    success: json(wire.WebhookView, 'The webhook.'),
    errors: ['route_not_found'],
  }),
  operator('PATCH', `${path}/{id}`, 'webhooks.write', webhooks.patchWebhook, {
    summary: 'Changes a webhook.',
    body: wire.PatchWebhookBody,
    success: json(wire.WebhookView, 'The webhook.'),
    errors: ['route_not_found', 'unencrypted_url'],
  }),
  operator('DELETE', `${path}/{id}`, 'webhooks.write', webhooks.deleteWebhook, {
    summary: 'Deletes a webhook.',
    success: nothingLeft,
    errors: ['route_not_found'],
  }),
  operator('GET', `${path}/{id}/deliveries`, 'webhooks.read', webhooks.listDeliveries, {
    summary: 'Lists deliveries of a webhook.',
    query: wire.DeliveriesQuery,
    success: json(wire.DeliveryList, 'The newest deliveries.'),
    errors: ['route_not_found'],
  }),
  operator('POST', `${path}/{id}/deliveries/{delivery_id}/retry`, 'webhooks.write', webhooks.retryDelivery, {
    summary: 'Sends a delivery again.',
    success: json(wire.DeliveryView, 'The delivery, which is due now.', 202),
    errors: ['route_not_found'],
  }),
];

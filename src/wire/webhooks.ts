/** The console's shapes of webhooks and their deliveries (contract 17). */
import { Type, type Static } from 'typebox';
import { webhookEvents } from '../base/webhook-events.ts';
import { Id, listOf, named, Nullable, recordsQuery, Strings, Text, UnixSeconds, whole } from './basics.ts';

const Events = () => Type.Array(Strings(webhookEvents), { description: 'The types of the events that are sent.' });
const Enabled = () => Type.Boolean({ description: 'Events that happen while this is false are never sent.' });

const fields = {
  url: Text(2000),
  events: whole(Type.Refine(Events(), (events) => events.length > 0 && new Set(events).size === events.length)),
};

export const CreateWebhookBody = named(
  'CreateWebhook',
  Type.Object({ ...fields, enabled: Type.Optional(Type.Boolean({ default: true })) }),
);
export type CreateWebhookBody = Static<typeof CreateWebhookBody>;
export const PatchWebhookBody = named(
  'PatchWebhook',
  Type.Partial(Type.Object({ ...fields, enabled: Type.Boolean() })),
);
export type PatchWebhookBody = Static<typeof PatchWebhookBody>;

export const WebhooksQuery = Type.Object(recordsQuery('whk'));

const view = {
  id: Id('whk'),
  object: Type.Literal('webhook'),
  url: Type.String(),
  events: Events(),
  enabled: Enabled(),
  created_at: UnixSeconds(),
  updated_at: UnixSeconds(),
};

export const WebhookView = named('Webhook', Type.Object(view));
export type WebhookView = Static<typeof WebhookView>;
export const WebhookList = listOf('WebhookList', WebhookView);
export const CreatedWebhookView = named(
  'CreatedWebhook',
  Type.Object({
    ...view,
    secret: Type.String({
      pattern: '^whsec_',
      description: 'Signs each delivery; returned by this request alone.',
    }),
  }),
);
export type CreatedWebhookView = Static<typeof CreatedWebhookView>;

export const DeliveriesQuery = Type.Object(recordsQuery('dlv'));

export const DeliveryView = named(
  'WebhookDelivery',
  Type.Object({
    id: Id('dlv'),
    object: Type.Literal('webhook_delivery'),
    type: Strings(webhookEvents),
    status: Strings(['pending', 'delivered', 'failed'] as const),
    attempts: Type.Integer({ minimum: 0, description: 'The number of attempts so far.' }),
    next_at: Nullable(UnixSeconds()),
  }),
);
export type DeliveryView = Static<typeof DeliveryView>;
export const DeliveryList = listOf('WebhookDeliveryList', DeliveryView);

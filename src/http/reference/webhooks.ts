/** The reference's texts on webhooks (contract 17). */
import { limits } from '../../base/limits.ts';
import { webhookEvents } from '../../base/webhook-events.ts';
import { listOf, type Area } from './entry.ts';
import * as example from './examples.ts';

const inWorkspace = '/console/api/workspaces/{w}';
const unknown = 'An unknown workspace or an unknown id is 404 `route_not_found`.';
const { url, events } = example.webhook;

export const webhooks: Area = {
  name: 'Console: webhooks',
  group: 'Console',
  description: `Addresses of yours that receive the events of a workspace, ${limits.webhooksMax} at most: ${webhookEvents.map((name) => `\`${name}\``).join(', ')}. \
An event is stored in the step that it reports, and sent at least once, in no order: each attempt is a \`POST\` of the same bytes with the same \`webhook-id\`, signed as Standard Webhooks says. \
An answer of 2xx within ${limits.webhookAnswerMs / 1000} s is success. Otherwise it is sent again after 5 s, 5 min, 30 min, 2 h, 5 h and 10 h, or later where \`Retry-After\` says so.`,
  entries: {
    [`GET ${inWorkspace}/webhooks`]: {
      does: 'Returns the webhooks of a workspace, newest first. `limit` and `after` page through the list.',
      surprises: unknown,
      query: { limit: 10 },
      answer: listOf(example.webhook),
    },
    [`POST ${inWorkspace}/webhooks`]: {
      does: 'Creates a webhook. This answer alone has `secret`, which signs the deliveries as Standard Webhooks says.',
      repeat: 'A repeat creates a second webhook.',
      surprises:
        'An address that may not be called is 422, as that of a tool is; so is an empty list of events, one event twice, and one webhook more than a workspace may have (`webhooks`).',
      body: { url, events },
      answer: { ...example.webhook, secret: example.signingSecret },
    },
    [`GET ${inWorkspace}/webhooks/{id}`]: {
      does: 'Returns one webhook, without its secret.',
      surprises: unknown,
      answer: example.webhook,
    },
    [`PATCH ${inWorkspace}/webhooks/{id}`]: {
      does: 'Changes a webhook. `events` replaces all of them. While `enabled` is false no event is made; events from before are still sent.',
      repeat: 'A repeat changes nothing but `updated_at`.',
      surprises: unknown,
      body: { enabled: false },
      answer: { ...example.webhook, enabled: false, updated_at: example.webhook.updated_at + 600 },
    },
    [`DELETE ${inWorkspace}/webhooks/{id}`]: {
      does: 'Deletes a webhook with its deliveries: nothing more is sent.',
      repeat: 'A repeat is 404 `route_not_found`.',
      surprises: unknown,
    },
    [`GET ${inWorkspace}/webhooks/{id}/deliveries`]: {
      does: `Returns the newest deliveries, ${limits.listMax} at most, newest first. \`next_at\` is the time of the next attempt.`,
      surprises: `${unknown} 410, or failures for 24 hours, set \`enabled\` of the webhook to false, and its waiting deliveries are \`failed\`.`,
      answer: listOf(example.delivery),
    },
    [`POST ${inWorkspace}/webhooks/{id}/deliveries/{delivery_id}/retry`]: {
      does: 'Sends a delivery again now, whatever its status.',
      repeat: 'A repeat sends it once more.',
      surprises: unknown,
      answer: { ...example.delivery, next_at: example.delivery.next_at - 60 },
    },
  },
};

/** The events that a webhook may receive (contract 17). */
export const webhookEvents = [
  'turn.completed',
  'turn.failed',
  'session.ended',
  'session.expired',
  'session.waiting',
  'session.taken',
  'session.returned',
] as const;
export type WebhookEvent = (typeof webhookEvents)[number];

/** Signs requests as Standard Webhooks says, version `v1`: receivers verify them with its libraries. */
import { createHmac } from 'node:crypto';

/** Before a secret's base64. */
export const secretPrefix = 'whsec_';

/** `secrets`: each signs, so that a receiver may have the old or the new one while a secret is rotated. */
export function signatureHeaders(
  id: string,
  timestampSeconds: number,
  body: string,
  secrets: readonly string[],
): Record<string, string> {
  const signed = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': String(timestampSeconds), 'webhook-signature': signed.join(' ') };
}

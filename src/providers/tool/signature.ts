/** Signs requests by Standard Webhooks, version `v1`: receivers verify them with its libraries. */
import { createHmac } from 'node:crypto';
import type { Ids } from '../../base/ids.ts';

/** Prefix of a secret's base64. */
export const secretPrefix = 'whsec_';
const secretBytes = 24;

/** Returns a new signing secret. */
export const newSecret = (ids: Pick<Ids, 'bytes'>): string =>
  secretPrefix + Buffer.from(ids.bytes(secretBytes)).toString('base64');

/**
 * Returns the headers of a signed request. `secrets`: each signs, so that a receiver may have the old or the new one
 * during a rotation.
 */
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

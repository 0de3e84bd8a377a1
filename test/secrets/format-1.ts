/** A secret as versions before 0.2 sealed it: bound to its row alone, wherever it may go. */
import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto';
import type { Credential } from '../../src/store/store.ts';

export function sealedAsBefore(
  secret: string,
  { workspaceId, id }: Pick<Credential, 'workspaceId' | 'id'>,
  text: string,
): Uint8Array {
  const key = new Uint8Array(hkdfSync('sha256', secret, 'parley', 'credentials', 32));
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(`${workspaceId}/${id}`));
  return Buffer.concat([Buffer.of(1), nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

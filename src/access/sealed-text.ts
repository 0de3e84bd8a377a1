/**
 * Texts that only this installation can write and read, for others to keep: AES-256-GCM under a key derived from
 * `PARLEY_SECRET`, one for each purpose. Any process opens them, and a restart loses none.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Ids } from '../base/ids.ts';

const nonceBytes = 12;
const tagBytes = 16;

export interface SealedTexts {
  /** `bound`: what must be the same when the text is opened. */
  seal(text: string, bound?: string): string;
  /** The text; null if it was not sealed here, was changed, or is bound to something else. */
  open(sealed: string, bound?: string): string | null;
}

/** `previous`: the secret before; what was sealed under it opens too. */
export function sealedTexts(
  purpose: string,
  secret: string,
  ids: Pick<Ids, 'bytes'>,
  previous: string | null,
): SealedTexts {
  const keys = [secret, ...(previous === null ? [] : [previous])].map((each) =>
    Buffer.from(hkdfSync('sha256', each, '', purpose, 32)),
  );
  return {
    seal(text, bound = '') {
      const nonce = ids.bytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', keys[0]!, nonce).setAAD(Buffer.from(bound));
      return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString(
        'base64url',
      );
    },
    open(sealed, bound = '') {
      const bytes = Buffer.from(sealed, 'base64url');
      // Other spellings of the same bytes are not ours.
      if (bytes.length <= nonceBytes + tagBytes || bytes.toString('base64url') !== sealed) return null;
      for (const key of keys) {
        const text = decipher(key, bytes, bound);
        if (text !== null) return text;
      }
      return null;
    },
  };
}

function decipher(key: Buffer, bytes: Buffer, bound: string): string | null {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes)).setAAD(Buffer.from(bound));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}

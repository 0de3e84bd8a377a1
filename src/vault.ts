/**
 * Credentials at rest: AES-256-GCM under a key derived from `PARLEY_SECRET`, bound to the workspace and the credential's
 * id, so that a ciphertext moved to another row does not open (contract 9, promise P18). What was sealed under the secret
 * before, `PARLEY_SECRET_PREVIOUS`, opens too.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Ids } from './ids.ts';

/** Secrets that are held open. */
const openedMax = 1000;
const format = 1;
const nonceBytes = 12;
const tagBytes = 16;

export interface Vault {
  seal(workspaceId: string, id: string, secret: string): Uint8Array;
  /** The secret, or null if it was sealed under another `PARLEY_SECRET`, for another row, or was changed. */
  open(workspaceId: string, id: string, sealed: Uint8Array): string | null;
  /** Under which of the two secrets it was sealed; null if it does not open. */
  sealedUnder(workspaceId: string, id: string, sealed: Uint8Array): 'present' | 'previous' | null;
  /** Lets go of what is held open: of a credential, of a workspace, or of all. */
  forget(workspaceId?: string, id?: string): void;
}

export function openVault(secret: string, ids: Ids, previous: string | null = null): Vault {
  const present = keyOf(secret);
  const before = previous === null ? null : keyOf(previous);
  /** The secrets opened last, by row: opening costs more than all else of calling a model. */
  const opened = new Map<string, { readonly sealed: Uint8Array; readonly text: string }>();
  const remember = (row: string, sealed: Uint8Array, text: string): string => {
    if (opened.size >= openedMax) opened.clear();
    opened.set(row, { sealed: Uint8Array.from(sealed), text });
    return text;
  };
  return {
    seal(workspaceId, id, text) {
      const nonce = ids.bytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', present, nonce).setAAD(bound(workspaceId, id));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(format), nonce, body, cipher.getAuthTag()]);
    },
    open(workspaceId, id, sealed) {
      const row = rowOf(workspaceId, id);
      const known = opened.get(row);
      if (known !== undefined && Buffer.compare(known.sealed, sealed) === 0) return known.text;
      const text = deciphered(present, bound(workspaceId, id), sealed) ?? (before && deciphered(before, bound(workspaceId, id), sealed));
      return text === null ? null : remember(row, sealed, text);
    },
    sealedUnder(workspaceId, id, sealed) {
      if (deciphered(present, bound(workspaceId, id), sealed) !== null) return 'present';
      return before !== null && deciphered(before, bound(workspaceId, id), sealed) !== null ? 'previous' : null;
    },
    forget(workspaceId, id) {
      if (workspaceId === undefined) opened.clear();
      else if (id !== undefined) opened.delete(rowOf(workspaceId, id));
      else for (const row of [...opened.keys()]) if (row.startsWith(rowOf(workspaceId, ''))) opened.delete(row);
    },
  };
}

const keyOf = (secret: string): Uint8Array => new Uint8Array(hkdfSync('sha256', secret, 'parley', 'credentials', 32));

const rowOf = (workspaceId: string, id: string): string => `${workspaceId}/${id}`;
const bound = (workspaceId: string, id: string): Buffer => Buffer.from(rowOf(workspaceId, id));

function deciphered(key: Uint8Array, row: Buffer, sealed: Uint8Array): string | null {
  const bytes = Buffer.from(sealed);
  if (bytes[0] !== format || bytes.length < 1 + nonceBytes + tagBytes) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(1, 1 + nonceBytes)).setAAD(row).setAuthTag(bytes.subarray(-tagBytes));
  try {
    return decipher.update(bytes.subarray(1 + nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}

/** Tells one secret from another and tells nothing of it: derived from it as the key is, for another purpose. */
export const fingerprintOf = (secret: string): string => Buffer.from(hkdfSync('sha256', secret, 'parley', 'fingerprint', 16)).toString('hex');

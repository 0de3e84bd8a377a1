/**
 * Credentials and signing secrets of tools at rest: AES-256-GCM under a key derived from `PARLEY_SECRET`, bound to the
 * workspace, the credential's id, its provider and the origin of its base URL: a ciphertext that was moved to another
 * row does not open, and neither does one whose row was made to send it elsewhere (contract 9, promise P18). A
 * ciphertext sealed under the previous secret, `PARLEY_SECRET_PREVIOUS`, opens too, and so does one that an earlier
 * version bound to workspace and id alone.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Ids } from '../base/ids.ts';
import { replacedSecrets, type Tool } from '../store/records/tools.ts';

/** The number of opened secrets that are kept. */
const openedMax = 1000;
/** The first byte. */
const formats = { row: 1, destination: 2 } as const;
const nonceBytes = 12;
const tagBytes = 16;

/** The credential that a secret belongs to, and where it may go. */
export interface Holder {
  readonly workspaceId: string;
  readonly id: string;
  readonly provider: string;
  /** Null for the provider's own. */
  readonly baseUrl: string | null;
}

export interface SealedHolder extends Holder {
  readonly sealed: Uint8Array;
}

/** The holders of secrets that sign: the record itself, independent of its URL. */
const holderAs =
  (provider: string) =>
  ({ id, workspaceId }: Pick<Holder, 'id' | 'workspaceId'>): Holder => ({ id, workspaceId, provider, baseUrl: null });
/** The holder of a tool's signing secrets. */
export const signingHolder = holderAs('tool');
/** The holder of a webhook's secret. */
export const webhookHolder = holderAs('webhook');
/** The holder of the secrets of an assistant's link that sign visitors. */
export const identityHolder = holderAs('identity');

/** A tool's signing secrets, the newest first: its own, and those that rotations replaced. */
export function signingSecrets(tool: Tool): SealedHolder[] {
  const holder = signingHolder(tool);
  return [tool, ...replacedSecrets(tool)].flatMap(({ sealed }) => (sealed ? [{ ...holder, sealed }] : []));
}

/** The form in which a secret is sealed. */
export interface Sealing {
  readonly secret: 'present' | 'previous';
  /** To where it may go; earlier versions bound it to its row alone. */
  readonly bound: boolean;
}

export interface Vault {
  seal(holder: Holder, secret: string): Uint8Array;
  /** The secret; null if it was sealed under another `PARLEY_SECRET` or for another holder, or was changed. */
  open(holder: SealedHolder): string | null;
  /** Null if it cannot be opened. */
  sealing(holder: SealedHolder): Sealing | null;
  /** Drops opened secrets from the cache: of a credential, of a workspace, or all. */
  forget(workspaceId?: string, id?: string): void;
}

export function openVault(secret: string, ids: Ids, previous: string | null = null): Vault {
  const present = keyOf(secret);
  const before = previous === null ? null : keyOf(previous);
  /** The secrets opened last, by row: opening costs more than all else of calling a model. */
  const opened = new Map<string, SealedHolder & { readonly text: string }>();
  const remember = ({ workspaceId, id, provider, baseUrl, sealed }: SealedHolder, text: string): string => {
    if (opened.size >= openedMax) opened.clear();
    opened.set(rowOf(workspaceId, id), { workspaceId, id, provider, baseUrl, sealed: Uint8Array.from(sealed), text });
    return text;
  };
  return {
    seal(holder, text) {
      const nonce = ids.bytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', present, nonce).setAAD(boundTo(formats.destination, holder)!);
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(formats.destination), nonce, body, cipher.getAuthTag()]);
    },
    open(holder) {
      const cached = opened.get(rowOf(holder.workspaceId, holder.id));
      if (cached !== undefined && isSame(cached, holder)) return cached.text;
      const text = decipher(present, holder) ?? (before && decipher(before, holder));
      // A secret that was stored with white space at its ends would be sent with it.
      return text === null ? null : remember(holder, text.trim());
    },
    sealing(holder) {
      const bound = holder.sealed[0] === formats.destination;
      if (decipher(present, holder) !== null) return { secret: 'present', bound };
      return before !== null && decipher(before, holder) !== null ? { secret: 'previous', bound } : null;
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

/** Whether two holders in the same row also have the same destination and sealed secret. */
const isSame = (one: SealedHolder, other: SealedHolder): boolean =>
  one.baseUrl === other.baseUrl && one.provider === other.provider && Buffer.compare(one.sealed, other.sealed) === 0;

/**
 * The data authenticated with the secret; null for a format that this version does not know. No two holders have the
 * same data, in any format.
 */
function boundTo(format: number | undefined, { workspaceId, id, provider, baseUrl }: Holder): Buffer | null {
  if (format === formats.row) return Buffer.from(rowOf(workspaceId, id));
  if (format === formats.destination)
    return Buffer.from(JSON.stringify([workspaceId, id, provider, originOf(baseUrl)]));
  return null;
}

const originOf = (baseUrl: string | null): string | null =>
  baseUrl !== null && URL.canParse(baseUrl) ? new URL(baseUrl).origin : baseUrl;

function decipher(key: Uint8Array, holder: SealedHolder): string | null {
  const bytes = Buffer.from(holder.sealed);
  const bound = boundTo(bytes[0], holder);
  if (bound === null || bytes.length < 1 + nonceBytes + tagBytes) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(1, 1 + nonceBytes))
    .setAAD(bound)
    .setAuthTag(bytes.subarray(-tagBytes));
  try {
    return decipher.update(bytes.subarray(1 + nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}

/** Identifies a secret without revealing it: derived from it as the key is, for another purpose. */
export const fingerprintOf = (secret: string): string =>
  Buffer.from(hkdfSync('sha256', secret, 'parley', 'fingerprint', 16)).toString('hex');

/**
 * Transcription tokens: what a token permits is in the token itself, sealed with AES-256-GCM under a key derived from
 * `PARLEY_SECRET`. Any process opens it, a restart loses none, and nothing is stored for a token that no socket opens.
 */
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Ids } from './ids.ts';

const prefix = 'tok_';
const nonceBytes = 12;
const tagBytes = 16;

/** What a token permits. */
export interface TokenClaims {
  /** Names the token and its socket. */
  readonly id: string;
  readonly workspaceId: string;
  /** The API key that the token was minted with. */
  readonly keyId: string;
  readonly assistantId: string;
  /** The session that the socket belongs to; null if it belongs to none. */
  readonly sessionId: string | null;
  /** Milliseconds since the epoch from which it opens nothing. */
  readonly untilMs: number;
}

export interface TranscriptionTokens {
  seal(claims: TokenClaims): string;
  /** The claims of a token of ours, be it past its time; null for any other text. */
  open(token: string): TokenClaims | null;
}

export function transcriptionTokens(secret: string, ids: Pick<Ids, 'bytes'>, previous: string | null): TranscriptionTokens {
  const present = keyOf(secret);
  const before = previous === null ? null : keyOf(previous);
  return {
    seal(claims) {
      const { id, workspaceId, keyId, assistantId, sessionId, untilMs } = claims;
      const nonce = ids.bytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', present, nonce);
      const text = JSON.stringify([id, workspaceId, keyId, assistantId, sessionId, untilMs]);
      return prefix + Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64url');
    },
    open(token) {
      if (!token.startsWith(prefix)) return null;
      const bytes = Buffer.from(token.slice(prefix.length), 'base64url');
      // Other spellings of the same bytes are not our tokens.
      if (bytes.length <= nonceBytes + tagBytes || prefix + bytes.toString('base64url') !== token) return null;
      const text = deciphered(present, bytes) ?? (before && deciphered(before, bytes));
      if (text === null) return null;
      const [id, workspaceId, keyId, assistantId, sessionId, untilMs] = JSON.parse(text) as [string, string, string, string, string | null, number];
      return { id, workspaceId, keyId, assistantId, sessionId, untilMs };
    },
  };
}

const keyOf = (secret: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', 'parley transcription tokens', 32));

function deciphered(key: Buffer, bytes: Buffer): string | null {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes));
    decipher.setAuthTag(bytes.subarray(-tagBytes));
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}

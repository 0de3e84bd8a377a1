/**
 * The format of API keys (contract 4): `ak_` + public id + `_` + secret of 160 bits + checksum. A copy that was cut or
 * mistyped fails its checksum and is refused without a look-up; of a whole key only the digest is ever stored.
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { checksum, type Ids } from '../base/ids.ts';

const pattern = /^ak_([0-9a-z]{26})_([0-9a-z]{32})([0-9a-z]{6})$/;

export interface NewKey {
  readonly publicId: string;
  /** The key itself, to be shown once. */
  readonly text: string;
  readonly digest: Uint8Array;
}

export function makeKey(ids: Ids): NewKey {
  const publicId = ids.make('key').slice('key_'.length);
  const body = `ak_${publicId}_${ids.secret()}`;
  const text = body + checksum(body);
  return { publicId, text, digest: digestOf(text) };
}

/** Returns the public id in a text with the form of a key; null for any other text. */
export const publicIdOf = (text: string): string | null => pattern.exec(text)?.[1] ?? null;

/** Whether a key was copied whole. */
export const isWhole = (text: string): boolean => checksum(text.slice(0, -6)) === text.slice(-6);

/** The part of a key that may be shown. */
export const hintOf = (publicId: string): string => `ak_${publicId}_…`;

export const digestOf = (text: string): Uint8Array => hash('sha256', text, 'buffer');

/** Compares in constant time. */
export const matchesDigest = (text: string, digest: Uint8Array): boolean => timingSafeEqual(digestOf(text), digest);

/** Whether two secrets of any length are the same, in constant time. */
export const sameSecret = (one: string, other: string): boolean => timingSafeEqual(digestOf(one), digestOf(other));

/** Ids and secrets: the only place that draws random numbers. */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';

/** The kinds of ids that exist (contract, part 1), by their prefix. */
export type IdPrefix =
  | 'wks'
  | 'asst'
  | 'key'
  | 'crd'
  | 'ses'
  | 'turn'
  | 'msg'
  | 'req'
  | 'tok'
  | 'vis'
  | 'prs'
  | 'aud'
  | 'sin'
  | 'call'
  | 'tool'
  | 'whk'
  | 'dlv'
  | 'tst'
  | 'run';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const alphabetCodes = Buffer.from(alphabet);
const pageLength = 4096;
const timeLength = 10;
const randomLength = 16;

export interface Ids {
  /** A new id: the prefix, 50 bits of time and 80 random bits, in an order that follows creation. */
  make(prefix: IdPrefix): string;
  /** A fresh random secret of 160 bits, 32 characters of lower-case base 32. */
  secret(): string;
  /** Random bytes, for nonces. */
  bytes(length: number): Uint8Array;
}

export function randomIds(clock: Pick<Clock, 'now'>): Ids {
  // Randomness is drawn a page at a time and written as a page: one call into the kernel serves hundreds of ids.
  let page = '';
  let used = 0;
  const random = (length: number): string => {
    if (used + length > page.length) {
      const bytes = randomBytes(pageLength);
      for (let index = 0; index < pageLength; index++) bytes[index] = alphabetCodes[bytes[index]! & 31]!;
      page = bytes.toString('latin1');
      used = 0;
    }
    used += length;
    return page.slice(used - length, used);
  };
  let lastTime = 0;
  let coarseTime = -1;
  let coarseText = '';
  return {
    make(prefix) {
      // Within one process ids strictly ascend: the clock is read in units of 1/32 ms, and never twice the same.
      const time = Math.max(Math.floor(clock.now() * 32), lastTime + 1);
      lastTime = time;
      // All but the last two characters stay the same for 32 ms.
      const coarse = Math.floor(time / 1024);
      if (coarse !== coarseTime) coarseText = encode(coarse, timeLength - 2);
      coarseTime = coarse;
      return `${prefix}_${coarseText}${alphabet[(time % 1024) >> 5]!}${alphabet[time % 32]!}${random(randomLength)}`;
    },
    secret: () => random(32),
    bytes: (length) => randomBytes(length),
  };
}

/** An id that follows from a digest of at least 17 bytes. */
export function idOf(prefix: IdPrefix, digest: Uint8Array): string {
  let bits = BigInt(`0x${Buffer.from(digest.subarray(0, 17)).toString('hex')}`);
  let text = '';
  for (let length = 0; length < timeLength + randomLength; length++, bits >>= 5n) text += alphabet[Number(bits & 31n)]!;
  return `${prefix}_${text}`;
}

/** The prefix and the time of an id: 16 characters follow. */
export const timedId = (prefix: IdPrefix, atMs: number): string =>
  `${prefix}_${encode(Math.floor(atMs * 32), timeLength)}`;

/** An id without its prefix, for the ids that other protocols have for the same thing. */
export const bareId = (id: string): string => id.slice(id.indexOf('_') + 1);

/**
 * The beginning of the ids that are made at this time, behind their prefix: shorter than any of them, and before them
 * in order.
 */
export const timeText = (atMs: number): string => encode(Math.floor(atMs / 32), timeLength - 2);

function encode(number: number, length: number): string {
  let text = '';
  let rest = number;
  for (let i = 0; i < length; i++) {
    text = alphabet[rest % 32]! + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** A short checksum in the ids' alphabet, so that a truncated copy of a key is refused without a look-up. */
export function checksum(text: string): string {
  const digest = createHash('sha256').update(text).digest();
  return encode(digest.readUIntBE(0, 4), 6);
}

/** Random bytes as a text that may stand in a URL and a cookie (base64url). */
export const randomToken = (ids: Pick<Ids, 'bytes'>, bytes: number): string =>
  Buffer.from(ids.bytes(bytes)).toString('base64url');

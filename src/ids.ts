/** Ids and secrets: the only place that draws random numbers. */
import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from './clock.ts';

/** The kinds of ids that exist (contract, part 1), by their prefix. */
export type IdPrefix = 'wks' | 'asst' | 'key' | 'crd' | 'ses' | 'turn' | 'msg' | 'req' | 'tok' | 'vis';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
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

export function randomIds(clock: Clock): Ids {
  // Randomness is drawn a page at a time: one call into the kernel serves hundreds of ids.
  let pool = Buffer.alloc(0);
  let used = 0;
  const byte = (): number => {
    if (used === pool.length) {
      pool = randomBytes(4096);
      used = 0;
    }
    return pool[used++]!;
  };
  const random = (length: number): string => {
    let text = '';
    for (let i = 0; i < length; i++) text += alphabet[byte() & 31];
    return text;
  };
  let lastTime = 0;
  let timeText = '';
  return {
    make(prefix) {
      // Within one process ids strictly ascend: the clock is read in units of 1/32 ms, and never twice the same.
      const time = Math.max(Math.floor(clock.now() * 32), lastTime + 1);
      lastTime = time;
      timeText = encode(time, timeLength);
      return `${prefix}_${timeText}${random(randomLength)}`;
    },
    secret: () => random(32),
    bytes: (length) => randomBytes(length),
  };
}

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

/**
 * Tokens of visitors of an assistant's public link: all that a token says is in it, under a MAC whose key is derived
 * from `PARLEY_SECRET`. Any process reads it, and nothing is stored for a visitor who sends nothing. And the names of
 * addresses: a digest under a key of the day, so that a stored one leads to no address, and tomorrow's is another.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { Proof } from './identity.ts';
import { evictOldest } from '../base/evict-oldest.ts';

const macBytes = 20;
const addressBytes = 16;
const dayMs = 24 * 60 * 60 * 1000;
const daysKept = 3;
const pattern = /^((vis_[0-9a-hjkmnp-tv-z]{26})\.(link|widget)\.([0-9a-z]{1,9})(?:\.([\w-]{1,8192}))?)\.([\w-]{27})$/;

export interface VisitorClaims {
  /** The visitor's id. */
  readonly id: string;
  readonly assistantId: string;
  readonly channel: 'link' | 'widget';
  /** The Unix second from which the token is no longer valid. */
  readonly expiresAt: number;
  /** Present if the site has signed who the visitor is (contract 23), else null. */
  readonly proof: Proof | null;
}

export interface VisitorTokens {
  seal(claims: VisitorClaims): string;
  /** The claims of a token of this assistant, expired or not; null for any other text. */
  open(token: string, assistantId: string): VisitorClaims | null;
  /** The name of a network on the UTC day of `nowMs`. */
  addressKey(network: string, nowMs: number): string;
}

export function visitorTokens(secret: string, previous: string | null): VisitorTokens {
  const keys = [secret, ...(previous === null ? [] : [previous])].map((each) => derived(each, 'parley visitor tokens'));
  /** The keys of the latest days that were asked for: a place that is taken before midnight is held on two. */
  const days = new Map<number, Buffer>();
  const keyOfDay = (number: number): Buffer => {
    let key = days.get(number);
    if (key === undefined) {
      days.set(number, (key = derived(secret, `parley address ${number}`)));
      evictOldest(days, daysKept, daysKept);
    }
    return key;
  };
  return {
    seal({ assistantId, ...claims }) {
      const head = headOf(claims);
      return `${head}.${macOf(keys[0]!, assistantId, head).toString('base64url')}`;
    },
    open(token, assistantId) {
      const [, head, id = '', channel, expiresAt = '', proof, mac = ''] = pattern.exec(token) ?? [];
      if (head === undefined) return null;
      const bytes = Buffer.from(mac, 'base64url');
      // Another spelling of the same bytes is not our token.
      if (bytes.toString('base64url') !== mac) return null;
      if (!keys.some((key) => timingSafeEqual(macOf(key, assistantId, head), bytes))) return null;
      return {
        id,
        assistantId,
        channel: channel as VisitorClaims['channel'],
        expiresAt: parseInt(expiresAt, 36),
        proof: proof === undefined ? null : proofOf(proof),
      };
    },
    addressKey(network, nowMs) {
      return createHmac('sha256', keyOfDay(Math.floor(nowMs / dayMs)))
        .update(network)
        .digest()
        .subarray(0, addressBytes)
        .toString('base64url');
    },
  };
}

const derived = (secret: string, purpose: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));

const headOf = ({ id, channel, expiresAt, proof }: Omit<VisitorClaims, 'assistantId'>): string =>
  [id, channel, expiresAt.toString(36), ...(proof === null ? [] : [textOf(proof)])].join('.');

const textOf = ({ identityId, fields }: Proof): string =>
  Buffer.from(JSON.stringify([identityId, fields])).toString('base64url');

function proofOf(text: string): Proof {
  const [identityId, fields] = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as [string, Proof['fields']];
  return { identityId, fields };
}

const macOf = (key: Buffer, assistantId: string, head: string): Buffer =>
  createHmac('sha256', key).update(`${assistantId} ${head}`).digest().subarray(0, macBytes);

/**
 * Visitors whom a site has signed in (contract 23): the site's server signs a JWT with the secret of the assistant's
 * link, which says who the visitor is.
 */
import { createHash } from 'node:crypto';
import { jwtVerify } from 'jose';
import { idOf } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { Assistant, LinkIdentity, Session } from '../store/store.ts';
import { identityHolder, type SealedHolder, type Vault } from './vault.ts';

/** The secrets of an assistant's link, the newest first: its own, and those that rotations replaced. */
export function identitySecrets(assistant: Assistant): (SealedHolder & { readonly untilMs: number })[] {
  const identity = assistant.link?.identity;
  const holder = identityHolder(assistant);
  return identity === undefined
    ? []
    : [{ sealed: identity.sealed, untilMs: Infinity }, ...(identity.replaced ?? [])].map((one) => ({
        ...holder,
        ...one,
      }));
}

/** A visitor as a token names him or her. */
export interface SignedVisitor {
  /** The same for the same `sub` in a workspace, on every device. */
  readonly id: string;
  readonly fields: Session['visitor'];
}

/**
 * The visitor of a token; null if no secret of the assistant's link has signed it, if it is expired or lasts for more
 * than a day, or if its claims have other types than contract 23 says. `areFields` checks the fields.
 */
export async function verifyIdentity(
  token: string,
  assistant: Assistant,
  vault: Pick<Vault, 'open'>,
  nowMs: number,
  areFields: (value: unknown) => value is SignedVisitor['fields'],
): Promise<SignedVisitor | null> {
  for (const { untilMs, ...secret } of identitySecrets(assistant)) {
    const key = untilMs > nowMs ? vault.open(secret) : null;
    const claims = key === null ? null : await claimsOf(token, key, nowMs);
    if (claims === null) continue;
    const { sub, exp, visitor = {} } = claims;
    const isShort = exp! * 1000 <= nowMs + limits.identityMsMax + limits.identityLeewayMs;
    const isNamed = typeof sub === 'string' && sub !== '' && [...sub].length <= limits.identitySubjectMax;
    if (!isShort || !isNamed || !areFields(visitor)) return null;
    return { id: visitorIdOf(assistant.workspaceId, sub), fields: visitor };
  }
  return null;
}

const claimsOf = (token: string, secret: string, nowMs: number) =>
  jwtVerify<{ visitor?: unknown }>(token, Buffer.from(secret), {
    algorithms: ['HS256'],
    requiredClaims: ['sub', 'exp'],
    clockTolerance: limits.identityLeewayMs / 1000,
    currentDate: new Date(nowMs),
  }).then(
    ({ payload }) => payload,
    () => null,
  );

/** A digest, so that no id shows the site's own. */
const visitorIdOf = (workspaceId: string, sub: string): string =>
  idOf('vis', createHash('sha256').update(`${workspaceId} ${sub}`).digest());

/** The part of a visitor's token that names a signed visitor. It holds until the link's identity is removed. */
export interface Proof {
  readonly identityId: LinkIdentity['id'];
  readonly fields: SignedVisitor['fields'];
}

/** Whether what a token keeps still holds: the link has the identity that signed it. */
export const holds = (proof: Proof | null, { link }: Pick<Assistant, 'link'>): boolean =>
  proof !== null && link?.identity?.id === proof.identityId;

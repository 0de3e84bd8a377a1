/** A token that is good for one socket: a transcription (contract 8) or a call (contract 18). */
import type { SocketTokens, TokenClaims } from '../../../access/socket-tokens.ts';
import type { Principal } from '../../../conversation/principal.ts';
import { Failure } from '../../../base/errors.ts';
import type { RequestHead } from '../../../base/edge.ts';
import type { TokenCaller } from '../../request.ts';
import type { Services } from '../../../conversation/services.ts';
import type { CallerKind } from './kind.ts';
import { addressKeyOf } from './visitor.ts';

const subprotocol = 'token.';

const byToken = (
  kind: TokenCaller['kind'],
  tokensOf: (services: Services) => SocketTokens,
  isSpent: (id: string, services: Services) => boolean,
): CallerKind<TokenCaller> => ({
  async recognise(head, _params, services) {
    const { token, protocol } = presentedToken(head);
    const claims = tokensOf(services).open(token);
    if (claims === null || services.clock.now() >= claims.untilMs || isSpent(claims.id, services))
      throw new Failure('invalid_token');
    return { kind, claims, protocol, principal: await holderOf(claims, head, services) };
  },
  charge: () => null,
});

export const byTranscriptionToken = byToken(
  'token',
  ({ transcriptionTokens }) => transcriptionTokens,
  (id, { host }) => host.sockets.isSpent(id),
);
export const byCallToken = byToken(
  'call',
  ({ callTokens }) => callTokens,
  (id, { host }) => host.calls.isSpent(id),
);

/** A visitor's or a person's token is bound to an assistant and to a session of theirs; there is no key to look up. */
async function holderOf(
  { workspaceId, holder, assistantId }: TokenClaims,
  head: RequestHead,
  services: Services,
): Promise<Principal> {
  const { kind, id } = holder;
  if (kind === 'person') return { workspaceId, id, kind, name: id, channel: 'console', assistantIds: null };
  if (kind !== 'key') {
    // A socket opens no session, which alone takes the fields.
    const visitor = { addressKey: addressKeyOf(head, services), signedFields: kind === 'signed_visitor' ? {} : null };
    return { workspaceId, id, kind: 'visitor', name: id, channel: 'link', assistantIds: [assistantId], visitor };
  }
  const key = await validKey(workspaceId, id, services);
  return { workspaceId, id, kind, name: key.name, channel: 'api', assistantIds: key.assistantIds };
}

/**
 * The token of the query or of a subprotocol; if both have one, they must be equal. `protocol` is the subprotocol to
 * answer with.
 */
function presentedToken(head: RequestHead): { token: string; protocol: string | null } {
  const inQuery = new URLSearchParams(head.query).getAll('token');
  const offered = head.headers('sec-websocket-protocol').flatMap((line) => line.split(',').map((name) => name.trim()));
  const protocols = offered.filter((name) => name.startsWith(subprotocol));
  const tokens = new Set([...inQuery, ...protocols.map((name) => name.slice(subprotocol.length))]);
  if (tokens.size !== 1) throw new Failure('invalid_token');
  return { token: [...tokens][0]!, protocol: protocols[0] ?? null };
}

/** The key that the token was minted with; a key that was revoked since, or has expired, opens nothing (contract 8). */
async function validKey(workspaceId: string, keyId: string, { host, clock }: Services) {
  const actor = await host.keys.of(workspaceId, keyId);
  const record = actor?.record ?? null;
  if (
    record === null ||
    record.revokedAt !== null ||
    (record.expiresAt !== null && clock.now() >= record.expiresAt * 1000)
  )
    throw new Failure('invalid_token');
  return record;
}

/** A transcription token, good for one socket (contract 4 and 8). */
import { Failure } from '../../../base/errors.ts';
import type { RequestHead } from '../../../base/edge.ts';
import type { TokenCaller } from '../../request.ts';
import type { Services } from '../../../conversation/services.ts';
import type { CallerKind } from './kind.ts';

const subprotocol = 'token.';

export const byTranscriptionToken: CallerKind<TokenCaller> = {
  async recognise(head, _params, services) {
    const { token, protocol } = presentedToken(head);
    const claims = services.transcriptionTokens.open(token);
    const { host, clock } = services;
    if (claims === null || clock.now() >= claims.untilMs || host.sockets.isSpent(claims.id)) throw new Failure('invalid_token');
    const { workspaceId, holder, assistantId } = claims;
    const party = { workspaceId, ...holder };
    // A visitor's token is bound to the assistant and to a session of the visitor's; there is no key to look up.
    if (holder.kind === 'visitor') return { kind: 'token', claims, protocol, party: { ...party, name: holder.id, channel: 'link', assistantIds: [assistantId], visitor: { addressKey: '' } } };
    const key = await validKey(workspaceId, holder.id, services);
    return { kind: 'token', claims, protocol, party: { ...party, name: key.name, channel: 'api', assistantIds: key.assistantIds } };
  },
  charge: () => null,
};

/** The token of the query or of a subprotocol; if both have one, they must be equal. `protocol` is the subprotocol to answer with. */
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
  if (record === null || record.revokedAt !== null || (record.expiresAt !== null && clock.now() >= record.expiresAt * 1000)) throw new Failure('invalid_token');
  return record;
}

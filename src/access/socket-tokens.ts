/**
 * Tokens of sockets, of transcription and of calls: a token contains its own claims, sealed with AES-256-GCM under a
 * key derived from `PARLEY_SECRET`, one for each use. Any process opens it, a restart loses none, and nothing is stored
 * for a token that no socket opens.
 */
import type { Ids } from '../base/ids.ts';
import { sealedTexts } from './sealed-text.ts';

const prefix = 'tok_';

/** A signed visitor is one whom the site has signed (contract 23). */
export type HolderKind = 'key' | 'visitor' | 'signed_visitor' | 'person';

/** The socket that a token opens. */
export type SocketUse = 'transcription' | 'call';

/** The claims of a token. */
export interface TokenClaims {
  /** Names the token and its socket. */
  readonly id: string;
  readonly workspaceId: string;
  /** The API key that the token was minted with, or the visitor or the person of the console who has it. */
  readonly holder: { readonly kind: HolderKind; readonly id: string };
  readonly assistantId: string;
  /** The session that the socket belongs to; null if it belongs to none. */
  readonly sessionId: string | null;
  /** Milliseconds since the epoch from which it opens nothing. */
  readonly untilMs: number;
}

export interface SocketTokens {
  seal(claims: TokenClaims): string;
  /** The claims of a token of ours, be it past its time; null for any other text. */
  open(token: string): TokenClaims | null;
}

export function socketTokens(
  use: SocketUse,
  secret: string,
  ids: Pick<Ids, 'bytes'>,
  previous: string | null,
): SocketTokens {
  const texts = sealedTexts(`parley ${use} tokens`, secret, ids, previous);
  return {
    seal({ id, workspaceId, holder, assistantId, sessionId, untilMs }) {
      const claims: Sealed = [id, workspaceId, holder.id, assistantId, sessionId, untilMs, holder.kind];
      return prefix + texts.seal(JSON.stringify(claims));
    },
    open(token) {
      const text = token.startsWith(prefix) ? texts.open(token.slice(prefix.length)) : null;
      if (text === null) return null;
      const [id, workspaceId, holderId, assistantId, sessionId, untilMs, kind = kindBefore(holderId)] = JSON.parse(
        text,
      ) as Sealed;
      return { id, workspaceId, holder: { kind, id: holderId }, assistantId, sessionId, untilMs };
    },
  };
}

/** The claims as they are sealed. The kind of holder comes last: the version before sealed none and reads six. */
type Sealed = readonly [
  id: string,
  workspaceId: string,
  holderId: string,
  assistantId: string,
  sessionId: string | null,
  untilMs: number,
  kind?: HolderKind,
];

/** The kind of holder of a token that the version before sealed, for the minute that it is good. */
const kindBefore = (holderId: string): HolderKind => (holderId.startsWith('vis_') ? 'visitor' : 'key');

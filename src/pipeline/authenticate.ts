/** Who calls (specification 5, contract 4 and 12). */
import { Failure } from '../errors.ts';
import type { RequestHead } from '../edge.ts';
import type { KeyActor } from '../host/keys.ts';
import { sameSecret } from '../keys.ts';
import { promptly } from '../promptly.ts';
import type { Caller, KeyCaller } from '../request.ts';
import type { Services } from '../services.ts';

/** Throws the 401 at once, or answers later where the store must be asked. */
export function authenticate(kind: Caller['kind'], head: RequestHead, services: Services): Caller | Promise<Caller> {
  if (kind === 'anyone') return { kind };
  if (kind === 'operator') {
    const token = bearer(head);
    if (token === null) throw new Failure('missing_api_key');
    if (!sameSecret(token, services.operatorToken)) throw new Failure('invalid_api_key');
    return { kind };
  }
  return promptly(services.host.keys.authenticate(presentedKey(head)), keyCaller);
}

function keyCaller(actor: KeyActor): KeyCaller {
  const { id, workspaceId, assistantIds } = actor.record;
  return { kind: 'key', workspaceId, keyId: id, actor, assistantIds };
}

/** The one key that the headers agree on. */
function presentedKey(head: RequestHead): string {
  const fromBearer = bearer(head);
  const plain = head.headers('x-api-key');
  if (plain.length > 1 || plain[0] === '') throw new Failure('unreadable_header', { field: 'X-Api-Key' });
  const fromHeader = plain[0] ?? null;
  if (fromBearer !== null && fromHeader !== null && fromBearer !== fromHeader) throw new Failure('different_keys');
  const key = fromBearer ?? fromHeader;
  if (key === null) throw new Failure('missing_api_key');
  return key;
}

const usual = 'Bearer ';

/** The Bearer credential; null without the header. White space inside is the credential's own, and makes it a wrong one. */
function bearer(head: RequestHead): string | null {
  const values = head.headers('authorization');
  if (values.length === 0) return null;
  const value = values[0]!;
  // As nearly everybody writes it.
  if (values.length === 1 && value.startsWith(usual) && value.length > usual.length && value[usual.length] !== ' ') return value.slice(usual.length);
  const credential = values.length === 1 ? /^bearer +(.+)$/is.exec(value) : null;
  if (credential === null) throw new Failure('unreadable_header', { field: 'Authorization' });
  return credential[1]!;
}

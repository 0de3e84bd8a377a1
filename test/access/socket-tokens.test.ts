/** A transcription token names its holder; the previous version reads ours, and we read its. */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import t from 'tap';
import { socketTokens, type TokenClaims } from '../../src/access/socket-tokens.ts';
import { randomIds } from '../../src/base/ids.ts';

const secret = 'a secret of thirty-two characters';
const tokens = socketTokens('transcription', secret, randomIds(Date), null);
const key = Buffer.from(hkdfSync('sha256', secret, '', 'parley transcription tokens', 32));

/** Seals as the version before did: six claims, no kind of holder. */
function sealedBefore({ id, workspaceId, holder, assistantId, sessionId, untilMs }: TokenClaims): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const text = cipher.update(JSON.stringify([id, workspaceId, holder.id, assistantId, sessionId, untilMs]));
  return `tok_${Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()]).toString('base64url')}`;
}

function unsealed(token: string): unknown[] {
  const bytes = Buffer.from(token.slice(4), 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12));
  decipher.setAuthTag(bytes.subarray(-16));
  return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString());
}

const claims = (holder: TokenClaims['holder']): TokenClaims => ({
  id: 'tok_1',
  workspaceId: 'ws_1',
  holder,
  assistantId: 'asst_1',
  sessionId: null,
  untilMs: 60_000,
});

for (const holder of [
  { kind: 'key', id: 'key_1' },
  { kind: 'visitor', id: 'vis_1' },
] as const) {
  t.test(`a ${holder.kind}'s token is valid for its holder alone`, async (t) => {
    const sealed = tokens.seal(claims(holder));
    t.same(tokens.open(sealed), claims(holder));
    t.same(
      unsealed(sealed).slice(0, 6),
      ['tok_1', 'ws_1', holder.id, 'asst_1', null, 60_000],
      'the version before reads the first six claims',
    );
    t.same(tokens.open(sealedBefore(claims(holder))), claims(holder), 'of the version before');
  });
}

t.test('the kind of holder is read from a claim and not from the id', async (t) => {
  t.equal(tokens.open(tokens.seal(claims({ kind: 'key', id: 'vis_1' })))?.holder.kind, 'key');
});

/** Tokens with which a site says who a visitor is (contract 23). */
import t from 'tap';
import { verifyIdentity, type SignedVisitor } from '../../src/access/identity.ts';
import { visitorTokens } from '../../src/access/visitor-tokens.ts';
import { identityHolder, openVault } from '../../src/access/vault.ts';
import { randomIds } from '../../src/base/ids.ts';
import type { Assistant, LinkIdentity } from '../../src/store/store.ts';
import { validatorOf } from '../../src/wire/check.ts';
import { VisitorValues } from '../../src/wire/conversation.ts';
import { jwt } from './jwt.ts';

const day = 24 * 60 * 60;
const now = 1_800_000_000;
const vault = openVault('a secret of the installation', randomIds({ now: () => 0 }));
const at = { id: 'asst_1', workspaceId: 'wks_1' };
const seal = (secret: string): Uint8Array => vault.seal(identityHolder(at), secret);
const withIdentity = (identity: Partial<LinkIdentity>, fields: object = {}): Assistant =>
  ({ ...at, ...fields, link: { identity: { id: 'one', sealed: seal('new'), createdAt: 0, ...identity } } }) as never;
const verify = (token: string, assistant = withIdentity({}), atSecond = now) =>
  verifyIdentity(token, assistant, vault, atSecond * 1000, areFields);
const areFields = (value: unknown): value is SignedVisitor['fields'] => validatorOf(VisitorValues).Check(value);
const sound = { sub: 'ada', exp: now + 60 };

t.test('a token of the secret names its visitor, the same one for the same subject', async (t) => {
  const first = await verify(jwt('new', { ...sound, visitor: { name: 'Ada', age: 36, member: true } }));
  t.match(first, { id: /^vis_[0-9a-hjkmnp-tv-z]{26}$/, fields: { name: 'Ada', age: 36, member: true } });
  const second = await verify(jwt('new', { ...sound, exp: now + 90, iat: now - 5 }));
  t.same(second, { id: first!.id, fields: {} });
  t.not((await verify(jwt('new', { ...sound, sub: 'bob' })))!.id, first!.id);
  const elsewhere = { ...withIdentity({}), workspaceId: 'wks_2' };
  const sealed = vault.seal(identityHolder(elsewhere), 'new');
  const other = { ...elsewhere, link: { identity: { id: 'one', sealed, createdAt: 0 } } } as unknown as Assistant;
  t.not((await verify(jwt('new', sound), other))!.id, first!.id, 'another workspace has other visitors');
});

t.test('a token with any wrong part is rejected', async (t) => {
  const wrong: Record<string, string> = {
    'another secret': jwt('old', sound),
    'no signature': jwt('new', sound, { alg: 'none' }),
    'another algorithm': jwt('new', sound, { alg: 'HS512' }),
    'an empty text': '',
    'no token': 'a.b.c',
    'no subject': jwt('new', { exp: sound.exp }),
    'an empty subject': jwt('new', { ...sound, sub: '' }),
    'a number as subject': jwt('new', { ...sound, sub: 7 }),
    'a long subject': jwt('new', { ...sound, sub: 'é'.repeat(129) }),
    'no end': jwt('new', { sub: 'ada' }),
    'a text as end': jwt('new', { ...sound, exp: String(sound.exp) }),
    expired: jwt('new', { ...sound, exp: now - 61 }),
    'more than a day ahead': jwt('new', { ...sound, exp: now + day + 61 }),
    'not yet valid': jwt('new', { ...sound, nbf: now + 120 }),
    'fields that are a list': jwt('new', { ...sound, visitor: ['Ada'] }),
    'a field that is an object': jwt('new', { ...sound, visitor: { name: {} } }),
    'a critical extension': jwt('new', sound, { alg: 'HS256', crit: ['x'], x: 1 } as never),
    'a changed claim': jwt('new', sound).replace(
      /\.[^.]+\./,
      `.${Buffer.from('{"sub":"eve"}').toString('base64url')}.`,
    ),
  };
  for (const [name, token] of Object.entries(wrong)) t.equal(await verify(token), null, name);
  t.ok(await verify(jwt('new', { ...sound, sub: 'é'.repeat(128), exp: now + day + 60 })));
  t.ok(await verify(jwt('new', { ...sound, exp: now - 59 })), 'a minute of leeway');
  t.equal(await verify(jwt('new', sound), { ...at, link: null } as never), null, 'a link without identity');
});

t.test('a replaced secret signs until its end', async (t) => {
  const rotated = withIdentity({ replaced: [{ sealed: seal('old'), untilMs: (now + day) * 1000 }] });
  const at = (second: number) => verify(jwt('old', { sub: 'ada', exp: second + 60 }), rotated, second);
  t.ok(await at(now));
  t.ok(await at(now + day - 1));
  t.equal(await at(now + day), null);
  t.ok(await verify(jwt('new', sound), rotated));
});

t.test('the token of a signed visitor opens with its fields, and no part of it can be changed', async (t) => {
  const tokens = visitorTokens('secret', null);
  const proof = { identityId: 'one', fields: { name: 'Zoë', big: 'x'.repeat(1000) } };
  const claims = {
    id: `vis_${'0'.repeat(26)}`,
    assistantId: 'asst_1',
    channel: 'widget',
    expiresAt: now,
    proof,
  } as const;
  const token = tokens.seal(claims);
  t.same(tokens.open(token, 'asst_1'), claims);
  t.equal(tokens.open(token, 'asst_2'), null);
  const parts = token.split('.');
  const unproven = [...parts.slice(0, 3), parts.at(-1)].join('.');
  t.equal(tokens.open(unproven, 'asst_1'), null);
  const plain = tokens.seal({ ...claims, proof: null });
  const raised = [...plain.split('.').slice(0, 3), parts[3], plain.split('.').at(-1)].join('.');
  t.equal(tokens.open(raised, 'asst_1'), null);
  for (let index = 0; index < token.length; index += 7) {
    const other = token[index] === 'A' ? 'B' : 'A';
    t.equal(tokens.open(token.slice(0, index) + other + token.slice(index + 1), 'asst_1'), null);
  }
});

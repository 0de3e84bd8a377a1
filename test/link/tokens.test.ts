/** What a visitor's token is made of, besides what the link's tests see of it. */
import { createHmac, hkdfSync } from 'node:crypto';
import t from 'tap';
import { randomIds } from '../../src/ids.ts';
import { visitorTokens } from '../../src/visitor-tokens.ts';

const secret = 'a secret of thirty-two characters';
const ids = randomIds({ now: () => Date.now() });
const claims = { id: ids.make('vis'), assistantId: 'asst_1', channel: 'link', expiresAt: 1_790_000_000 } as const;

t.test('each token is another one, and all of them say the same', async (t) => {
  const { seal, open } = visitorTokens(secret, null, ids);
  const tokens = Array.from({ length: 5 }, () => seal(claims));
  t.equal(new Set(tokens).size, tokens.length);
  for (const token of tokens) t.same(open(token, 'asst_1'), claims);
  t.equal(open(tokens[0]!, 'asst_2'), null);
  const [first, second] = tokens.map((token) => token.split('.'));
  t.equal(open([...first!.slice(0, 3), second![3], first![4]].join('.'), 'asst_1'), null, 'a nonce is under the MAC too');
  t.equal(open([...first!.slice(0, 3), first![4]].join('.'), 'asst_1'), null, 'nor can it be left out');
});

t.test('a token of an earlier version has no nonce, and is good', async (t) => {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'parley visitor tokens', 32));
  const head = `${claims.id}.link.${claims.expiresAt.toString(36)}`;
  const mac = createHmac('sha256', key).update(`asst_1 ${head}`).digest().subarray(0, 20).toString('base64url');
  t.same(visitorTokens(secret, null, ids).open(`${head}.${mac}`, 'asst_1'), claims);
});

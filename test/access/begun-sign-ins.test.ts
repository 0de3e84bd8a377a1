/** Sign-ins that have begun at an issuer, and their cookies. */
import t from 'tap';
import { BegunSignIns, oidcSignInsBegunMax } from '../../src/access/begun-sign-ins.ts';
import { sealedTexts } from '../../src/access/sealed-text.ts';
import type { RequestHead } from '../../src/base/edge.ts';
import { randomIds } from '../../src/base/ids.ts';

const ids = randomIds({ now: () => 0 });
const secret = 'a secret of thirty-two characters';
const open = (own = secret, previous: string | null = null): BegunSignIns =>
  new BegunSignIns(sealedTexts('parley oidc', own, ids, previous), ids, '__Host-parley-a');

const headOf = (...cookies: string[]): RequestHead => ({
  method: 'GET',
  path: '/',
  query: '',
  remoteAddress: '127.0.0.1',
  headers: (name) => (name === 'cookie' && cookies.length > 0 ? [cookies.join('; ')] : []),
});

const begunAt = 1_000_000;
const facts = { nonce: 'n', verifier: 'v', redirectUri: 'https://a.example/callback', to: '/console', replaces: null };

/** Begins a sign-in: its state, and its cookie as a browser sends it. */
function begin(begun: BegunSignIns, ...cookies: string[]): { readonly state: string; readonly cookie: string } {
  const { state } = begun.draw(headOf(...cookies));
  return { state, cookie: begun.keep(state, facts, begunAt).split(';')[0]! };
}

t.test('a begun sign-in is found by its state, for ten minutes', async (t) => {
  const begun = open();
  const { state, nonce, verifier } = begun.draw(headOf());
  t.match([state, nonce, verifier].join(' '), /^[\w-]{8}\.[\w-]{22} [\w-]{22} [\w-]{43}$/);
  const line = begun.keep(state, facts, begunAt);
  t.match(line, /^__Host-parley-a-oidc-[\w-]{8}=[\w-]+; Secure; HttpOnly; SameSite=Lax; Path=\/; Max-Age=600$/);
  const head = headOf('a=b', line.split(';')[0]!);
  t.strictSame(begun.find(head, state, begunAt), facts);
  t.strictSame(begun.find(head, state, begunAt + 599), facts);
  t.equal(begun.find(head, state, begunAt + 600), null);
  t.strictSame(open('another secret of thirty-two chars', secret).find(head, state, begunAt), facts, 'a new secret');
  t.equal(begun.forget(state), `${line.split('=')[0]}=; Secure; HttpOnly; SameSite=Lax; Path=/; Max-Age=0`);
});

t.test('a state is of one browser and one server', async (t) => {
  const begun = open();
  const [one, other] = [begin(begun), begin(begun)];
  t.equal(begun.find(headOf(), one.state, begunAt), null, 'without a cookie');
  t.equal(begun.find(headOf(other.cookie), one.state, begunAt), null, 'with the cookie of another state');
  const moved = `${one.cookie.split('=')[0]}=${other.cookie.split('=')[1]}`;
  t.equal(begun.find(headOf(moved), one.state, begunAt), null, 'with its value under another name');
  t.equal(open('another secret of thirty-two chars').find(headOf(one.cookie), one.state, begunAt), null);
  t.equal(begun.find(headOf(`${one.cookie}A`), one.state, begunAt), null, 'with a changed value');
  t.equal(begun.find(headOf(one.cookie), `${one.state.slice(0, 9)}${'A'.repeat(22)}`, begunAt), null);
  for (const state of ['', 'a', `${one.state}a`, '../../etc', `${'a'.repeat(8)}.`]) {
    t.equal(begun.find(headOf(one.cookie), state, begunAt), null, state);
    t.equal(begun.forget(state), null);
  }
});

t.test('several tabs sign in at once, and any number of them leave few cookies', async (t) => {
  const begun = open();
  const tabs = [begin(begun), begin(begun), begin(begun)];
  const head = headOf(...tabs.map(({ cookie }) => cookie));
  for (const { state } of tabs) t.strictSame(begun.find(head, state, begunAt), facts);

  const jar = new Map<string, string>();
  let newest = '';
  for (let times = 0; times < 100; times++) {
    const { state, cookie } = begin(begun, ...[...jar].map((pair) => pair.join('=')));
    const [name, value] = cookie.split('=') as [string, string];
    jar.set(name, value);
    newest = state;
  }
  t.equal(jar.size, oidcSignInsBegunMax);
  t.strictSame(begun.find(headOf(...[...jar].map((pair) => pair.join('='))), newest, begunAt), facts);
});

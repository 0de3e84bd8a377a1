/** The client of OpenID Connect, against issuers that do anything. */
import type { ServerResponse } from 'node:http';
import t, { type Test } from 'tap';
import { WheelClock, type Timer } from '../../../src/base/clock.ts';
import { providerHttp } from '../../../src/providers/client.ts';
import { IdentityRefused, IssuerAway, type Identity } from '../../../src/providers/identity.ts';
import { OpenidProvider, oidcFinishesMax } from '../../../src/providers/identity/openid.ts';
import { FakeIssuer, makeKey, type Conduct } from './fake-issuer.ts';
import { oidcAnswerBytesMax, oidcMs } from '../../../src/providers/identity/fetch.ts';

interface Flow {
  readonly issuer: FakeIssuer;
  readonly provider: OpenidProvider;
  /** Begins and finishes a sign-in; `query` replaces parts of the callback's. */
  signIn(query?: Readonly<Record<string, string>>, claims?: readonly string[]): Promise<Identity>;
  /** The same for a sign-in that has begun. */
  finish: Flow['signIn'];
}

const binding = {
  state: 'a state',
  verifier: 'v'.repeat(43),
  redirectUri: 'http://localhost/console/api/oidc/callback',
};

async function open(t: Test, conduct: Conduct = {}, clock = new WheelClock()): Promise<Flow> {
  const issuer = await FakeIssuer.start(t);
  issuer.conduct = conduct;
  const real = new WheelClock();
  const http = providerHttp({ clock: real, allowPrivate: true });
  t.teardown(async () => {
    await http.close();
    clock.stop();
    real.stop();
  });
  const rules = [{ claim: 'groups', value: 'ops', role: 'owner', workspace: null } as const];
  const settings = { issuer: issuer.url, clientId: 'parley', clientSecret: 'secret', rules };
  const provider = new OpenidProvider({ settings, http, clock, allowPrivate: false });
  const finish: Flow['finish'] = (query = {}, claims = ['groups']) => {
    const sent = new URLSearchParams({ code: 'a code', state: binding.state, ...query });
    return provider.finish(String(sent), { ...binding, nonce: 'a nonce' }, claims);
  };
  return {
    issuer,
    provider,
    async signIn(query = {}, claims = ['groups']) {
      issuer.nonce = new URL(await provider.begin({ ...binding, nonce: 'a nonce' })).searchParams.get('nonce')!;
      return finish(query, claims);
    },
    finish,
  };
}

t.test('a sign-in goes by code, PKCE, state and nonce, and gives the claims', async (t) => {
  const { provider, issuer, signIn } = await open(t);
  const url = new URL(await provider.begin({ ...binding, nonce: 'a nonce' }));
  t.equal(`${url.origin}${url.pathname}`, `${issuer.url}/auth`);
  t.match(Object.fromEntries(url.searchParams), {
    client_id: 'parley',
    response_type: 'code',
    redirect_uri: binding.redirectUri,
    scope: 'openid profile email',
    state: 'a state',
    nonce: 'a nonce',
    code_challenge: /^[\w-]{43}$/,
    code_challenge_method: 'S256',
  });
  t.notMatch(url.href, new RegExp(binding.verifier), 'the verifier stays here');
  const identity = await signIn();
  t.match(identity, { issuer: issuer.url, subject: 'ada', claims: [{ sub: 'ada' }, { groups: ['ops'], name: 'Ada' }] });
  const [{ authorization, body }] = issuer.tokenRequests as [FakeIssuer['tokenRequests'][number]];
  t.equal(authorization, `Basic ${Buffer.from('parley:secret').toString('base64')}`);
  t.match(Object.fromEntries(body), {
    grant_type: 'authorization_code',
    code: 'a code',
    code_verifier: binding.verifier,
    redirect_uri: binding.redirectUri,
  });
});

t.test('userinfo is requested only where the ID token lacks a claim', async (t) => {
  const { issuer, signIn } = await open(t, { claims: { groups: ['ops'] } });
  t.equal((await signIn()).claims.length, 1);
  t.notOk(issuer.requests.includes('userinfo'));
  t.equal((await signIn({}, ['groups', 'team'])).claims.length, 2);
  issuer.conduct = { metadata: { userinfo_endpoint: undefined } };
  const bare = await open(t, issuer.conduct);
  t.equal((await bare.signIn()).claims.length, 1, 'an issuer without userinfo');
});

t.test('scopes are those that the issuer offers, and those that are named as a claim of the rules', async (t) => {
  const { provider } = await open(t, { metadata: { scopes_supported: ['openid', 'groups', 'email', 'phone'] } });
  const url = new URL(await provider.begin({ ...binding, nonce: 'a nonce' }));
  t.equal(url.searchParams.get('scope'), 'openid email groups');
});

const fails = async (
  t: Test,
  promise: Promise<unknown>,
  kind: typeof IssuerAway | typeof IdentityRefused,
  title = 'it fails',
): Promise<void> => {
  const error = await promise.catch((error: unknown) => error);
  t.type(error, kind, title);
  t.notMatch((error as Error).message, /[<"]/, 'nothing of the issuer is in the message');
};

const now = (): number => Math.floor(Date.now() / 1000);

/** Title, conduct of the issuer, parts of the callback's query. */
const refused: readonly (readonly [string, Conduct, Readonly<Record<string, string>>?])[] = [
  ['another state', {}, { state: 'another state' }],
  ['an error in place of a code', {}, { error: 'access_denied', error_description: '<b>no</b>' }],
  [
    'another issuer in the callback',
    { metadata: { authorization_response_iss_parameter_supported: true } },
    { iss: 'https://evil.example' },
  ],
  ['another nonce', { claims: { nonce: 'another nonce' } }],
  ['no nonce', { claims: { nonce: undefined } }],
  ["another issuer's token", { claims: { iss: 'https://evil.example' } }],
  ['another audience', { claims: { aud: 'another client' } }],
  ['several audiences and another party', { claims: { aud: ['parley', 'other'], azp: 'other' } }],
  ['an expired token', { claims: { exp: now() - 3600 } }],
  ['a token of the future', { claims: { iat: now() + 3600, nbf: now() + 3600 } }],
  ['no subject', { claims: { sub: undefined } }],
  ['a subject that is no text', { claims: { sub: 7 } }],
  ['alg none', { header: { alg: 'none', kid: undefined } }],
  [
    'alg none that the issuer offers',
    { header: { alg: 'none' }, metadata: { id_token_signing_alg_values_supported: ['none', 'ES256'] } },
  ],
  [
    'a MAC in place of a signature',
    { header: { alg: 'HS256' }, metadata: { id_token_signing_alg_values_supported: ['HS256', 'ES256'] } },
  ],
  ['another key', { key: makeKey() }],
  ['a key that is not published', { key: makeKey(), header: { kid: 'unknown' } }],
  ['no ID token', { idToken: '' }],
  ['an ID token that is no JWT', { idToken: '<script>' }],
  ['an ID token that is an object', { idToken: { sub: 'ada' } }],
  ['userinfo of somebody else', { userinfo: { sub: 'eve' } }],
  ['a code that was used', { answer: { token: (response) => refuse(response, 400, { error: 'invalid_grant' }) } }],
  [
    'a client that the issuer does not know',
    { answer: { token: (response) => refuse(response, 401, { error: 'invalid_client' }) } },
  ],
  ['an access token that userinfo refuses', { answer: { userinfo: (response) => refuse(response, 401, {}) } }],
];

const refuse = (response: ServerResponse, status: number, body: object): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

t.test('a token without a valid signature is refused', async (t) => {
  for (const [title, conduct, query] of refused) {
    const { signIn } = await open(t, conduct);
    await fails(t, signIn(query), IdentityRefused, title);
  }
});

const text =
  (status: number, body: string, type = 'text/html') =>
  (response: ServerResponse) =>
    void response.writeHead(status, { 'content-type': type }).end(body);
const huge = (response: ServerResponse): void =>
  void response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(`{"issuer":"${'x'.repeat(oidcAnswerBytesMax)}"}`);
const cut = (response: ServerResponse): void =>
  void response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy());

const useless = {
  'a web page': text(200, '<h1>hello</h1>'),
  'a web page that says to be JSON': text(200, '<h1>hello</h1>', 'application/json'),
  'a failure': text(500, 'oops'),
  'a redirect': (response: ServerResponse) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
  'too many requests': text(429, '{}'),
  'no content': (response: ServerResponse) => void response.writeHead(204).end(),
  'an encoded body': (response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end('{}'),
  'more than the bound': huge,
  'a body that is cut': cut,
  'no answer': (response: ServerResponse) => void response.destroy(),
};

t.test('an issuer that answers nothing useful counts as away', async (t) => {
  for (const endpoint of ['discovery', 'token', 'jwks', 'userinfo'] as const)
    for (const [title, answer] of Object.entries(useless)) {
      const { signIn } = await open(t, { answer: { [endpoint]: answer } });
      await fails(t, signIn(), IssuerAway, `${endpoint}: ${title}`);
    }
  const descriptions: Readonly<Record<string, unknown>>[] = [
    { issuer: 'https://evil.example' },
    { issuer: 7 },
    { authorization_endpoint: undefined },
    { authorization_endpoint: 'javascript:alert(1)' },
  ];
  for (const metadata of descriptions) {
    const { signIn } = await open(t, { metadata });
    await fails(t, signIn(), IssuerAway, JSON.stringify(metadata));
  }
  const { signIn } = await open(t, { metadata: { token_endpoint: 'http://169.254.169.254/token' } });
  await fails(t, signIn(), IssuerAway, 'an address without encryption elsewhere');
});

/** Fires the timer of a whole sign-in at once. */
class HastyClock extends WheelClock {
  override after(delayMs: number, callback: () => void): Timer {
    return super.after(delayMs > oidcMs / 2 ? 20 : delayMs, callback);
  }
}

t.test('an issuer that is slow or away ends the wait', async (t) => {
  const drip = (response: ServerResponse): void => {
    const timer = setInterval(() => response.write(' '), 5);
    response.on('close', () => clearInterval(timer)).writeHead(200, { 'content-type': 'application/json' });
  };
  for (const answer of [() => {}, drip]) {
    const slow = await open(t, { answer: { discovery: answer } }, new HastyClock());
    await t.rejects(slow.provider.begin({ ...binding, nonce: 'a nonce' }), /too slow/);
  }
  const { provider, issuer } = await open(t);
  await issuer.stop();
  await fails(t, provider.begin({ ...binding, nonce: 'a nonce' }), IssuerAway);
});

t.test('the description is requested as sign-ins begin, and again after a failure', async (t) => {
  const { issuer, signIn, finish } = await open(t);
  const descriptions = (): number => issuer.requests.filter((each) => each === 'discovery').length;
  await Promise.all([signIn(), signIn(), signIn()]);
  t.equal(descriptions(), 1, 'one request at a time');
  await finish();
  t.equal(descriptions(), 1, 'none on the way back');
  issuer.conduct = { answer: { token: text(502, '') } };
  await fails(t, finish(), IssuerAway);
  issuer.conduct = {};
  await finish();
  t.equal(descriptions(), 2);

  issuer.conduct = { answer: { discovery: text(503, '') } };
  await fails(t, signIn(), IssuerAway);
  issuer.conduct = {};
  await t.resolves(signIn());
});

t.test('keys that the issuer rotates are valid at once, and the old ones are not', async (t) => {
  const { issuer, signIn } = await open(t);
  await signIn();
  const before = issuer.key;
  issuer.key = makeKey();
  issuer.kid = 'second';
  await t.resolves(signIn());
  issuer.conduct = { key: before, header: { kid: 'first' } };
  await fails(t, signIn(), IdentityRefused);
});

t.test('a client that is registered for the other way of sending its secret signs in', async (t) => {
  const methods = { token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'] };
  const { issuer, signIn } = await open(t, { metadata: methods });
  issuer.conduct = {
    metadata: methods,
    answer: {
      token: (response, body) =>
        new URLSearchParams(body).get('client_secret') === 'secret'
          ? text(
              200,
              JSON.stringify({ access_token: 'x', token_type: 'Bearer', id_token: issuer.idToken() }),
              'application/json',
            )(response)
          : refuse(response, 401, { error: 'invalid_client' }),
    },
  };
  await t.resolves(signIn());
  const posting = await open(t, { metadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] } });
  await posting.signIn();
  t.equal(posting.issuer.tokenRequests[0]!.body.get('client_secret'), 'secret');
  t.equal(posting.issuer.tokenRequests[0]!.authorization, undefined);
});

t.test('sign-ins that wait for the issuer are bounded', async (t) => {
  const waiting: ServerResponse[] = [];
  const { issuer, signIn } = await open(t, { answer: { token: (response) => void waiting.push(response) } });
  const all = Promise.allSettled(Array.from({ length: oidcFinishesMax + 1 }, () => signIn()));
  while (waiting.length < oidcFinishesMax) await new Promise((resolve) => setImmediate(resolve));
  await fails(t, signIn(), IssuerAway);
  for (const response of waiting) text(500, '')(response);
  t.equal((await all).length, oidcFinishesMax + 1);
  t.equal(issuer.tokenRequests.length, oidcFinishesMax, 'the rest never reaches the issuer');
});

/** The settings of OpenID Connect: each that is wrong or missing is named. */
import t from 'tap';
import { readConfig, SettingError } from '../../../src/base/config.ts';

const valid = {
  PARLEY_OIDC_ISSUER: 'https://id.example.com/realms/main',
  PARLEY_OIDC_CLIENT_ID: 'parley',
  PARLEY_OIDC_CLIENT_SECRET: 'a secret',
  PARLEY_OIDC_ROLES: 'groups=admins:owner,groups=helpers:attendant@Support',
};

const refusal = (changed: Record<string, string>): string => {
  try {
    readConfig({ ...valid, ...changed });
    return 'none';
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    return error.message;
  }
};

t.test('the settings are read, and none of them is none', async (t) => {
  t.strictSame(readConfig(valid).oidc, {
    issuer: valid.PARLEY_OIDC_ISSUER,
    clientId: 'parley',
    clientSecret: 'a secret',
    rules: [
      { claim: 'groups', value: 'admins', role: 'owner', workspace: null },
      { claim: 'groups', value: 'helpers', role: 'attendant', workspace: 'Support' },
    ],
  });
  t.equal(readConfig({}).oidc, null);
  t.equal(readConfig({ PARLEY_OIDC_ISSUER: '', PARLEY_OIDC_ROLES: '' }).oidc, null, 'empty values count as unset');
});

t.test('a setting that is missing while another is set is named', async (t) => {
  for (const variable of Object.keys(valid))
    t.match(refusal({ [variable]: '' }), new RegExp(`^${variable} must be set`));
});

t.test('a setting that is wrong is named in one line, without a secret', async (t) => {
  const wrong: readonly (readonly [string, string])[] = [
    ['PARLEY_OIDC_ISSUER', 'id.example.com'],
    ['PARLEY_OIDC_ISSUER', 'ftp://id.example.com'],
    ['PARLEY_OIDC_ISSUER', 'https://'],
    ['PARLEY_OIDC_ISSUER', 'https://id.example.com/?a=b'],
    ['PARLEY_OIDC_ISSUER', 'https://id.example.com/#a'],
    ['PARLEY_OIDC_ISSUER', 'https://ada:hunter2@id.example.com'],
    ['PARLEY_OIDC_ISSUER', 'https://id.example.com/.well-known/openid-configuration'],
    ['PARLEY_OIDC_ISSUER', 'http://id.example.com'],
    ['PARLEY_OIDC_ISSUER', 'http://10.0.0.1'],
    ['PARLEY_OIDC_ISSUER', 'http://127.evil.example'],
    ['PARLEY_OIDC_CLIENT_ID', 'pàrley'],
    ['PARLEY_OIDC_CLIENT_SECRET', 'hunter2\nhunter2'],
    ['PARLEY_OIDC_CLIENT_SECRET', 'hunter2 '],
    ['PARLEY_OIDC_ROLES', ','],
    ['PARLEY_OIDC_ROLES', 'admins'],
    ['PARLEY_OIDC_ROLES', 'groups=admins'],
    ['PARLEY_OIDC_ROLES', 'groups=admins:'],
    ['PARLEY_OIDC_ROLES', 'groups=admins:admin'],
    ['PARLEY_OIDC_ROLES', 'groups=admins:Owner'],
    ['PARLEY_OIDC_ROLES', 'groups=admins:owner@'],
    ['PARLEY_OIDC_ROLES', 'groups= :owner'],
    ['PARLEY_OIDC_ROLES', '=admins:owner'],
    ['PARLEY_OIDC_ROLES', 'groups=admins:owner,groups=others:boss'],
    ['PARLEY_OIDC_ROLES', 'groups=boss:boss,groups=others:owner'],
  ];
  for (const [variable, value] of wrong) {
    const message = refusal({ [variable]: value });
    t.match(message, new RegExp(`^${variable} `), `${variable}=${value}`);
    t.notMatch(message, /\n|hunter2/);
  }
});

t.test('an issuer over http is on this machine, or allowed with the private providers', async (t) => {
  for (const host of ['localhost', '127.0.0.1:9000', '[::1]:9000', 'id.localhost'])
    t.equal(refusal({ PARLEY_OIDC_ISSUER: `http://${host}/id` }), 'none', host);
  t.equal(
    refusal({ PARLEY_OIDC_ISSUER: 'http://keycloak:8080/realms/a', PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' }),
    'none',
  );
});

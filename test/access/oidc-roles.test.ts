/** The roles that the rules of `PARLEY_OIDC_ROLES` give to claims. */
import t from 'tap';
import { grantOf } from '../../src/access/oidc-roles.ts';
import type { Claims } from '../../src/base/claims.ts';
import { oidcSettings } from '../../src/base/config/oidc.ts';
import type { Grant } from '../../src/base/roles.ts';

const workspaces = [
  { id: 'wks_a', name: 'Support' },
  { id: 'wks_b', name: 'Sales, EMEA' },
  { id: 'wks_c', name: 'Twice' },
  { id: 'wks_d', name: 'Twice' },
  { id: 'wks_e', name: 'wks_a' },
];

const rulesOf = (rules: string) =>
  oidcSettings(
    (variable) =>
      ({
        PARLEY_OIDC_ISSUER: 'https://id.example.com',
        PARLEY_OIDC_CLIENT_ID: 'parley',
        PARLEY_OIDC_CLIENT_SECRET: 'secret',
        PARLEY_OIDC_ROLES: rules,
      })[variable]!,
    false,
  )!.rules;

const all = (role: Grant['role']): Grant => ({ role, workspaceId: null });
const one = (role: Grant['role'], workspaceId: string): Grant => ({ role, workspaceId });

/** Title, rules, claims of the ID token, claims of userinfo, and the role. */
const table: readonly (readonly [string, string, Claims, Claims | null, Grant | null])[] = [
  ['a text that is equal', 'team=ops:editor', { team: 'ops' }, null, all('editor')],
  ['a text of other case', 'team=ops:editor', { team: 'Ops' }, null, null],
  ['a part of a text', 'team=ops:editor', { team: 'ops2' }, null, null],
  ['no such claim', 'team=ops:editor', { sub: 'ops' }, null, null],
  ['a list', 'groups=ops:editor', { groups: ['a', 'ops'] }, null, all('editor')],
  ['an empty list', 'groups=ops:editor', { groups: [] }, null, null],
  ['a list within a list', 'groups=ops:editor', { groups: [['ops']] }, null, null],
  ['an object', 'groups=ops:editor', { groups: { ops: true } }, null, null],
  ['a boolean', 'staff=true:viewer', { staff: true }, null, all('viewer')],
  ['a number', 'level=3:viewer', { level: 3 }, null, all('viewer')],
  ['null', 'level=null:viewer', { level: null }, null, null],
  ['a path into an object', 'realm_access.roles=ops:owner', { realm_access: { roles: ['ops'] } }, null, all('owner')],
  [
    'a claim whose name has dots',
    'https://x.example/r=ops:owner',
    { 'https://x.example/r': 'ops' },
    null,
    all('owner'),
  ],
  ['an inherited member', 'constructor.name=Object:owner', {}, null, null],
  ['a member of a text', 'team.length=3:owner', { team: 'ops' }, null, null],
  ['a claim of userinfo', 'team=ops:editor', {}, { team: 'ops' }, all('editor')],
  ['a claim of the ID token before that of userinfo', 'team=ops:editor', { team: 'x' }, { team: 'ops' }, null],
  ['null in the ID token, a text in userinfo', 'team=ops:editor', { team: null }, { team: 'ops' }, all('editor')],
  ['the strongest of several', 'g=a:viewer,g=b:owner,g=c:editor', { g: ['a', 'b', 'c'] }, null, all('owner')],
  ['the strongest of one workspace', 'g=a:viewer,g=b:editor@Support', { g: ['a', 'b'] }, null, one('editor', 'wks_a')],
  ['all workspaces before one', 'g=a:viewer@Support,g=b:viewer', { g: ['a', 'b'] }, null, all('viewer')],
  ['the first of two workspaces', 'g=a:viewer@wks_b,g=b:viewer@wks_a', { g: ['a', 'b'] }, null, one('viewer', 'wks_b')],
  ['a workspace by its name', 'g=a:viewer@Support', { g: 'a' }, null, one('viewer', 'wks_a')],
  ['a workspace by its name with a comma', 'g=a:viewer@Sales\\, EMEA', { g: 'a' }, null, one('viewer', 'wks_b')],
  ['an id before a name', 'g=a:viewer@wks_a', { g: 'a' }, null, one('viewer', 'wks_a')],
  ['a workspace that does not exist', 'g=a:owner@Gone,g=a:viewer', { g: 'a' }, null, all('viewer')],
  ['a name of two workspaces', 'g=a:owner@Twice', { g: 'a' }, null, null],
  ['a value with colons', 'g=urn:x:ops:owner', { g: 'urn:x:ops' }, null, all('owner')],
  ['a value with a role within', 'g=a:owner:viewer', { g: 'a:owner' }, null, all('viewer')],
  ['a value with =', 'dn=cn=ops:owner', { dn: 'cn=ops' }, null, all('owner')],
  ['a value with commas', 'dn=cn=ops\\,dc=x:owner', { dn: 'cn=ops,dc=x' }, null, all('owner')],
  ['a value with a backslash', 'g=CORP\\ops:owner', { g: 'CORP\\ops' }, null, all('owner')],
  ['a value with @', 'email=a@x.example:owner@Support', { email: 'a@x.example' }, null, one('owner', 'wks_a')],
  ['spaces around', ' g = a b : owner @ Support , g=c:viewer,', { g: 'a b' }, null, one('owner', 'wks_a')],
];

t.test('the rules give claims their role', async (t) => {
  for (const [title, rules, idToken, userinfo, grant] of table)
    t.strictSame(
      grantOf(rulesOf(rules), userinfo === null ? [idToken] : [idToken, userinfo], workspaces),
      grant,
      title,
    );
});

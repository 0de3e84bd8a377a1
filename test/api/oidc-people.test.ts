/** People who sign in by OpenID Connect: their roles, and what the console changes of them (contract 22). */
import t, { type Test } from 'tap';
import { CookieJar } from './cookie-jar.ts';
import { edge, openHouse, type Answer, type House } from './house.ts';
import { OidcIssuer } from './oidc-issuer.ts';

t.test(edge, async (t) => {
  const issuer = await OidcIssuer.start(t, {});
  const house = await openHouse(t, {
    env: issuer.settings(
      'groups=admins:owner, groups=builders:editor, groups=helpers:attendant@Support, groups=one:editor@gone, groups=staff:viewer',
    ),
  });
  issuer.serve(house);
  const scene = { house, issuer };
  await t.test('the strongest role of all matching rules is that of the person', (t) => strongest(t, scene));
  await t.test('a role of one workspace reaches that workspace alone', (t) => oneWorkspace(t, scene));
  await t.test('a person whose claims change has the new role at the next sign-in', (t) => changed(t, scene));
  await t.test('a person whose claims give no work at the desk any more loses their sessions', (t) =>
    demoted(t, scene),
  );
  await t.test('a role that the console has set stays, while a rule matches', (t) => byHand(t, scene));
  await t.test('a blocked person is signed out at once and answered with 403', (t) => blocked(t, scene));
  await t.test('people are told apart by their subject, and not by their name', (t) => sameName(t, scene));
});

interface Scene {
  readonly house: House;
  readonly issuer: OidcIssuer;
}

/** The browsers of the people, in which the issuer remembers them. */
const browsers = new Map<string, CookieJar>();

/** Signs a person with these groups in: the callback's answer, and requests with the sign-in. */
async function signIn({ house, issuer }: Scene, name: string, ...groups: string[]) {
  issuer.accounts[name] = { name: 'Somebody', groups };
  const jar = browsers.get(name) ?? new CookieJar();
  browsers.set(name, jar);
  const callback = `${house.url}/console/api/oidc/callback`;
  const next = await jar.follow(await jar.get(`${house.url}/console/api/oidc`), `${issuer.url}/interaction`, callback);
  if (!next.href.startsWith(callback)) next.searchParams.set('name', name);
  const back = next.href.startsWith(callback) ? next : await jar.follow(await jar.get(next), callback);
  const { status } = await jar.get(back);
  const cookie = jar.header(house.url);
  const ask = (path: string, options: object = {}): Promise<Answer> =>
    house.ask(`/console/api${path}`, { key: null, headers: { cookie, 'sec-fetch-site': 'same-origin' }, ...options });
  return { status, ask };
}

const personOf = async (house: House, id: string) =>
  (await house.console('/people')).json.data.find((one: { id: string }) => one.id === id);

async function strongest(t: Test, scene: Scene): Promise<void> {
  const viewer = await signIn(scene, 'vic', 'staff');
  t.match((await viewer.ask('/me')).json, { name: 'Somebody', role: 'viewer', workspace_id: null });
  t.equal((await viewer.ask('/workspaces')).status, 200);
  const refused = await viewer.ask('/workspaces', { body: { name: 'Mine' } });
  t.match([refused.status, refused.json.error.code], [403, 'role_not_permitted']);
  const editor = await signIn(scene, 'edi', 'staff', 'builders', 'one');
  t.match((await editor.ask('/me')).json, { role: 'editor', workspace_id: null });
  const owner = await signIn(scene, 'ada', 'staff', 'helpers', 'admins', 'builders');
  t.match((await owner.ask('/me')).json, { role: 'owner', workspace_id: null });
  t.equal((await owner.ask('/workspaces', { body: { name: 'Mine' } })).status, 201);
  t.equal((await signIn(scene, 'nob', 'one')).status, 403, 'a workspace that does not exist gives no role');
  const { id } = (await viewer.ask('/me')).json;
  const { data } = (await scene.house.console(`/audit?by=${id}`)).json;
  t.match(data, [{ action: 'sign_in', object_type: 'sign_in', by: { id, name: 'Somebody', role: 'viewer' } }]);
  t.equal(data.length, 1, '[O2] one row for the sign-in');
}

async function oneWorkspace(t: Test, scene: Scene): Promise<void> {
  const { house } = scene;
  t.equal((await signIn(scene, 'hel', 'helpers')).status, 403, 'before there is such a workspace');
  const { json } = await house.console('/workspaces', { body: { name: 'Support' } });
  const helper = await signIn(scene, 'hel', 'helpers');
  t.match((await helper.ask('/me')).json, { role: 'attendant', workspace_id: json.id });
  t.equal((await helper.ask(`/workspaces/${json.id}/assistants`)).status, 200);
  t.equal((await helper.ask(`/workspaces/${house.workspaceId}/assistants`)).status, 404);
  t.match((await signIn(scene, 'hel', 'helpers', 'staff')).status, 302);
  t.match(
    (await (await signIn(scene, 'hel', 'helpers', 'staff')).ask('/me')).json,
    { role: 'attendant', workspace_id: json.id },
    'an attendant is stronger than a viewer of all',
  );
}

async function changed(t: Test, scene: Scene): Promise<void> {
  const before = (await (await signIn(scene, 'cha', 'builders')).ask('/me')).json;
  const after = (await (await signIn(scene, 'cha', 'staff')).ask('/me')).json;
  t.match([before.role, after.role], ['editor', 'viewer']);
  t.equal(after.id, before.id);
  t.match(await personOf(scene.house, after.id), {
    object: 'person',
    role: 'viewer',
    workspace_id: null,
    source: 'oidc',
    blocked: false,
  });
}

async function demoted(t: Test, scene: Scene): Promise<void> {
  const { house } = scene;
  const { id } = await house.session((await house.assistant({ name: 'support' })).id);
  const owner = await signIn(scene, 'dem', 'admins');
  const path = `/workspaces/${house.workspaceId}/sessions/${id}`;
  t.equal((await owner.ask(`${path}/take`, { method: 'POST' })).status, 200);
  const stateOf = async () => (await house.console(path)).json.attendance.state;
  t.equal((await signIn(scene, 'dem', 'admins')).status, 302);
  t.equal(await stateOf(), 'person', 'another sign-in with the same role keeps the session');
  t.equal((await signIn(scene, 'dem', 'staff')).status, 302);
  t.equal(await stateOf(), 'waiting');
}

async function byHand(t: Test, scene: Scene): Promise<void> {
  const { house } = scene;
  const { id } = (await (await signIn(scene, 'han', 'staff')).ask('/me')).json;
  t.equal((await house.console(`/people/${id}`, { method: 'PATCH', body: { role: 'editor' } })).status, 200);
  t.match((await (await signIn(scene, 'han', 'admins')).ask('/me')).json, { id, role: 'editor' });
  t.equal((await signIn(scene, 'han')).status, 403, 'no rule matches any more');
}

async function blocked(t: Test, scene: Scene): Promise<void> {
  const { house } = scene;
  const signedIn = await signIn(scene, 'bob', 'staff');
  const { id } = (await signedIn.ask('/me')).json;
  t.equal((await house.console(`/people/${id}`, { method: 'PATCH', body: { blocked: true } })).status, 200);
  t.equal((await signedIn.ask('/me')).status, 401);
  t.equal((await signIn(scene, 'bob', 'admins')).status, 403);
  await house.console(`/people/${id}`, { method: 'PATCH', body: { blocked: false } });
  t.match((await (await signIn(scene, 'bob', 'staff')).ask('/me')).json, { id });
}

async function sameName(t: Test, scene: Scene): Promise<void> {
  const [one, other] = [await signIn(scene, 'one', 'staff'), await signIn(scene, 'two', 'staff')];
  const [first, second] = [(await one.ask('/me')).json, (await other.ask('/me')).json];
  t.equal(first.name, second.name);
  t.not(first.id, second.id);
}

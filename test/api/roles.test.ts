/** Roles of the console's people: every route tried with every role, through the server (contract 22). */
import { EventEmitter, once } from 'node:events';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { roles, type Role } from '../../src/base/roles.ts';
import { consoleRoutes } from '../../src/http/routes/console.ts';
import { pageRoutes } from '../../src/http/routes/pages.ts';
import { socketRoutes } from '../../src/http/routes/sockets.ts';
import type { Route } from '../../src/http/request.ts';
import { changedProgram, type Change } from '../secrets/changed-program.ts';
import { edge, openHouse, type Answer, type House } from './house.ts';
import { isRefused, refusals, unrated } from './refusal.ts';
import { refusedUpgrade } from './raw.ts';
import { cookieFor, fromPage, signIn, tokenOf, withCookie } from './signing.ts';

/** The contract's table: who may use a route, by the first pattern that fits. o e a v: the four roles. */
const table: readonly (readonly [RegExp, string])[] = [
  [/^POST \/console\/api\/sign-out$/, 'oeav'],
  [/^GET \/console\/api\/me$/, 'oeav'],
  [/^\w+ \/console\/api\/(people|sign-in-links|sign-ins|audit)/, 'o'],
  [/^GET \/console\/api\/load$/, 'oev'],
  [/^GET \/console\/api\/(machines|inspect)/, 'oeav'],
  [/^GET \/console\/api\/workspaces(\/\{w\})?$/, 'oeav'],
  [/^\w+ \/console\/api\/workspaces(\/\{w\})?$/, 'o'],
  [/^\w+ \S+\{w\}\/keys/, 'o'],
  [/^GET \S+\{w\}\/credentials/, 'oe'],
  [/^\w+ \S+\{w\}\/credentials/, 'o'],
  [/^\w+ \S+\{w\}\/tools/, 'oe'],
  [/^GET \S+\{w\}\/webhooks/, 'oev'],
  [/^\w+ \S+\{w\}\/webhooks/, 'o'],
  [/^GET \S+\{w\}\/usage/, 'oev'],
  [/^GET \S+\{w\}\/(sessions|assistants)/, 'oeav'],
  [/^DELETE \S+\{w\}\/(sessions|visitors)/, 'o'],
  [/^POST \S+\{w\}\/sessions\S+\/(end|abort)$/, 'oea'],
  [/^GET \S+\{w\}\/desk$/, 'oa'],
  [/^POST \S+\{w\}\/sessions\S+\/(take|messages|return|release)$/, 'oa'],
  [/^POST \S+\{w\}\/sessions\S+\/(chat|call-tokens)$/, 'oe'],
  [/^\w+ \S+\{w\}\/assistants/, 'oe'],
];
const letters: Readonly<Record<Role, string>> = { owner: 'o', editor: 'e', attendant: 'a', viewer: 'v' };

/** The routes of people; one that removes what later ones need comes last. */
const operatorRoutes = [...consoleRoutes, ...pageRoutes, ...socketRoutes]
  .filter(({ caller }) => caller === 'operator')
  .sort((one, other) => turnOf(one) - turnOf(other));
function turnOf({ path, method }: Route): number {
  return path.endsWith('/sign-out') ? 2 : method === 'DELETE' && path.endsWith('/workspaces/{w}') ? 1 : 0;
}

const mayUse = (role: Role, name: string): boolean => {
  const row = table.find(([pattern]) => pattern.test(name));
  if (row === undefined) throw new Error(`${name} stands in no row of the table`);
  return row[1].includes(letters[role]);
};

/** Signs in a person of a role: the cookie. */
async function person(
  house: House,
  role: Role,
  workspaceId?: string,
  name = `${role} ${workspaceId}`,
): Promise<string> {
  const body = { name, role, ...(workspaceId !== undefined && { workspace_id: workspaceId }) };
  const { json } = await house.console('/sign-in-links', { body });
  return cookieFor(house, tokenOf(json.url));
}

const newWorkspace = async (house: House): Promise<string> =>
  (await house.console('/workspaces', { body: { name: 'Other' } })).json.id;

t.test(edge, async (t) => {
  const house = await openHouse(t);
  for (const role of roles) {
    await t.test(
      `[O1] a person of role ${role} may do the rows of the table, and nothing else`,
      async (t) => void t.same(await everyRoute(house, role), []),
    );
    await t.test(`[O1] a person of role ${role} in one workspace gets 404 for every other workspace`, (t) =>
      elsewhere(t, house, role),
    );
  }
  await t.test('the operator token is an owner of everything', (t) => operatorToken(t, house));
  await t.test('a link without a role signs an owner in, and one with an unknown role is refused', (t) =>
    links(t, house),
  );
  await t.test('an owner of one workspace gives roles in that workspace alone', (t) => scopedOwner(t, house));
  await t.test('a version shows settings of its tools to those who may read tools alone', (t) =>
    toolSettings(t, house),
  );
  await t.test('the live view shows a person what the role may read', (t) => liveView(t, house));
});

/** Tries every route: those that answer a person of the role otherwise than the table says, with the answer. */
async function everyRoute(house: House, role: Role): Promise<string[]> {
  const workspace = await newWorkspace(house);
  const cookie = await person(house, role);
  const wrong: string[] = [];
  for (const { method, path, open } of operatorRoutes) {
    const name = `${method} ${path}`;
    const filled = path.replace('{w}', workspace).replace(/\{\w+\}/g, 'none');
    const permitted = mayUse(role, name);
    if (open !== undefined) {
      const refusal = await upgradeStatus(house, filled, cookie);
      if (refusal !== (permitted ? 101 : 403)) wrong.push(`${name} is ${refusal}`);
      continue;
    }
    const { status, code } = await plainly(house, cookie, method, filled);
    const isRight = permitted
      ? ![401, 403, 429, 500].includes(status)
      : status === 403 && code === 'role_not_permitted';
    if (!isRight) wrong.push(`${name} is ${status} ${code}`);
  }
  return wrong;
}

/** A request with an empty body; some paths stand in no document, which other helpers compare answers with. */
async function plainly(
  house: House,
  cookie: string,
  method: string,
  path: string,
): Promise<{ readonly status: number; readonly code: string | undefined }> {
  const body = method === 'GET' || method === 'DELETE' ? {} : { body: '{}' };
  const headers = { ...fromPage, cookie, 'content-type': 'application/json' };
  const answer = await fetch(house.url + path, { method, headers, ...body });
  const text = await answer.text();
  return { status: answer.status, code: answer.status < 400 ? undefined : JSON.parse(text).error?.code };
}

/** Status of a request to become a socket. */
async function upgradeStatus(house: House, path: string, cookie: string): Promise<number> {
  const socket = new WebSocket(`${house.url.replace('http', 'ws')}${path}`, {
    headers: { cookie, origin: house.url },
  });
  const status = await new Promise<number>((resolve) => {
    socket.once('open', () => resolve(101));
    socket.once('unexpected-response', (_, response) => resolve(response.statusCode!));
  });
  if (status === 101) {
    socket.close();
    await once(socket, 'close');
  } else socket.once('error', () => {}).terminate();
  return status;
}

/** Tries every route of a workspace with a person of another: those that are not 404, with the answer. */
async function everyForeignRoute(house: House, cookie: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const { method, path, open } of operatorRoutes) {
    if (!path.includes('{w}') || open !== undefined) continue;
    const filled = path.replace('{w}', house.workspaceId).replace(/\{\w+\}/g, 'none');
    const { status, code } = await plainly(house, cookie, method, filled);
    if (status !== 404 || code !== 'route_not_found') wrong.push(`${method} ${path} is ${status} ${code}`);
  }
  return wrong;
}

async function elsewhere(t: Test, house: House, role: Role): Promise<void> {
  const own = await newWorkspace(house);
  const cookie = await person(house, role, own);
  t.same(await everyForeignRoute(house, cookie), []);
  const { json: me } = await withCookie(house, cookie, '/me');
  t.match(me, { role, workspace_id: own });
  const { json: listed } = await withCookie(house, cookie, '/workspaces');
  t.same(
    listed.data.map(({ id }: { id: string }) => id),
    [own],
    'the only workspace in the list',
  );
  t.equal((await withCookie(house, cookie, `/workspaces/${own}`)).status, 200);
  isRefused(
    t,
    await withCookie(house, cookie, '/workspaces', { body: { name: 'Mine' } }),
    unrated(refusals.roleNotPermitted),
    'nobody of one workspace creates another',
  );
  if (role !== 'owner') return;
  const { json: people } = await withCookie(house, cookie, '/people');
  t.ok(people.data.length > 0 && people.data.every((one: any) => one.workspace_id === own), 'sees its people alone');
  const { json: signIns } = await withCookie(house, cookie, '/sign-ins');
  t.equal(signIns.data.length, 1, 'sees the sign-ins of its people alone');
  await cookieFor(house);
  const [foreign] = (await house.console('/sign-ins')).json.data.filter((one: any) => one.id !== signIns.data[0].id);
  isRefused(
    t,
    await withCookie(house, cookie, `/sign-ins/${foreign.id}`, { method: 'DELETE' }),
    unrated(refusals.noRoute),
  );
}

async function operatorToken(t: Test, house: House): Promise<void> {
  const { json } = await house.console('/me');
  t.match(json, { id: 'operator', role: 'owner', workspace_id: null });
  const cookie = await cookieFor(house);
  t.match((await withCookie(house, cookie, '/me')).json, { id: 'operator', role: 'owner', workspace_id: null });
}

async function links(t: Test, house: House): Promise<void> {
  const made = await house.console('/sign-in-links', { body: { name: 'Ada' } });
  t.match(made.json, { name: 'Ada', role: 'owner', workspace_id: null });
  const cookie = await cookieFor(house, tokenOf(made.json.url));
  t.match((await withCookie(house, cookie, '/me')).json, { name: 'Ada', role: 'owner', workspace_id: null });
  for (const body of [{ role: 'admin' }, { role: ['owner'] }, { workspace_id: 7 }])
    t.equal((await house.console('/sign-in-links', { body: { name: 'Ada', ...body } })).status, 422);
  const nowhere = await house.console('/sign-in-links', {
    body: { name: 'Ada', role: 'viewer', workspace_id: 'wks_none' },
  });
  isRefused(t, nowhere, unrated(refusals.noRoute));
}

async function scopedOwner(t: Test, house: House): Promise<void> {
  const own = await newWorkspace(house);
  const cookie = await person(house, 'owner', own, 'Olga');
  const link = (body: object) => withCookie(house, cookie, '/sign-in-links', { body: { name: 'Vera', ...body } });
  t.match((await link({ role: 'viewer' })).json, { role: 'viewer', workspace_id: own }, 'its own by default');
  t.match((await link({})).json, { role: 'owner', workspace_id: own }, 'also an owner');
  isRefused(t, await link({ workspace_id: null }), unrated(refusals.roleNotPermitted));
  isRefused(t, await link({ workspace_id: house.workspaceId }), unrated(refusals.noRoute));

  const patch = (id: string, body: object) => withCookie(house, cookie, `/people/${id}`, { method: 'PATCH', body });
  const { json: me } = await withCookie(house, cookie, '/me');
  isRefused(
    t,
    await patch(me.id, { workspace_id: null }),
    unrated(refusals.roleNotPermitted),
    'no wider role for itself',
  );
  const { id: foreign } = (await house.console('/people')).json.data.find((one: any) => one.workspace_id === null);
  isRefused(t, await patch(foreign, { blocked: true }), unrated(refusals.noRoute), 'nor anybody of all workspaces');
  isRefused(t, await patch('operator', { blocked: true }), unrated(refusals.noRoute));

  const url = (await link({ role: 'owner' })).json.url;
  t.equal((await house.console(`/people/${me.id}`, { method: 'PATCH', body: { role: 'viewer' } })).status, 200);
  isRefused(t, await signIn(house, tokenOf(url)), refusals.invalidToken, 'a link is void once its maker is no owner');
}

async function toolSettings(t: Test, house: House): Promise<void> {
  const tools = `/workspaces/${house.workspaceId}/tools`;
  const functions = [{ name: 'look_up', description: 'Looks up.', parameters: { type: 'object' } }];
  const made = await house.console(tools, {
    body: { kind: 'http', name: 'Orders', url: 'https://orders.test/first', functions },
  });
  const { id } = await house.assistant({ tool_ids: [made.json.id] });
  const change = { method: 'PATCH', body: { url: 'https://orders.test/second' } };
  t.equal((await house.console(`${tools}/${made.json.id}`, change)).status, 200);
  await house.revise(id, { greeting: 'Hello again.' });
  const paths = ['versions/2', 'versions/2/changes', 'versions/2/changes?from=draft'];
  for (const role of roles) {
    const cookie = await person(house, role);
    const answers = await Promise.all(
      paths.map((path) => withCookie(house, cookie, `/workspaces/${house.workspaceId}/assistants/${id}/${path}`)),
    );
    for (const { status } of answers) t.equal(status, 200, role);
    const [version, changes] = answers.map(({ json }) => json);
    t.match(version.config, { greeting: 'Hello again.', tool_ids: [made.json.id] });
    t.match(changes.data, [{ path: 'greeting' }]);
    const texts = answers.map(({ text }) => text).join('');
    const readsTools = ['owner', 'editor'].includes(role);
    for (const setting of ['orders.test', 'look_up'])
      t.equal(texts.includes(setting), readsTools, `${role}: ${setting}`);
    t.equal('tools' in version.config, readsTools, role);
  }
}

async function liveView(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant();
  const [key] = (await house.console(`/workspaces/${house.workspaceId}/keys`)).json.data;
  const watchers = [
    await watcher(house, await person(house, 'owner'), 'assistant key session'),
    await watcher(house, await person(house, 'viewer'), 'assistant session'),
    await watcher(house, await person(house, 'attendant', house.workspaceId), 'session'),
    await watcher(house, await person(house, 'owner', await newWorkspace(house)), ''),
  ];
  const change = (path: string, body: object): Promise<Answer> =>
    house.console(`/workspaces/${house.workspaceId}/${path}`, { method: 'PATCH', body });
  t.equal((await change(`assistants/${assistant.id}`, { name: 'Seen' })).status, 200);
  t.equal((await change(`keys/${key.id}`, { name: 'Seen' })).status, 200);
  const { id } = await house.session(assistant.id);
  t.equal((await house.ask(`/sessions/${id}/end`, { method: 'POST' })).status, 200);
  for (const { expected, kinds } of watchers) t.same(await kinds(), expected);
  const cookie = await person(house, 'viewer', house.workspaceId);
  for (const workspace of [await newWorkspace(house), 'wks_none'])
    isRefused(
      t,
      await refusedUpgrade(house.url, `/console/api/inspect?workspace=${workspace}`, {
        headers: { cookie, origin: house.url },
      }),
      unrated(refusals.noRoute),
      'another workspace',
    );
}

/** Watches the live view: the kinds of actors whose events it showed up to now. */
async function watcher(
  house: House,
  cookie: string,
  expected: string,
): Promise<{ readonly expected: string[]; kinds(): Promise<string[]> }> {
  const socket = new WebSocket(`${house.url.replace('http', 'ws')}/console/api/inspect`, {
    headers: { cookie, origin: house.url },
  });
  const kinds = new Set<string>();
  const told = new EventEmitter();
  socket.on('message', (data) => {
    const message = JSON.parse(String(data));
    if (message.type === 'actors') told.emit('actors');
    else if (message.actor !== undefined) kinds.add(message.actor.kind);
  });
  await once(told, 'actors');
  return {
    expected: expected.split(' ').filter((kind) => kind !== ''),
    async kinds() {
      const synced = once(told, 'actors');
      socket.send('{"type":"sync"}');
      await synced;
      socket.close();
      await once(socket, 'close');
      return [...kinds].filter((kind) => ['assistant', 'key', 'session'].includes(kind)).sort();
    },
  };
}

t.test('every route of people stands in the table once', async (t) => {
  for (const { method, path, permission } of operatorRoutes) {
    t.ok(permission, `${method} ${path} names its operation`);
    t.doesNotThrow(() => mayUse('owner', `${method} ${path}`));
  }
});

/** Changes of the program, and a role and a route whose answer they change: one server has them all. */
const faults: Readonly<Record<string, readonly [change: Change, role: Role, route: string]>> = {
  'lets an editor change keys': [
    [/"keys\.write": owner\d*,/, '"keys.write": builders,'],
    'editor',
    'POST /console/api/workspaces/{w}/keys',
  ],
  'lets a viewer end sessions': [
    [/"sessions\.end": \[/, '"sessions.end": ["viewer", '],
    'viewer',
    'POST /console/api/workspaces/{w}/sessions/{id}/end',
  ],
  'keeps usage from a viewer': [
    [/"usage\.read": readers,/, '"usage.read": builders,'],
    'viewer',
    'GET /console/api/workspaces/{w}/usage',
  ],
  'lets an attendant read the load': [
    [/"load\.read": readers,/, '"load.read": everyone,'],
    'attendant',
    'GET /console/api/load',
  ],
};

t.test('[O1] each role is found to do more or less than it may, at a server with faults on purpose', async (t) => {
  const changes = Object.values(faults).map(([change]) => change);
  const house = await openHouse(t, { command: await changedProgram(t, ...changes) });
  for (const role of ['editor', 'viewer', 'attendant'] as const) {
    const wrong = await everyRoute(house, role);
    for (const [name, [, of, route]] of Object.entries(faults))
      if (of === role)
        t.ok(
          wrong.some((text) => text.startsWith(`${route} is `)),
          `${name}: ${wrong.join(', ')}`,
        );
  }
});

t.test('[O1] a server that looks neither at the role nor at the workspace on purpose is found', async (t) => {
  const command = await changedProgram(
    t,
    [/(mayDo\d* = \(\{ role, workspaceId \}, permission\) => )/, '$1true || '],
    [/reaches\d* = \(grant, workspaceId\) => /, '$&true || '],
  );
  const house = await openHouse(t, { command });
  t.not((await everyRoute(house, 'viewer')).length, 0, 'roles');
  const cookie = await person(house, 'owner', await newWorkspace(house));
  t.not((await everyForeignRoute(house, cookie)).length, 0, 'workspaces');
});

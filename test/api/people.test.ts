/** People who sign in to the console: listed, changed, blocked (contract 22). */
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { edge, openHouse, type House } from './house.ts';
import { end, sessionOf } from './talk.ts';
import { isRefused, refusals, unrated } from './refusal.ts';
import { cookieFor, linkFor, openInspect, tokenOf, withCookie } from './signing.ts';

t.test(edge, async (t) => {
  const house = await openHouse(t);
  await t.test('people are listed with role, workspace, source and last use', (t) => listed(t, house));
  await t.test('a change of role holds for the next request, and ends open sockets', (t) => changed(t, house));
  await t.test('blocking a person ends the sign-ins and open sockets at once', (t) => blocked(t, house));
  await t.test('a person who may not work the desk any more loses their sessions at once', (t) =>
    heldSessions(t, house),
  );
  await t.test('an owner may demote themselves, and the operator token repairs it', (t) => lastOwner(t, house));
  await t.test('wrong changes are refused', (t) => wrong(t, house));
});

const patch = (house: House, id: string, body: object) => house.console(`/people/${id}`, { method: 'PATCH', body });

/** Signs a person in by a link: the cookie and the id. */
async function signedIn(house: House, name: string, fields: object = {}): Promise<{ cookie: string; id: string }> {
  const { json } = await house.console('/sign-in-links', { body: { name, ...fields } });
  const cookie = await cookieFor(house, tokenOf(json.url));
  return { cookie, id: (await withCookie(house, cookie, '/me')).json.id };
}

const fromOurPage = (house: House, cookie: string) => ({ cookie, origin: house.url });

async function listed(t: Test, house: House): Promise<void> {
  const vera = await signedIn(house, 'Vera', { role: 'viewer', workspace_id: house.workspaceId });
  await cookieFor(house);
  const { json } = await house.console('/people');
  t.match(json, { object: 'list', has_more: false, next_cursor: null });
  t.strictSame(
    json.data.find(({ id }: { id: string }) => id === vera.id),
    {
      object: 'person',
      id: vera.id,
      name: 'Vera',
      role: 'viewer',
      workspace_id: house.workspaceId,
      source: 'link',
      blocked: false,
      last_seen_at: json.data.find(({ id }: { id: string }) => id === vera.id).last_seen_at,
    },
  );
  t.match(
    json.data.find(({ source }: { source: string }) => source === 'token'),
    { id: 'operator', role: 'owner', workspace_id: null, blocked: false, last_seen_at: Number },
  );
  const ids: string[] = [];
  for (let after = ''; after !== null;) {
    const page = (await house.console(`/people?limit=1${after && `&after=${after}`}`)).json;
    ids.push(...page.data.map(({ id }: { id: string }) => id));
    after = page.next_cursor;
  }
  t.strictSame(
    ids,
    json.data.map(({ id }: { id: string }) => id),
    'pages have everybody once',
  );
}

async function changed(t: Test, house: House): Promise<void> {
  const { cookie, id } = await signedIn(house, 'Edda', { role: 'editor' });
  const socket = await openInspect(house, fromOurPage(house, cookie));
  const closed = once(socket, 'close');
  t.equal((await withCookie(house, cookie, `/workspaces/${house.workspaceId}/tools`)).status, 200);
  t.match((await patch(house, id, { role: 'viewer' })).json, { id, role: 'viewer', workspace_id: null });
  isRefused(
    t,
    await withCookie(house, cookie, `/workspaces/${house.workspaceId}/tools`),
    unrated(refusals.roleNotPermitted),
  );
  t.equal((await closed)[0], 1008);
  t.match((await patch(house, id, { workspace_id: house.workspaceId })).json, { role: 'viewer' });
  t.match((await withCookie(house, cookie, '/me')).json, { role: 'viewer', workspace_id: house.workspaceId });
}

async function blocked(t: Test, house: House): Promise<void> {
  const { cookie, id } = await signedIn(house, 'Bob', { role: 'editor' });
  const assistant = await house.assistant({ name: 'Slow' });
  const socket = await openInspect(house, fromOurPage(house, cookie));
  const closed = once(socket, 'close');
  t.equal(assistant.object, 'assistant');
  t.match((await patch(house, id, { blocked: true })).json, { id, blocked: true });
  isRefused(t, await withCookie(house, cookie, '/me'), refusals.missingKey);
  t.equal((await closed)[0], 1008);
  t.match((await patch(house, id, { blocked: false })).json, { id, blocked: false });
  isRefused(t, await withCookie(house, cookie, '/me'), refusals.missingKey, 'the sign-in stays ended');
}

async function heldSessions(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant({ name: 'support' });
  const other = (await house.console('/workspaces', { body: { name: 'other' } })).json.id;
  const attendanceOf = async (id: string) => (await sessionOf(house, id)).attendance;
  const keeper = await signedIn(house, 'Kim', { role: 'attendant' });
  const taken = async (cookie: string): Promise<string> => {
    const { id } = await house.session(assistant.id);
    const path = `/workspaces/${house.workspaceId}/sessions/${id}/take`;
    t.equal((await withCookie(house, cookie, path, { method: 'POST' })).status, 200);
    return id;
  };
  const kept = await taken(keeper.cookie);
  for (const [change, state] of [
    [{ blocked: true }, 'waiting'],
    [{ role: 'viewer' }, 'waiting'],
    [{ workspace_id: other }, 'waiting'],
    [{ role: 'owner' }, 'person'],
    [{ workspace_id: house.workspaceId }, 'person'],
  ] as const) {
    const { cookie, id } = await signedIn(house, 'Ann', { role: 'attendant' });
    const sessions = [await taken(cookie), await taken(cookie)];
    const ended = await taken(cookie);
    await end(house, ended);
    t.equal((await patch(house, id, change)).status, 200);
    for (const session of sessions) t.equal((await attendanceOf(session)).state, state, JSON.stringify(change));
    const rows = (await house.console(`/audit?object_id=${sessions[0]}`)).json.data;
    t.match(rows[0], { action: state === 'waiting' ? 'release' : 'take' });
    if (state === 'waiting') t.match(rows[0].by, { id: 'operator' }, 'the row is of the person who made the change');
    for (const session of sessions) await end(house, session);
  }
  t.match(await attendanceOf(kept), { state: 'person', person: { name: 'Kim' } }, 'others keep theirs');
  await end(house, kept);
}

async function lastOwner(t: Test, house: House): Promise<void> {
  const { cookie, id } = await signedIn(house, 'Olga');
  const self = (body: object) => withCookie(house, cookie, `/people/${id}`, { method: 'PATCH', body });
  t.match((await self({ role: 'viewer' })).json, { role: 'viewer' });
  isRefused(
    t,
    await self({ role: 'owner' }),
    unrated(refusals.roleNotPermitted),
    'nobody gives themselves a role back',
  );
  t.match((await patch(house, id, { role: 'owner' })).json, { role: 'owner' });
  t.match((await self({ blocked: true })).json, { blocked: true });
  isRefused(t, await withCookie(house, cookie, '/me'), refusals.missingKey);
  t.match((await patch(house, id, { blocked: false })).json, { blocked: false });
}

async function wrong(t: Test, house: House): Promise<void> {
  const { id } = await signedIn(house, 'Wes');
  for (const body of [{ role: 'admin' }, { blocked: 'yes' }, { workspace_id: 7 }])
    t.equal((await patch(house, id, body)).status, 422, JSON.stringify(body));
  isRefused(t, await patch(house, 'prs_none', { role: 'viewer' }), unrated(refusals.noRoute));
  isRefused(t, await patch(house, id, { workspace_id: 'wks_none' }), unrated(refusals.noRoute));
  isRefused(t, await patch(house, 'operator', { blocked: true }), unrated(refusals.roleNotPermitted));
  t.equal((await patch(house, id, {})).status, 200, 'nothing to change');
  t.ok(await linkFor(house, 'Next'));
}

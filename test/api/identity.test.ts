/** Visitors whom a site has signed in (contract 23). */
import t, { type Test } from 'tap';
import { jwt } from '../access/jwt.ts';
import { linked, site, Visit } from '../pages/link/visits.ts';
import { countingTool } from './counting-tool.ts';
import { openHouse, type House } from './house.ts';
import { refused, transcriptOf } from './talk.ts';

t.test('a site signs who its visitors are', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  await t.test('a signed visitor is the same on every device, in sessions and messages', (t) => signed(t, house));
  await t.test('signed fields win over typed ones, and count as given', (t) => fields(t, house));
  await t.test('a wrong token is 401, a wrong type 422', (t) => wrong(t, house));
  await t.test('a rotated secret signs on; a removed one signs nothing', (t) => rotated(t, house));
  await t.test('where identity is required, nobody begins without one', (t) => required(t, house));
  await t.test('a tool learns who the visitor is', (t) => tool(t, house));
  await t.test('the secret is shown once, and kept by changes of the link', (t) => secrets(t, house));
});

const soon = (): number => Math.floor(Date.now() / 1000) + 600;

const identityPath = (house: House, { id }: { id: string }): string =>
  `/workspaces/${house.workspaceId}/assistants/${id}/link/identity`;

async function makeSecret(house: House, assistant: { id: string }): Promise<string> {
  const { status, json, headers } = await house.console(identityPath(house, assistant), { method: 'POST' });
  if (status !== 201 || headers.get('cache-control') !== 'no-store') throw new Error(`${status}`);
  return json.secret;
}

const visitors = (house: House, slug: string, body: object, key: string | null = null) =>
  house.ask(`/p/${slug}/visitors`, { key, body: { channel: 'link', ...body } });

const arrive = (house: House, slug: string, identity: string): Promise<Visit> =>
  Visit.to(house, slug, { body: { channel: 'link', identity } });

async function signed(t: Test, house: House): Promise<void> {
  const assistant = await linked(house, 'signed');
  const second = await linked(house, 'signed-too');
  const secret = await makeSecret(house, assistant);
  const phone = await arrive(house, 'signed', jwt(secret, { sub: 'ada', exp: soon() }));
  const desk = await arrive(house, 'signed', jwt(secret, { sub: 'ada', exp: soon() + 5 }));
  const widget = { channel: 'widget', host: site, identity: jwt(secret, { sub: 'ada', exp: soon() }) };
  t.equal((await visitors(house, 'signed', widget)).json.id, phone.id);
  const elsewhere = jwt(await makeSecret(house, second), { sub: 'ada', exp: soon() });
  t.equal((await arrive(house, 'signed-too', elsewhere)).id, phone.id, 'the same in the whole workspace');
  t.equal(phone.id, desk.id);

  const session = await phone.session();
  const proven = { visitor_verified: true, visitor_id: phone.id };
  t.match(session, proven);
  await phone.say(session);
  t.match((await desk.ask(`/sessions/${session.id}`)).json, proven, 'another device of theirs');
  const messages = await transcriptOf(house, session.id);
  t.match(messages[0], { role: 'user', ...proven });
  t.match(messages[1], { role: 'assistant', visitor_verified: false, visitor_id: null });

  const stranger = await Visit.to(house, 'signed');
  const theirs = await stranger.session();
  const unproven = { visitor_verified: false, visitor_id: null };
  t.match(theirs, unproven);
  await stranger.say(theirs);
  t.match(await transcriptOf(house, theirs.id), [unproven, unproven]);
  t.match((await stranger.ask(`/sessions/${session.id}`)).status, 404);
  const own = await house.session(assistant.id);
  t.match(own, unproven, 'a session of an API key');
}

async function fields(t: Test, house: House): Promise<void> {
  const assistant = await linked(house, 'fielded', {
    visitor_fields: [
      { name: 'name', label: 'Name', required: true },
      { name: 'order', label: 'Order' },
    ],
  });
  const secret = await makeSecret(house, assistant);
  const visit = await arrive(house, 'fielded', jwt(secret, { sub: 'ada', exp: soon(), visitor: { name: 'Ada' } }));
  t.match((await visit.session()).visitor, { name: 'Ada' });
  const typed = await visit.session({ visitor: { name: 'Eve', order: '7' } });
  t.strictSame(typed.visitor, { name: 'Ada', order: '7' });
  const bare = await arrive(house, 'fielded', jwt(secret, { sub: 'bob', exp: soon() }));
  t.match((await bare.ask('/sessions', { body: {} })).status, 422);
}

async function wrong(t: Test, house: House): Promise<void> {
  const assistant = await linked(house, 'wronged');
  const none = await visitors(house, 'wronged', { identity: jwt('idn_x', { sub: 'ada', exp: soon() }) });
  refused(t, none, 401, 'invalid_token');
  const secret = await makeSecret(house, assistant);
  const token = jwt(secret, { sub: 'ada', exp: soon() });
  const tokens = ['', 'x', `${token}x`, jwt(`${secret}x`, { sub: 'ada', exp: soon() })];
  for (const identity of tokens) refused(t, await visitors(house, 'wronged', { identity }), 401, 'invalid_token');
  const unsigned = jwt(secret, { sub: 'ada', exp: soon() }, { alg: 'none' });
  refused(t, await visitors(house, 'wronged', { identity: unsigned }), 401, 'invalid_token');
  for (const identity of [7, {}, [token], true]) {
    const answer = await visitors(house, 'wronged', { identity });
    refused(t, answer, 422, 'invalid_request');
    t.match(answer.json.error.message, '`identity`');
  }
  t.equal((await visitors(house, 'wronged', { identity: 'x'.repeat(4097) })).status, 422);
  t.equal((await visitors(house, 'wronged', { identity: null })).status, 201, 'null is absent');
}

async function rotated(t: Test, house: House): Promise<void> {
  const assistant = await linked(house, 'rotated');
  const first = await makeSecret(house, assistant);
  const second = await makeSecret(house, assistant);
  t.not(first, second);
  const sign = (secret: string): string => jwt(secret, { sub: 'ada', exp: soon() });
  const visit = await arrive(house, 'rotated', sign(first));
  t.equal((await arrive(house, 'rotated', sign(second))).id, visit.id);
  const session = await visit.session();
  t.equal(session.visitor_verified, true);
  refused(t, await visitors(house, 'rotated', {}, visit.token), 401, 'invalid_token');
  const renewed = await visitors(house, 'rotated', { identity: sign(second) }, visit.token);
  t.match(renewed.json, { id: visit.id });

  for (const _ of ['removes', 'finds none'])
    t.equal((await house.console(identityPath(house, assistant), { method: 'DELETE' })).status, 204);
  refused(t, await visitors(house, 'rotated', { identity: sign(second) }), 401, 'invalid_token');
  t.equal((await visit.say(session)).status, 200, 'the visitor keeps the session');
  t.match((await visit.ask(`/sessions/${session.id}`)).json, { visitor_verified: false, visitor_id: null });
  t.match((await transcriptOf(house, session.id))[0], { role: 'user', visitor_verified: false, visitor_id: null });
  t.match((await visitors(house, 'rotated', {}, visit.token)).json, { id: visit.id });

  await makeSecret(house, assistant);
  t.match(await visit.session(), { visitor_verified: false }, 'a token of a removed identity proves nothing later');
}

async function required(t: Test, house: House): Promise<void> {
  const assistant = await linked(house, 'required');
  const before = await Visit.to(house, 'required');
  const path = `/workspaces/${house.workspaceId}/assistants/${assistant.id}`;
  const body = { link: { identity_required: true } };
  t.match((await house.console(path, { method: 'PATCH', body })).json.link, {
    identity_required: true,
    identity: null,
  });
  refused(t, await visitors(house, 'required', {}), 401, 'invalid_token');
  refused(t, await visitors(house, 'required', {}, before.token), 401, 'invalid_token');
  refused(t, await before.ask('/sessions', { body: {} }), 401, 'invalid_token');
  const secret = await makeSecret(house, assistant);
  const visit = await arrive(house, 'required', jwt(secret, { sub: 'ada', exp: soon() }));
  t.match(await visit.session(), { visitor_verified: true });
}

async function tool(t: Test, house: House): Promise<void> {
  const parameters = { type: 'object', properties: {} };
  const tool = await countingTool(t, house, { functions: [{ name: 'who', description: 'Tells who.', parameters }] });
  const assistant = await linked(house, 'tooled', {
    model: { provider: 'scripted', name: 'scripted' },
    tool_ids: [tool.id],
  });
  const secret = await makeSecret(house, assistant);
  const visit = await arrive(house, 'tooled', jwt(secret, { sub: 'ada', exp: soon(), visitor: { name: 'Ada' } }));
  const stranger = await Visit.to(house, 'tooled');
  const typed = { name: 'Eve', order: '7' };
  const sessions = [await visit.session({ visitor: typed }), await stranger.session({ visitor: typed })];
  for (const text of ['/call who {}', '/call who {}']) await visit.say(sessions[0], text);
  await stranger.say(sessions[1], '/call who {}');
  const told = tool.reached.map(({ body: { data } }) => [data.visitor, data.visitor_verified, data.claimed]);
  const signed = [{ name: 'Ada' }, true, { visitor: { order: '7' }, metadata: {} }];
  t.strictSame(told, [signed, signed, [{}, false, { visitor: typed, metadata: {} }]]);
  t.strictSame(
    tool.reached.map(({ body }) => body.data.visitor_id),
    [visit.id, visit.id, null],
  );
  const path = `/workspaces/${house.workspaceId}/assistants/${assistant.id}/link/identity`;
  await house.console(path, { method: 'DELETE' });
  await visit.say(sessions[0], '/call who {}');
  t.match(tool.reached.at(-1)!.body.data, { visitor_verified: false, claimed: { visitor: { name: 'Ada' } } });
  t.strictSame(tool.reached.at(-1)!.body.data.visitor, {}, 'what the site no longer vouches for is claimed');
}

async function secrets(t: Test, house: House): Promise<void> {
  const assistant = await linked(house, 'secrets');
  const secret = await makeSecret(house, assistant);
  t.match(secret, /^idn_[0-9a-z]{32}$/);
  const path = `/workspaces/${house.workspaceId}/assistants/${assistant.id}`;
  const patched = await house.console(path, { method: 'PATCH', body: { link: { origins: [] } } });
  t.match(patched.json.link.identity, { created_at: Number });
  const texts = [patched.text, (await house.console(path)).text, (await house.console('/audit')).text];
  for (const text of texts) t.notMatch(text, secret);
  t.equal((await visitors(house, 'secrets', { identity: jwt(secret, { sub: 'ada', exp: soon() }) })).status, 201);
  const rows = (await house.console('/audit')).json.data.filter((row: any) => row.object_id === assistant.id);
  t.same(
    rows.map(({ action }: any) => action),
    ['update', 'create_identity', 'publish', 'create'],
  );
  t.equal((await house.console(identityPath(house, { id: 'asst_unknown' }), { method: 'POST' })).status, 404);
}

/** The audit: each change of a person in the console is one row (contract 22). */
import t, { type Test } from 'tap';
import { edge, openHouse, type House } from './house.ts';
import { isRefused, refusals, unrated } from './refusal.ts';
import { cookieFor, tokenOf, withCookie } from './signing.ts';

t.test(edge, async (t) => {
  const house = await openHouse(t);
  await t.test('[O2] each change of a record is one row, without a secret and with the prompt', (t) =>
    records(t, house),
  );
  await t.test('[O2] signing in and out, links and people are rows', (t) => people(t, house));
  await t.test('[O2] trials, ends, aborts and erasures are rows without a word of the conversation', (t) =>
    conversations(t, house),
  );
  await t.test('[O2] a refused change is no row, and neither is reading', (t) => noRows(t, house));
  await t.test('an owner of one workspace reads the rows of that workspace alone', (t) => scoped(t, house));
  await t.test('rows are filtered and paged', (t) => filtered(t, house));
  await t.test('rows outlive their workspace', (t) => outlives(t, house));
});

const rows = async (house: House, query = ''): Promise<any[]> =>
  (await house.console(`/audit?limit=100${query}`)).json.data;
const path = (house: House, rest: string): string => `/workspaces/${house.workspaceId}/${rest}`;
const kindsOf = (entries: any[]): string[] => entries.map((one) => `${one.action} ${one.object_type}`);

async function records(t: Test, house: House): Promise<void> {
  const call = async (method: string, rest: string, body?: object): Promise<any> => {
    const answer = await house.console(path(house, rest), { method, ...(body && { body }) });
    if (answer.status >= 300) throw new Error(`${method} ${rest}: ${answer.text}`);
    return answer.json;
  };
  const prompt = 'Answer like a pirate.';
  const model = { provider: 'scripted', name: 'scripted', system_prompt: prompt };
  const of = (id: string) => rows(house, `&object_id=${id}`);

  const assistant = await call('POST', 'assistants', { name: 'Audited', model });
  await call('PATCH', `assistants/${assistant.id}`, { model: { system_prompt: 'Answer politely.' } });
  await call('PATCH', `assistants/${assistant.id}`, {});
  await call('POST', `assistants/${assistant.id}/publish`);
  await call('DELETE', `assistants/${assistant.id}`);
  const ofAssistant = await of(assistant.id);
  t.same(
    kindsOf(ofAssistant),
    ['delete', 'publish', 'update', 'create'].map((action) => `${action} assistant`),
  );
  const [removed, , updated, created] = ofAssistant;
  t.match(updated, {
    object: 'audit_entry',
    id: /^aud_/,
    at: Number,
    by: { id: 'operator', name: 'operator', role: 'owner', address: '127.0.0.1' },
    workspace_id: house.workspaceId,
    changes: [{ path: 'model.system_prompt', before: prompt, after: 'Answer politely.' }],
  });
  t.equal(updated.changes.length, 1, 'the changed field alone');
  t.ok(created.changes.length > 3 && created.changes.every((one: any) => one.before === null));
  t.ok(removed.changes.length > 3 && removed.changes.every((one: any) => one.after === null));

  const secret = 'sk-a-secret-of-the-provider';
  const body = { kind: 'model', provider: 'openai', base_url: 'https://provider.example/v1', api_key: secret };
  const credential = await call('POST', 'credentials', body);
  await call('PATCH', `credentials/${credential.id}`, { api_key: `${secret}-2` });
  await call('DELETE', `credentials/${credential.id}`);
  const ofCredential = await of(credential.id);
  t.same(
    kindsOf(ofCredential),
    ['delete', 'update', 'create'].map((action) => `${action} credential`),
  );
  t.match(ofCredential[1].changes, [{ path: 'secret' }], 'the row says that the secret was replaced');

  const key = await call('POST', 'keys', { name: 'Audited' });
  await call('PATCH', `keys/${key.id}`, { name: 'Renamed' });
  await call('POST', `keys/${key.id}/revoke`);
  const ofKey = await of(key.id);
  t.same(
    kindsOf(ofKey),
    ['revoke', 'update', 'create'].map((action) => `${action} key`),
  );

  const tool = await call('POST', 'tools', { kind: 'http', name: 'Audited', url: 'https://tools.example/' });
  const rotated = await call('POST', `tools/${tool.id}/rotate-secret`);
  await call('DELETE', `tools/${tool.id}`);
  t.same(
    kindsOf(await of(tool.id)),
    ['delete', 'rotate_secret', 'create'].map((action) => `${action} tool`),
  );

  await house.console(`/workspaces/${house.workspaceId}`, { method: 'PATCH', body: { retention_days: 29 } });
  const [workspace] = await of(house.workspaceId);
  t.match(workspace, { action: 'update', changes: [{ path: 'retention_days', after: 29 }] });

  const all = (await house.console('/audit?limit=100')).text;
  for (const each of [secret, key.key, tool.signing_secret, rotated.signing_secret, house.operatorToken])
    t.notOk(all.includes(each), 'no secret in the audit');
}

async function people(t: Test, house: House): Promise<void> {
  const { json } = await house.console('/sign-in-links', { body: { name: 'Ada', role: 'editor' } });
  const cookie = await cookieFor(house, tokenOf(json.url));
  const { id } = (await withCookie(house, cookie, '/me')).json;
  await house.console(`/people/${id}`, { method: 'PATCH', body: { role: 'viewer' } });
  await withCookie(house, cookie, '/sign-out', { body: {} });
  const of = await rows(house, `&by=${id}`);
  t.same(kindsOf(of), ['sign_out sign_in', 'sign_in sign_in']);
  t.match(of[0].by, { id, name: 'Ada', role: 'viewer', address: '127.0.0.1' });
  t.match(of[1].by, { id, role: 'editor' });
  t.same(kindsOf(await rows(house, '&by=Ada')), kindsOf(of), 'by name too');
  const [changed] = await rows(house, `&object_id=${id}`);
  t.match(changed, {
    action: 'update',
    object_type: 'person',
    changes: [{ path: 'role', before: 'editor', after: 'viewer' }],
  });
  t.match(
    (await rows(house)).find((one) => one.object_type === 'sign_in_link'),
    { action: 'create', by: { id: 'operator' } },
  );
  t.notOk((await house.console('/audit?limit=100')).text.includes(tokenOf(json.url)), "not the link's token");
}

async function conversations(t: Test, house: House): Promise<void> {
  const words = 'words of the conversation';
  const model = { provider: 'synthetic', name: 'tokens=9,hang_at=2,text=word' };
  const call = (rest: string, ask: object = {}) => house.console(path(house, rest), { method: 'POST', ...ask });
  const of = async (id: string): Promise<any[]> => rows(house, `&object_id=${id}&order=asc`);
  const assistant = await house.assistant({ model });

  const trial = (await call(`assistants/${assistant.id}/trials`)).json;
  const streamed = await house.stream(`/console/api${path(house, `sessions/${trial.id}/chat`)}`, {
    key: house.operatorToken,
    body: { message: words },
  });
  const aborted = await call(`sessions/${trial.id}/turns/${streamed.turnId}/abort`);
  t.equal(aborted.json.status, 'aborted');
  await call(`sessions/${trial.id}/turns/${streamed.turnId}/abort`);
  await streamed.rest();
  const again = await house.stream(`/console/api${path(house, `sessions/${trial.id}/chat`)}`, {
    key: house.operatorToken,
    body: { message: words },
  });
  await call(`sessions/${trial.id}/end`);
  await again.rest();
  await call(`sessions/${trial.id}/end`);
  await house.console(path(house, `sessions/${trial.id}`), { method: 'DELETE' });
  const expected = ['create', 'message', 'message', 'end', 'erase'].map((action) => `${action} session`);
  t.same(kindsOf(await of(trial.id)), expected);
  t.same(kindsOf(await of(streamed.turnId)), ['abort turn']);
  t.same(kindsOf(await of(again.turnId)), [], 'the end of the session is one row, with its turn');
  t.match((await of(trial.id))[1].changes, [{ path: 'turn_id', before: null, after: streamed.turnId }]);
  await house.console(path(house, 'visitors/vis_nobody'), { method: 'DELETE' });
  t.same(kindsOf(await of('vis_nobody')), ['erase visitor']);

  const ofClient = await house.session(assistant.id);
  await house.ask(`/sessions/${ofClient.id}/end`, { method: 'POST' });
  t.same(await of(ofClient.id), [], 'a client of the API has no rows');
  t.notOk((await house.console('/audit?limit=100')).text.includes(words));
}

async function noRows(t: Test, house: House): Promise<void> {
  const before = await rows(house);
  await house.console(path(house, 'assistants'), { body: { name: '' } });
  await house.console(path(house, 'assistants/asst_none'), { method: 'DELETE' });
  await house.console(path(house, 'assistants'));
  await house.console(path(house, 'keys'));
  t.same(await rows(house), before);
}

async function scoped(t: Test, house: House): Promise<void> {
  const { id: own } = (await house.console('/workspaces', { body: { name: 'Own' } })).json;
  await house.console(`/workspaces/${own}/assistants`, { body: { name: 'Own' } });
  const { json } = await house.console('/sign-in-links', { body: { name: 'Olga', role: 'owner', workspace_id: own } });
  const cookie = await cookieFor(house, tokenOf(json.url));
  const { json: list } = await withCookie(house, cookie, '/audit');
  t.same(kindsOf(list.data), ['sign_in sign_in', 'create sign_in_link', 'create assistant', 'create workspace']);
  isRefused(t, await withCookie(house, cookie, `/audit?workspace=${house.workspaceId}`), unrated(refusals.noRoute));
  t.equal((await withCookie(house, cookie, `/audit?workspace=${own}`)).status, 200);
}

async function filtered(t: Test, house: House): Promise<void> {
  const all = await rows(house);
  const ids: string[] = [];
  for (let after = ''; after !== null;) {
    const page = (await house.console(`/audit?limit=3${after && `&after=${after}`}`)).json;
    ids.push(...page.data.map(({ id }: { id: string }) => id));
    after = page.next_cursor;
  }
  t.same(
    ids,
    all.map(({ id }) => id),
    'pages have each row once',
  );
  const asc = await rows(house, '&order=asc');
  t.same(asc.map(({ id }) => id).reverse(), ids);
  const here = await rows(house, `&workspace=${house.workspaceId}`);
  t.ok(here.length > 0 && here.every((one) => one.workspace_id === house.workspaceId));
  t.same(await rows(house, '&by=nobody'), []);
  t.equal((await house.console('/audit?after=x')).status, 422);
}

async function outlives(t: Test, house: House): Promise<void> {
  const { id } = (await house.console('/workspaces', { body: { name: 'Brief' } })).json;
  await house.console(`/workspaces/${id}/assistants`, { body: { name: 'Brief' } });
  t.equal((await house.console(`/workspaces/${id}`, { method: 'DELETE' })).status, 204);
  const expected = ['delete workspace', 'create assistant', 'create workspace'];
  t.same(kindsOf(await rows(house, `&workspace=${id}`)), expected);
  t.same(kindsOf((await rows(house)).filter((one) => one.workspace_id === id)), expected);
}

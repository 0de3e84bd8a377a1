/** The console's API: workspaces, live sessions and secrets (contract 9). */
import t, { type Test } from 'tap';
import { type Answer, type House, openHouse, textOf } from './house.ts';
import { type Refusal, isRefused, limitedFor, refusals, unrated, wrongField } from './refusal.ts';
import { answers, missing, nobody, nowhere, patch, post, remove, wrong } from './console-requests.ts';

t.test('the console reads and changes workspaces and live sessions', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_LOG: 'debug' } });
  await t.test('workspaces are created, renamed and deleted', (t) => workspaces(t, house));
  await t.test('a workspace that is deleted takes all with it', (t) => deletedWorkspace(t, house));
  await t.test('sessions, transcripts and usage', (t) => reading(t, house));
  await t.test('changes reach live sessions at once', (t) => live(t, house));
  await t.test('a secret is nowhere to be found', (t) => secrets(t, house));
});

async function workspaces(t: Test, house: House): Promise<void> {
  const created = await house.console('/workspaces', { body: { name: 'Acme' } });
  const made = answers(t, created, 201, 'created');
  const { id, created_at: at, updated_at: _, ...fields } = made;
  t.same(fields, { object: 'workspace', name: 'Acme', retention_days: 30, turns_in_flight_max: 10 });
  t.ok(Math.abs(at - Date.now() / 1000) < 60, 'Unix seconds');
  t.equal(created.headers.get('location'), `/console/api/workspaces/${id}`);
  const path = `/workspaces/${id}`;
  t.same(answers(t, await house.console(path), 200, 'read'), made);
  t.ok((await house.console('/workspaces')).json.data.some((one: { id: string }) => one.id === id));

  const full = answers(
    t,
    await house.console('/workspaces', { body: { name: 'Full', retention_days: 7, turns_in_flight_max: 3 } }),
    201,
    'with all',
  );
  t.same([full.retention_days, full.turns_in_flight_max], [7, 3]);
  const changed = answers(t, await patch(house, path, { retention_days: 90, name: null, unknown: 1 }), 200, 'changed');
  t.same([changed.name, changed.retention_days, changed.turns_in_flight_max], ['Acme', 90, 10], 'the rest stays');
  t.same((await house.console(path)).json, changed);
  t.same(answers(t, await patch(house, path, {}), 200, 'nothing').name, 'Acme');

  const bad: [unknown, Refusal][] = [
    [{}, missing('name')],
    [{ name: null }, missing('name')],
    [{ name: '' }, wrong('name')],
    [{ name: 'x'.repeat(201) }, wrong('name')],
    [{ name: 5 }, wrong('name')],
    [{ name: 'x', retention_days: 0 }, wrong('retention_days')],
    [{ name: 'x', retention_days: 1.5 }, wrong('retention_days')],
    [{ name: 'x', retention_days: '30' }, wrong('retention_days')],
    [{ name: 'x', turns_in_flight_max: 0 }, wrong('turns_in_flight_max')],
    ['[]', unrated(refusals.notAnObject)],
    ['{', unrated(refusals.malformedJson)],
    [`"${'x'.repeat(256 * 1024)}"`, unrated(refusals.tooLarge)],
  ];
  for (const [body, refusal] of bad) {
    isRefused(t, await house.console('/workspaces', { body }), refusal, `POST ${JSON.stringify(body).slice(0, 50)}`);
    if (!refusal.message.includes('required'))
      isRefused(t, await patch(house, path, body), refusal, `PATCH ${JSON.stringify(body).slice(0, 50)}`);
  }
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    isRefused(
      t,
      await house.console(`/workspaces/${nobody('wks')}`, { method, ...(method === 'PATCH' ? { body: {} } : {}) }),
      nowhere,
      method,
    );
  }
}

async function deletedWorkspace(t: Test, house: House): Promise<void> {
  const { id } = (await house.console('/workspaces', { body: { name: 'gone' } })).json;
  const inside = `/workspaces/${id}`;
  const model = { provider: 'synthetic', name: 'hang_at=1' };
  const assistant = (await house.console(`${inside}/assistants`, { body: { name: 'a', model } })).json;
  await post(house, `${inside}/assistants/${assistant.id}/publish`);
  const { key, id: keyId } = (await house.console(`${inside}/keys`, { body: { name: 'k' } })).json;
  const session = (await house.ask('/sessions', { key, body: { assistant_id: assistant.id } })).json;
  const stream = await house.stream(`/sessions/${session.id}/chat`, { key, body: { message: 'Hi' } });
  answers(t, await remove(house, inside), 204, 'deleted');
  t.match((await stream.rest()).at(-1)?.event, /^(turn\.aborted|error)$/, 'its turn in flight is over');
  for (const path of [
    '',
    '/assistants',
    `/assistants/${assistant.id}`,
    '/keys',
    `/keys/${keyId}`,
    '/credentials',
    '/sessions',
    `/sessions/${session.id}`,
    '/usage',
  ]) {
    isRefused(t, await house.console(inside + path), nowhere, path);
  }
  isRefused(t, await house.ask(`/sessions/${session.id}`, { key }), refusals.invalidKey);
  isRefused(t, await remove(house, inside), nowhere, 'a second time');
  t.notOk((await house.console('/workspaces?limit=100')).json.data.some((one: { id: string }) => one.id === id));
}

async function reading(t: Test, house: House): Promise<void> {
  const { id: workspaceId } = (await house.console('/workspaces', { body: { name: 'read' } })).json;
  const inside = `/workspaces/${workspaceId}`;
  const { key } = (await house.console(`${inside}/keys`, { body: { name: 'k' } })).json;
  const assistant = (await house.console(`${inside}/assistants`, { body: { name: 'a', greeting: 'Hello.' } })).json;
  await post(house, `${inside}/assistants/${assistant.id}/publish`);
  const session = (await house.ask('/sessions', { key, body: { assistant_id: assistant.id } })).json;
  await (await house.stream(`/sessions/${session.id}/chat`, { key, body: { message: 'Hi' } })).rest();
  const ended = (await house.ask('/sessions', { key, body: { assistant_id: assistant.id } })).json;
  await house.ask(`/sessions/${ended.id}/end`, { key, method: 'POST' });

  for (const path of [
    '/sessions',
    `/sessions?status=ended`,
    `/sessions?assistant_id=${assistant.id}&limit=1`,
    `/sessions/${session.id}`,
    `/sessions/${session.id}/transcript`,
  ]) {
    const seen = answers(t, await house.console(inside + path), 200, path);
    t.same(seen, (await house.ask(path, { key })).json, `${path} as its key sees it`);
  }
  const now = Math.floor(Date.now() / 1000);
  for (const query of [
    `?start=${now - 3600}&end=${now + 3600}&bucket=hour`,
    `?start=${now - 3600}&end=${now + 3600}&assistant_id=${assistant.id}`,
  ]) {
    const seen = answers(t, await house.console(`${inside}/usage${query}`), 200, query);
    t.same(seen, (await house.ask(`/usage${query}`, { key })).json);
    t.same([seen.totals.sessions, seen.totals.turns], [2, 1]);
  }
  isRefused(t, await house.console(`${inside}/sessions/${nobody('ses')}`), unrated(refusals.noSession));
  isRefused(t, await house.console(`${inside}/sessions/${nobody('ses')}/transcript`), unrated(refusals.noSession));
  isRefused(t, await house.console(`${inside}/sessions?assistant_id=${nobody('asst')}`), unrated(refusals.noAssistant));
  isRefused(t, await house.console(`${inside}/usage?assistant_id=${nobody('asst')}`), unrated(refusals.noAssistant));
  isRefused(t, await house.console(`${inside}/usage?start=2&end=1`), unrated(refusals.invalidRange));
  isRefused(t, await house.console(`${inside}/sessions?limit=0`), wrong('limit'));
}

async function live(t: Test, house: House): Promise<void> {
  const workspace = `/workspaces/${house.workspaceId}`;
  const assistant = await house.assistant({
    greeting: 'One.',
    model: { provider: 'synthetic', name: 'tokens=1,text=before' },
  });
  const path = `${workspace}/assistants/${assistant.id}`;
  const session = await house.session(assistant.id);
  const say = async () =>
    textOf(await (await house.stream(`/sessions/${session.id}/chat`, { body: { message: 'Hi' } })).rest());
  t.equal(await say(), 'before ');
  await house.revise(assistant.id, {
    model: { name: 'tokens=1,text=after' },
    greeting: 'Two.',
    max_call_seconds: 7,
    visitor_fields: [{ name: 'email', required: true }],
  });
  t.equal(await say(), 'before ', 'an open session keeps its version');
  const open = (visitor: object) => house.ask('/sessions', { body: { assistant_id: assistant.id, visitor } });
  isRefused(t, await open({}), {
    ...wrongField(''),
    code: 'missing_visitor_fields',
    message: 'Required visitor fields are missing: `visitor.email`.',
  });
  const later = (await open({ email: 'x' })).json;
  t.equal(later.expires_at, later.created_at + 7);
  t.equal((await house.ask(`/sessions/${later.id}/transcript`)).json.data[0].content, 'Two.');
  t.equal(
    (await house.ask(`/sessions/${session.id}`)).json.expires_at,
    session.expires_at,
    'a session keeps the seconds that it began with',
  );

  await post(house, `${path}/disable`);
  isRefused(t, await house.ask(`/sessions/${session.id}/chat`, { body: { message: 'Hi' } }), refusals.disabled);
  await post(house, `${path}/enable`);
  t.equal(await say(), 'before ');

  await house.revise(assistant.id, { model: { name: 'hang_at=1' }, max_call_seconds: 3600 });
  const hanging = await house.session(assistant.id, { visitor: { email: 'x' } });
  const stream = await house.stream(`/sessions/${hanging.id}/chat`, { body: { message: 'Hi' } });
  const other = await house.session(assistant.id, { visitor: { email: 'x' } });
  await patch(house, workspace, { turns_in_flight_max: 1 });
  isRefused(
    t,
    await house.ask(`/sessions/${other.id}/chat`, { body: { message: 'Hi' } }),
    limitedFor(1),
    'a lower ceiling of turns',
  );
  await patch(house, workspace, { turns_in_flight_max: 10 });
  const second = await house.stream(`/sessions/${other.id}/chat`, { body: { message: 'Hi' } });
  for (const [id, open] of [
    [hanging.id, stream],
    [other.id, second],
  ] as const) {
    await house.ask(`/sessions/${id}/end`, { method: 'POST' });
    await open.rest();
  }
}

async function secrets(t: Test, house: House): Promise<void> {
  const inside = `/workspaces/${house.workspaceId}`;
  const secret = 'sk-this-must-never-be-seen-again';
  const later = 'sk-nor-must-this';
  const seen: string[] = [];
  const look = async (answer: Promise<Answer>): Promise<any> => {
    const { text, headers, json } = await answer;
    seen.push(text, ...headers.values());
    return json;
  };
  const credential = await look(
    house.console(`${inside}/credentials`, { body: { kind: 'model', provider: 'openai', api_key: secret } }),
  );
  await look(patch(house, `${inside}/credentials/${credential.id}`, { api_key: later }));
  await look(
    house.console(`${inside}/credentials`, {
      body: { kind: 'model', provider: 'openai', base_url: 'x', api_key: secret },
    }),
  );
  const { id, key } = (await house.console(`${inside}/keys`, { body: { name: 'k' } })).json;
  await look(patch(house, `${inside}/keys/${id}`, { name: 'l' }));
  for (const path of ['/credentials', '/assistants', '/keys', `/keys/${id}`, '/sessions', ''])
    await look(house.console(inside + path));
  for (const path of ['/assistants', '/sessions', '/usage', '/metrics']) await look(house.ask(path, { key }));
  await house.console('/workspaces', { key: 'operator-token-that-is-wrong' });
  const said = 'something between the two of us';
  const session = await house.session((await house.assistant()).id);
  await (await house.stream(`/sessions/${session.id}/chat`, { body: { message: said } })).rest();
  const { code } = await house.stop();
  t.equal(code, 0);
  const text = [...seen, house.stdout(), house.stderr()].join('\n');
  t.match(house.stdout(), /"request_id":"req_/, 'requests are logged');
  for (const word of [secret, later, key, key.slice(-38), 'operator-token-that-is-wrong', 'sk-first', said])
    t.notOk(text.includes(word), `${word.slice(0, 12)}…`);
}

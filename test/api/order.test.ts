/** The order of checks (contract 3): for every pair of neighbours, both violated at once, the first one answers. */
import t, { type Test } from 'tap';
import { openWorkspace, type Answer } from './house.ts';
import { rawAsk } from './raw.ts';
import { isRefused, limitedFor, missingField, refusals, unrated, unreadableHeader, wrongField } from './refusal.ts';

const message = 'Hi';
const required = [{ name: 'email', type: 'email', required: true }];
const missingEmail = {
  ...wrongField(''),
  code: 'missing_visitor_fields',
  message: 'Required visitor fields are missing: `visitor.email`.',
};

t.test('the order of checks', async (t) => {
  const world = await openWorld();
  await t.test('1 before 2: the route, then authentication', (t) => routeFirst(t, world));
  await t.test('2 before 3: authentication, then the budgets', (t) => thenAuthentication(t, world));
  await t.test('2 before 4: nobody unknown gets a body looked at', (t) => beforeTheBody(t, world));
  await t.test('3 before 4 and all else: the budgets', (t) => thenBudgets(t, world));
  await t.test('4 before 5: what cannot be read, then fields', (t) => thenReading(t, world));
  await t.test('4 before 6: what cannot be read, then the resource', (t) => readingBeforeResource(t, world));
  await t.test('5 before 6: fields, then the resource', (t) => thenFields(t, world));
  await t.test('6: the resource, then permission, then the required visitor fields', (t) => thenResource(t, world));
  await t.test('6 before 7: permission and visitor fields, then state', (t) => thenState(t, world));
  await t.test('7: the session, then its assistant, then the turn in progress', (t) => withinState(t, world));
  await t.test('7 before 8, 8 before 9: state, the slots of the workspace, the provider', (t) =>
    thenSlotsThenProvider(t, world),
  );
});

type World = Awaited<ReturnType<typeof openWorld>>;

async function openWorld() {
  const house = await openWorkspace();
  const inWorkspace = `/workspaces/${house.workspaceId}`;
  const chat = (session: string, options: object = {}): Promise<Answer> =>
    house.ask(`/sessions/${session}/chat`, { body: { message }, ...options });
  const move = (id: string, verb: string) =>
    house.console(`${inWorkspace}/assistants/${id}/${verb}`, { method: 'POST' });
  /** A key with nothing left. */
  const spent = async (): Promise<{ id: string; key: string }> => {
    const made = await house.newKey({ limits: { requests: 1 } });
    await house.ask('/assistants', made);
    return made;
  };
  const assistant = await house.assistant();
  const endless = await house.assistant({ model: { provider: 'synthetic', name: 'hang_at=1' } });
  const restricted = await house.newKey({ assistant_ids: [assistant.id] });
  return { house, inWorkspace, chat, move, spent, assistant, endless, restricted };
}

async function routeFirst(t: Test, { house }: World): Promise<void> {
  isRefused(t, await house.ask('/nowhere', { key: null }), refusals.noRoute, 'without a key');
  isRefused(t, await house.ask('/nowhere', { key: 'wrong' }), refusals.noRoute, 'with a wrong key');
  isRefused(
    t,
    await house.ask('/assistants', { method: 'POST', key: null }),
    refusals.noRoute,
    'a method that the path does not have',
  );
  isRefused(
    t,
    await rawAsk(house.url, '/nowhere', { headers: { 'X-Api-Key': [house.key, house.key] } }),
    refusals.noRoute,
    'unreadable headers',
  );
}

async function thenAuthentication(t: Test, { house, inWorkspace, spent }: World): Promise<void> {
  const { id, key } = await spent();
  isRefused(t, await house.ask('/assistants', { key, headers: { 'x-api-key': 'another' } }), refusals.differentKeys);
  await house.console(`${inWorkspace}/keys/${id}`, { method: 'PATCH', body: { expires_at: 1 } });
  isRefused(t, await house.ask('/assistants', { key }), refusals.expiredKey);
  await house.console(`${inWorkspace}/keys/${id}/revoke`, { method: 'POST' });
  isRefused(t, await house.ask('/assistants', { key }), refusals.revokedKey);
}

async function beforeTheBody(t: Test, { house }: World): Promise<void> {
  isRefused(t, await house.ask('/sessions', { key: null, body: '{' }), refusals.missingKey);
  isRefused(t, await house.ask('/sessions', { key: 'wrong', body: 'x'.repeat(300_000) }), refusals.invalidKey);
  isRefused(
    t,
    await house.ask('/sessions', { key: null, body: {}, headers: { 'idempotency-key': '' } }),
    refusals.missingKey,
  );
}

async function thenBudgets(t: Test, { house, chat, spent, assistant }: World): Promise<void> {
  const wrong: [string, object][] = [
    ['/sessions', { body: '{' }],
    ['/sessions', { body: 'x'.repeat(300_000) }],
    ['/sessions', { body: {}, headers: { 'idempotency-key': '' } }],
    ['/sessions', { body: {} }],
    ['/sessions?limit=0', {}],
    ['/usage?start=2&end=1', {}],
    ['/assistants/asst_none', {}],
    ['/sessions/ses_none/chat', { body: { message } }],
  ];
  for (const [path, options] of wrong)
    isRefused(t, await house.ask(path, { ...options, key: (await spent()).key }), limitedFor(60), path);
  const session = await house.session(assistant.id);
  await house.ask(`/sessions/${session.id}/end`, { method: 'POST' });
  isRefused(t, await chat(session.id, { key: (await spent()).key }), limitedFor(60), 'an ended session');
}

async function thenReading(t: Test, { house }: World): Promise<void> {
  isRefused(t, await house.ask('/sessions', { body: '{"assistant_id": 5' }), refusals.malformedJson);
  isRefused(t, await house.ask('/sessions', { body: `{"metadata":"${'x'.repeat(300_000)}"}` }), refusals.tooLarge);
  isRefused(
    t,
    await house.ask('/sessions', { body: {}, headers: { 'idempotency-key': '' } }),
    unreadableHeader('Idempotency-Key'),
  );
}

async function readingBeforeResource(t: Test, { house, chat }: World): Promise<void> {
  isRefused(t, await chat('ses_none', { body: '{' }), refusals.malformedJson);
  isRefused(t, await chat('ses_none', { headers: { 'idempotency-key': 'é' } }), unreadableHeader('Idempotency-Key'));
  isRefused(
    t,
    await house.ask('/sessions/ses_none/turns/turn_none/events', { headers: { 'last-event-id': 'abc' } }),
    unreadableHeader('Last-Event-ID'),
  );
  isRefused(
    t,
    await house.console('/workspaces/wks_none/assistants', { body: '{' }),
    unrated(refusals.malformedJson),
    'in the console as well',
  );
}

async function thenFields(t: Test, { house, chat }: World): Promise<void> {
  isRefused(t, await chat('ses_none', { body: {} }), missingField('message'));
  isRefused(t, await chat('ses_none', { body: { message: 'x'.repeat(8001) } }), refusals.messageTooLong);
  isRefused(
    t,
    await house.ask('/sessions', { body: { assistant_id: 'asst_none', metadata: { a: 1 } } }),
    wrongField('metadata.a'),
  );
  for (const query of ['limit=0', 'after=nonsense', 'order=up']) {
    const field = query.split('=')[0]!;
    isRefused(t, await house.ask(`/sessions?assistant_id=asst_none&${query}`), wrongField(field), `sessions, ${query}`);
    isRefused(t, await house.ask(`/sessions/ses_none/transcript?${query}`), wrongField(field), `transcript, ${query}`);
    for (const list of ['assistants', 'keys', 'credentials', 'sessions', 'sessions/ses_none/transcript']) {
      isRefused(
        t,
        await house.console(`/workspaces/wks_none/${list}?${query}`),
        unrated(wrongField(field)),
        `console's ${list}, ${query}`,
      );
    }
  }
  isRefused(t, await house.ask('/sessions?assistant_id=asst_none&status=x'), wrongField('status'));
  isRefused(t, await house.ask('/sessions/ses_none/turns/turn_none/events?after=-1'), wrongField('after'));
  isRefused(t, await house.ask('/usage?assistant_id=asst_none&bucket=year'), wrongField('bucket'));
  isRefused(t, await house.ask('/usage?assistant_id=asst_none&start=2&end=1'), refusals.invalidRange);
  isRefused(t, await house.console('/workspaces/wks_none/usage?start=2&end=1'), unrated(refusals.invalidRange));
  isRefused(t, await house.console('/workspaces/wks_none/keys', { body: {} }), unrated(missingField('name')));
  const credential = { kind: 'model', provider: 'openai', base_url: 'ftp://x', api_key: 'k' };
  isRefused(
    t,
    await house.console('/workspaces/wks_none/credentials', { body: credential }),
    unrated(wrongField('base_url')),
  );
}

async function thenResource(t: Test, { house, chat, endless, restricted }: World): Promise<void> {
  const { key } = restricted;
  isRefused(t, await house.ask('/assistants/asst_none', { key }), refusals.noAssistant);
  isRefused(t, await house.ask('/sessions', { key, body: { assistant_id: 'asst_none' } }), refusals.noAssistant);
  isRefused(t, await chat('ses_none', { key }), refusals.noSession);
  const asking = await house.assistant({ visitor_fields: required });
  isRefused(t, await house.ask('/sessions', { key, body: { assistant_id: asking.id } }), refusals.notPermitted);
  const session = await house.session(endless.id);
  isRefused(
    t,
    await house.ask(`/sessions/${session.id}/turns/turn_none/abort`, { key, method: 'POST' }),
    refusals.notPermitted,
    'the session before its turn',
  );
}

async function thenState(t: Test, { house, chat, move, endless, restricted }: World): Promise<void> {
  const draft = await house.assistant({ visitor_fields: required });
  await move(draft.id, 'unpublish');
  isRefused(t, await house.ask('/sessions', { body: { assistant_id: draft.id } }), missingEmail);
  isRefused(
    t,
    await house.ask('/sessions', { key: restricted.key, body: { assistant_id: draft.id } }),
    refusals.notPermitted,
  );
  const session = await house.session(endless.id);
  await house.ask(`/sessions/${session.id}/end`, { method: 'POST' });
  isRefused(t, await chat(session.id, { key: restricted.key }), refusals.notPermitted);
}

async function withinState(t: Test, { house, chat, move }: World): Promise<void> {
  const model = { provider: 'synthetic', name: 'hang_at=1' };
  for (const [verb, refusal] of [
    ['disable', refusals.disabled],
    ['unpublish', refusals.notPublished],
  ] as const) {
    const assistant = await house.assistant({ model });
    const [ended, busy] = [await house.session(assistant.id), await house.session(assistant.id)];
    await house.ask(`/sessions/${ended.id}/end`, { method: 'POST' });
    const stream = await house.stream(`/sessions/${busy.id}/chat`, { body: { message } });
    await move(assistant.id, verb);
    isRefused(t, await chat(ended.id), refusals.ended, `ended, and ${verb}`);
    isRefused(t, await chat(busy.id), refusal, `${verb}, and a turn in progress`);
    await house.ask(`/sessions/${busy.id}/end`, { method: 'POST' });
    t.equal((await stream.rest()).at(-1)!.event, 'turn.aborted', 'whose turn ran on');
  }
}

async function thenSlotsThenProvider(
  t: Test,
  { house, inWorkspace, chat, move, spent, endless }: World,
): Promise<void> {
  const failing = await house.assistant({ model: { provider: 'synthetic', name: 'fail_at=0' } });
  const [busy, broken] = [await house.session(endless.id), await house.session(failing.id)];
  const stream = await house.stream(`/sessions/${busy.id}/chat`, { body: { message } });
  isRefused(t, await chat(broken.id), refusals.unavailable, 'with a slot free');
  await house.console(inWorkspace, { method: 'PATCH', body: { turns_in_flight_max: 1 } });
  isRefused(t, await chat(busy.id), refusals.inProgress, 'a turn in progress in a full workspace');
  isRefused(t, await chat(broken.id), limitedFor(1), 'a provider that fails in a full workspace');
  await move(failing.id, 'disable');
  isRefused(t, await chat(broken.id), refusals.disabled, 'a disabled assistant in a full workspace');
  isRefused(
    t,
    await chat(busy.id, { key: (await spent()).key }),
    limitedFor(60),
    "and the key's ceiling before all of them",
  );
  await house.ask(`/sessions/${busy.id}/end`, { method: 'POST' });
  await stream.rest();
}

/** Versions of an assistant: a change reaches people as a published version, and not before (contract 20). */
import t, { type Test } from 'tap';
import { countingTool, type CountingTool } from './counting-tool.ts';
import { edge, type House, openWorkspace, textOf } from './house.ts';
import { isRefused, refusals, unrated, wrongField } from './refusal.ts';
import { answered, assistantPath, onProvider, operate, say, sessionOf, synthetic, transcriptOf } from './talk.ts';

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('a publication makes the next version of a draft that differs', (t) => published(t, house));
  await t.test('a model is sent the bytes of the version of the session', (t) => requests(t, house));
  await t.test('session, turn and messages name the version that answers', (t) => named(t, house));
  await t.test('a trial runs on the draft and names no version', (t) => trial(t, house));
  await t.test('each setting of a session is that of its version', (t) => settings(t, house));
  await t.test('callers of every protocol get the published settings', (t) => protocols(t, house));
  await t.test('a version calls its tools as they were published', (t) => tools(t, house));
  await t.test('a deleted tool works for versions until their assistant is deleted', (t) => deleted(t, house));
  await t.test('concurrent publications make one version each, and none is lost', (t) => race(t, house));
});

const patch = (house: House, id: string, body: object) => operate(house, 'PATCH', assistantPath(house, id), body);
const publish = (house: House, id: string, body?: object) =>
  operate(house, 'POST', assistantPath(house, id, '/publish'), body);
const reply = async (house: House, sessionId: string): Promise<string> =>
  textOf(await (await say(house, sessionId)).rest()).trim();

async function published(t: Test, house: House): Promise<void> {
  const made = await operate(house, 'POST', `/workspaces/${house.workspaceId}/assistants`, { name: 'Versions' });
  const { id } = made;
  t.match(made, { version: null, draft: { changed: true } }, 'a new assistant');
  t.equal((await house.ask(`/assistants/${id}`)).json.version, null);
  t.match(await publish(house, id), { status: 'published', version: 1, draft: { changed: false } });
  t.equal((await publish(house, id)).version, 1, 'a draft that equals the current version');
  t.match(await patch(house, id, { greeting: 'Two' }), { version: 1, greeting: 'Two', draft: { changed: true } });
  t.match(await patch(house, id, { name: 'Renamed' }), { version: 1, name: 'Renamed' });
  const api = async () => (await house.ask(`/assistants/${id}`)).json;
  t.match(await api(), { name: 'Renamed', greeting: null, version: 1 }, 'a name is effective at once');
  const listed = async () => (await house.ask('/assistants?limit=100')).json.data.find((one: any) => one.id === id);
  t.same(await listed(), await api(), 'the list has the same');
  for (const note of ['x'.repeat(501), 7])
    isRefused(
      t,
      await house.console(assistantPath(house, id, '/publish'), { body: { note } }),
      unrated(wrongField('note')),
      `a note of ${typeof note}`,
    );
  t.match(await publish(house, id, { note: 'x'.repeat(500) }), { version: 2, draft: { changed: false } });
  t.match(await api(), { greeting: 'Two', version: 2 });
  await patch(house, id, { greeting: null });
  t.equal((await publish(house, id)).version, 3, 'the settings of an earlier version');
  await operate(house, 'POST', assistantPath(house, id, '/unpublish'));
  await patch(house, id, { greeting: 'Four' });
  t.match(await operate(house, 'POST', assistantPath(house, id, '/enable')), { status: 'published', version: 3 });
  t.equal((await api()).greeting, null, 'enabling publishes no change');
  const other = await operate(house, 'POST', `/workspaces/${house.workspaceId}/assistants`, { name: 'Enabled' });
  const enabled = await operate(house, 'POST', assistantPath(house, other.id, '/disable')).then(() =>
    patch(house, other.id, { greeting: 'First' }).then(() =>
      operate(house, 'POST', assistantPath(house, other.id, '/enable')),
    ),
  );
  t.match(enabled, { status: 'published', version: 1, draft: { changed: false } }, 'enabled for the first time');
  t.equal((await house.session(other.id)).assistant_version, 1);
  const rows = (await house.console(`/audit?workspace=${house.workspaceId}&limit=100`)).json.data;
  const row = rows.find((one: any) => one.object_id === id && one.changes.some(({ after }: any) => after === 2));
  t.match(row, { action: 'publish', changes: [{ path: 'version', before: 1, after: 2 }] }, 'the audit has it');
}

/** The body of the newest request to the model, as text. */
const newest = ({ requests }: { readonly requests: readonly { readonly body: unknown }[] }): string =>
  JSON.stringify(requests.at(-1)!.body);

async function requests(t: Test, house: House): Promise<void> {
  const tool = await countingTool(t, house, { functions: [{ name: 'look_up', parameters: { type: 'object' } }] });
  const { provider, assistant } = await onProvider(t, house, (response) => answered(response, ['ok']), {
    model: { system_prompt: 'As one.', temperature: 0.1 },
    tool_ids: [tool.id],
  });
  const { id } = assistant;
  const asked = async (): Promise<string> => {
    const session = await house.session(id);
    await reply(house, session.id);
    return newest(provider);
  };
  const pinned = await house.session(id);
  const one = await asked();
  await patch(house, id, { model: { system_prompt: 'As two.', temperature: 0.2 } });
  await operate(house, 'PATCH', `/workspaces/${house.workspaceId}/tools/${tool.id}`, {
    functions: [{ name: 'other', description: 'Another.', parameters: { type: 'object' } }],
  });
  t.equal(await asked(), one, 'while the draft and its tool are edited');
  await publish(house, id);
  const two = await asked();
  t.not(two, one, 'the new version has other bytes');
  t.match(two, /"name":"other".*As two\./);
  await reply(house, pinned.id);
  t.equal(newest(provider), one, 'an open session keeps its version');
  await operate(house, 'PATCH', `/workspaces/${house.workspaceId}/tools/${tool.id}`, {
    functions: [{ name: 'look_up', parameters: { type: 'object' } }],
  });
  t.equal(await asked(), two, 'an edited tool reaches nobody');
  await patch(house, id, { model: { system_prompt: 'As one.', temperature: 0.1 } });
  await publish(house, id);
  t.equal(await asked(), one, 'the settings of version 1, published again');
}

async function named(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'text=one,tokens=1', { greeting: 'Hi' });
  const session = await house.session(id);
  t.equal(session.assistant_version, 1);
  await house.revise(id, { model: { provider: 'synthetic', name: 'text=two,tokens=1' } });
  t.equal(await reply(house, session.id), 'one');
  const messages = await transcriptOf(house, session.id);
  t.same(
    messages.map(({ role, assistant_version }) => [role, assistant_version]),
    [
      ['assistant', 1],
      ['user', null],
      ['assistant', 1],
    ],
  );
  const turn = `/workspaces/${house.workspaceId}/sessions/${session.id}/turns/${messages[2].turn_id}`;
  t.equal((await operate(house, 'GET', turn)).assistant_version, 1);
  t.equal((await sessionOf(house, session.id)).assistant_version, 1);
  t.equal((await house.ask(`/sessions?assistant_id=${id}`)).json.data[0].assistant_version, 1);
  const next = await house.session(id);
  t.equal(next.assistant_version, 2);
  t.equal(await reply(house, next.id), 'two');
  t.equal((await transcriptOf(house, next.id))[2].assistant_version, 2);
}

async function trial(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'text=one,tokens=1', { greeting: 'One' });
  const begun = await operate(house, 'POST', assistantPath(house, id, '/trials'));
  t.equal(begun.assistant_version, null);
  await patch(house, id, { greeting: 'Two', model: { provider: 'synthetic', name: 'text=two,tokens=1' } });
  const inside = `/workspaces/${house.workspaceId}/sessions/${begun.id}`;
  const stream = await house.stream(`/console/api${inside}/chat`, {
    key: house.operatorToken,
    body: { message: 'Hello' },
  });
  t.equal(textOf(await stream.rest()).trim(), 'two', 'the draft as it is now');
  const messages = (await house.console(`${inside}/transcript`)).json.data;
  t.same(
    messages.map(({ assistant_version }: any) => assistant_version),
    [null, null, null],
  );
  t.equal((await operate(house, 'GET', `${inside}/turns/${messages[2].turn_id}`)).assistant_version, null);
}

async function settings(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'text=one,tokens=1', { greeting: 'Hi {{visitor.name|you}}' });
  await patch(house, id, {
    greeting: 'Bye',
    max_call_seconds: 77,
    visitor_fields: [{ name: 'email', type: 'email', required: true }],
  });
  const before = await house.session(id, { visitor: { name: 'Ann' } });
  t.match(before, { max_call_seconds: 3600, assistant_version: 1 });
  t.equal((await transcriptOf(house, before.id))[0].content, 'Hi Ann');
  await publish(house, id);
  const refused = await house.ask('/sessions', { body: { assistant_id: id } });
  t.match([refused.status, refused.json.error.code], [422, 'missing_visitor_fields']);
  const after = await house.session(id, { visitor: { email: 'a@b.example' } });
  t.match(after, { max_call_seconds: 77, assistant_version: 2 });
  t.equal((await transcriptOf(house, after.id))[0].content, 'Bye');
}

async function protocols(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'text=one,tokens=1', {
    alias: 'by-protocol',
    channels: { link: true, voice: true },
    link: { slug: 'by-protocol' },
    voice: { provider: 'synthetic', name: 'character_ms=5' },
  });
  const asked = async (conversation?: string): Promise<any> => {
    const { json, headers } = await house.ask('/v1/chat/completions', {
      headers: conversation === undefined ? {} : { 'x-conversation-id': conversation },
      body: { model: 'by-protocol', messages: [{ role: 'user', content: 'Hello' }] },
    });
    return [
      json.choices[0].message.content.trim(),
      (await sessionOf(house, headers.get('x-session-id')!)).assistant_version,
    ];
  };
  const about = async () => (await house.ask('/p/by-protocol/about', { key: null })).json;
  const voices = async () => (await house.ask(`/voices?assistant_id=${id}`)).json.data.length;
  const models = async () =>
    (await house.ask('/v1/models')).json.data.some((one: { id: string }) => one.id === 'by-protocol');
  t.same(await asked('kept'), ['one', 1]);
  const [described, heard] = [await about(), await voices()];
  await patch(house, id, {
    greeting: 'Other',
    model: { provider: 'synthetic', name: 'text=two,tokens=1' },
    visitor_fields: [{ name: 'email', type: 'email', required: true }],
    voice: { provider: 'embedded', name: null },
  });
  t.same(await asked(), ['one', 1], 'the draft reaches no client of /v1');
  t.same([await about(), await voices(), await models()], [described, heard, true], 'and no visitor');
  const published = await publish(house, id);
  t.match(await about(), { greeting: 'Other', visitor_fields: [{ name: 'email' }] });
  t.same([await models(), (await voices()) !== heard, published.version], [false, true, 2]);
  await house.revise(id, { visitor_fields: [] });
  t.same(await asked(), ['two', 3]);
  t.same(await asked('kept'), ['one', 1], 'a conversation keeps the version that it began on');
}

const callsLookUp = { provider: 'synthetic', name: 'call=look_up,text=done,tokens=1' };

async function tools(t: Test, house: House): Promise<void> {
  const look = { name: 'look_up', parameters: { type: 'object' } };
  const tool = await countingTool(t, house, { functions: [look] });
  const moved = await countingTool(t, house, { functions: [] });
  const path = `/workspaces/${house.workspaceId}/tools/${tool.id}`;
  const assistant = await house.assistant({ model: callsLookUp, tool_ids: [tool.id] });
  const { url } = await operate(house, 'GET', `/workspaces/${house.workspaceId}/tools/${moved.id}`);
  const session = await house.session(assistant.id);
  const reached = async (sessionId: string): Promise<number[]> => {
    const before = [tool.reached.length, moved.reached.length];
    await reply(house, sessionId);
    return [tool.reached.length - before[0]!, moved.reached.length - before[1]!];
  };
  t.same(await reached(session.id), [1, 0]);
  await operate(house, 'PATCH', path, { url });
  t.same(await reached(session.id), [1, 0], 'another address is part of the draft');
  t.equal((await operate(house, 'GET', assistantPath(house, assistant.id))).draft.changed, true);
  await publish(house, assistant.id);
  t.same(await reached(session.id), [1, 0], 'and of the next version');
  const next = await house.session(assistant.id);
  t.same(await reached(next.id), [0, 1]);
  await operate(house, 'PATCH', path, { functions: [{ ...look, enabled: false }] });
  t.same(await reached(next.id), [0, 1], 'a function that was turned off since');
  await operate(house, 'POST', `${path}/rotate-secret`);
  t.same(await reached(next.id), [0, 1]);
  t.equal(
    (moved.reached.at(-1)!.headers['webhook-signature'] as string).split(' ').length,
    2,
    'a rotated secret signs in every version',
  );
  await operate(house, 'PATCH', path, { disabled: true });
  t.same(await reached(session.id), [0, 0], 'a disabled tool is offered by no version');
  await operate(house, 'PATCH', path, { disabled: false });
  t.same(await reached(session.id), [1, 0]);
}

async function deleted(t: Test, house: House): Promise<void> {
  const tool = await countingTool(t, house, { functions: [{ name: 'look_up', parameters: { type: 'object' } }] });
  const all = `/workspaces/${house.workspaceId}/tools`;
  const path = `${all}/${tool.id}`;
  const { id } = await house.assistant({ model: callsLookUp, tool_ids: [tool.id] });
  const { id: session } = await house.session(id);
  const reached = async ({ reached }: CountingTool): Promise<number> => {
    const before = reached.length;
    await reply(house, session);
    return reached.length - before;
  };
  await operate(house, 'DELETE', path);
  t.equal(await reached(tool), 1, 'a deleted tool');
  for (const [method, rest, body] of [
    ['GET', '', undefined],
    ['DELETE', '', undefined],
    ['PATCH', '', { name: 'Again' }],
    ['POST', '/rotate-secret', undefined],
    ['POST', '/test', { name: 'look_up' }],
  ] as const)
    t.equal(
      (await house.console(`${path}${rest}`, { method, ...(body && { body }) })).status,
      404,
      `${method} ${rest}`,
    );
  t.notOk(
    (await operate(house, 'GET', `${all}?limit=100`)).data.some((one: any) => one.id === tool.id),
    'is not listed',
  );
  const given = await house.console(assistantPath(house, id), { method: 'PATCH', body: { tool_ids: [tool.id] } });
  isRefused(t, given, unrated(wrongField('tool_ids')), 'no draft can have it');
  t.match(await operate(house, 'GET', assistantPath(house, id)), { tool_ids: [], draft: { changed: true } });
  await publish(house, id);
  t.equal(await reached(tool), 1, 'after the next version');
  const unused = await countingTool(t, house, { functions: [] });
  await operate(house, 'DELETE', `${all}/${unused.id}`);
  await operate(house, 'DELETE', assistantPath(house, id));
  t.equal((await house.console(path)).status, 404);
}

async function race(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant();
  const answers = await Promise.all(
    Array.from({ length: 10 }, async (_, index) => {
      await patch(house, id, { greeting: `Greeting ${index}` });
      return (await publish(house, id)).version;
    }),
  );
  const { version, draft } = await operate(house, 'GET', assistantPath(house, id));
  t.equal(draft.changed, false);
  t.equal(Math.max(...answers), version, 'the newest is current');
  isRefused(
    t,
    await house.console(assistantPath(house, id, '/publish'), { method: 'POST', headers: { 'if-match': '"other"' } }),
    refusals.draftChanged,
    'another draft',
  );
}

/** The draft of an assistant: its digest, and changes that name the draft they are based on (contract 20). */
import t, { type Test } from 'tap';
import { edge, type House, openWorkspace } from './house.ts';
import { isRefused, refusals } from './refusal.ts';

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('the tag of an assistant is the digest of its draft, in each answer', (t) => tagged(t, house));
  await t.test('each versioned setting changes the digest, and no other setting does', (t) => settings(t, house));
  await t.test('an edited tool changes the digest of each assistant that has it', (t) => tools(t, house));
  await t.test('a change that names another draft is refused with 409 and changes nothing', (t) => expected(t, house));
  await t.test('a change of a tool that names another state of it is refused with 409', (t) => tool(t, house));
  await t.test('all changes on one draft but the first are refused with 409', (t) => race(t, house));
});

const pathOf = (house: House, rest = ''): string => `/workspaces/${house.workspaceId}/assistants${rest}`;
const toolPath = (house: House, rest = ''): string => `/workspaces/${house.workspaceId}/tools${rest}`;

async function call(house: House, method: string, path: string, body?: object, headers = {}): Promise<any> {
  const answer = await house.console(path, { method, headers, ...(body && { body }) });
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`);
  return answer;
}

const digestOf = async (house: House, id: string): Promise<string> =>
  (await call(house, 'GET', pathOf(house, `/${id}`))).json.draft.digest;

async function tagged(t: Test, house: House): Promise<void> {
  const isTagged = (answer: any, name: string) =>
    t.equal(answer.headers.get('etag'), `"${answer.json.draft.digest}"`, name);
  const made = await call(house, 'POST', pathOf(house), { name: 'Tagged' });
  const { id } = made.json;
  isTagged(made, 'created');
  isTagged(await call(house, 'GET', pathOf(house, `/${id}`)), 'read');
  isTagged(await call(house, 'PATCH', pathOf(house, `/${id}`), { greeting: 'Hi' }), 'changed');
  for (const verb of ['publish', 'unpublish', 'disable', 'enable'])
    isTagged(await call(house, 'POST', pathOf(house, `/${id}/${verb}`)), verb);
  const listed = (await call(house, 'GET', pathOf(house))).json.data.find((one: any) => one.id === id);
  t.equal(listed.draft.digest, await digestOf(house, id), 'listed');
  const digest = await digestOf(house, id);
  const again = await house.console(pathOf(house, `/${id}`), { headers: { 'if-none-match': `"${digest}"` } });
  t.equal(again.status, 200, 'a name may have changed: the tag says nothing of it');
}

async function tool(t: Test, house: House): Promise<void> {
  const body = { kind: 'http', name: 'Tagged', url: 'https://tool.example/call', functions: [{ name: 'find' }] };
  const made = await call(house, 'POST', toolPath(house), body);
  const path = toolPath(house, `/${made.json.id}`);
  t.equal(made.headers.get('etag'), `"${made.json.digest}"`, 'created');
  const { headers, json } = await call(house, 'GET', path);
  t.equal(headers.get('etag'), made.headers.get('etag'), 'read');
  t.equal(json.digest, made.json.digest);
  const from = { 'if-match': made.headers.get('etag') };
  const changes = [{ timeout_seconds: 5 }, { timeout_seconds: 6 }].map((change) =>
    house.console(path, { method: 'PATCH', body: change, headers: from }),
  );
  const answers = await Promise.all(changes);
  t.same(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409],
    'one of two changes is stored',
  );
  isRefused(
    t,
    answers.find(({ status }) => status === 409)!,
    refusals.draftChanged,
    'and the other one is refused',
  );
  const { digest } = (await call(house, 'GET', path)).json;
  t.not(digest, made.json.digest, 'another digest');
  await call(house, 'PATCH', path, { disabled: true });
  t.equal((await call(house, 'GET', path)).json.digest, digest, 'the switch does not count');
  const listed = (await call(house, 'GET', toolPath(house))).json.data.find((one: any) => one.id === made.json.id);
  t.equal(listed.digest, digest, 'listed');
}

async function settings(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant();
  const seen = new Set([await digestOf(house, id)]);
  const voice = { provider: 'synthetic', name: 'character_ms=5' };
  for (const change of [
    { model: { system_prompt: 'Be brief.' } },
    { model: { temperature: 0.5 } },
    { model: { fallbacks: [{ provider: 'scripted', name: 'scripted' }] } },
    { greeting: 'Hello' },
    { visitor_fields: [{ name: 'email', type: 'email' }] },
    { voice },
    { max_call_seconds: 77 },
    { tool_rounds_max: 3 },
  ]) {
    await call(house, 'PATCH', pathOf(house, `/${id}`), change);
    const digest = await digestOf(house, id);
    t.notOk(seen.has(digest), `${JSON.stringify(change)} changes it`);
    seen.add(digest);
  }
  const before = await digestOf(house, id);
  for (const change of [
    { name: 'Other' },
    { description: 'Other' },
    { alias: 'other-draft' },
    { channels: { link: true } },
    { link: { slug: 'other-draft', origins: ['https://a.example'] } },
    { greeting: 'Hello' },
    {},
  ]) {
    await call(house, 'PATCH', pathOf(house, `/${id}`), change);
    t.equal(await digestOf(house, id), before, `${JSON.stringify(change)} does not`);
  }
  await call(house, 'PATCH', pathOf(house, `/${id}`), { greeting: 'Hi' });
  await call(house, 'PATCH', pathOf(house, `/${id}`), { greeting: 'Hello' });
  t.equal(await digestOf(house, id), before, 'equal settings have one digest');
}

async function tools(t: Test, house: House): Promise<void> {
  const look = { name: 'look_up', parameters: { type: 'object' } };
  const off = { name: 'book', parameters: { type: 'object' }, enabled: false };
  const tool = (await call(house, 'POST', toolPath(house), { kind: 'client', name: 'T', functions: [look, off] })).json;
  const { id } = await house.assistant({ tool_ids: [tool.id] });
  const { id: without } = await house.assistant();
  const seen = new Set([await digestOf(house, id)]);
  const other = await digestOf(house, without);
  for (const change of [
    { timeout_seconds: 7 },
    { repeatable: true },
    { calls_per_minute: 9 },
    { approval: 'always' },
    { show: 'full' },
    { functions: [{ ...look, description: 'Looks up.' }, off] },
    { functions: [{ ...look, enabled: false }, off] },
  ]) {
    await call(house, 'PATCH', toolPath(house, `/${tool.id}`), change);
    const digest = await digestOf(house, id);
    t.notOk(seen.has(digest), `${JSON.stringify(change)} changes it`);
    seen.add(digest);
  }
  const before = await digestOf(house, id);
  await call(house, 'PATCH', toolPath(house, `/${tool.id}`), { name: 'Renamed' });
  t.equal(await digestOf(house, id), before, 'the name of a tool is in no version');
  t.equal(await digestOf(house, without), other, 'an assistant without the tool is as it was');
  const path = pathOf(house, `/${id}`);
  const stale = await house.console(path, {
    method: 'PATCH',
    headers: { 'if-match': `"${[...seen][0]!}"` },
    body: { greeting: 'Too late' },
  });
  isRefused(t, stale, refusals.draftChanged, 'based on the tool as it was');
  await call(house, 'DELETE', toolPath(house, `/${tool.id}`));
  t.not(await digestOf(house, id), before, 'a deleted tool leaves the draft');
}

async function expected(t: Test, house: House): Promise<void> {
  const made = await call(house, 'POST', pathOf(house), { name: 'Expected' });
  const path = pathOf(house, `/${made.json.id}`);
  const first = made.headers.get('etag');
  const patch = (tag: string, greeting: string) =>
    house.console(path, { method: 'PATCH', headers: { 'if-match': tag }, body: { greeting } });
  const second = (await patch(first, 'One')).headers.get('etag')!;
  for (const tag of [first, '"other"', `W/${second}`, first.slice(1, -1), '', `${first}, "other"`])
    isRefused(t, await patch(tag, 'Two'), refusals.draftChanged, `PATCH on ${tag}`);
  const publish = (tag: string) => house.console(`${path}/publish`, { method: 'POST', headers: { 'if-match': tag } });
  isRefused(t, await publish(first), refusals.draftChanged, 'publish');
  const kept = (await call(house, 'GET', path)).json;
  t.same([kept.greeting, kept.status, kept.draft.digest], ['One', 'draft', second.slice(1, -1)], 'nothing has changed');
  t.equal((await publish(second)).json.status, 'published');
  t.equal((await patch(`"other", ${second}`, 'Three')).json.greeting, 'Three', 'one of several tags');
  t.equal((await patch('*', 'Four')).json.greeting, 'Four', 'any draft');
  const five = await patch(await digestOf(house, made.json.id), 'Five');
  t.equal(five.json.greeting, 'Five', 'the digest without quotes');
  const { status } = await house.console(pathOf(house, '/asst_none'), {
    method: 'PATCH',
    headers: { 'if-match': '"other"' },
    body: {},
  });
  t.equal(status, 404, 'an unknown assistant');
}

async function race(t: Test, house: House): Promise<void> {
  const made = await call(house, 'POST', pathOf(house), { name: 'Race' });
  const path = pathOf(house, `/${made.json.id}`);
  const headers = { 'if-match': made.headers.get('etag') };
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      house.console(path, { method: 'PATCH', headers, body: { greeting: `Greeting ${index}` } }),
    ),
  );
  const [winner, ...others] = answers.filter(({ status }) => status === 200);
  t.same(others, [], 'one is made');
  t.equal(answers.filter(({ status }) => status === 409).length, 7, 'the others are refused');
  t.equal((await call(house, 'GET', path)).json.greeting, winner!.json.greeting);
}

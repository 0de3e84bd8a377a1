/** The versions of an assistant are listed, compared, restored and rolled back to (contract 20). */
import t, { type Test } from 'tap';
import { countingTool } from './counting-tool.ts';
import { edge, type House, openWorkspace, textOf } from './house.ts';
import { isRefused, refusals, unrated, wrongField } from './refusal.ts';
import { answered, assistantPath, onProvider, operate, say, synthetic } from './talk.ts';

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('versions are listed and read', (t) => listed(t, house));
  await t.test('a version is compared with another and with the draft', (t) => compared(t, house));
  await t.test('a restored version is the draft, and nothing is published', (t) => restored(t, house));
  await t.test('a rollback goes one version back each time, and the draft stays', (t) => rolledBack(t, house));
  await t.test('a model is sent the bytes of the version that is rolled back to, its tools included', (t) =>
    bytes(t, house),
  );
});

async function listed(t: Test, house: House): Promise<void> {
  const { id } = await house.assistant({ greeting: 'One' });
  await house.assistant();
  await operate(house, 'PATCH', assistantPath(house, id), { greeting: 'Two' });
  await operate(house, 'POST', assistantPath(house, id, '/publish'), { note: 'The second.' });
  await house.revise(id, { greeting: 'Three' });
  const list = async (query: string) => operate(house, 'GET', assistantPath(house, id, `/versions${query}`));
  const numbers = ({ data }: any): number[] => data.map(({ number }: any) => number);
  const all = await list('');
  t.same([numbers(all), all.has_more], [[3, 2, 1], false]);
  t.match(all.data[0], { object: 'assistant_version', number: 3, note: null, state: 'current', digest: /^[\w-]{27}$/ });
  t.match(all.data[1], { note: 'The second.', state: 'retired', created_by: { id: 'operator', name: 'operator' } });
  t.same(numbers(await list('?order=asc')), [1, 2, 3]);
  for (const order of ['asc', 'desc']) {
    const pages: number[] = [];
    for (let after: string | null = ''; after !== null;) {
      const page: any = await list(`?limit=1&order=${order}${after && `&after=${after}`}`);
      pages.push(...numbers(page));
      after = page.next_cursor;
    }
    t.same(pages, order === 'asc' ? [1, 2, 3] : [3, 2, 1], `by pages, ${order}`);
  }
  const one = await operate(house, 'GET', assistantPath(house, id, '/versions/2'));
  t.match(one, { ...all.data[1], config: { greeting: 'Two', model: { provider: 'scripted' }, tools: [] } });
  for (const number of ['4', '0', '01', '-1', 'x', '1.0', '9999999999'])
    isRefused(
      t,
      await house.console(assistantPath(house, id, `/versions/${number}`)),
      unrated(refusals.noVersion),
      number,
    );
  const draft = await operate(house, 'POST', assistantPath(house, '').slice(0, -1), { name: 'Draft' });
  t.same((await operate(house, 'GET', assistantPath(house, draft.id, '/versions'))).data, [], 'before the first');
  isRefused(
    t,
    await house.console(assistantPath(house, 'asst_none', '/versions')),
    unrated(refusals.noAssistant),
    'an unknown assistant',
  );
}

async function compared(t: Test, house: House): Promise<void> {
  const tool = await countingTool(t, house, { functions: [{ name: 'look_up', parameters: { type: 'object' } }] });
  const { id } = await synthetic(house, 'text=one,tokens=1', { greeting: 'One', tool_ids: [tool.id] });
  await operate(house, 'PATCH', `/workspaces/${house.workspaceId}/tools/${tool.id}`, { timeout_seconds: 7 });
  await house.revise(id, { greeting: 'Two' });
  await operate(house, 'PATCH', assistantPath(house, id), { greeting: 'Three' });
  const changes = async (rest: string) =>
    (await operate(house, 'GET', assistantPath(house, id, `/versions/${rest}`))).data;
  const between = [
    { path: 'greeting', before: 'One', after: 'Two' },
    { path: `tools.${tool.id}.timeout_seconds`, before: 20, after: 7 },
  ];
  t.same(await changes('2/changes'), between, 'with the version before');
  t.same(await changes('2/changes?from=1'), between);
  t.same(
    await changes('1/changes?from=2'),
    between.map(({ path, before, after }) => ({ path, before: after, after: before })),
  );
  t.same(await changes('2/changes?from=draft'), [{ path: 'greeting', before: 'Three', after: 'Two' }]);
  t.same(await changes('2/changes?from=2'), []);
  t.ok((await changes('1/changes')).some(({ path, before }: any) => path === 'greeting' && before === null));
  for (const from of ['3', '999999999'])
    isRefused(
      t,
      await house.console(assistantPath(house, id, `/versions/2/changes?from=${from}`)),
      unrated(refusals.noVersion),
      from,
    );
  for (const from of ['x', '0', '-1', '1.5', '01', '1e3', '1000000000', '', 'Draft'])
    isRefused(
      t,
      await house.console(assistantPath(house, id, `/versions/2/changes?from=${from}`)),
      unrated(wrongField('from')),
      `from=${from}`,
    );
}

async function restored(t: Test, house: House): Promise<void> {
  const parameters = { type: 'object' };
  const [kept, gone] = [
    await countingTool(t, house, { functions: [{ name: 'kept', parameters }] }),
    await countingTool(t, house, { functions: [{ name: 'gone', parameters }] }),
  ];
  const tools = `/workspaces/${house.workspaceId}/tools`;
  const { id } = await house.assistant({ greeting: 'One', tool_ids: [kept.id, gone.id] });
  await house.revise(id, { greeting: 'Two', tool_ids: [] });
  await operate(house, 'PATCH', `${tools}/${kept.id}`, { repeatable: true });
  await operate(house, 'DELETE', `${tools}/${gone.id}`);
  const path = assistantPath(house, id, '/versions/1/restore');
  const stale = await house.console(path, { method: 'POST', headers: { 'if-match': '"other"' } });
  isRefused(t, stale, refusals.draftChanged, 'another draft');
  const answer = await house.console(path, { method: 'POST' });
  t.match(answer.json, { greeting: 'One', tool_ids: [kept.id], version: 2, draft: { changed: true } });
  t.equal(answer.headers.get('etag'), `"${answer.json.draft.digest}"`);
  t.match(answer.json.tools_differ, [
    { tool_id: kept.id, name: 'Counting', changes: [{ path: 'repeatable', before: false, after: true }] },
    { tool_id: gone.id, name: 'Counting' },
  ]);
  t.equal((await house.ask(`/assistants/${id}`)).json.greeting, 'Two', 'people have version 2');
  const missing = await house.console(assistantPath(house, id, '/versions/9/restore'), { method: 'POST' });
  isRefused(t, missing, unrated(refusals.noVersion), 'an unknown version');
}

async function rolledBack(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'text=one,tokens=1', { greeting: '1' });
  for (const greeting of ['2', '3', '4']) await house.revise(id, { greeting });
  await operate(house, 'PATCH', assistantPath(house, id), { greeting: 'Draft' });
  const back = (body?: object) =>
    house.console(assistantPath(house, id, '/rollback'), { method: 'POST', ...(body && { body }) });
  const pinned = await house.session(id);
  for (const version of [3, 2, 1]) {
    const { json } = await back();
    t.match(json, { version, greeting: 'Draft', draft: { changed: true } });
    t.match((await house.ask(`/assistants/${id}`)).json, { version, greeting: String(version) });
    t.equal((await house.session(id)).assistant_version, version);
  }
  isRefused(t, await back(), unrated(refusals.noVersion), 'nothing to go back to');
  t.equal((await back({ version: 4 })).json.version, 4, 'a version by its number');
  t.equal((await back({ version: 4 })).json.version, 4, 'the current one');
  t.equal((await back()).json.version, 3);
  isRefused(t, await back({ version: 9 }), unrated(refusals.noVersion), 'an unknown version');
  isRefused(t, await back({ version: 0 }), unrated(wrongField('version')), 'no number of a version');
  t.equal((await house.ask(`/sessions/${pinned.id}`)).json.assistant_version, 4, 'an open session keeps its version');
  t.equal(
    (await operate(house, 'POST', assistantPath(house, id, '/publish'))).version,
    5,
    'numbers go on from the newest',
  );
  t.equal((await back()).json.version, 4);
  const draft = await operate(house, 'POST', assistantPath(house, '').slice(0, -1), { name: 'Draft' });
  const never = await house.console(assistantPath(house, draft.id, '/rollback'), { method: 'POST' });
  isRefused(t, never, unrated(refusals.noVersion), 'before the first version');
}

async function bytes(t: Test, house: House): Promise<void> {
  const tool = await countingTool(t, house, { functions: [{ name: 'look_up', parameters: { type: 'object' } }] });
  const { provider, assistant } = await onProvider(t, house, (response) => answered(response, ['ok']), {
    model: { system_prompt: 'As one.' },
    tool_ids: [tool.id],
  });
  const asked = async (): Promise<string> => {
    const session = await house.session(assistant.id);
    textOf(await (await say(house, session.id)).rest());
    return JSON.stringify(provider.requests.at(-1)!.body);
  };
  const one = await asked();
  const path = `/workspaces/${house.workspaceId}/tools/${tool.id}`;
  await operate(house, 'PATCH', path, { functions: [{ name: 'other', parameters: { type: 'object' } }] });
  await house.revise(assistant.id, { model: { system_prompt: 'As two.' } });
  const two = await asked();
  t.not(two, one);
  await operate(house, 'DELETE', path);
  await operate(house, 'POST', assistantPath(house, assistant.id, '/rollback'));
  t.equal(await asked(), one);
  await operate(house, 'POST', assistantPath(house, assistant.id, '/rollback'), { version: 2 });
  t.equal(await asked(), two);
}
